//! Between floats and small integers.

use roci_graph::ops::Quantize;
use roci_graph::{DType, shape};
use roci_kernels::params::ChainOp as Op;

use super::build::{A, B, C, Step::Do, Step::Save, Step::With, along, float, integer, temporary};
use super::{Context, Operand};
use crate::error::Refusal;

pub(super) fn lower(op: &Quantize, context: &mut Context<'_, '_>) -> Result<Vec<Operand>, Refusal> {
    let made = match op {
        Quantize::Linear { axis, block, precision, .. } => linear(context, *axis, *block, *precision)?,
        Quantize::Back { axis, block, .. } => back(context, *axis, *block)?,
        Quantize::Dynamic => return dynamic(context),
        other => return Err(Refusal::unsupported(format!("{other:?}"))),
    };
    Ok(vec![made])
}

/// Scales or zero points in a shape that is broadcast to that of the elements.
fn spread(
    context: &mut Context<'_, '_>,
    own: &Operand,
    to: &[usize],
    axis: i64,
    block: usize,
) -> Result<Operand, Refusal> {
    if block == 0 && own.count() == 1 && own.shape.len() <= 1 {
        return Ok(own.reshaped([]));
    }
    let axis = shape::axis(axis, to.len())?;
    if block == 0 {
        return Ok(own.reshaped(along(to.len(), axis, own.count())));
    }
    let places: Vec<usize> = (0..to[axis]).map(|at| at / block).collect();
    let mut scales = to.to_vec();
    scales[axis] = to[axis].div_ceil(block);
    context.picked(&own.reshaped(scales), axis, &places)
}

/// The least and largest number of a small type.
fn limits(dtype: DType) -> Result<(i32, i32), Refusal> {
    Ok(match dtype {
        DType::U8 => (0, u8::MAX.into()),
        DType::I8 => (i8::MIN.into(), i8::MAX.into()),
        DType::U16 => (0, u16::MAX.into()),
        DType::I16 => (i16::MIN.into(), i16::MAX.into()),
        other => return Err(Refusal::unsupported(format!("quantization to {other}"))),
    })
}

fn linear(
    context: &mut Context<'_, '_>,
    axis: i64,
    block: usize,
    precision: Option<DType>,
) -> Result<Operand, Refusal> {
    let (x, scale, zero) = (context.operand(0)?, context.operand(1)?, context.optional(2)?);
    let dtype = context.output(0)?.dtype;
    let precision = precision.unwrap_or(scale.dtype);
    let (least, most) = limits(dtype)?;
    let (x, scale) = (context.as_floats(&x)?, context.as_floats(&scale)?);
    let scale = spread(context, &scale, &x.shape, axis, block)?;
    let zero = zero.map(|zero| spread(context, &zero, &x.shape, axis, block)).transpose()?;
    let mut code = vec![With(Op::Load, A), With(Op::Div, B)];
    match precision {
        DType::F16 => code.push(Do(Op::ThroughF16)),
        DType::BF16 => code.push(Do(Op::ThroughBf16)),
        _ => {}
    }
    // Far outside of what fits, so that the sum with the zero point does not wrap.
    let far = [With(Op::Max, float(-1e6)), With(Op::Min, float(1e6))];
    code.push(Do(Op::Round));
    code.extend(far);
    code.push(Do(Op::F32ToI32));
    let mut operands = vec![&x, &scale];
    if let Some(zero) = &zero {
        code.push(With(Op::AddI32, C));
        operands.push(zero);
    }
    code.extend([With(Op::MaxI32, integer(least)), With(Op::MinI32, integer(most))]);
    context.map(&code, &operands, dtype, &x.shape)
}

fn back(context: &mut Context<'_, '_>, axis: i64, block: usize) -> Result<Operand, Refusal> {
    let (x, scale, zero) = (context.operand(0)?, context.operand(1)?, context.optional(2)?);
    let dtype = context.output(0)?.dtype;
    let scale = context.as_floats(&scale)?;
    let scale = spread(context, &scale, &x.shape, axis, block)?;
    let zero = zero.map(|zero| spread(context, &zero, &x.shape, axis, block)).transpose()?;
    let mut code = vec![With(Op::Load, A)];
    let mut operands = vec![&x, &scale];
    if let Some(zero) = &zero {
        code.push(With(Op::SubI32, C));
        operands.push(zero);
    }
    code.extend([Do(Op::I32ToF32), With(Op::Mul, B)]);
    let made = context.map(&code, &operands, dtype, &x.shape)?;
    context.narrowed(made)
}

/// To `u8` with a scale that the elements decide.
fn dynamic(context: &mut Context<'_, '_>) -> Result<Vec<Operand>, Refusal> {
    let x = context.operand(0)?;
    if x.count() == 0 {
        return Err(Refusal::unsupported("quantization of nothing"));
    }
    let line = x.reshaped([x.count()]);
    let (low, high) = (context.folded(&line, "reduce_min", &[0])?, context.folded(&line, "reduce_max", &[0])?);
    // Zero is always among the numbers that can be told.
    let span = [
        With(Op::Load, A),
        With(Op::Min, float(0.0)),
        Save(0),
        With(Op::Load, B),
        With(Op::Max, float(0.0)),
        With(Op::Sub, temporary(0)),
    ];
    let span = context.map(&span, &[&low, &high], DType::F32, &[])?;
    let scale = [
        With(Op::Load, float(1.0)),
        Save(3),
        With(Op::Load, A),
        With(Op::Div, float(255.0)),
        Save(0),
        With(Op::Load, A),
        Do(Op::F32ToBool),
        With(Op::Select, temporary(0)),
    ];
    let scale = context.map(&scale, &[&span], DType::F32, &[])?;
    let limits = [With(Op::Max, float(0.0)), With(Op::Min, float(255.0)), Do(Op::F32ToI32)];
    let zero = [With(Op::Load, A), With(Op::Min, float(0.0)), Do(Op::Neg), With(Op::Div, B), Do(Op::Round)];
    let zero = context.map(&[&zero[..], &limits].concat(), &[&low, &scale], DType::U8, &[])?;
    let quantized = [
        With(Op::Load, C),
        Do(Op::I32ToF32),
        Save(0),
        With(Op::Load, A),
        With(Op::Div, B),
        Do(Op::Round),
        With(Op::Add, temporary(0)),
    ];
    let quantized = context.map(&[&quantized[..], &limits].concat(), &[&x, &scale, &zero], DType::U8, &x.shape)?;
    Ok(vec![quantized, scale, zero])
}
