//! Loss functions.

use roci_graph::DType;
use roci_graph::ops::reduction::LossReduction;
use roci_kernels::params::ElementwiseOp as Op;

use super::Context;
use super::build::{A, B, Instr::Apply, Instr::ApplyWith, Instr::Save, float, integer, temporary};
use crate::error::LoweringError;
use crate::segment::DeviceTensor;

/// The negative log-likelihood of each sample's class, weighted by class.
pub(super) fn negative_log_likelihood(
    context: &mut Context<'_, '_>,
    reduction: LossReduction,
    ignore: Option<i64>,
) -> Result<DeviceTensor, LoweringError> {
    let (x, target, weights) = (context.operand(0)?, context.operand(1)?, context.optional(2)?);
    let (batch, classes) = (x.shape[0], x.shape[1]);
    let inner: usize = x.shape[2..].iter().product();
    // A row of log-probabilities per sample, from which the sample's class is gathered.
    let lines = context.transpose(&x.reshaped([batch, classes, inner]), &[0, 2, 1])?.reshaped([batch * inner, classes]);
    let class = target.reshaped([batch * inner, 1]);
    let count = [batch * inner, 1];
    let picked = context.gather_rows(&lines, &class)?;
    let weights = match weights {
        Some(weights) => context.gather(&weights, 0, &class.reshaped([batch * inner]))?.reshaped(count),
        None => context.fill(DType::F32, &count, 1f32.to_bits())?,
    };
    // Ignored samples have weight 0, even if their class is out of range.
    let weights = match ignore.map(i32::try_from) {
        Some(Ok(ignore)) => {
            let code = [
                ApplyWith(Op::Load, A),
                Save(3),
                ApplyWith(Op::Load, float(0.0)),
                Save(0),
                ApplyWith(Op::Load, B),
                ApplyWith(Op::EqualWord, integer(ignore)),
                ApplyWith(Op::Select, temporary(0)),
            ];
            context.map(&code, &[&weights, &class], DType::F32, &count)?
        }
        // A value beyond 32 bits equals no class.
        _ => weights,
    };
    let code = [
        ApplyWith(Op::Load, float(0.0)),
        Save(3),
        ApplyWith(Op::Load, A),
        Apply(Op::Neg),
        ApplyWith(Op::Mul, B),
        Save(0),
        ApplyWith(Op::Load, B),
        Apply(Op::F32ToBool),
        ApplyWith(Op::Select, temporary(0)),
    ];
    let losses = context.map(&code, &[&picked, &weights], x.dtype, &count)?;
    let sum = match reduction {
        LossReduction::None => return Ok(losses.reshaped(target.shape)),
        _ => context.reduce(&losses, "reduce_sum", &[0, 1])?,
    };
    if reduction == LossReduction::Sum {
        return Ok(sum.reshaped([]));
    }
    let total = context.reduce(&weights, "reduce_sum", &[0, 1])?;
    context.map(&[ApplyWith(Op::Load, A), ApplyWith(Op::Div, B)], &[&sum, &total], x.dtype, &[])
}
