//! Regions of interest that are known on the host: each output becomes a table of pixels and
//! weights.

use roci_graph::ops::indexing::{MaxRoiPool, RoiAlign};
use roci_graph::{DType, OpError};
use roci_kernels::params::ElementwiseOp as Op;

use super::build::{A, B, Instr::Apply, Instr::ApplyWith, Instr::Save, float, temporary};
use super::{Context, word};
use crate::error::LoweringError;
use crate::segment::DeviceTensor;

pub(super) fn align(context: &mut Context<'_, '_>, roi: &RoiAlign) -> Result<DeviceTensor, LoweringError> {
    let x = context.operand(0)?;
    let batch = context.operand(2)?;
    let parts = roi.parts(context.value(1)?, [x.shape[2], x.shape[3]])?;
    let fold = if roi.max { "reduce_max" } else { "reduce_sum" };
    reduce_bins(context, &x, &batch, &parts, fold)
}

pub(super) fn pool(context: &mut Context<'_, '_>, roi: &MaxRoiPool) -> Result<DeviceTensor, LoweringError> {
    let x = context.operand(0)?;
    let (images, parts) = roi.parts(context.value(1)?, [x.shape[2], x.shape[3]])?;
    let image = |&at: &i64| {
        let count = x.shape[0] as i64;
        let at = if at < 0 { at + count } else { at };
        i32::try_from(at).ok().filter(|at| (0..count).contains(&i64::from(*at))).ok_or_else(|| {
            LoweringError::from(OpError::invalid(format!("index {at} is out of range for an axis of size {count}")))
        })
    };
    let images = images.iter().map(image).collect::<Result<Vec<_>, _>>()?;
    let batch = context.i32_table(&images, [images.len()])?;
    let parts: Vec<Vec<(usize, f64)>> =
        parts.into_iter().map(|part| part.into_iter().map(|at| (at, 1.0)).collect()).collect();
    reduce_bins(context, &x, &batch, &parts, "reduce_max")
}

/// Reduces the weighted pixels of each output of each region, from the region's image of `batch`.
fn reduce_bins(
    context: &mut Context<'_, '_>,
    x: &DeviceTensor,
    batch: &DeviceTensor,
    parts: &[Vec<(usize, f64)>],
    fold: &'static str,
) -> Result<DeviceTensor, LoweringError> {
    if !x.dtype.is_float() {
        return Err(LoweringError::unsupported(format!("regions of {}", x.dtype)));
    }
    let result = context.output(0)?.shape()?.to_vec();
    let (regions, channels, each) = (result[0], result[1], result[2] * result[3]);
    let most = parts.iter().map(Vec::len).max().unwrap_or(0).max(1);
    let (mut index, mut weights) = (Vec::new(), Vec::new());
    for part in parts {
        for tap in 0..most {
            // Padding repeats a pixel: with its weight for a maximum, and with weight 0 for a sum.
            let again =
                part.first().map_or((0, 0.0), |&(at, weight)| (at, if fold == "reduce_max" { weight } else { 0.0 }));
            let (at, weight) = part.get(tap).copied().unwrap_or(again);
            index.push(word(at)? as i32);
            weights.push(weight as f32);
        }
    }
    let pixels = each * most;
    let images = context.gather(&x.reshaped([x.shape[0], x.shape[1..].iter().product()]), 0, batch)?;
    let lines = images.reshaped([regions * channels, x.shape[2] * x.shape[3]]);
    let (index, weights) =
        (context.i32_table(&index, [regions, 1, pixels])?, context.f32_table(&weights, [regions, 1, pixels])?);
    let index = context.broadcast(&index, &[regions, channels, pixels])?;
    let pixels_of_regions = context.gather_rows(&lines, &index.reshaped([regions * channels, pixels]))?;
    let whole = [regions, channels, pixels];
    // With weight 0 the pixel is ignored, even if it is not finite.
    let code = [
        ApplyWith(Op::Load, float(0.0)),
        Save(3),
        ApplyWith(Op::Load, A),
        ApplyWith(Op::Mul, B),
        Save(0),
        ApplyWith(Op::Load, B),
        Apply(Op::F32ToBool),
        ApplyWith(Op::Select, temporary(0)),
    ];
    let weighed = context.map(&code, &[&pixels_of_regions.reshaped(whole), &weights], DType::F32, &whole)?;
    let folded = context.reduce(&weighed.reshaped([regions, channels, each, most]), fold, &[3])?;
    context.round_to_dtype(DeviceTensor { dtype: x.dtype, tensor_id: folded.tensor_id, shape: result })
}
