//! Normalisations.

use roci_graph::ops::Norm;
use roci_graph::shape;
use roci_kernels::params::{ChainCode, ChainOp, ChainOperand, Normalize};

use super::{Context, Operand, word};
use crate::error::Refusal;

pub(super) fn lower(op: &Norm, context: &mut Context<'_, '_>) -> Result<Vec<Operand>, Refusal> {
    match op {
        Norm::Batch { epsilon, momentum: None } => batch(context, *epsilon),
        Norm::Layer { axis, epsilon, rms, .. } => layer(context, *axis, *epsilon, *rms),
        Norm::Group { groups, epsilon, by_group: false } => group(context, *groups, *epsilon),
        other => Err(Refusal::unsupported(format!("{other:?}"))),
    }
}

fn batch(context: &mut Context<'_, '_>, epsilon: f32) -> Result<Vec<Operand>, Refusal> {
    use ChainOp as C;
    let x = context.operand(0)?;
    let [scale, bias, mean, variance] = [1, 2, 3, 4].map(|index| context.operand(index));
    let (scale, bias, mean, variance) = (scale?, bias?, mean?, variance?);
    if scale.shape.len() != 1 {
        return Err(Refusal::unsupported("a value for each place in a sample"));
    }
    // factor = scale / sqrt(variance + epsilon); y = x * factor + (bias - mean * factor), by channel.
    let channels = scale.shape.clone();
    let factor = ChainCode::new()
        .with(C::Load, ChainOperand::A)?
        .with(C::Add, epsilon)?
        .then(C::Sqrt)?
        .with(C::RDiv, ChainOperand::B)?;
    let factor = context.chain(&factor, &[&variance, &scale], x.dtype, &channels)?;
    let shift = ChainCode::new()
        .with(C::Load, ChainOperand::A)?
        .with(C::Mul, ChainOperand::B)?
        .with(C::RSub, ChainOperand::C)?;
    let shift = context.chain(&shift, &[&mean, &factor, &bias], x.dtype, &channels)?;
    let channel = along_channels(x.shape.len(), channels[0]);
    Ok(vec![affine(context, &x, Some(&factor.reshaped(channel.clone())), Some(&shift.reshaped(channel)))?])
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

fn group(context: &mut Context<'_, '_>, groups: Option<usize>, epsilon: f32) -> Result<Vec<Operand>, Refusal> {
    let x = context.operand(0)?;
    let channels = x.shape.get(1).copied().unwrap_or(1);
    let groups = groups.unwrap_or(channels);
    let columns = x.shape[1..].iter().product::<usize>().checked_div(groups).unwrap_or(0);
    let (y, _) = normalized(context, &x, columns, epsilon, false)?;
    let channel = along_channels(x.shape.len(), channels);
    let (scale, bias) = (context.operand(1)?, context.operand(2)?);
    Ok(vec![affine(context, &y, Some(&scale.reshaped(channel.clone())), Some(&bias.reshaped(channel)))?])
}
