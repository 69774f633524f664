//! Convolutions of all kinds.

use roci_graph::ops::movement::{GridMode, GridPadding};
use roci_graph::ops::product::transposed_axes;
use roci_graph::ops::window::{Axis, Count, Window};
use roci_graph::{DType, shape};
use roci_hal::DeviceInfo;
use roci_kernels::params::{ChainOp as Op, Conv};

use super::build::{A, B, Step::With};
use super::product::{EXACT_TERMS, less_zero};
use super::sample::Sampling;
use super::{Context, Operand, three, word};
use crate::error::Refusal;
use crate::segment::Slot;

/// The figures of a convolution over up to three dimensions.
fn figures(x: &[usize], channels: usize, groups: usize, axes: &[Axis]) -> Result<Conv, Refusal> {
    if !(1..=3).contains(&axes.len()) {
        return Err(Refusal::unsupported(format!("convolution over {} dimensions", axes.len())));
    }
    Ok(Conv {
        batch: word(x[0])?,
        in_channels: word(x[1])?,
        out_channels: word(channels)?,
        groups: word(groups)?,
        input: three(axes.iter().map(|axis| axis.input), 1)?,
        output: three(axes.iter().map(|axis| axis.output), 1)?,
        kernel: three(axes.iter().map(|axis| axis.kernel), 1)?,
        stride: three(axes.iter().map(|axis| axis.stride), 1)?,
        dilation: three(axes.iter().map(|axis| axis.dilation), 1)?,
        pad: three(axes.iter().map(|axis| axis.before), 0)?.map(|pad| pad as i32),
        flags: 0,
        low: 0.0,
        high: 0.0,
        parts: 1,
    })
}

/// Where weights are.
#[derive(Clone, Copy)]
enum Weights<'a> {
    /// On the device.
    At(&'a Operand),
    /// An operand of the node, which goes to the device in the form that suits.
    Operand(usize),
}

impl Context<'_, '_> {
    /// Convolves floats.
    fn convolved(
        &mut self,
        x: &Operand,
        weights: Weights<'_>,
        bias: Option<&Operand>,
        axes: &[Axis],
        groups: usize,
    ) -> Result<Operand, Refusal> {
        let shape = match weights {
            Weights::At(w) => w.shape.clone(),
            Weights::Operand(index) => self.shape_of(index)?,
        };
        let mut params = figures(&x.shape, shape[0], groups, axes)?;
        params.flags = if bias.is_some() { Conv::BIAS } else { 0 };
        let mut to = vec![x.shape[0], shape[0]];
        to.extend(axes.iter().map(|axis| axis.output));
        let target = self.new_tensor(x.dtype, to);
        if target.count() == 0 {
            return Ok(target);
        }
        // Tiles pay where a group has enough channels to fill them.
        let dense = params.is_flat() && shape[0] / groups >= 16 && shape[1] * params.taps() as usize >= 16;
        let half = match weights {
            Weights::Operand(index) if dense => self.halves(index)?,
            _ => None,
        };
        let is_half = half.is_some();
        let w = match (half, weights) {
            (Some(half), _) => half.slot,
            (None, Weights::At(w)) => w.slot,
            (None, Weights::Operand(index)) => self.operand(index)?.slot,
        };
        let inputs = [x.slot, w, bias.map_or(x.slot, |bias| bias.slot)];
        params.parts = if dense { parts(&params, self.info()) } else { 1 };
        if params.parts > 1 {
            return self.in_parts(params, inputs, target, is_half);
        }
        let (kernel, grid) = match (dense, is_half) {
            (true, false) => ("conv_tiled", params.tiles()),
            (true, true) => ("conv_tiled_f16", params.tiles()),
            _ => ("conv", params.strips()),
        };
        self.segment().run_with(kernel, grid, bytemuck::bytes_of(&params), &inputs, &[target.slot]);
        Ok(target)
    }

    /// Makes the sums in parts, and joins these.
    fn in_parts(
        &mut self,
        params: Conv,
        inputs: [Slot; 3],
        target: Operand,
        is_half: bool,
    ) -> Result<Operand, Refusal> {
        let kernel = if is_half { "conv_partial_f16" } else { "conv_partial" };
        let sums = self.segment().allocate(target.count() * params.parts as usize);
        let first = Conv { flags: 0, ..params };
        let [x, w, bias] = inputs;
        self.segment().run_with(kernel, first.part_tiles(), bytemuck::bytes_of(&first), &[x, w, x], &[sums]);
        self.segment().run("conv_join", &params, &[sums, bias], target.slot);
        Ok(target)
    }
}

/// Into how many parts the sums of a tiled convolution should be cut so that a device has enough to do: two workgroups
/// a compute unit, but no part too small to be worth its share of the joining.
fn parts(params: &Conv, device: &DeviceInfo) -> u32 {
    const LEAST_DEPTH: u32 = 64;
    const MOST: u32 = 32;
    // Native kernels have no tiles to wait for.
    if roci_kernels::takes_native(device) {
        return 1;
    }
    let units = device.physical.iter().map(|one| one.compute_units).min().unwrap_or(1);
    let tiles = params.tiles().iter().fold(1u32, |all, &tiles| all.saturating_mul(tiles));
    ((4 * units / tiles.max(1)).div_ceil(2)).min(params.depth() / LEAST_DEPTH).clamp(1, MOST)
}

pub(super) fn conv(context: &mut Context<'_, '_>, window: &Window, groups: usize) -> Result<Operand, Refusal> {
    let (x, bias) = (context.operand(0)?, context.optional(2)?);
    let axes = window.axes(&x.shape[2..], &context.shape_of(1)?[2..], Count::Whole)?;
    context.convolved(&x, Weights::Operand(1), bias.as_ref(), &axes, groups)
}

/// Bytes less their zero points, with sums in 32 bits.
pub(super) fn bytes(context: &mut Context<'_, '_>, window: &Window, groups: usize) -> Result<Operand, Refusal> {
    let (x, w) = (context.operand(0)?, context.operand(1)?);
    let (zero_x, zero_w) = (context.optional(2)?, context.optional(3)?);
    // Padding is made of zero points, which are zeros once they are taken away.
    let (x, w) = (less_zero(context, &x, zero_x, 0)?, less_zero(context, &w, zero_w, 0)?);
    let axes = window.axes(&x.shape[2..], &w.shape[2..], Count::Whole)?;
    let taps: usize = w.shape[2..].iter().product();
    let channels = (EXACT_TERMS / taps.max(1)).max(1);
    let mut sum = match context.optional(4)? {
        None => None,
        Some(bias) => Some(bias.reshaped([vec![w.shape[0]], vec![1; axes.len()]].concat())),
    };
    if taps > EXACT_TERMS || groups > 1 && w.shape[1] > channels {
        return Err(Refusal::unsupported(format!("a convolution of bytes with {taps} weights in {groups} groups")));
    }
    // Parts of the sum that are exact in single precision, added as integers.
    for start in (0..w.shape[1].max(1)).step_by(channels) {
        let size = channels.min(w.shape[1] - start);
        let (left, right) = match groups {
            1 => (context.part(&x, 1, start, size)?, context.part(&w, 1, start, size)?),
            _ => (x.clone(), w.clone()),
        };
        let part = context.convolved(&left, Weights::At(&right), None, &axes, groups)?;
        sum = Some(context.plus_exact(&part, sum)?);
    }
    sum.ok_or_else(|| Refusal::unsupported("a convolution of nothing"))
}

pub(super) fn transposed(
    context: &mut Context<'_, '_>,
    window: &Window,
    groups: usize,
    output_padding: &[usize],
    output_shape: Option<&[usize]>,
) -> Result<Operand, Refusal> {
    let (x, w, bias) = (context.operand(0)?, context.operand(1)?, context.optional(2)?);
    let axes = transposed_axes(window, groups, output_padding, output_shape, &x.shape, &w.shape)?;
    spread(context, &x, &w, bias.as_ref(), &axes, groups)
}

/// A transposed convolution; `axes` are those of the convolution whose gradient it is.
fn spread(
    context: &mut Context<'_, '_>,
    x: &Operand,
    w: &Operand,
    bias: Option<&Operand>,
    axes: &[Axis],
    groups: usize,
) -> Result<Operand, Refusal> {
    let swapped: Vec<Axis> = axes.iter().map(|axis| Axis { input: axis.output, output: axis.input, ..*axis }).collect();
    let mut params = figures(&x.shape, w.shape[1] * groups, groups, &swapped)?;
    params.flags = if bias.is_some() { Conv::BIAS } else { 0 };
    let mut to = vec![x.shape[0], w.shape[1] * groups];
    to.extend(axes.iter().map(|axis| axis.input));
    let target = context.new_tensor(x.dtype, to);
    if target.count() > 0 {
        let inputs = [x.slot, w.slot, bias.map_or(w.slot, |bias| bias.slot)];
        context.segment().run("conv_transpose", &params, &inputs, target.slot);
    }
    Ok(target)
}

/// Sums of blocks that overlap: a transposed convolution whose weights put each pixel of a block at its place.
pub(super) fn columns(
    context: &mut Context<'_, '_>,
    dilations: Option<&[usize]>,
    pads: Option<&[usize]>,
    strides: Option<&[usize]>,
) -> Result<Operand, Refusal> {
    let x = context.operand(0)?;
    if !x.dtype.is_float() {
        return Err(Refusal::unsupported(format!("columns of {}", x.dtype)));
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
    let weights = context.numbers(&weights, [vec![channels * taps, 1], block].concat())?;
    let mut blocks = vec![x.shape[0], x.shape[1]];
    blocks.extend(axes.iter().map(|axis| axis.output));
    let made = spread(context, &x.reshaped(blocks), &weights, None, &axes, channels)?;
    context.narrowed(made)
}

/// Weights that look at places which data moves: samples of the image, then a product.
pub(super) fn deformed(
    context: &mut Context<'_, '_>,
    window: &Window,
    groups: usize,
    offset_groups: usize,
) -> Result<Operand, Refusal> {
    let (x, w, offsets) = (context.operand(0)?, context.operand(1)?, context.operand(2)?);
    let (bias, mask) = (context.optional(3)?, context.optional(4)?);
    let axes = window.axes(&x.shape[2..], &w.shape[2..], Count::Whole)?;
    let [rows, columns] = axes[..] else {
        return Err(Refusal::unsupported(format!("a deformable convolution over {} dimensions", axes.len())));
    };
    let to = context.output(0)?.shape()?.to_vec();
    let (batch, channels) = (x.shape[0], x.shape[1]);
    let (taps, plane) = (rows.kernel * columns.kernel, rows.output * columns.output);
    let lines = batch * offset_groups;
    // Places in pixels, `[batch * offset groups, taps * plane]`: where the weights would look, and how far they are
    // moved.
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
        let base = context.numbers(&base, [taps, plane])?;
        let moved = context.part(&offsets, 2, axis, 1)?.reshaped([lines, taps, plane]);
        let code = [With(Op::Load, A), With(Op::Add, B)];
        let place = context.map(&code, &[&moved, &base], DType::F32, &[lines, taps, plane])?;
        places.push(place.reshaped([lines, taps * plane]));
    }
    let images = x.reshaped([lines, channels / offset_groups, rows.input * columns.input]);
    let sampling = Sampling { mode: GridMode::Linear, padding: GridPadding::Zeros, align_corners: false };
    let mut seen = context.sampled(&images, &[rows.input, columns.input], &places, sampling)?;
    if let Some(mask) = mask {
        let mask = mask.reshaped([lines, 1, taps * plane]);
        let shape = seen.shape.clone();
        seen = context.map(&[With(Op::Load, A), With(Op::Mul, B)], &[&seen, &mask], x.dtype, &shape)?;
    }
    let depth = channels / groups * taps;
    let seen = seen.reshaped([batch, groups, depth, plane]);
    let weights = w.reshaped([groups, w.shape[0] / groups, depth]);
    let made = context.product(&weights, &seen, [w.shape[0] / groups, plane, depth])?.reshaped(to.clone());
    let Some(bias) = bias else { return Ok(made) };
    let bias = bias.reshaped([w.shape[0], 1, 1]);
    context.map(&[With(Op::Load, A), With(Op::Add, B)], &[&made, &bias], x.dtype, &to)
}
