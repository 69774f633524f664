//! Regions of images, which are known: their parts become tables of pixels.

use roci_graph::ops::indexing::{MaxRoiPool, RoiAlign};
use roci_graph::{DType, OpError};
use roci_kernels::params::ChainOp as Op;

use super::build::{A, B, Step::Do, Step::Save, Step::With, float, temporary};
use super::{Context, Operand, word};
use crate::error::Refusal;

pub(super) fn align(context: &mut Context<'_, '_>, roi: &RoiAlign) -> Result<Operand, Refusal> {
    let x = context.operand(0)?;
    let batch = context.operand(2)?;
    let parts = roi.parts(context.value(1)?, [x.shape[2], x.shape[3]])?;
    let fold = if roi.max { "reduce_max" } else { "reduce_sum" };
    gathered(context, &x, &batch, &parts, fold)
}

pub(super) fn pool(context: &mut Context<'_, '_>, roi: &MaxRoiPool) -> Result<Operand, Refusal> {
    let x = context.operand(0)?;
    let (images, parts) = roi.parts(context.value(1)?, [x.shape[2], x.shape[3]])?;
    let image = |&at: &i64| {
        let count = x.shape[0] as i64;
        let at = if at < 0 { at + count } else { at };
        i32::try_from(at)
            .ok()
            .filter(|at| (0..count).contains(&i64::from(*at)))
            .ok_or_else(|| Refusal::from(OpError::invalid(format!("index {at} of an axis of size {count}"))))
    };
    let images = images.iter().map(image).collect::<Result<Vec<_>, _>>()?;
    let batch = context.integers(&images, [images.len()])?;
    let parts: Vec<Vec<(usize, f64)>> =
        parts.into_iter().map(|part| part.into_iter().map(|at| (at, 1.0)).collect()).collect();
    gathered(context, &x, &batch, &parts, "reduce_max")
}

/// Folds the weighed pixels of each part of the region that each image of `batch` has.
fn gathered(
    context: &mut Context<'_, '_>,
    x: &Operand,
    batch: &Operand,
    parts: &[Vec<(usize, f64)>],
    fold: &'static str,
) -> Result<Operand, Refusal> {
    if !x.dtype.is_float() {
        return Err(Refusal::unsupported(format!("regions of {}", x.dtype)));
    }
    let made = context.output(0)?.shape()?.to_vec();
    let (regions, channels, each) = (made[0], made[1], made[2] * made[3]);
    let most = parts.iter().map(Vec::len).max().unwrap_or(0).max(1);
    let (mut index, mut weights) = (Vec::new(), Vec::new());
    for part in parts {
        for tap in 0..most {
            // What fills up a part is one of its own again, for the largest, or weighs nothing, for a sum.
            let again =
                part.first().map_or((0, 0.0), |&(at, weight)| (at, if fold == "reduce_max" { weight } else { 0.0 }));
            let (at, weight) = part.get(tap).copied().unwrap_or(again);
            index.push(word(at)? as i32);
            weights.push(weight as f32);
        }
    }
    let pixels = each * most;
    let images = context.taken(&x.reshaped([x.shape[0], x.shape[1..].iter().product()]), 0, batch)?;
    let lines = images.reshaped([regions * channels, x.shape[2] * x.shape[3]]);
    let (index, weights) =
        (context.integers(&index, [regions, 1, pixels])?, context.numbers(&weights, [regions, 1, pixels])?);
    let index = context.broadcast(&index, &[regions, channels, pixels])?;
    let taken = context.taken_by_line(&lines, &index.reshaped([regions * channels, pixels]))?;
    let whole = [regions, channels, pixels];
    // A weight of zero reads nothing.
    let code = [
        With(Op::Load, float(0.0)),
        Save(3),
        With(Op::Load, A),
        With(Op::Mul, B),
        Save(0),
        With(Op::Load, B),
        Do(Op::F32ToBool),
        With(Op::Select, temporary(0)),
    ];
    let weighed = context.map(&code, &[&taken.reshaped(whole), &weights], DType::F32, &whole)?;
    let folded = context.folded(&weighed.reshaped([regions, channels, each, most]), fold, &[3])?;
    context.narrowed(Operand { dtype: x.dtype, slot: folded.slot, shape: made })
}
