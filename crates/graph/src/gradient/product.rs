//! Gradients of products: matrices and convolutions.
//!
//! A convolution's gradient by its input is the transposed convolution of the same weights. That by its weights is a
//! convolution too: of the input with the gradient, samples and channels exchanged, where strides and dilations take
//! each other's place.

use super::Back;
use crate::ValueId;
use crate::build::Builder;
use crate::interpreter::RunError;
use crate::ops::product::transposed_axes;
use crate::ops::reduction::Fold;
use crate::ops::window::{Axis, Count, Padding, Window};
use crate::ops::{Movement, Product};

pub(super) fn back(op: &Product, back: &mut Back<'_>) -> Result<(), RunError> {
    match op {
        Product::MatMul { transpose_a, transpose_b, alpha, beta } => {
            matmul(back, [*transpose_a, *transpose_b], *alpha, *beta)
        }
        Product::Conv { window, groups } => {
            let (x, w) = (back.shape(back.input(0)?)?, back.shape(back.input(1)?)?);
            let axes = window.axes(&x[2..], &w[2..], Count::Whole).map_err(|error| back.error(error))?;
            conv(back, &axes, *groups)
        }
        Product::ConvTranspose { window, groups, output_padding, output_shape } => {
            let (x, w) = (back.shape(back.input(0)?)?, back.shape(back.input(1)?)?);
            let axes = transposed_axes(window, *groups, output_padding, output_shape.as_deref(), &x, &w);
            let axes = axes.map_err(|error| back.error(error))?;
            conv_transpose(back, &axes, *groups)
        }
        _ => Err(back.without()),
    }
}

fn matmul(back: &mut Back<'_>, transposed: [bool; 2], alpha: f32, beta: f32) -> Result<(), RunError> {
    let g = back.got()?;
    if back.wants(2) {
        let made = if beta == 1.0 { g } else { back.builder.scale(g, beta.into())? };
        back.give(2, made)?;
    }
    let [a, b] = [back.input(0)?, back.input(1)?];
    let shapes = [back.shape(a)?, back.shape(b)?];
    // A row, or a column, is a matrix here; the result lacks that axis.
    let mut to = back.shape(g)?;
    if shapes[1].len() == 1 {
        to.push(1);
    }
    if shapes[0].len() == 1 {
        to.insert(to.len() - 1, 1);
    }
    let matrix = |shape: &[usize], column: bool| match shape {
        [size] if column => vec![*size, 1],
        [size] => vec![1, *size],
        other => other.to_vec(),
    };
    let [ta, tb] = [transposed[0] && shapes[0].len() > 1, transposed[1] && shapes[1].len() > 1];
    let [as_a, as_b] = [matrix(&shapes[0], false), matrix(&shapes[1], true)];
    let g = back.builder.reshape(g, &to)?;
    let (left, right) = (back.builder.reshape(a, &as_a)?, back.builder.reshape(b, &as_b)?);
    let product = |transpose_a, transpose_b| Product::MatMul { transpose_a, transpose_b, alpha, beta: 1.0 };
    if back.wants(0) {
        let made = match ta {
            false => back.builder.op(product(false, !tb), &[g, right])?,
            true => back.builder.op(product(tb, true), &[right, g])?,
        };
        give_matrix(back, 0, made, &as_a)?;
    }
    if back.wants(1) {
        let made = match tb {
            false => back.builder.op(product(!ta, false), &[left, g])?,
            true => back.builder.op(product(true, ta), &[g, left])?,
        };
        give_matrix(back, 1, made, &as_b)?;
    }
    Ok(())
}

/// Sums over samples that shared a matrix, then the operand's own shape.
fn give_matrix(back: &mut Back<'_>, index: usize, made: ValueId, matrix: &[usize]) -> Result<(), RunError> {
    let sum = back.builder.sum_to(made, matrix)?;
    let own = back.shape(back.input(index)?)?;
    let made = back.builder.reshape(sum, &own)?;
    back.give(index, made)
}

fn conv(back: &mut Back<'_>, axes: &[Axis], groups: usize) -> Result<(), RunError> {
    let g = back.got()?;
    let (x, w) = (back.input(0)?, back.input(1)?);
    if back.wants(0) {
        let made = spread(back.builder, g, w, axes, groups)?;
        back.give(0, made)?;
    }
    if back.wants(1) {
        let made = weights(back, x, g, axes, groups)?;
        back.give(1, made)?;
    }
    bias(back, g)
}

/// The same the other way around: the operation is the gradient of the convolution that `axes` tell of.
fn conv_transpose(back: &mut Back<'_>, axes: &[Axis], groups: usize) -> Result<(), RunError> {
    let g = back.got()?;
    let (x, w) = (back.input(0)?, back.input(1)?);
    if back.wants(0) {
        // As much padding behind as makes as many windows.
        let after = |axis: &Axis| beyond(axis).max(0) as usize;
        let op = Product::Conv { window: window(axes, after), groups };
        let made = back.builder.op(op, &[g, w])?;
        let sizes: Vec<usize> = axes.iter().map(|axis| axis.output).collect();
        let made = cropped(back, made, &sizes)?;
        back.give(0, made)?;
    }
    if back.wants(1) {
        let made = weights(back, g, x, axes, groups)?;
        back.give(1, made)?;
    }
    bias(back, g)
}

/// Every sample and place added the same.
fn bias(back: &mut Back<'_>, g: ValueId) -> Result<(), RunError> {
    if !back.wants(2) {
        return Ok(());
    }
    let shape = back.shape(g)?;
    let axes: Vec<usize> = (0..shape.len()).filter(|&axis| axis != 1).collect();
    let sum = back.builder.fold(g, Fold::Sum, &axes)?;
    let made = back.builder.reshape(sum, &shape[1..2])?;
    back.give(2, made)
}

/// The windows of `axes`, with padding behind that a function tells.
fn window(axes: &[Axis], after: impl Fn(&Axis) -> usize) -> Window {
    Window {
        kernel: Vec::new(),
        strides: axes.iter().map(|axis| axis.stride).collect(),
        dilations: axes.iter().map(|axis| axis.dilation).collect(),
        padding: Padding::Explicit(axes.iter().map(|axis| (axis.before, after(axis))).collect()),
    }
}

/// How far the last window reaches behind the input; less than nothing where the end of the input is in none.
fn beyond(axis: &Axis) -> i64 {
    let last = axis.output.saturating_sub(1) * axis.stride;
    let end = last + axis.kernel.saturating_sub(1) * axis.dilation + 1;
    end as i64 - (axis.before + axis.input) as i64
}

/// What windows took from an input, given back to it: the transposed convolution whose result has the input's sizes.
pub(super) fn spread(
    builder: &mut Builder,
    g: ValueId,
    w: ValueId,
    axes: &[Axis],
    groups: usize,
) -> Result<ValueId, RunError> {
    let op = Product::ConvTranspose {
        window: window(axes, |axis| beyond(axis).max(0) as usize),
        groups,
        output_padding: axes.iter().map(|axis| (-beyond(axis)).max(0) as usize).collect(),
        output_shape: None,
    };
    builder.op(op, &[g, w])
}

/// The gradient by weights of `[output channels, input channels of a group, kernel]`.
fn weights(back: &mut Back<'_>, x: ValueId, g: ValueId, axes: &[Axis], groups: usize) -> Result<ValueId, RunError> {
    let (from, to) = (back.shape(x)?, back.shape(g)?);
    let (batch, each) = (from[0], from[1] / groups);
    let rank = axes.len();
    // Input channels become samples, and samples the channels of their group, over which a convolution sums.
    let split = [&[batch, groups, each], &from[2..]].concat();
    let x = back.builder.reshape(x, &split)?;
    let x = back.builder.transpose(x, [2, 1, 0].into_iter().chain(3..3 + rank).collect())?;
    let x = back.builder.reshape(x, &[&[each, groups * batch], &from[2..]].concat())?;
    let swap: Vec<usize> = [1, 0].into_iter().chain(2..2 + rank).collect();
    let g = back.builder.transpose(g, swap.clone())?;
    // The gradient slides over the input in steps of the dilation, one for each element of a window.
    let swap_steps = |(axis, &windows): (&Axis, &usize)| Axis {
        output: axis.kernel,
        kernel: windows,
        stride: axis.dilation,
        dilation: axis.stride,
        ..*axis
    };
    let slides: Vec<Axis> = axes.iter().zip(&to[2..]).map(swap_steps).collect();
    let op = Product::Conv { window: window(&slides, |axis| beyond(axis).max(0) as usize), groups };
    let made = back.builder.op(op, &[x, g])?;
    let sizes: Vec<usize> = axes.iter().map(|axis| axis.kernel).collect();
    let made = cropped(back, made, &sizes)?;
    back.builder.transpose(made, swap)
}

/// The front of the spatial axes: what strides left over at the end of the input is no part of a window.
fn cropped(back: &mut Back<'_>, x: ValueId, sizes: &[usize]) -> Result<ValueId, RunError> {
    let own = back.shape(x)?;
    if own[2..] == *sizes {
        return Ok(x);
    }
    let starts = back.builder.list(vec![0; sizes.len()]);
    let ends = back.builder.list(sizes.iter().map(|&size| size as i64));
    let axes = back.builder.list(2..own.len() as i64);
    back.builder.op(Movement::Slice, &[x, starts, ends, axes])
}
