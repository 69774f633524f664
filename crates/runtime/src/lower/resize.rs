//! Resampling along axes.

use roci_graph::ops::Facts;
use roci_graph::ops::movement::{Resize, ResizeMode};
use roci_kernels::params::ChainOp;

use super::build::{A, B, Step, along, temporary};
use super::{Context, Operand};
use crate::error::Refusal;
use crate::storage::encode;

pub(super) fn resize(context: &mut Context<'_, '_>, op: &Resize) -> Result<Operand, Refusal> {
    let x = context.operand(0)?;
    // The region is the one operand that shapes do not depend on.
    if context.fact(1).is_some_and(|fact| fact.value.is_none()) {
        return Err(Refusal::NeedsValue(1));
    }
    let facts = context.facts();
    let steps = op.steps(&Facts::new(&facts, 1))?.ok_or(Refusal::NeedsValue(2))?;
    let nearest = matches!(op.mode, ResizeMode::Nearest(_));
    if !nearest && !x.dtype.is_float() && x.dtype.size().is_none_or(|size| size > 2) {
        // Single precision does not hold them.
        return Err(Refusal::unsupported(format!("weighted sums of {}", x.dtype)));
    }
    let mut made = if nearest { x.clone() } else { context.as_floats(&x)? };
    for step in &steps {
        made = if nearest {
            let places: Vec<usize> = step.taps.iter().map(|taps| taps[0].0).collect();
            context.picked(&made, step.axis, &places)?
        } else {
            context.resampled(&made, step.axis, &step.taps)?
        };
    }
    if !nearest && !x.dtype.is_float() {
        // Half away from zero, as integers are rounded there; elsewhere cut off.
        let rounded = [Step::With(ChainOp::Load, A), Step::Do(ChainOp::Sign), Step::With(ChainOp::Mul, 0.5.into())];
        let code: &[Step] = if op.antialias { &rounded } else { &[Step::With(ChainOp::Load, 0.0.into())] };
        let code = [code, &[Step::With(ChainOp::Add, A), Step::Do(ChainOp::F32ToI32)]].concat();
        made = context.map(&code, &[&made], x.dtype, &made.shape)?;
    }
    made = context.narrowed(Operand { dtype: x.dtype, ..made })?;
    for step in steps.iter().filter(|step| step.outside.contains(&true)) {
        let mask: Vec<i32> = step.outside.iter().map(|&outside| outside.into()).collect();
        let mask = context.integers(&mask, along(made.shape.len(), step.axis, mask.len()))?;
        let value = roci_graph::Tensor::from_floats(x.dtype, [], &[f64::from(op.extrapolation)])?;
        let value = roci_kernels::params::ChainOperand::Word(encode(&value)?[0]);
        let code = [
            Step::With(ChainOp::Load, A),
            Step::Save(3),
            Step::With(ChainOp::Load, value),
            Step::Save(0),
            Step::With(ChainOp::Load, B),
            Step::With(ChainOp::Select, temporary(0)),
        ];
        made = context.map(&code, &[&made, &mask], x.dtype, &made.shape.clone())?;
    }
    Ok(made)
}
