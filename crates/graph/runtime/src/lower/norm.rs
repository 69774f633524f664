//! Normalization.

use roci_graph::ops::Norm;
use roci_graph::shape;
use roci_kernels::params::{ElementwiseCode, ElementwiseOp, ElementwiseOperand, Normalize};

use super::build::{A, B, C, Instr::Apply, Instr::ApplyWith, Instr::Save, float, temporary};
use super::{Context, word};
use crate::error::LoweringError;
use crate::segment::DeviceTensor;

pub(super) fn lower(op: &Norm, context: &mut Context<'_, '_>) -> Result<Vec<DeviceTensor>, LoweringError> {
    match op {
        Norm::Batch { epsilon, momentum: None } => batch(context, *epsilon),
        Norm::Batch { epsilon, momentum: Some(momentum) } => training(context, *epsilon, *momentum),
        Norm::Layer { axis, epsilon, rms, .. } => layer(context, *axis, *epsilon, *rms),
        Norm::Group { groups, epsilon, by_group } => group(context, *groups, *epsilon, *by_group),
        Norm::Lp { axis, euclidean } => Ok(vec![lp(context, *axis, *euclidean)?]),
        Norm::MeanVariance { axes } => Ok(vec![mean_variance(context, axes)?]),
        Norm::LocalResponse { size, alpha, beta, bias } => {
            Ok(vec![local_response(context, *size, [*alpha, *beta, *bias])?])
        }
        other => Err(LoweringError::unsupported(format!("{other:?}"))),
    }
}

fn batch(context: &mut Context<'_, '_>, epsilon: f32) -> Result<Vec<DeviceTensor>, LoweringError> {
    let x = context.operand(0)?;
    let [mean, variance] = [3, 4].map(|index| context.operand(index));
    Ok(vec![batch_by(context, &x, &mean?, &variance?, epsilon)?])
}

/// Normalizes by mean and variance, each by channel or by element of a sample.
fn batch_by(
    context: &mut Context<'_, '_>,
    x: &DeviceTensor,
    mean: &DeviceTensor,
    variance: &DeviceTensor,
    epsilon: f32,
) -> Result<DeviceTensor, LoweringError> {
    use ElementwiseOp as C;
    let (scale, bias) = (context.operand(1)?, context.operand(2)?);
    // factor = scale / sqrt(variance + epsilon); y = x * factor + (bias - mean * factor), by
    // channel.
    let channels = scale.shape.clone();
    let factor = ElementwiseCode::new()
        .with(C::Load, ElementwiseOperand::A)?
        .with(C::Add, epsilon)?
        .then(C::Sqrt)?
        .with(C::RDiv, ElementwiseOperand::B)?;
    let factor = context.elementwise(&factor, &[variance, &scale], x.dtype, &channels)?;
    let shift = ElementwiseCode::new()
        .with(C::Load, ElementwiseOperand::A)?
        .with(C::Mul, ElementwiseOperand::B)?
        .with(C::RSub, ElementwiseOperand::C)?;
    let shift = context.elementwise(&shift, &[mean, &factor, &bias], x.dtype, &channels)?;
    let channel = match channels[..] {
        [size] => along_channels(x.shape.len(), size),
        _ => channels,
    };
    affine(context, x, Some(&factor.reshaped(channel.clone())), Some(&shift.reshaped(channel)))
}

/// In training, mean and variance come from the batch, and the running ones move toward them.
fn training(context: &mut Context<'_, '_>, epsilon: f32, kept: f32) -> Result<Vec<DeviceTensor>, LoweringError> {
    let (x, given_mean, given_variance) = (context.operand(0)?, context.operand(3)?, context.operand(4)?);
    let sets = given_mean.shape.len();
    let axes: Vec<usize> = (0..x.shape.len()).filter(|&axis| axis == 0 || axis > sets).collect();
    let count: usize = axes.iter().map(|&axis| x.shape[axis]).product();
    let (mean, squares) = moments(context, &x, &axes, count)?;
    let (mean, variance) = (mean.reshaped(given_mean.shape.clone()), squares.reshaped(given_mean.shape.clone()));
    let mut result = vec![batch_by(context, &x, &mean, &variance, epsilon)?];
    let code = [
        ApplyWith(ElementwiseOp::Load, A),
        ApplyWith(ElementwiseOp::Mul, float(kept)),
        Save(0),
        ApplyWith(ElementwiseOp::Load, B),
        ApplyWith(ElementwiseOp::Mul, float(1.0 - kept)),
        ApplyWith(ElementwiseOp::Add, temporary(0)),
    ];
    for (old, new) in [(&given_mean, &mean), (&given_variance, &variance)] {
        result.push(context.map(&code, &[old, new], old.dtype, &old.shape)?);
    }
    result.extend([mean, variance]);
    result.truncate(context.output_count());
    Ok(result)
}

/// Mean and variance along axes, which are kept with size 1.
fn moments(
    context: &mut Context<'_, '_>,
    x: &DeviceTensor,
    axes: &[usize],
    count: usize,
) -> Result<(DeviceTensor, DeviceTensor), LoweringError> {
    let over = [ApplyWith(ElementwiseOp::Load, A), ApplyWith(ElementwiseOp::Div, float(count as f32))];
    let sum = context.sum(x, axes)?;
    let mean = context.map(&over, &[&sum], x.dtype, &sum.shape)?;
    let code = [
        ApplyWith(ElementwiseOp::Load, A),
        ApplyWith(ElementwiseOp::Sub, B),
        Save(0),
        ApplyWith(ElementwiseOp::Mul, temporary(0)),
    ];
    let squares = context.map(&code, &[x, &mean], x.dtype, &x.shape)?;
    let sum = context.sum(&squares, axes)?;
    let variance = context.map(&over, &[&sum], x.dtype, &sum.shape)?;
    Ok((mean, variance))
}

/// A shape that broadcasts one value per channel.
fn along_channels(rank: usize, channels: usize) -> Vec<usize> {
    let mut shape = vec![channels];
    shape.extend(std::iter::repeat_n(1, rank.saturating_sub(2)));
    shape
}

/// `x * scale + bias`, either of which may be absent.
fn affine(
    context: &mut Context<'_, '_>,
    x: &DeviceTensor,
    scale: Option<&DeviceTensor>,
    bias: Option<&DeviceTensor>,
) -> Result<DeviceTensor, LoweringError> {
    let mut code = ElementwiseCode::new().with(ElementwiseOp::Load, ElementwiseOperand::A)?;
    let mut operands = vec![x];
    for (op, operand) in [(ElementwiseOp::Mul, scale), (ElementwiseOp::Add, bias)] {
        if let Some(operand) = operand {
            code = code.with(op, ElementwiseOperand::Input(operands.len() as u8))?;
            operands.push(operand);
        }
    }
    context.elementwise(&code, &operands, x.dtype, &x.shape)
}

/// Normalizes rows of `columns` elements: subtracts the mean unless `rms`, and divides by the
/// standard deviation.
fn normalized(
    context: &mut Context<'_, '_>,
    x: &DeviceTensor,
    columns: usize,
    epsilon: f32,
    rms: bool,
) -> Result<(DeviceTensor, Normalize), LoweringError> {
    let rows = x.count().checked_div(columns).unwrap_or(0);
    let params = Normalize { rows: word(rows)?, columns: word(columns)?, epsilon, centered: u32::from(!rms) };
    let target = context.new_tensor(x.dtype, x.shape.clone());
    if target.count() > 0 {
        context.segment().dispatch("normalize_rows", &params, &[x.tensor_id], target.tensor_id);
    }
    Ok((target, params))
}

fn layer(
    context: &mut Context<'_, '_>,
    axis: i64,
    epsilon: f32,
    rms: bool,
) -> Result<Vec<DeviceTensor>, LoweringError> {
    let x = context.operand(0)?;
    let first = shape::axis(axis, x.shape.len())?;
    let columns = x.shape[first..].iter().product();
    let (y, params) = normalized(context, &x, columns, epsilon, rms)?;
    let (scale, bias) = (context.operand(1)?, context.optional(2)?);
    let mut result = vec![affine(context, &y, Some(&scale), bias.as_ref())?];
    if context.output_count() > 1 {
        if rms {
            return Err(LoweringError::unsupported("the standard deviation of a row as an output"));
        }
        let mean = context.new_output(1)?;
        let inverse = match context.output_count() {
            2 => context.new_tensor(mean.dtype, mean.shape.clone()),
            _ => context.new_output(2)?,
        };
        let grid = roci_kernels::params::Params::grid(&params);
        let constants = bytemuck::bytes_of(&params);
        context.segment().dispatch_with(
            "moments",
            grid,
            constants,
            &[x.tensor_id],
            &[mean.tensor_id, inverse.tensor_id],
        );
        result.extend([mean, inverse]);
        result.truncate(context.output_count());
    }
    Ok(result)
}

fn group(
    context: &mut Context<'_, '_>,
    groups: Option<usize>,
    epsilon: f32,
    by_group: bool,
) -> Result<Vec<DeviceTensor>, LoweringError> {
    let x = context.operand(0)?;
    let channels = x.shape.get(1).copied().unwrap_or(1);
    let groups = groups.unwrap_or(channels);
    let columns = x.shape[1..].iter().product::<usize>().checked_div(groups).unwrap_or(0);
    let (y, _) = normalized(context, &x, columns, epsilon, false)?;
    let (scale, bias) = (context.operand(1)?, context.operand(2)?);
    if by_group {
        let (y, each) = (y.reshaped([x.shape[0], groups, columns]), vec![groups, 1]);
        let result = affine(context, &y, Some(&scale.reshaped(each.clone())), Some(&bias.reshaped(each)))?;
        return Ok(vec![result.reshaped(x.shape)]);
    }
    let channel = along_channels(x.shape.len(), channels);
    Ok(vec![affine(context, &y, Some(&scale.reshaped(channel.clone())), Some(&bias.reshaped(channel)))?])
}

/// Divides each row along an axis by its norm.
fn lp(context: &mut Context<'_, '_>, axis: i64, euclidean: bool) -> Result<DeviceTensor, LoweringError> {
    let x = context.operand(0)?;
    let axis = shape::axis(axis, x.shape.len())?;
    let code = match euclidean {
        true => [ApplyWith(ElementwiseOp::Load, A), ApplyWith(ElementwiseOp::Mul, A)],
        false => [ApplyWith(ElementwiseOp::Load, A), Apply(ElementwiseOp::Abs)],
    };
    let sizes = context.map(&code, &[&x], x.dtype, &x.shape)?;
    let sum = context.sum(&sizes, &[axis])?;
    // ONNX keeps zeros: a norm of 0 is replaced by 1.
    let root = if euclidean {
        [Apply(ElementwiseOp::Sqrt), Save(0)]
    } else {
        [Save(0), ApplyWith(ElementwiseOp::Load, temporary(0))]
    };
    let code = [
        &[ApplyWith(ElementwiseOp::Load, float(1.0)), Save(3), ApplyWith(ElementwiseOp::Load, B)],
        &root[..],
        &[
            Apply(ElementwiseOp::F32ToBool),
            ApplyWith(ElementwiseOp::Select, temporary(0)),
            ApplyWith(ElementwiseOp::RDiv, A),
        ],
    ];
    context.map(&code.concat(), &[&x, &sum], x.dtype, &x.shape)
}

/// Normalizes along axes: subtracts the mean and divides by the standard deviation.
fn mean_variance(context: &mut Context<'_, '_>, axes: &[i64]) -> Result<DeviceTensor, LoweringError> {
    let x = context.operand(0)?;
    let axes = shape::axes(axes, x.shape.len())?;
    let count: usize = axes.iter().map(|&axis| x.shape[axis]).product();
    let (mean, variance) = moments(context, &x, &axes, count)?;
    // The constant is part of ONNX's definition, added to the deviation.
    let code = [
        ApplyWith(ElementwiseOp::Load, C),
        Apply(ElementwiseOp::Sqrt),
        ApplyWith(ElementwiseOp::Add, float(1e-9)),
        Save(0),
        ApplyWith(ElementwiseOp::Load, A),
        ApplyWith(ElementwiseOp::Sub, B),
        ApplyWith(ElementwiseOp::Div, temporary(0)),
    ];
    context.map(&code, &[&x, &mean, &variance], x.dtype, &x.shape)
}

/// Divides by a power of the sum of squares over neighboring channels.
fn local_response(
    context: &mut Context<'_, '_>,
    size: usize,
    [alpha, beta, bias]: [f32; 3],
) -> Result<DeviceTensor, LoweringError> {
    let x = context.operand(0)?;
    let channels = x.shape[1];
    let (before, after) = ((size - 1) / 2, (size - 1).div_ceil(2));
    let squares = context.map(
        &[ApplyWith(ElementwiseOp::Load, A), ApplyWith(ElementwiseOp::Mul, A)],
        &[&x],
        x.dtype,
        &x.shape,
    )?;
    let near = |channel: usize| channel.saturating_sub(before)..=channel.saturating_add(after).min(channels - 1);
    let taps: Vec<Vec<(usize, f64)>> =
        (0..channels).map(|channel| near(channel).map(|at| (at, 1.0)).collect()).collect();
    let sums = context.resample(&squares, 1, &taps)?;
    let code = [
        ApplyWith(ElementwiseOp::Load, B),
        ApplyWith(ElementwiseOp::Mul, float(alpha / size as f32)),
        ApplyWith(ElementwiseOp::Add, float(bias)),
        ApplyWith(ElementwiseOp::Pow, float(beta)),
        ApplyWith(ElementwiseOp::RDiv, A),
    ];
    context.map(&code, &[&x, &sums], x.dtype, &x.shape)
}
