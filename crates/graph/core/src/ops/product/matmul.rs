//! Matrix products.

use super::{byte, common, pieces, wrapped};
use crate::ops::accumulator::{Accumulator, wide};
use crate::ops::{Facts, Inputs};
use crate::{DType, Fact, OpError, Tensor, shape};

/// The sizes of a product.
struct MatmulSizes {
    /// The batch axes, broadcast.
    batch: Vec<usize>,
    rows: usize,
    depth: usize,
    columns: usize,
    /// The shape of the result.
    to: Vec<usize>,
}

/// Splits a shape into batch axes and matrix, transposed on request. A vector is a row, or a column
/// if `right`.
fn split(shape: &[usize], right: bool, transpose: bool) -> Result<(&[usize], usize, usize), OpError> {
    let (batch, rows, columns) = match shape {
        [] => return Err(OpError::invalid("an operand of the matrix product is a scalar")),
        [size] if right => (&[][..], *size, 1),
        [size] => (&[][..], 1, *size),
        [batch @ .., rows, columns] => (batch, *rows, *columns),
    };
    if transpose && shape.len() < 2 {
        return Err(OpError::invalid("a vector cannot be transposed"));
    }
    Ok(if transpose { (batch, columns, rows) } else { (batch, rows, columns) })
}

fn sizes(a: &[usize], b: &[usize], [transpose_a, transpose_b]: [bool; 2]) -> Result<MatmulSizes, OpError> {
    let (batch_a, rows, depth) = split(a, false, transpose_a)?;
    let (batch_b, depth_b, columns) = split(b, true, transpose_b)?;
    if depth != depth_b {
        let text = format!("matrices of shapes {a:?} and {b:?} cannot be multiplied ({depth} and {depth_b})");
        return Err(OpError::invalid(text));
    }
    let batch = shape::broadcast(&[batch_a, batch_b])?;
    let mut to = batch.clone();
    to.extend((a.len() > 1).then_some(rows));
    to.extend((b.len() > 1).then_some(columns));
    if depth == 0 {
        shape::count_bounded(&to)?;
    }
    shape::count(&to)?;
    Ok(MatmulSizes { batch, rows, depth, columns, to })
}

pub(super) fn infer(inputs: &Facts<'_>, transpose_a: bool, transpose_b: bool) -> Result<Fact, OpError> {
    let dtype = common(inputs)?;
    let (a, b) = (inputs.get(0)?, inputs.get(1)?);
    let (Some(a), Some(b)) = (a.shape.as_deref(), b.shape.as_deref()) else { return Ok(Fact::unknown(dtype)) };
    let to = sizes(a, b, [transpose_a, transpose_b])?.to;
    if let Some(c) = inputs.optional(2).and_then(|c| c.shape.as_deref())
        && shape::broadcast(&[&to, c])? != to
    {
        return Err(OpError::invalid(format!(
            "the addend has shape {c:?}, which does not broadcast to the product's shape {to:?}"
        )));
    }
    Ok(Fact::new(dtype, to))
}

pub(super) fn eval(
    inputs: &Inputs<'_>,
    transpose: [bool; 2],
    factors: [f64; 2],
    to: &[usize],
) -> Result<Tensor, OpError> {
    wide!(inputs.tensor(0)?.dtype(), eval_in(inputs, transpose, factors, to))
}

fn eval_in<W: Accumulator>(
    inputs: &Inputs<'_>,
    transpose: [bool; 2],
    [alpha, beta]: [f64; 2],
    to: &[usize],
) -> Result<Tensor, OpError> {
    let (a, b) = (inputs.tensor(0)?, inputs.tensor(1)?);
    let sizes = sizes(a.shape(), b.shape(), transpose)?;
    let exchanged = |tensor: &Tensor, transpose: bool| -> Result<Vec<W>, OpError> {
        let data = W::read(tensor)?;
        Ok(if transpose { transposed(&data, tensor.shape()) } else { data })
    };
    let mut result = multiply(&exchanged(a, transpose[0])?, &exchanged(b, transpose[1])?, a, b, &sizes)?;
    let scale = |one: W, factor: f64| if factor == 1.0 { one } else { W::of(one.float() * factor) };
    result.iter_mut().for_each(|one| *one = scale(*one, alpha));
    if let Some(c) = inputs.optional(2)? {
        let (data, steps) = (W::read(c)?, shape::broadcast_strides(c.shape(), to));
        for (one, place) in result.iter_mut().zip(shape::offsets(to, &steps)) {
            *one = one.plus(scale(data[place], beta));
        }
    }
    W::write(a.dtype(), to, result)
}

/// Transposes the last two axes.
fn transposed<W: Accumulator>(data: &[W], shape: &[usize]) -> Vec<W> {
    let [.., rows, columns] = *shape else { return data.to_vec() };
    let mut result = Vec::with_capacity(data.len());
    for matrix in data.chunks(rows.saturating_mul(columns).max(1)) {
        for column in 0..columns {
            result.extend((0..rows).map(|row| matrix[row * columns + column]));
        }
    }
    result
}

/// All products of the batch, matrices in C order.
fn multiply<W: Accumulator>(
    a: &[W],
    b: &[W],
    of_a: &Tensor,
    of_b: &Tensor,
    sizes: &MatmulSizes,
) -> Result<Vec<W>, OpError> {
    let MatmulSizes { batch, rows, depth, columns, to } = sizes;
    let (rows, depth, columns) = (*rows, *depth, *columns);
    let mut result = shape::filled(to, W::ZERO)?;
    if result.is_empty() || depth == 0 {
        return Ok(result);
    }
    // Strides in matrices, not in elements.
    let starts = |tensor: &Tensor| -> Vec<usize> {
        let own = &tensor.shape()[..tensor.rank().saturating_sub(2)];
        shape::offsets(batch, &shape::broadcast_strides(own, batch)).collect()
    };
    let (starts_a, starts_b) = (starts(of_a), starts(of_b));
    // Threads share blocks of rows, and read the other matrix in parts that fit the cache.
    let block = 32.min(rows);
    let blocks = rows.div_ceil(block);
    let work = result.len().saturating_mul(depth);
    if blocks * block != rows {
        // A piece must not span several matrices.
        for (matrix, piece) in result.chunks_mut(rows * columns).enumerate() {
            let a = &a[starts_a[matrix] * rows * depth..][..rows * depth];
            let b = &b[starts_b[matrix] * depth * columns..][..depth * columns];
            pieces(piece, block * columns, work, |index, piece| {
                panel(piece, &a[index * block * depth..], b, depth, columns)
            });
        }
        return Ok(result);
    }
    pieces(&mut result, block * columns, work, |index, piece| {
        let (matrix, index) = (index / blocks, index % blocks);
        let a = &a[starts_a[matrix] * rows * depth + index * block * depth..];
        panel(piece, a, &b[starts_b[matrix] * depth * columns..][..depth * columns], depth, columns);
    });
    Ok(result)
}

/// Adds the product of some rows of `a` with `b` to the same rows of the result.
fn panel<W: Accumulator>(result: &mut [W], a: &[W], b: &[W], depth: usize, columns: usize) {
    const PANEL_DEPTH: usize = 128;
    for (part, b) in b.chunks(PANEL_DEPTH * columns).enumerate() {
        for (row, into) in result.chunks_mut(columns).enumerate() {
            let a = &a[row * depth + part * PANEL_DEPTH..];
            for (factor, b) in a.iter().zip(b.chunks(columns)) {
                into.iter_mut().zip(b).for_each(|(into, b)| *into = into.plus(factor.times(*b)));
            }
        }
    }
}

pub(super) fn infer_integer(inputs: &Facts<'_>) -> Result<Fact, OpError> {
    (0..4).try_for_each(|index| byte(inputs, index))?;
    let (a, b) = (inputs.get(0)?, inputs.get(1)?);
    let (Some(a), Some(b)) = (a.shape.as_deref(), b.shape.as_deref()) else { return Ok(Fact::unknown(DType::I32)) };
    Ok(Fact::new(DType::I32, sizes(a, b, [false; 2])?.to))
}

pub(super) fn eval_integer(inputs: &Inputs<'_>, to: &[usize]) -> Result<Tensor, OpError> {
    let (a, b) = (inputs.tensor(0)?, inputs.tensor(1)?);
    let sizes = sizes(a.shape(), b.shape(), [false; 2])?;
    let less = |tensor: &Tensor, zero: Option<&Tensor>, axis: i64| -> Result<Vec<f64>, OpError> {
        let mut data = tensor.floats()?;
        if let Some(zero) = zero {
            let (zeros, steps) = (zero.floats()?, super::requantize::steps(zero.shape(), tensor.shape(), axis)?);
            let places = shape::offsets(tensor.shape(), &steps);
            data.iter_mut().zip(places).for_each(|(one, place)| *one -= zeros[place]);
        }
        Ok(data)
    };
    let (left, right) = (less(a, inputs.optional(2)?, -2)?, less(b, inputs.optional(3)?, -1)?);
    wrapped(to, &multiply(&left, &right, a, b, &sizes)?)
}
