//! Losses.

use roci_graph::DType;
use roci_graph::ops::reduction::LossReduction;
use roci_kernels::params::ChainOp as Op;

use super::build::{A, B, Step::Do, Step::Save, Step::With, float, integer, temporary};
use super::{Context, Operand};
use crate::error::Refusal;

/// Minus the log-probability of each sample's class, weighted by class.
pub(super) fn likelihood(
    context: &mut Context<'_, '_>,
    reduction: LossReduction,
    ignore: Option<i64>,
) -> Result<Operand, Refusal> {
    let (x, target, weights) = (context.operand(0)?, context.operand(1)?, context.optional(2)?);
    let (batch, classes) = (x.shape[0], x.shape[1]);
    let inner: usize = x.shape[2..].iter().product();
    // A line for each sample: its log-probabilities, and the class that is taken from it.
    let lines =
        context.transposed(&x.reshaped([batch, classes, inner]), &[0, 2, 1])?.reshaped([batch * inner, classes]);
    let class = target.reshaped([batch * inner, 1]);
    let count = [batch * inner, 1];
    let picked = context.taken_by_line(&lines, &class)?;
    let weights = match weights {
        Some(weights) => context.taken(&weights, 0, &class.reshaped([batch * inner]))?.reshaped(count),
        None => context.filled(DType::F32, &count, 1f32.to_bits())?,
    };
    // What is ignored weighs nothing, wherever its class points.
    let weights = match ignore.map(i32::try_from) {
        Some(Ok(ignore)) => {
            let code = [
                With(Op::Load, A),
                Save(3),
                With(Op::Load, float(0.0)),
                Save(0),
                With(Op::Load, B),
                With(Op::EqualWord, integer(ignore)),
                With(Op::Select, temporary(0)),
            ];
            context.map(&code, &[&weights, &class], DType::F32, &count)?
        }
        // No class that fits is a number that does not.
        _ => weights,
    };
    let code = [
        With(Op::Load, float(0.0)),
        Save(3),
        With(Op::Load, A),
        Do(Op::Neg),
        With(Op::Mul, B),
        Save(0),
        With(Op::Load, B),
        Do(Op::F32ToBool),
        With(Op::Select, temporary(0)),
    ];
    let losses = context.map(&code, &[&picked, &weights], x.dtype, &count)?;
    let sum = match reduction {
        LossReduction::None => return Ok(losses.reshaped(target.shape)),
        _ => context.folded(&losses, "reduce_sum", &[0, 1])?,
    };
    if reduction == LossReduction::Sum {
        return Ok(sum.reshaped([]));
    }
    let total = context.folded(&weights, "reduce_sum", &[0, 1])?;
    context.map(&[With(Op::Load, A), With(Op::Div, B)], &[&sum, &total], x.dtype, &[])
}
