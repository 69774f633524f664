//! Normalisations.

use roci_graph::ops::Norm;
use roci_graph::shape;
use roci_kernels::params::{ChainCode, ChainOp, ChainOperand, Normalize};

use super::build::{A, B, C, Step::Do, Step::Save, Step::With, float, temporary};
use super::{Context, Operand, word};
use crate::error::Refusal;

pub(super) fn lower(op: &Norm, context: &mut Context<'_, '_>) -> Result<Vec<Operand>, Refusal> {
    match op {
        Norm::Batch { epsilon, momentum: None } => batch(context, *epsilon),
        Norm::Batch { epsilon, momentum: Some(kept) } => training(context, *epsilon, *kept),
        Norm::Layer { axis, epsilon, rms, .. } => layer(context, *axis, *epsilon, *rms),
        Norm::Group { groups, epsilon, by_group } => group(context, *groups, *epsilon, *by_group),
        Norm::Lp { axis, euclidean } => Ok(vec![lp(context, *axis, *euclidean)?]),
        Norm::MeanVariance { axes } => Ok(vec![mean_variance(context, axes)?]),
        Norm::LocalResponse { size, alpha, beta, bias } => {
            Ok(vec![local_response(context, *size, [*alpha, *beta, *bias])?])
        }
        other => Err(Refusal::unsupported(format!("{other:?}"))),
    }
}

fn batch(context: &mut Context<'_, '_>, epsilon: f32) -> Result<Vec<Operand>, Refusal> {
    let x = context.operand(0)?;
    let [mean, variance] = [3, 4].map(|index| context.operand(index));
    Ok(vec![batch_by(context, &x, &mean?, &variance?, epsilon)?])
}

/// By mean and variance, each of a value by channel or by place in a sample.
fn batch_by(
    context: &mut Context<'_, '_>,
    x: &Operand,
    mean: &Operand,
    variance: &Operand,
    epsilon: f32,
) -> Result<Operand, Refusal> {
    use ChainOp as C;
    let (scale, bias) = (context.operand(1)?, context.operand(2)?);
    // factor = scale / sqrt(variance + epsilon); y = x * factor + (bias - mean * factor), by channel.
    let channels = scale.shape.clone();
    let factor = ChainCode::new()
        .with(C::Load, ChainOperand::A)?
        .with(C::Add, epsilon)?
        .then(C::Sqrt)?
        .with(C::RDiv, ChainOperand::B)?;
    let factor = context.chain(&factor, &[variance, &scale], x.dtype, &channels)?;
    let shift = ChainCode::new()
        .with(C::Load, ChainOperand::A)?
        .with(C::Mul, ChainOperand::B)?
        .with(C::RSub, ChainOperand::C)?;
    let shift = context.chain(&shift, &[mean, &factor, &bias], x.dtype, &channels)?;
    let channel = match channels[..] {
        [size] => along_channels(x.shape.len(), size),
        _ => channels,
    };
    affine(context, x, Some(&factor.reshaped(channel.clone())), Some(&shift.reshaped(channel)))
}

/// In training the batch tells mean and variance, and the given ones move toward them.
fn training(context: &mut Context<'_, '_>, epsilon: f32, kept: f32) -> Result<Vec<Operand>, Refusal> {
    let (x, given_mean, given_variance) = (context.operand(0)?, context.operand(3)?, context.operand(4)?);
    let sets = given_mean.shape.len();
    let axes: Vec<usize> = (0..x.shape.len()).filter(|&axis| axis == 0 || axis > sets).collect();
    let count: usize = axes.iter().map(|&axis| x.shape[axis]).product();
    let (mean, squares) = moments(context, &x, &axes, count)?;
    let (mean, variance) = (mean.reshaped(given_mean.shape.clone()), squares.reshaped(given_mean.shape.clone()));
    let mut made = vec![batch_by(context, &x, &mean, &variance, epsilon)?];
    let code = [
        With(ChainOp::Load, A),
        With(ChainOp::Mul, float(kept)),
        Save(0),
        With(ChainOp::Load, B),
        With(ChainOp::Mul, float(1.0 - kept)),
        With(ChainOp::Add, temporary(0)),
    ];
    for (old, new) in [(&given_mean, &mean), (&given_variance, &variance)] {
        made.push(context.map(&code, &[old, new], old.dtype, &old.shape)?);
    }
    made.extend([mean, variance]);
    made.truncate(context.outputs());
    Ok(made)
}

/// Mean and variance along axes, which stay with size 1.
fn moments(
    context: &mut Context<'_, '_>,
    x: &Operand,
    axes: &[usize],
    count: usize,
) -> Result<(Operand, Operand), Refusal> {
    let over = [With(ChainOp::Load, A), With(ChainOp::Div, float(count as f32))];
    let sum = context.summed(x, axes)?;
    let mean = context.map(&over, &[&sum], x.dtype, &sum.shape)?;
    let code = [With(ChainOp::Load, A), With(ChainOp::Sub, B), Save(0), With(ChainOp::Mul, temporary(0))];
    let squares = context.map(&code, &[x, &mean], x.dtype, &x.shape)?;
    let sum = context.summed(&squares, axes)?;
    let variance = context.map(&over, &[&sum], x.dtype, &sum.shape)?;
    Ok((mean, variance))
}

/// A shape by which a value for each channel is broadcast.
fn along_channels(rank: usize, channels: usize) -> Vec<usize> {
    let mut shape = vec![channels];
    shape.extend(std::iter::repeat_n(1, rank.saturating_sub(2)));
    shape
}

/// `x * scale + bias`, either of which may be missing.
fn affine(
    context: &mut Context<'_, '_>,
    x: &Operand,
    scale: Option<&Operand>,
    bias: Option<&Operand>,
) -> Result<Operand, Refusal> {
    let mut code = ChainCode::new().with(ChainOp::Load, ChainOperand::A)?;
    let mut operands = vec![x];
    for (op, operand) in [(ChainOp::Mul, scale), (ChainOp::Add, bias)] {
        if let Some(operand) = operand {
            code = code.with(op, ChainOperand::Input(operands.len() as u8))?;
            operands.push(operand);
        }
    }
    context.chain(&code, &operands, x.dtype, &x.shape)
}

/// Rows of so many elements, less their mean and over their deviation.
fn normalized(
    context: &mut Context<'_, '_>,
    x: &Operand,
    columns: usize,
    epsilon: f32,
    rms: bool,
) -> Result<(Operand, Normalize), Refusal> {
    let rows = x.count().checked_div(columns).unwrap_or(0);
    let params = Normalize { rows: word(rows)?, columns: word(columns)?, epsilon, centred: u32::from(!rms) };
    let target = context.new_tensor(x.dtype, x.shape.clone());
    if target.count() > 0 {
        context.segment().run("normalize_rows", &params, &[x.slot], target.slot);
    }
    Ok((target, params))
}

fn layer(context: &mut Context<'_, '_>, axis: i64, epsilon: f32, rms: bool) -> Result<Vec<Operand>, Refusal> {
    let x = context.operand(0)?;
    let first = shape::axis(axis, x.shape.len())?;
    let columns = x.shape[first..].iter().product();
    let (y, params) = normalized(context, &x, columns, epsilon, rms)?;
    let (scale, bias) = (context.operand(1)?, context.optional(2)?);
    let mut made = vec![affine(context, &y, Some(&scale), bias.as_ref())?];
    if context.outputs() > 1 {
        if rms {
            return Err(Refusal::unsupported("the deviation of a row as an output"));
        }
        let mean = context.new_output(1)?;
        let inverse = match context.outputs() {
            2 => context.new_tensor(mean.dtype, mean.shape.clone()),
            _ => context.new_output(2)?,
        };
        let grid = roci_kernels::params::Params::grid(&params);
        let constants = bytemuck::bytes_of(&params);
        context.segment().run_with("moments", grid, constants, &[x.slot], &[mean.slot, inverse.slot]);
        made.extend([mean, inverse]);
        made.truncate(context.outputs());
    }
    Ok(made)
}

fn group(
    context: &mut Context<'_, '_>,
    groups: Option<usize>,
    epsilon: f32,
    by_group: bool,
) -> Result<Vec<Operand>, Refusal> {
    let x = context.operand(0)?;
    let channels = x.shape.get(1).copied().unwrap_or(1);
    let groups = groups.unwrap_or(channels);
    let columns = x.shape[1..].iter().product::<usize>().checked_div(groups).unwrap_or(0);
    let (y, _) = normalized(context, &x, columns, epsilon, false)?;
    let (scale, bias) = (context.operand(1)?, context.operand(2)?);
    if by_group {
        let (y, each) = (y.reshaped([x.shape[0], groups, columns]), vec![groups, 1]);
        let made = affine(context, &y, Some(&scale.reshaped(each.clone())), Some(&bias.reshaped(each)))?;
        return Ok(vec![made.reshaped(x.shape)]);
    }
    let channel = along_channels(x.shape.len(), channels);
    Ok(vec![affine(context, &y, Some(&scale.reshaped(channel.clone())), Some(&bias.reshaped(channel)))?])
}

/// Rows along an axis, divided by their norm.
fn lp(context: &mut Context<'_, '_>, axis: i64, euclidean: bool) -> Result<Operand, Refusal> {
    let x = context.operand(0)?;
    let axis = shape::axis(axis, x.shape.len())?;
    let code = match euclidean {
        true => [With(ChainOp::Load, A), With(ChainOp::Mul, A)],
        false => [With(ChainOp::Load, A), Do(ChainOp::Abs)],
    };
    let sizes = context.map(&code, &[&x], x.dtype, &x.shape)?;
    let sum = context.summed(&sizes, &[axis])?;
    // ONNX wants zeros to stay zeros: they are divided by 1.
    let root = if euclidean { [Do(ChainOp::Sqrt), Save(0)] } else { [Save(0), With(ChainOp::Load, temporary(0))] };
    let code = [
        &[With(ChainOp::Load, float(1.0)), Save(3), With(ChainOp::Load, B)],
        &root[..],
        &[Do(ChainOp::F32ToBool), With(ChainOp::Select, temporary(0)), With(ChainOp::RDiv, A)],
    ];
    context.map(&code.concat(), &[&x, &sum], x.dtype, &x.shape)
}

/// Elements along axes, less their mean and over their deviation.
fn mean_variance(context: &mut Context<'_, '_>, axes: &[i64]) -> Result<Operand, Refusal> {
    let x = context.operand(0)?;
    let axes = shape::axes(axes, x.shape.len())?;
    let count: usize = axes.iter().map(|&axis| x.shape[axis]).product();
    let (mean, variance) = moments(context, &x, &axes, count)?;
    // ONNX defines it with this constant, added to the deviation.
    let code = [
        With(ChainOp::Load, C),
        Do(ChainOp::Sqrt),
        With(ChainOp::Add, float(1e-9)),
        Save(0),
        With(ChainOp::Load, A),
        With(ChainOp::Sub, B),
        With(ChainOp::Div, temporary(0)),
    ];
    context.map(&code, &[&x, &mean, &variance], x.dtype, &x.shape)
}

/// Elements by the squares of those in neighbouring channels.
fn local_response(
    context: &mut Context<'_, '_>,
    size: usize,
    [alpha, beta, bias]: [f32; 3],
) -> Result<Operand, Refusal> {
    let x = context.operand(0)?;
    let channels = x.shape[1];
    let (before, after) = ((size - 1) / 2, (size - 1).div_ceil(2));
    let squares = context.map(&[With(ChainOp::Load, A), With(ChainOp::Mul, A)], &[&x], x.dtype, &x.shape)?;
    let near = |channel: usize| channel.saturating_sub(before)..=channel.saturating_add(after).min(channels - 1);
    let taps: Vec<Vec<(usize, f64)>> =
        (0..channels).map(|channel| near(channel).map(|at| (at, 1.0)).collect()).collect();
    let sums = context.resampled(&squares, 1, &taps)?;
    let code = [
        With(ChainOp::Load, B),
        With(ChainOp::Mul, float(alpha / size as f32)),
        With(ChainOp::Add, float(bias)),
        With(ChainOp::Pow, float(beta)),
        With(ChainOp::RDiv, A),
    ];
    context.map(&code, &[&x, &sums], x.dtype, &x.shape)
}
