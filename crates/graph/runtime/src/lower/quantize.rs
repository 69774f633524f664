//! Quantization and dequantization.

use roci_graph::ops::Quantize;
use roci_graph::{DType, shape};
use roci_kernels::params::ElementwiseOp as Op;

use super::Context;
use super::build::{A, B, C, Instr::Apply, Instr::ApplyWith, Instr::Save, along_axis, float, integer, temporary};
use crate::error::LoweringError;
use crate::segment::DeviceTensor;

pub(super) fn lower(op: &Quantize, context: &mut Context<'_, '_>) -> Result<Vec<DeviceTensor>, LoweringError> {
    let result = match op {
        Quantize::Linear { axis, block, precision, .. } => quantize(context, *axis, *block, *precision)?,
        Quantize::Dequantize { axis, block, .. } => dequantize(context, *axis, *block)?,
        Quantize::Dynamic => return quantize_dynamically(context),
        other => return Err(LoweringError::unsupported(format!("{other:?}"))),
    };
    Ok(vec![result])
}

/// Reshapes or repeats scales or zero points so that they broadcast to the elements.
fn broadcastable(
    context: &mut Context<'_, '_>,
    own: &DeviceTensor,
    to: &[usize],
    axis: i64,
    block: usize,
) -> Result<DeviceTensor, LoweringError> {
    if block == 0 && own.count() == 1 && own.shape.len() <= 1 {
        return Ok(own.reshaped([]));
    }
    let axis = shape::axis(axis, to.len())?;
    if block == 0 {
        return Ok(own.reshaped(along_axis(to.len(), axis, own.count())));
    }
    let places: Vec<usize> = (0..to[axis]).map(|at| at / block).collect();
    let mut scales = to.to_vec();
    scales[axis] = to[axis].div_ceil(block);
    context.gather_known(&own.reshaped(scales), axis, &places)
}

/// The minimum and maximum of a narrow integer type.
fn integer_range(dtype: DType) -> Result<(i32, i32), LoweringError> {
    Ok(match dtype {
        DType::U8 => (0, u8::MAX.into()),
        DType::I8 => (i8::MIN.into(), i8::MAX.into()),
        DType::U16 => (0, u16::MAX.into()),
        DType::I16 => (i16::MIN.into(), i16::MAX.into()),
        other => return Err(LoweringError::unsupported(format!("quantization to {other}"))),
    })
}

fn quantize(
    context: &mut Context<'_, '_>,
    axis: i64,
    block: usize,
    precision: Option<DType>,
) -> Result<DeviceTensor, LoweringError> {
    let (x, scale, zero) = (context.operand(0)?, context.operand(1)?, context.optional(2)?);
    let dtype = context.output(0)?.dtype;
    let precision = precision.unwrap_or(scale.dtype);
    let (least, most) = integer_range(dtype)?;
    let (x, scale) = (context.as_floats(&x)?, context.as_floats(&scale)?);
    let scale = broadcastable(context, &scale, &x.shape, axis, block)?;
    let zero = zero.map(|zero| broadcastable(context, &zero, &x.shape, axis, block)).transpose()?;
    let mut code = vec![ApplyWith(Op::Load, A), ApplyWith(Op::Div, B)];
    match precision {
        DType::F16 => code.push(Apply(Op::RoundF16)),
        DType::BF16 => code.push(Apply(Op::RoundBf16)),
        _ => {}
    }
    // Clamp far outside the range, so that adding the zero point does not overflow.
    let far = [ApplyWith(Op::Max, float(-1e6)), ApplyWith(Op::Min, float(1e6))];
    code.push(Apply(Op::Round));
    code.extend(far);
    code.push(Apply(Op::F32ToI32));
    let mut operands = vec![&x, &scale];
    if let Some(zero) = &zero {
        code.push(ApplyWith(Op::AddI32, C));
        operands.push(zero);
    }
    code.extend([ApplyWith(Op::MaxI32, integer(least)), ApplyWith(Op::MinI32, integer(most))]);
    context.map(&code, &operands, dtype, &x.shape)
}

fn dequantize(context: &mut Context<'_, '_>, axis: i64, block: usize) -> Result<DeviceTensor, LoweringError> {
    let (x, scale, zero) = (context.operand(0)?, context.operand(1)?, context.optional(2)?);
    let dtype = context.output(0)?.dtype;
    let scale = context.as_floats(&scale)?;
    let scale = broadcastable(context, &scale, &x.shape, axis, block)?;
    let zero = zero.map(|zero| broadcastable(context, &zero, &x.shape, axis, block)).transpose()?;
    let mut code = vec![ApplyWith(Op::Load, A)];
    let mut operands = vec![&x, &scale];
    if let Some(zero) = &zero {
        code.push(ApplyWith(Op::SubI32, C));
        operands.push(zero);
    }
    code.extend([Apply(Op::I32ToF32), ApplyWith(Op::Mul, B)]);
    let result = context.map(&code, &operands, dtype, &x.shape)?;
    context.round_to_dtype(result)
}

/// Quantizes to `u8` with a scale that is computed from the elements.
fn quantize_dynamically(context: &mut Context<'_, '_>) -> Result<Vec<DeviceTensor>, LoweringError> {
    let x = context.operand(0)?;
    if x.count() == 0 {
        return Err(LoweringError::unsupported("quantization of an empty tensor"));
    }
    let line = x.reshaped([x.count()]);
    let (low, high) = (context.reduce(&line, "reduce_min", &[0])?, context.reduce(&line, "reduce_max", &[0])?);
    // The range always includes zero.
    let span = [
        ApplyWith(Op::Load, A),
        ApplyWith(Op::Min, float(0.0)),
        Save(0),
        ApplyWith(Op::Load, B),
        ApplyWith(Op::Max, float(0.0)),
        ApplyWith(Op::Sub, temporary(0)),
    ];
    let span = context.map(&span, &[&low, &high], DType::F32, &[])?;
    let scale = [
        ApplyWith(Op::Load, float(1.0)),
        Save(3),
        ApplyWith(Op::Load, A),
        ApplyWith(Op::Div, float(255.0)),
        Save(0),
        ApplyWith(Op::Load, A),
        Apply(Op::F32ToBool),
        ApplyWith(Op::Select, temporary(0)),
    ];
    let scale = context.map(&scale, &[&span], DType::F32, &[])?;
    let limits = [ApplyWith(Op::Max, float(0.0)), ApplyWith(Op::Min, float(255.0)), Apply(Op::F32ToI32)];
    let zero = [
        ApplyWith(Op::Load, A),
        ApplyWith(Op::Min, float(0.0)),
        Apply(Op::Neg),
        ApplyWith(Op::Div, B),
        Apply(Op::Round),
    ];
    let zero = context.map(&[&zero[..], &limits].concat(), &[&low, &scale], DType::U8, &[])?;
    let quantized = [
        ApplyWith(Op::Load, C),
        Apply(Op::I32ToF32),
        Save(0),
        ApplyWith(Op::Load, A),
        ApplyWith(Op::Div, B),
        Apply(Op::Round),
        ApplyWith(Op::Add, temporary(0)),
    ];
    let quantized = context.map(&[&quantized[..], &limits].concat(), &[&x, &scale, &zero], DType::U8, &x.shape)?;
    Ok(vec![quantized, scale, zero])
}
