//! Other views, and selections by fixed rules.

use std::ops::Range;

use roci_graph::ops::movement::{PadMode, pad_fill, pad_source, pads, slice_parts};
use roci_graph::ops::{Facts, Movement};
use roci_graph::{OpError, shape};
use roci_kernels::params::{Fill, Take};

use super::sample::{self, Sampling};
use super::strided::{Target, dense, dimensions};
use super::{Context, Operand, conv, masks, resize, word};
use crate::error::Refusal;
use crate::storage::encode;

/// Places along an axis that are written down one by one, at most.
const MOST_PLACES: usize = 1 << 27;

pub(super) fn lower(op: &Movement, context: &mut Context<'_, '_>) -> Result<Vec<Operand>, Refusal> {
    let made = match op {
        Movement::Reshape { .. } | Movement::Flatten { .. } | Movement::Squeeze | Movement::Unsqueeze => {
            let shape = context.output(0)?.shape()?.to_vec();
            context.operand(0)?.reshaped(shape)
        }
        Movement::Transpose { perm } => {
            let source = context.operand(0)?;
            let reversed = || (0..source.shape.len()).rev().collect();
            let perm = perm.clone().unwrap_or_else(reversed);
            context.transposed(&source, &perm)?
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
        Movement::CenterCropPad { .. } => center(context)?,
        Movement::DepthToSpace { block, column_first } => {
            let source = context.operand(0)?;
            let [n, c, h, w] = images(&source)?;
            let (b, depth) = (*block, c / (block * block));
            let (split, perm) = match column_first {
                true => ([n, depth, b, b, h, w], [0, 1, 4, 2, 5, 3]),
                false => ([n, b, b, depth, h, w], [0, 3, 4, 1, 5, 2]),
            };
            context.transposed(&source.reshaped(split), &perm)?.reshaped([n, depth, h * b, w * b])
        }
        Movement::SpaceToDepth { block } => {
            let source = context.operand(0)?;
            let [n, c, h, w] = images(&source)?;
            let b = *block;
            let split = source.reshaped([n, c, h / b, b, w / b, b]);
            context.transposed(&split, &[0, 3, 5, 1, 2, 4])?.reshaped([n, c * b * b, h / b, w / b])
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
            conv::columns(context, dilations, pads, strides)?
        }
        other => return Err(Refusal::unsupported(format!("{other:?}"))),
    };
    Ok(vec![made])
}

fn images(source: &Operand) -> Result<[usize; 4], Refusal> {
    <[usize; 4]>::try_from(&source.shape[..]).map_err(|_| OpError::invalid("four dimensions are wanted").into())
}

fn tile(context: &mut Context<'_, '_>) -> Result<Operand, Refusal> {
    let (source, shape) = (context.operand(0)?, context.output(0)?.shape()?.to_vec());
    let own = dense(&source.shape);
    let mut walk = Vec::new();
    for (axis, &size) in source.shape.iter().enumerate() {
        let times = shape[axis].checked_div(size).unwrap_or(0);
        walk.extend(dimensions(&[times, size], [0, own[axis]]));
    }
    context.arranged(&source, 0, &walk, shape)
}

fn slice(context: &mut Context<'_, '_>) -> Result<Operand, Refusal> {
    let (source, shape) = (context.operand(0)?, context.output(0)?.shape()?.to_vec());
    let facts = context.facts();
    let parts = slice_parts(&Facts::new(&facts, 1), &source.shape)?.ok_or(Refusal::NeedsValue(1))?;
    let mut strides = dense(&source.shape);
    let mut offset = 0;
    for part in &parts {
        offset += part.start * strides[part.axis] as usize;
        // A step may be any number where one element is taken.
        strides[part.axis] = if shape[part.axis] > 1 { strides[part.axis] * part.step } else { 0 };
    }
    context.arranged(&source, offset, &dimensions(&shape, strides), shape.clone())
}

fn concat(context: &mut Context<'_, '_>, axis: i64) -> Result<Operand, Refusal> {
    let target = context.new_output(0)?;
    let axis = shape::axis(axis, target.shape.len())?;
    let (rows, _, inner) = shape::around(&target.shape, axis);
    let pitch = target.shape[axis] * inner;
    let mut offset = 0;
    for index in 0..context.len() {
        let source = context.operand(index)?;
        let run = source.shape[axis] * inner;
        let walk = dimensions(&[rows, run], [run as i64, 1]);
        context.arrange(&source, 0, &walk, &target, Target { offset, run, pitch })?;
        offset += run;
    }
    Ok(target)
}

fn split(context: &mut Context<'_, '_>, axis: i64) -> Result<Vec<Operand>, Refusal> {
    let source = context.operand(0)?;
    let axis = shape::axis(axis, source.shape.len())?;
    let (rows, _, inner) = shape::around(&source.shape, axis);
    let pitch = (source.shape[axis] * inner) as i64;
    let mut offset = 0;
    let mut made = Vec::new();
    for index in 0..context.outputs() {
        let shape = context.output(index)?.shape()?.to_vec();
        let run = shape[axis] * inner;
        made.push(context.arranged(&source, offset, &dimensions(&[rows, run], [pitch, 1]), shape)?);
        offset += run;
    }
    Ok(made)
}

fn pad(context: &mut Context<'_, '_>, mode: PadMode) -> Result<Operand, Refusal> {
    let mut source = context.operand(0)?;
    let facts = context.facts();
    let pads = pads(&Facts::new(&facts, 1), source.shape.len())?.ok_or(Refusal::NeedsValue(1))?;
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
        let made = usize::try_from(size as i64 + before + behind).map_err(|_| OpError::invalid("negative pads"))?;
        if mode == PadMode::Constant {
            let cut = |pad: i64| pad.saturating_neg().clamp(0, size as i64) as usize;
            let taken = cut(before)..(size - cut(behind)).max(cut(before));
            source = stretch(context, &source, axis, made, (usize::try_from(before).unwrap_or(0), taken), fill)?;
            continue;
        }
        if made > MOST_PLACES {
            return Err(OpError::TooLarge(vec![made]).into());
        }
        let from = (0..made).map(|at| pad_source(at, size, (before, behind), mode)).collect::<Result<Vec<_>, _>>()?;
        source = chosen(context, &source, axis, &from, fill)?;
    }
    Ok(source)
}

/// Some elements along an axis, which lie side by side, at a place among so many, with the word around them.
fn stretch(
    context: &mut Context<'_, '_>,
    source: &Operand,
    axis: usize,
    made: usize,
    (first, taken): (usize, Range<usize>),
    fill: u32,
) -> Result<Operand, Refusal> {
    let (rows, size, inner) = shape::around(&source.shape, axis);
    let mut shape = source.shape.clone();
    shape[axis] = made;
    let target = context.new_tensor(source.dtype, shape);
    if taken.len() < made {
        let params = Fill { count: word(target.count())?, offset: 0, value: fill };
        context.segment().run("fill", &params, &[], target.slot);
    }
    if !taken.is_empty() {
        let run = taken.len() * inner;
        let walk = dimensions(&[rows, run], [(size * inner) as i64, 1]);
        let to = Target { offset: first * inner, run, pitch: made * inner };
        context.arrange(source, taken.start * inner, &walk, &target, to)?;
    }
    Ok(target)
}

/// Elements along an axis by their places in the operand; `None` is the word.
fn chosen(
    context: &mut Context<'_, '_>,
    source: &Operand,
    axis: usize,
    from: &[Option<usize>],
    fill: u32,
) -> Result<Operand, Refusal> {
    let (rows, size, inner) = shape::around(&source.shape, axis);
    let mut shape = source.shape.clone();
    shape[axis] = from.len();
    // A run of the operand with the word around it, as most are.
    let first = from.iter().position(Option::is_some);
    let inside: Vec<usize> = from.iter().flatten().copied().collect();
    let consecutive = inside.windows(2).all(|pair| pair[1] == pair[0] + 1);
    let together = first.is_none_or(|first| from[first..].iter().take(inside.len()).all(Option::is_some));
    if consecutive && together {
        let taken = inside.first().map_or(0..0, |&start| start..start + inside.len());
        return stretch(context, source, axis, from.len(), (first.unwrap_or(0), taken), fill);
    }
    if inside.len() < from.len() {
        return Err(Refusal::unsupported("padding between elements"));
    }
    let index = context.table(&inside.iter().map(|&at| at as u32).collect::<Vec<_>>())?;
    let target = context.new_tensor(source.dtype, shape);
    let params = Take { outer: word(rows)?, axis: word(size)?, inner: word(inner)?, count: word(inside.len())? };
    context.segment().run("take", &params, &[source.slot, index.slot], target.slot);
    Ok(target)
}

fn center(context: &mut Context<'_, '_>) -> Result<Operand, Refusal> {
    let (mut source, shape) = (context.operand(0)?, context.output(0)?.shape()?.to_vec());
    for (axis, &wanted) in shape.iter().enumerate() {
        let size = source.shape[axis];
        if wanted < size {
            let start = (size - wanted) / 2;
            source = stretch(context, &source, axis, wanted, (0, start..start + wanted), 0)?;
        } else if wanted > size {
            source = stretch(context, &source, axis, wanted, ((wanted - size) / 2, 0..size), 0)?;
        }
    }
    Ok(source)
}
