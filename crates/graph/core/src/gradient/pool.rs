//! Gradients of pooling.

use super::BackwardNode;
use super::product::spread;
use crate::interpreter::RunError;
use crate::ops::elementwise::Binary;
use crate::ops::indexing::Scatter;
use crate::ops::pool::PoolKind;
use crate::ops::window::{Axis, Count};
use crate::ops::{Elementwise, Indexing, Pool};
use crate::{DType, OpError, Tensor, shape};

pub(super) fn backward(op: &Pool, backward: &mut BackwardNode<'_>) -> Result<(), RunError> {
    match op {
        Pool::Slide { kind: PoolKind::Max { column_major: false }, .. }
        | Pool::Global { kind: PoolKind::Max { column_major: false } } => max(backward),
        Pool::Slide { kind: PoolKind::Average { with_padding }, window, ceil } => {
            let x = backward.shape(backward.input(0)?)?;
            let axes =
                window.axes(&x[2..], &window.kernel, Count::of_pool(*ceil)).map_err(|error| backward.error(error))?;
            average(backward, &axes, *with_padding)
        }
        Pool::Global { kind: PoolKind::Average { .. } } => {
            let g = backward.output_gradient()?;
            let x = backward.shape(backward.input(0)?)?;
            let part = backward.builder.scale(g, 1.0 / x[2..].iter().product::<usize>() as f64)?;
            let result = backward.builder.expand(part, &x)?;
            backward.add_gradient(0, result)
        }
        _ => Err(backward.no_gradient()),
    }
}

/// The first maximum of a window gets the window's gradient.
fn max(backward: &mut BackwardNode<'_>) -> Result<(), RunError> {
    let g = backward.output_gradient()?;
    let x = backward.shape(backward.input(0)?)?;
    let places = backward.builder.output_of(backward.index, 1)?;
    let windows = backward.shape(places)?[2..].iter().product::<usize>();
    let (planes, size) = (x[0] * x[1], x[2..].iter().product::<usize>());
    let starts: Option<Vec<i32>> = (0..planes).map(|plane| i32::try_from(plane * size).ok()).collect();
    let starts = starts.ok_or_else(|| backward.error(OpError::TooLarge(x.clone())))?;
    let starts = Tensor::new([planes, 1], starts).map_err(|error| backward.error(error))?;
    // Indices count through the whole input. Within a plane, subtract the plane's offset.
    let b = &mut *backward.builder;
    let places = b.op(Elementwise::Cast { to: DType::I32 }, &[places])?;
    let places = b.reshape(places, &[planes, windows])?;
    let starts = b.constant(starts);
    let places = b.op(Binary::Sub, &[places, starts])?;
    let g = b.reshape(g, &[planes, windows])?;
    let zero = b.number_like(g, 0.0)?;
    let zeros = b.expand(zero, &[planes, size])?;
    let result = b.op(Indexing::ScatterElements { axis: 1, reduction: Scatter::Add }, &[zeros, places, g])?;
    let result = b.reshape(result, &x)?;
    backward.add_gradient(0, result)
}

/// Every element of a window gets an equal share: a depthwise transposed convolution with ones.
fn average(backward: &mut BackwardNode<'_>, axes: &[Axis], with_padding: bool) -> Result<(), RunError> {
    let g = backward.output_gradient()?;
    let (x, to) = (backward.shape(backward.input(0)?)?, backward.shape(g)?);
    let dtype = backward.builder.dtype(g).map_err(|error| backward.error(error))?;
    let wrong = |error| RunError { node: backward.node.name.clone(), op: "AveragePool", error };
    let shares: Vec<f64> = (0..shape::count(&to[2..]).map_err(wrong)?)
        .map(|place| {
            let digits = shape::strides(&to[2..]);
            let taps = axes.iter().enumerate().map(|(at, axis)| {
                let output = place / digits[at] % to[2 + at];
                if with_padding { axis.taps_with_padding(output) } else { axis.taps(output).len() }
            });
            1.0 / taps.product::<usize>() as f64
        })
        .collect();
    let kernel: Vec<usize> = axes.iter().map(|axis| axis.kernel).collect();
    let ones = vec![1.0; kernel.iter().product()];
    let shares = Tensor::from_floats(dtype, &to[2..], &shares).map_err(wrong)?;
    let ones = Tensor::from_floats(dtype, [&[1, 1], &kernel[..]].concat(), &ones).map_err(wrong)?;
    let b = &mut *backward.builder;
    let (shares, ones) = (b.constant(shares), b.constant(ones));
    let part = b.mul(g, shares)?;
    let part = b.reshape(part, &[&[to[0] * to[1], 1], &to[2..]].concat())?;
    let result = spread(b, part, ones, axes, 1)?;
    let result = b.reshape(result, &x)?;
    backward.add_gradient(0, result)
}
