//! Resampling along axes.

use roci_graph::ops::Facts;
use roci_graph::ops::movement::{Resize, ResizeMode};
use roci_kernels::params::ElementwiseOp;

use super::Context;
use super::build::{A, B, Instr, along_axis, temporary};
use crate::error::LoweringError;
use crate::segment::DeviceTensor;
use crate::storage::encode;

pub(super) fn resize(context: &mut Context<'_, '_>, op: &Resize) -> Result<DeviceTensor, LoweringError> {
    let x = context.operand(0)?;
    // The region of interest is the only operand that does not affect the shape.
    if context.fact(1).is_some_and(|fact| fact.value.is_none()) {
        return Err(LoweringError::NeedsValue(1));
    }
    let facts = context.facts();
    let steps = op.steps(&Facts::new(&facts, 1))?.ok_or(LoweringError::NeedsValue(2))?;
    let nearest = matches!(op.mode, ResizeMode::Nearest(_));
    if !nearest && !x.dtype.is_float() && x.dtype.size().is_none_or(|size| size > 2) {
        // f32 does not represent them exactly.
        return Err(LoweringError::unsupported(format!("weighted sums of {}", x.dtype)));
    }
    let mut result = if nearest { x.clone() } else { context.as_floats(&x)? };
    for step in &steps {
        result = if nearest {
            let places: Vec<usize> = step.taps.iter().map(|taps| taps[0].0).collect();
            context.gather_known(&result, step.axis, &places)?
        } else {
            context.resample(&result, step.axis, &step.taps)?
        };
    }
    if !nearest && !x.dtype.is_float() {
        // ONNX rounds half away from zero with `antialias`, and truncates otherwise.
        let rounded = [
            Instr::ApplyWith(ElementwiseOp::Load, A),
            Instr::Apply(ElementwiseOp::Sign),
            Instr::ApplyWith(ElementwiseOp::Mul, 0.5.into()),
        ];
        let code: &[Instr] = if op.antialias { &rounded } else { &[Instr::ApplyWith(ElementwiseOp::Load, 0.0.into())] };
        let code = [code, &[Instr::ApplyWith(ElementwiseOp::Add, A), Instr::Apply(ElementwiseOp::F32ToI32)]].concat();
        result = context.map(&code, &[&result], x.dtype, &result.shape)?;
    }
    result = context.round_to_dtype(DeviceTensor { dtype: x.dtype, ..result })?;
    for step in steps.iter().filter(|step| step.outside.contains(&true)) {
        let mask: Vec<i32> = step.outside.iter().map(|&outside| outside.into()).collect();
        let mask = context.i32_table(&mask, along_axis(result.shape.len(), step.axis, mask.len()))?;
        let value = roci_graph::Tensor::from_floats(x.dtype, [], &[f64::from(op.extrapolation)])?;
        let value = roci_kernels::params::ElementwiseOperand::Word(encode(&value)?[0]);
        let code = [
            Instr::ApplyWith(ElementwiseOp::Load, A),
            Instr::Save(3),
            Instr::ApplyWith(ElementwiseOp::Load, value),
            Instr::Save(0),
            Instr::ApplyWith(ElementwiseOp::Load, B),
            Instr::ApplyWith(ElementwiseOp::Select, temporary(0)),
        ];
        result = context.map(&code, &[&result, &mask], x.dtype, &result.shape.clone())?;
    }
    Ok(result)
}
