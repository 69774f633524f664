//! Convolutions: dense, grouped, quantized, transposed and deformable.

use roci_graph::ops::movement::{GridMode, GridPadding};
use roci_graph::ops::product::transposed_axes;
use roci_graph::ops::window::{Axis, Count, Window};
use roci_graph::{DType, shape};
use roci_hal::DeviceInfo;
use roci_kernels::params::{Conv, ElementwiseOp as Op};

use super::build::{A, B, Instr::ApplyWith};
use super::product::{EXACT_TERMS, subtract_zero_point};
use super::sample::Sampling;
use super::{Context, padded_sizes, word};
use crate::error::LoweringError;
use crate::segment::DeviceTensor;
use crate::segment::TensorId;

/// The parameters of a convolution over up to three dimensions.
fn conv_params(x: &[usize], channels: usize, groups: usize, axes: &[Axis]) -> Result<Conv, LoweringError> {
    if !(1..=3).contains(&axes.len()) {
        return Err(LoweringError::unsupported(format!("convolution over {} dimensions", axes.len())));
    }
    Ok(Conv {
        batch: word(x[0])?,
        in_channels: word(x[1])?,
        out_channels: word(channels)?,
        groups: word(groups)?,
        input: padded_sizes(axes.iter().map(|axis| axis.input), 1)?,
        output: padded_sizes(axes.iter().map(|axis| axis.output), 1)?,
        kernel: padded_sizes(axes.iter().map(|axis| axis.kernel), 1)?,
        stride: padded_sizes(axes.iter().map(|axis| axis.stride), 1)?,
        dilation: padded_sizes(axes.iter().map(|axis| axis.dilation), 1)?,
        pad: padded_sizes(axes.iter().map(|axis| axis.before), 0)?.map(|pad| pad as i32),
        flags: 0,
        low: 0.0,
        high: 0.0,
        parts: 1,
    })
}

/// Where the weights are.
#[derive(Clone, Copy)]
enum Weights<'a> {
    /// On the device.
    At(&'a DeviceTensor),
    /// An operand of the node, uploaded as f32 or f16.
    Operand(usize),
}

impl Context<'_, '_> {
    /// Convolves f32 tensors.
    fn convolve(
        &mut self,
        x: &DeviceTensor,
        weights: Weights<'_>,
        bias: Option<&DeviceTensor>,
        axes: &[Axis],
        groups: usize,
    ) -> Result<DeviceTensor, LoweringError> {
        let shape = match weights {
            Weights::At(w) => w.shape.clone(),
            Weights::Operand(index) => self.shape_of(index)?,
        };
        let mut params = conv_params(&x.shape, shape[0], groups, axes)?;
        params.flags = if bias.is_some() { Conv::BIAS } else { 0 };
        let mut to = vec![x.shape[0], shape[0]];
        to.extend(axes.iter().map(|axis| axis.output));
        let target = self.new_tensor(x.dtype, to);
        if target.count() == 0 {
            return Ok(target);
        }
        // Tiles pay off if a group has enough channels to fill them.
        let dense = params.is_flat() && shape[0] / groups >= 16 && shape[1] * params.taps() as usize >= 16;
        let half = match weights {
            Weights::Operand(index) if dense => self.constant_f16(index)?,
            _ => None,
        };
        let is_half = half.is_some();
        let w = match (half, weights) {
            (Some(half), _) => half.tensor_id,
            (None, Weights::At(w)) => w.tensor_id,
            (None, Weights::Operand(index)) => self.operand(index)?.tensor_id,
        };
        let inputs = [x.tensor_id, w, bias.map_or(x.tensor_id, |bias| bias.tensor_id)];
        params.parts = if dense { partial_sums(&params, self.info()) } else { 1 };
        if params.parts > 1 {
            return self.convolve_in_parts(params, inputs, target, is_half);
        }
        let (kernel, grid) = match (dense, is_half) {
            (true, false) => ("conv_tiled", params.tiles()),
            (true, true) => ("conv_tiled_f16", params.tiles()),
            _ => ("conv", params.strips()),
        };
        self.segment().dispatch_with(kernel, grid, bytemuck::bytes_of(&params), &inputs, &[target.tensor_id]);
        Ok(target)
    }

    /// Computes partial sums, and then adds them.
    fn convolve_in_parts(
        &mut self,
        params: Conv,
        inputs: [TensorId; 3],
        target: DeviceTensor,
        is_half: bool,
    ) -> Result<DeviceTensor, LoweringError> {
        let kernel = if is_half { "conv_split_k_f16" } else { "conv_split_k" };
        let sums = self.segment().allocate(target.count() * params.parts as usize);
        let first = Conv { flags: 0, ..params };
        let [x, w, bias] = inputs;
        self.segment().dispatch_with(kernel, first.part_tiles(), bytemuck::bytes_of(&first), &[x, w, x], &[sums]);
        self.segment().dispatch("conv_split_k_reduce", &params, &[sums, bias], target.tensor_id);
        Ok(target)
    }
}

/// The number of partial sums of a tiled convolution that keeps the device busy: two workgroups per
/// compute unit, but no part so short that adding the parts costs more.
fn partial_sums(params: &Conv, device: &DeviceInfo) -> u32 {
    const MIN_DEPTH: u32 = 64;
    const MAX_PARTS: u32 = 32;
    // Native kernels gain nothing from partial sums.
    if roci_kernels::runs_native_kernels(device) {
        return 1;
    }
    let units = device.physical.iter().map(|one| one.compute_units).min().unwrap_or(1);
    let tiles = params.tiles().iter().fold(1u32, |all, &tiles| all.saturating_mul(tiles));
    ((4 * units / tiles.max(1)).div_ceil(2)).min(params.depth() / MIN_DEPTH).clamp(1, MAX_PARTS)
}

pub(super) fn conv(
    context: &mut Context<'_, '_>,
    window: &Window,
    groups: usize,
) -> Result<DeviceTensor, LoweringError> {
    let (x, bias) = (context.operand(0)?, context.optional(2)?);
    let axes = window.axes(&x.shape[2..], &context.shape_of(1)?[2..], Count::Whole)?;
    context.convolve(&x, Weights::Operand(1), bias.as_ref(), &axes, groups)
}

/// Convolves bytes minus their zero points, with 32-bit sums.
pub(super) fn integer_conv(
    context: &mut Context<'_, '_>,
    window: &Window,
    groups: usize,
) -> Result<DeviceTensor, LoweringError> {
    let (x, w) = (context.operand(0)?, context.operand(1)?);
    let (zero_x, zero_w) = (context.optional(2)?, context.optional(3)?);
    // Padding consists of zero points, which are zeros after the subtraction.
    let (x, w) = (subtract_zero_point(context, &x, zero_x, 0)?, subtract_zero_point(context, &w, zero_w, 0)?);
    let axes = window.axes(&x.shape[2..], &w.shape[2..], Count::Whole)?;
    let taps: usize = w.shape[2..].iter().product();
    let channels = (EXACT_TERMS / taps.max(1)).max(1);
    let mut sum = match context.optional(4)? {
        None => None,
        Some(bias) => Some(bias.reshaped([vec![w.shape[0]], vec![1; axes.len()]].concat())),
    };
    if taps > EXACT_TERMS || groups > 1 && w.shape[1] > channels {
        return Err(LoweringError::unsupported(format!(
            "a convolution of bytes with {taps} weights in {groups} groups"
        )));
    }
    // Partial sums that are exact in f32, added as integers.
    for start in (0..w.shape[1].max(1)).step_by(channels) {
        let size = channels.min(w.shape[1] - start);
        let (left, right) = match groups {
            1 => (context.slice(&x, 1, start, size)?, context.slice(&w, 1, start, size)?),
            _ => (x.clone(), w.clone()),
        };
        let part = context.convolve(&left, Weights::At(&right), None, &axes, groups)?;
        sum = Some(context.add_exact(&part, sum)?);
    }
    sum.ok_or_else(|| LoweringError::unsupported("an empty convolution"))
}

pub(super) fn transposed(
    context: &mut Context<'_, '_>,
    window: &Window,
    groups: usize,
    output_padding: &[usize],
    output_shape: Option<&[usize]>,
) -> Result<DeviceTensor, LoweringError> {
    let (x, w, bias) = (context.operand(0)?, context.operand(1)?, context.optional(2)?);
    let axes = transposed_axes(window, groups, output_padding, output_shape, &x.shape, &w.shape)?;
    transposed_conv(context, &x, &w, bias.as_ref(), &axes, groups)
}

/// A transposed convolution. `axes` are those of the convolution whose gradient it is.
fn transposed_conv(
    context: &mut Context<'_, '_>,
    x: &DeviceTensor,
    w: &DeviceTensor,
    bias: Option<&DeviceTensor>,
    axes: &[Axis],
    groups: usize,
) -> Result<DeviceTensor, LoweringError> {
    let swapped: Vec<Axis> = axes.iter().map(|axis| Axis { input: axis.output, output: axis.input, ..*axis }).collect();
    let mut params = conv_params(&x.shape, w.shape[1] * groups, groups, &swapped)?;
    params.flags = if bias.is_some() { Conv::BIAS } else { 0 };
    let mut to = vec![x.shape[0], w.shape[1] * groups];
    to.extend(axes.iter().map(|axis| axis.input));
    let target = context.new_tensor(x.dtype, to);
    if target.count() > 0 {
        let inputs = [x.tensor_id, w.tensor_id, bias.map_or(w.tensor_id, |bias| bias.tensor_id)];
        context.segment().dispatch("conv_transpose", &params, &inputs, target.tensor_id);
    }
    Ok(target)
}

/// Col2Im: sums of overlapping blocks, as a transposed convolution whose weights place each element
/// of a block.
pub(super) fn col2im(
    context: &mut Context<'_, '_>,
    dilations: Option<&[usize]>,
    pads: Option<&[usize]>,
    strides: Option<&[usize]>,
) -> Result<DeviceTensor, LoweringError> {
    let x = context.operand(0)?;
    if !x.dtype.is_float() {
        return Err(LoweringError::unsupported(format!("columns of {}", x.dtype)));
    }
    let to = context.output(0)?.shape()?.to_vec();
    let block = shape::sizes(&context.value(2)?.integers()?)?;
    let figure = |list: Option<&[usize]>, axis: usize, none: usize| list.map_or(none, |list| list[axis]);
    let rank = block.len();
    let axes: Vec<Axis> = (0..rank)
        .map(|axis| {
            let (before, after) = (figure(pads, axis, 0), figure(pads, rank + axis, 0));
            let (stride, dilation) = (figure(strides, axis, 1), figure(dilations, axis, 1));
            let extent = (block[axis] - 1) * dilation + 1;
            let output = (to[2 + axis] + before + after - extent) / stride + 1;
            Axis { input: to[2 + axis], output, kernel: block[axis], stride, dilation, before, after }
        })
        .collect();
    let (channels, taps) = (to[1], block.iter().product::<usize>());
    let weight = |at: usize| if at / taps % taps == at % taps { 1.0 } else { 0.0 };
    let weights: Vec<f32> = (0..channels * taps * taps).map(weight).collect();
    let weights = context.f32_table(&weights, [vec![channels * taps, 1], block].concat())?;
    let mut blocks = vec![x.shape[0], x.shape[1]];
    blocks.extend(axes.iter().map(|axis| axis.output));
    let result = transposed_conv(context, &x.reshaped(blocks), &weights, None, &axes, channels)?;
    context.round_to_dtype(result)
}

/// Deformable convolution: samples the image at the moved positions, then multiplies.
pub(super) fn deformable(
    context: &mut Context<'_, '_>,
    window: &Window,
    groups: usize,
    offset_groups: usize,
) -> Result<DeviceTensor, LoweringError> {
    let (x, w, offsets) = (context.operand(0)?, context.operand(1)?, context.operand(2)?);
    let (bias, mask) = (context.optional(3)?, context.optional(4)?);
    let axes = window.axes(&x.shape[2..], &w.shape[2..], Count::Whole)?;
    let [rows, columns] = axes[..] else {
        return Err(LoweringError::unsupported(format!("a deformable convolution over {} dimensions", axes.len())));
    };
    let to = context.output(0)?.shape()?.to_vec();
    let (batch, channels) = (x.shape[0], x.shape[1]);
    let (taps, plane) = (rows.kernel * columns.kernel, rows.output * columns.output);
    let lines = batch * offset_groups;
    // Sample positions in pixels, `[batch * offset groups, taps * plane]`: regular positions plus
    // offsets.
    let offsets = offsets.reshaped([lines, taps, 2, plane]);
    let mut places = Vec::new();
    for (axis, figures) in [rows, columns].iter().enumerate() {
        let at = |tap: usize, place: usize| {
            let (output, tap) = match axis {
                0 => (place / columns.output, tap / columns.kernel),
                _ => (place % columns.output, tap % columns.kernel),
            };
            (output * figures.stride + tap * figures.dilation) as f32 - figures.before as f32
        };
        let base: Vec<f32> = (0..taps * plane).map(|index| at(index / plane, index % plane)).collect();
        let base = context.f32_table(&base, [taps, plane])?;
        let moved = context.slice(&offsets, 2, axis, 1)?.reshaped([lines, taps, plane]);
        let code = [ApplyWith(Op::Load, A), ApplyWith(Op::Add, B)];
        let place = context.map(&code, &[&moved, &base], DType::F32, &[lines, taps, plane])?;
        places.push(place.reshaped([lines, taps * plane]));
    }
    let images = x.reshaped([lines, channels / offset_groups, rows.input * columns.input]);
    let sampling = Sampling { mode: GridMode::Linear, padding: GridPadding::Zeros, align_corners: false };
    let mut sampled = context.sample(&images, &[rows.input, columns.input], &places, sampling)?;
    if let Some(mask) = mask {
        let mask = mask.reshaped([lines, 1, taps * plane]);
        let shape = sampled.shape.clone();
        sampled = context.map(&[ApplyWith(Op::Load, A), ApplyWith(Op::Mul, B)], &[&sampled, &mask], x.dtype, &shape)?;
    }
    let depth = channels / groups * taps;
    let sampled = sampled.reshaped([batch, groups, depth, plane]);
    let weights = w.reshaped([groups, w.shape[0] / groups, depth]);
    let result = context.product(&weights, &sampled, [w.shape[0] / groups, plane, depth])?.reshaped(to.clone());
    let Some(bias) = bias else { return Ok(result) };
    let bias = bias.reshaped([w.shape[0], 1, 1]);
    context.map(&[ApplyWith(Op::Load, A), ApplyWith(Op::Add, B)], &[&result, &bias], x.dtype, &to)
}
