//! Gradients of matrix products and convolutions.
//!
//! The gradient with respect to the input is the transposed convolution with the same weights. The
//! gradient with respect to the weights is a convolution of the input with the gradient, with
//! samples and channels swapped, and strides and dilations swapped.

use super::BackwardNode;
use crate::ValueId;
use crate::builder::GraphBuilder;
use crate::interpreter::RunError;
use crate::ops::product::transposed_axes;
use crate::ops::reduction::ReduceKind;
use crate::ops::window::{Axis, Count, Padding, Window};
use crate::ops::{Movement, Product};

pub(super) fn backward(op: &Product, backward: &mut BackwardNode<'_>) -> Result<(), RunError> {
    match op {
        Product::MatMul { transpose_a, transpose_b, alpha, beta } => {
            matmul(backward, [*transpose_a, *transpose_b], *alpha, *beta)
        }
        Product::Conv { window, groups } => {
            let (x, w) = (backward.shape(backward.input(0)?)?, backward.shape(backward.input(1)?)?);
            let axes = window.axes(&x[2..], &w[2..], Count::Whole).map_err(|error| backward.error(error))?;
            conv(backward, &axes, *groups)
        }
        Product::ConvTranspose { window, groups, output_padding, output_shape } => {
            let (x, w) = (backward.shape(backward.input(0)?)?, backward.shape(backward.input(1)?)?);
            let axes = transposed_axes(window, *groups, output_padding, output_shape.as_deref(), &x, &w);
            let axes = axes.map_err(|error| backward.error(error))?;
            conv_transpose(backward, &axes, *groups)
        }
        _ => Err(backward.no_gradient()),
    }
}

fn matmul(backward: &mut BackwardNode<'_>, transposed: [bool; 2], alpha: f32, beta: f32) -> Result<(), RunError> {
    let g = backward.output_gradient()?;
    if backward.needs_gradient(2) {
        let result = if beta == 1.0 { g } else { backward.builder.scale(g, beta.into())? };
        backward.add_gradient(2, result)?;
    }
    let [a, b] = [backward.input(0)?, backward.input(1)?];
    let shapes = [backward.shape(a)?, backward.shape(b)?];
    // Treat a vector as a row or column matrix, whose extra axis the result lacks.
    let mut to = backward.shape(g)?;
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
    let g = backward.builder.reshape(g, &to)?;
    let (left, right) = (backward.builder.reshape(a, &as_a)?, backward.builder.reshape(b, &as_b)?);
    let product = |transpose_a, transpose_b| Product::MatMul { transpose_a, transpose_b, alpha, beta: 1.0 };
    if backward.needs_gradient(0) {
        let result = match ta {
            false => backward.builder.op(product(false, !tb), &[g, right])?,
            true => backward.builder.op(product(tb, true), &[right, g])?,
        };
        add_matrix_gradient(backward, 0, result, &as_a)?;
    }
    if backward.needs_gradient(1) {
        let result = match tb {
            false => backward.builder.op(product(!ta, false), &[left, g])?,
            true => backward.builder.op(product(true, ta), &[g, left])?,
        };
        add_matrix_gradient(backward, 1, result, &as_b)?;
    }
    Ok(())
}

/// Sums over samples that shared a matrix, then restores the operand's shape.
fn add_matrix_gradient(
    backward: &mut BackwardNode<'_>,
    index: usize,
    result: ValueId,
    matrix: &[usize],
) -> Result<(), RunError> {
    let sum = backward.builder.sum_to(result, matrix)?;
    let own = backward.shape(backward.input(index)?)?;
    let result = backward.builder.reshape(sum, &own)?;
    backward.add_gradient(index, result)
}

fn conv(backward: &mut BackwardNode<'_>, axes: &[Axis], groups: usize) -> Result<(), RunError> {
    let g = backward.output_gradient()?;
    let (x, w) = (backward.input(0)?, backward.input(1)?);
    if backward.needs_gradient(0) {
        let result = spread(backward.builder, g, w, axes, groups)?;
        backward.add_gradient(0, result)?;
    }
    if backward.needs_gradient(1) {
        let result = weights(backward, x, g, axes, groups)?;
        backward.add_gradient(1, result)?;
    }
    bias(backward, g)
}

/// The transposed convolution, which is the gradient of the convolution that `axes` describe.
fn conv_transpose(backward: &mut BackwardNode<'_>, axes: &[Axis], groups: usize) -> Result<(), RunError> {
    let g = backward.output_gradient()?;
    let (x, w) = (backward.input(0)?, backward.input(1)?);
    if backward.needs_gradient(0) {
        // Pad the end so that there are as many windows.
        let after = |axis: &Axis| beyond(axis).max(0) as usize;
        let op = Product::Conv { window: window(axes, after), groups };
        let result = backward.builder.op(op, &[g, w])?;
        let sizes: Vec<usize> = axes.iter().map(|axis| axis.output).collect();
        let result = cropped(backward, result, &sizes)?;
        backward.add_gradient(0, result)?;
    }
    if backward.needs_gradient(1) {
        let result = weights(backward, g, x, axes, groups)?;
        backward.add_gradient(1, result)?;
    }
    bias(backward, g)
}

/// The bias is added to every sample and position.
fn bias(backward: &mut BackwardNode<'_>, g: ValueId) -> Result<(), RunError> {
    if !backward.needs_gradient(2) {
        return Ok(());
    }
    let shape = backward.shape(g)?;
    let axes: Vec<usize> = (0..shape.len()).filter(|&axis| axis != 1).collect();
    let sum = backward.builder.fold(g, ReduceKind::Sum, &axes)?;
    let result = backward.builder.reshape(sum, &shape[1..2])?;
    backward.add_gradient(2, result)
}

/// The windows of `axes`, with the end padding that a function returns.
fn window(axes: &[Axis], after: impl Fn(&Axis) -> usize) -> Window {
    Window {
        kernel: Vec::new(),
        strides: axes.iter().map(|axis| axis.stride).collect(),
        dilations: axes.iter().map(|axis| axis.dilation).collect(),
        padding: Padding::Explicit(axes.iter().map(|axis| (axis.before, after(axis))).collect()),
    }
}

/// How far the last window reaches beyond the input; negative if it does not reach the end.
fn beyond(axis: &Axis) -> i64 {
    let last = axis.output.saturating_sub(1) * axis.stride;
    let end = last + axis.kernel.saturating_sub(1) * axis.dilation + 1;
    end as i64 - (axis.before + axis.input) as i64
}

/// Adds the gradients of windows to the input: the transposed convolution whose result has the
/// input's size.
pub(super) fn spread(
    builder: &mut GraphBuilder,
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

/// The gradient with respect to weights of `[output channels, input channels of a group, kernel]`.
fn weights(
    backward: &mut BackwardNode<'_>,
    x: ValueId,
    g: ValueId,
    axes: &[Axis],
    groups: usize,
) -> Result<ValueId, RunError> {
    let (from, to) = (backward.shape(x)?, backward.shape(g)?);
    let (batch, each) = (from[0], from[1] / groups);
    let rank = axes.len();
    // Input channels become samples, and samples become the channels of their group, over which the
    // convolution sums.
    let split = [&[batch, groups, each], &from[2..]].concat();
    let x = backward.builder.reshape(x, &split)?;
    let x = backward.builder.transpose(x, [2, 1, 0].into_iter().chain(3..3 + rank).collect())?;
    let x = backward.builder.reshape(x, &[&[each, groups * batch], &from[2..]].concat())?;
    let swap: Vec<usize> = [1, 0].into_iter().chain(2..2 + rank).collect();
    let g = backward.builder.transpose(g, swap.clone())?;
    // The gradient slides over the input with the dilation as stride, one step per element of a
    // window.
    let swap_steps = |(axis, &windows): (&Axis, &usize)| Axis {
        output: axis.kernel,
        kernel: windows,
        stride: axis.dilation,
        dilation: axis.stride,
        ..*axis
    };
    let slides: Vec<Axis> = axes.iter().zip(&to[2..]).map(swap_steps).collect();
    let op = Product::Conv { window: window(&slides, |axis| beyond(axis).max(0) as usize), groups };
    let result = backward.builder.op(op, &[x, g])?;
    let sizes: Vec<usize> = axes.iter().map(|axis| axis.kernel).collect();
    let result = cropped(backward, result, &sizes)?;
    backward.builder.transpose(result, swap)
}

/// Crops the spatial axes to the elements that a window covers.
fn cropped(backward: &mut BackwardNode<'_>, x: ValueId, sizes: &[usize]) -> Result<ValueId, RunError> {
    let own = backward.shape(x)?;
    if own[2..] == *sizes {
        return Ok(x);
    }
    let starts = backward.builder.list(vec![0; sizes.len()]);
    let ends = backward.builder.list(sizes.iter().map(|&size| size as i64));
    let axes = backward.builder.list(2..own.len() as i64);
    backward.builder.op(Movement::Slice, &[x, starts, ends, axes])
}
