//! Reshapes, permutations, slices, padding and concatenation.

use std::ops::Range;

use roci_graph::ops::movement::{PadMode, pad_fill, pad_source, pads, slice_parts};
use roci_graph::ops::{Facts, Movement};
use roci_graph::{OpError, shape};
use roci_kernels::params::{Fill, Gather};

use super::sample::{self, Sampling};
use super::strided::{Target, dense, dimensions};
use super::{Context, conv, masks, resize, word};
use crate::error::LoweringError;
use crate::segment::DeviceTensor;
use crate::storage::encode;

/// Maximum length of an axis for which an index table is built.
const MAX_PLACES: usize = 1 << 27;

pub(super) fn lower(op: &Movement, context: &mut Context<'_, '_>) -> Result<Vec<DeviceTensor>, LoweringError> {
    let result = match op {
        Movement::Reshape { .. } | Movement::Flatten { .. } | Movement::Squeeze | Movement::Unsqueeze => {
            let shape = context.output(0)?.shape()?.to_vec();
            context.operand(0)?.reshaped(shape)
        }
        Movement::Transpose { perm } => {
            let source = context.operand(0)?;
            let reversed = || (0..source.shape.len()).rev().collect();
            let perm = perm.clone().unwrap_or_else(reversed);
            context.transpose(&source, &perm)?
        }
        Movement::Expand => {
            let (source, shape) = (context.operand(0)?, context.output(0)?.shape()?.to_vec());
            context.broadcast(&source, &shape)?
        }
        Movement::Tile => tile(context)?,
        Movement::Slice => slice(context)?,
        Movement::Concat { axis } => concat(context, *axis)?,
        Movement::Split { axis, .. } => return split(context, *axis),
        Movement::Pad { mode } => pad(context, *mode)?,
        Movement::CenterCropPad { .. } => center_crop_pad(context)?,
        Movement::DepthToSpace { block, column_first } => {
            let source = context.operand(0)?;
            let [n, c, h, w] = image_sizes(&source)?;
            let (b, depth) = (*block, c / (block * block));
            let (split, perm) = match column_first {
                true => ([n, depth, b, b, h, w], [0, 1, 4, 2, 5, 3]),
                false => ([n, b, b, depth, h, w], [0, 3, 4, 1, 5, 2]),
            };
            context.transpose(&source.reshaped(split), &perm)?.reshaped([n, depth, h * b, w * b])
        }
        Movement::SpaceToDepth { block } => {
            let source = context.operand(0)?;
            let [n, c, h, w] = image_sizes(&source)?;
            let b = *block;
            let split = source.reshaped([n, c, h / b, b, w / b, b]);
            context.transpose(&split, &[0, 3, 5, 1, 2, 4])?.reshaped([n, c * b * b, h / b, w / b])
        }
        Movement::ReverseSequence { time_axis } => masks::reverse(context, *time_axis)?,
        Movement::Trilu { upper } => masks::trilu(context, *upper)?,
        Movement::Resize(op) => resize::resize(context, op)?,
        Movement::GridSample { mode, padding, align_corners } => {
            let sampling = Sampling { mode: *mode, padding: *padding, align_corners: *align_corners };
            sample::grid_sample(context, sampling)?
        }
        Movement::AffineGrid { align_corners } => sample::affine_grid(context, *align_corners)?,
        Movement::Col2Im { dilations, pads, strides } => {
            let [dilations, pads, strides] = [dilations, pads, strides].map(Option::as_deref);
            conv::col2im(context, dilations, pads, strides)?
        }
        other => return Err(LoweringError::unsupported(format!("{other:?}"))),
    };
    Ok(vec![result])
}

fn image_sizes(source: &DeviceTensor) -> Result<[usize; 4], LoweringError> {
    <[usize; 4]>::try_from(&source.shape[..])
        .map_err(|_| OpError::invalid(format!("the input has shape {:?}, expected 4 dimensions", source.shape)).into())
}

fn tile(context: &mut Context<'_, '_>) -> Result<DeviceTensor, LoweringError> {
    let (source, shape) = (context.operand(0)?, context.output(0)?.shape()?.to_vec());
    let own = dense(&source.shape);
    let mut walk = Vec::new();
    for (axis, &size) in source.shape.iter().enumerate() {
        let times = shape[axis].checked_div(size).unwrap_or(0);
        walk.extend(dimensions(&[times, size], [0, own[axis]]));
    }
    context.strided_copy(&source, 0, &walk, shape)
}

fn slice(context: &mut Context<'_, '_>) -> Result<DeviceTensor, LoweringError> {
    let (source, shape) = (context.operand(0)?, context.output(0)?.shape()?.to_vec());
    let facts = context.facts();
    let parts = slice_parts(&Facts::new(&facts, 1), &source.shape)?.ok_or(LoweringError::NeedsValue(1))?;
    let mut strides = dense(&source.shape);
    let mut offset = 0;
    for part in &parts {
        offset += part.start * strides[part.axis] as usize;
        // With one element, the step does not matter.
        strides[part.axis] = if shape[part.axis] > 1 { strides[part.axis] * part.step } else { 0 };
    }
    context.strided_copy(&source, offset, &dimensions(&shape, strides), shape.clone())
}

fn concat(context: &mut Context<'_, '_>, axis: i64) -> Result<DeviceTensor, LoweringError> {
    let target = context.new_output(0)?;
    let axis = shape::axis(axis, target.shape.len())?;
    let (rows, _, inner) = shape::around(&target.shape, axis);
    let pitch = target.shape[axis] * inner;
    let mut offset = 0;
    for index in 0..context.len() {
        let source = context.operand(index)?;
        let run = source.shape[axis] * inner;
        let walk = dimensions(&[rows, run], [run as i64, 1]);
        context.strided_copy_into(&source, 0, &walk, &target, Target { offset, run, pitch })?;
        offset += run;
    }
    Ok(target)
}

fn split(context: &mut Context<'_, '_>, axis: i64) -> Result<Vec<DeviceTensor>, LoweringError> {
    let source = context.operand(0)?;
    let axis = shape::axis(axis, source.shape.len())?;
    let (rows, _, inner) = shape::around(&source.shape, axis);
    let pitch = (source.shape[axis] * inner) as i64;
    let mut offset = 0;
    let mut result = Vec::new();
    for index in 0..context.output_count() {
        let shape = context.output(index)?.shape()?.to_vec();
        let run = shape[axis] * inner;
        result.push(context.strided_copy(&source, offset, &dimensions(&[rows, run], [pitch, 1]), shape)?);
        offset += run;
    }
    Ok(result)
}

fn pad(context: &mut Context<'_, '_>, mode: PadMode) -> Result<DeviceTensor, LoweringError> {
    let mut source = context.operand(0)?;
    let facts = context.facts();
    let pads = pads(&Facts::new(&facts, 1), source.shape.len())?.ok_or(LoweringError::NeedsValue(1))?;
    let fill = match context.fact(2) {
        Some(_) => pad_fill(Some(context.value(2)?), source.dtype)?,
        None => pad_fill(None, source.dtype)?,
    };
    let fill = encode(&fill)?[0];
    for (axis, &(before, behind)) in pads.iter().enumerate() {
        if (before, behind) == (0, 0) {
            continue;
        }
        let size = source.shape[axis];
        let result = usize::try_from(size as i64 + before + behind).map_err(|_| {
            OpError::invalid(format!(
                "padding axis {axis} of size {size} by {before} and {behind} gives a negative size"
            ))
        })?;
        if mode == PadMode::Constant {
            let cut = |pad: i64| pad.saturating_neg().clamp(0, size as i64) as usize;
            let taken = cut(before)..(size - cut(behind)).max(cut(before));
            source =
                copy_with_fill(context, &source, axis, result, (usize::try_from(before).unwrap_or(0), taken), fill)?;
            continue;
        }
        if result > MAX_PLACES {
            return Err(OpError::TooLarge(vec![result]).into());
        }
        let from = (0..result).map(|at| pad_source(at, size, (before, behind), mode)).collect::<Result<Vec<_>, _>>()?;
        source = gather_with_fill(context, &source, axis, &from, fill)?;
    }
    Ok(source)
}

/// Copies a contiguous range along an axis to index `first` of a longer axis, and fills the rest
/// with a word.
fn copy_with_fill(
    context: &mut Context<'_, '_>,
    source: &DeviceTensor,
    axis: usize,
    result: usize,
    (first, taken): (usize, Range<usize>),
    fill: u32,
) -> Result<DeviceTensor, LoweringError> {
    let (rows, size, inner) = shape::around(&source.shape, axis);
    let mut shape = source.shape.clone();
    shape[axis] = result;
    let target = context.new_tensor(source.dtype, shape);
    if taken.len() < result {
        let params = Fill { count: word(target.count())?, offset: 0, value: fill };
        context.segment().dispatch("fill", &params, &[], target.tensor_id);
    }
    if !taken.is_empty() {
        let run = taken.len() * inner;
        let walk = dimensions(&[rows, run], [(size * inner) as i64, 1]);
        let to = Target { offset: first * inner, run, pitch: result * inner };
        context.strided_copy_into(source, taken.start * inner, &walk, &target, to)?;
    }
    Ok(target)
}

/// Gathers along an axis by known indices; `None` gives the fill word.
fn gather_with_fill(
    context: &mut Context<'_, '_>,
    source: &DeviceTensor,
    axis: usize,
    from: &[Option<usize>],
    fill: u32,
) -> Result<DeviceTensor, LoweringError> {
    let (rows, size, inner) = shape::around(&source.shape, axis);
    let mut shape = source.shape.clone();
    shape[axis] = from.len();
    // The usual case: a contiguous range with fill around it.
    let first = from.iter().position(Option::is_some);
    let inside: Vec<usize> = from.iter().flatten().copied().collect();
    let consecutive = inside.windows(2).all(|pair| pair[1] == pair[0] + 1);
    let together = first.is_none_or(|first| from[first..].iter().take(inside.len()).all(Option::is_some));
    if consecutive && together {
        let taken = inside.first().map_or(0..0, |&start| start..start + inside.len());
        return copy_with_fill(context, source, axis, from.len(), (first.unwrap_or(0), taken), fill);
    }
    if inside.len() < from.len() {
        return Err(LoweringError::unsupported("padding between elements"));
    }
    let index = context.table(&inside.iter().map(|&at| at as u32).collect::<Vec<_>>())?;
    let target = context.new_tensor(source.dtype, shape);
    let params = Gather { outer: word(rows)?, axis: word(size)?, inner: word(inner)?, count: word(inside.len())? };
    context.segment().dispatch("gather", &params, &[source.tensor_id, index.tensor_id], target.tensor_id);
    Ok(target)
}

fn center_crop_pad(context: &mut Context<'_, '_>) -> Result<DeviceTensor, LoweringError> {
    let (mut source, shape) = (context.operand(0)?, context.output(0)?.shape()?.to_vec());
    for (axis, &target) in shape.iter().enumerate() {
        let size = source.shape[axis];
        if target < size {
            let start = (size - target) / 2;
            source = copy_with_fill(context, &source, axis, target, (0, start..start + target), 0)?;
        } else if target > size {
            source = copy_with_fill(context, &source, axis, target, ((target - size) / 2, 0..size), 0)?;
        }
    }
    Ok(source)
}
