//! Gather operations.

use super::index;
use crate::ops::Facts;
use crate::ops::movement::{Shape, known};
use crate::{OpError, Tensor, each_type, shape};

pub(super) fn gather_shape(inputs: &Facts<'_>, axis: i64) -> Shape {
    let input_shape = known!(inputs.get(0)?.shape.as_deref());
    let indices = known!(inputs.get(1)?.shape.as_deref());
    let axis = shape::axis(axis, input_shape.len())?;
    Ok(Some([&input_shape[..axis], indices, &input_shape[axis + 1..]].concat()))
}

pub(super) fn gather(data: &Tensor, indices: &Tensor, axis: i64, shape: Vec<usize>) -> Result<Tensor, OpError> {
    let axis = shape::axis(axis, data.rank())?;
    let (outer, size, inner) = shape::around(data.shape(), axis);
    let indices = indices.integers()?;
    let indices = indices.into_iter().map(|at| index(at, size)).collect::<Result<Vec<_>, _>>()?;
    let outer = if shape::count(&shape)? == 0 { 0 } else { outer };
    each_type!(any: data, |T, v| {
        let mut result = shape::reserve::<T>(&shape)?;
        for row in 0..outer {
            for at in &indices {
                let from = (row * size + at) * inner;
                result.extend_from_slice(&v[from..from + inner]);
            }
        }
        Tensor::new(shape, result)
    })
}

/// The shape of the indices of an elementwise gather; fails if they do not match the data.
pub(super) fn elements_shape(inputs: &Facts<'_>, axis: i64) -> Shape {
    let input_shape = known!(inputs.get(0)?.shape.as_deref());
    let indices = known!(inputs.get(1)?.shape.as_deref());
    let axis = shape::axis(axis, input_shape.len())?;
    let within = |(at, (index, size)): (usize, (&usize, &usize))| at == axis || index <= size;
    if indices.len() != input_shape.len() || !indices.iter().zip(input_shape).enumerate().all(within) {
        return Err(OpError::invalid(format!(
            "the indices have shape {indices:?}, expected at most the data's shape {input_shape:?}, except along axis {axis}"
        )));
    }
    Ok(Some(indices.to_vec()))
}

/// Fails if indices refer to an empty tensor.
fn check(data: &[usize], indices: &[usize]) -> Result<(), OpError> {
    if shape::count(data)? == 0 && shape::count(indices)? > 0 {
        return Err(OpError::invalid(format!(
            "the indices have shape {indices:?}, but the data of shape {data:?} is empty"
        )));
    }
    Ok(())
}

/// The offsets that the indices of an elementwise gather select.
pub(super) fn element_offsets(data: &[usize], indices: &Tensor, axis: i64) -> Result<Vec<usize>, OpError> {
    let axis = shape::axis(axis, data.len())?;
    check(data, indices.shape())?;
    let mut strides = shape::strides(data);
    let stride = std::mem::take(&mut strides[axis]);
    let walk = shape::offsets(indices.shape(), &strides);
    let offset = |(base, at): (usize, i64)| Ok(base + index(at, data[axis])? * stride);
    walk.zip(indices.integers()?).map(offset).collect()
}

pub(super) fn elements(data: &Tensor, indices: &Tensor, axis: i64, shape: Vec<usize>) -> Result<Tensor, OpError> {
    let offsets = element_offsets(data.shape(), indices, axis)?;
    each_type!(any: data, |T, v| Tensor::new(shape, at_offsets(v, &offsets)))
}

fn at_offsets<T: Clone>(elements: &[T], offsets: &[usize]) -> Vec<T> {
    offsets.iter().map(|&at| elements[at].clone()).collect()
}

pub(super) fn nd_shape(inputs: &Facts<'_>, batch: usize) -> Shape {
    let input_shape = known!(inputs.get(0)?.shape.as_deref());
    let indices = known!(inputs.get(1)?.shape.as_deref());
    let wrong = || {
        OpError::invalid(format!(
            "indices of shape {indices:?} with {batch} batch dimensions do not fit data of shape {input_shape:?}"
        ))
    };
    let (&depth, rows) = indices.split_last().ok_or_else(wrong)?;
    if batch > rows.len()
        || batch > input_shape.len()
        || depth > input_shape.len() - batch
        || input_shape[..batch] != rows[..batch]
    {
        return Err(wrong());
    }
    Ok(Some([rows, &input_shape[batch + depth..]].concat()))
}

/// The offsets of the slices that rows of indices select, and the slice length.
pub(super) fn slices(data: &[usize], indices: &Tensor, batch: usize) -> Result<(Vec<usize>, usize), OpError> {
    let Some((&depth, rows)) = indices.shape().split_last() else { return Ok((Vec::new(), 0)) };
    check(data, rows)?;
    let strides = shape::strides(data);
    let length = shape::count(&data[batch + depth..])?;
    let per_batch = shape::count(&rows[batch..])?;
    let all = indices.integers()?;
    let mut starts = shape::reserve(rows)?;
    for row in 0..shape::count(rows)? {
        // The batch axes come first in both.
        let mut start = if batch == 0 { 0 } else { row / per_batch * strides[batch - 1] };
        for (at, &given) in all[row * depth..(row + 1) * depth].iter().enumerate() {
            start += index(given, data[batch + at])? * strides[batch + at];
        }
        starts.push(start);
    }
    Ok((starts, length))
}

pub(super) fn nd(data: &Tensor, indices: &Tensor, batch: usize, shape: Vec<usize>) -> Result<Tensor, OpError> {
    if shape::count(&shape)? == 0 {
        return Tensor::zeros(data.dtype(), shape);
    }
    let (starts, length) = slices(data.shape(), indices, batch)?;
    each_type!(any: data, |T, v| {
        let mut result = shape::reserve::<T>(&shape)?;
        for start in starts {
            let wrong = || OpError::invalid("a slice is out of range");
            result.extend_from_slice(v.get(start..start + length).ok_or_else(wrong)?);
        }
        Tensor::new(shape, result)
    })
}
