//! Concatenating and splitting tensors along an axis.

use crate::{Data, Element, OpError, Tensor, each_type, shape};

/// Concatenates tensors along an axis; the other sizes are equal.
pub fn concat(tensors: &[&Tensor], axis: usize) -> Result<Tensor, OpError> {
    let first = *tensors.first().ok_or_else(|| OpError::invalid("an empty sequence cannot be concatenated"))?;
    let mut result = first.shape().to_vec();
    if axis >= result.len() {
        return Err(OpError::invalid(format!(
            "axis {axis} is out of range for tensors with {} dimensions",
            result.len()
        )));
    }
    let mut along = 0usize;
    for tensor in tensors {
        let same = |at: usize| at == axis || tensor.shape()[at] == result[at];
        if tensor.dtype() != first.dtype() || tensor.rank() != result.len() || !(0..result.len()).all(same) {
            let (left, right) = (first.shape(), tensor.shape());
            let types = (first.dtype(), tensor.dtype());
            let text = format!("{} {left:?} and {} {right:?} cannot be joined", types.0, types.1);
            return Err(OpError::invalid(text));
        }
        along = along.checked_add(tensor.shape()[axis]).ok_or_else(|| OpError::TooLarge(result.clone()))?;
    }
    result[axis] = along;
    shape::count(&result)?;
    let (outer, ..) = shape::around(&result, axis);
    fn fill<T: Element>(tensors: &[&Tensor], outer: usize, count: usize) -> Result<Data, OpError> {
        let mut all = Vec::with_capacity(count);
        let parts = tensors.iter().map(|tensor| tensor.slice::<T>()).collect::<Result<Vec<_>, _>>()?;
        for row in 0..outer {
            for part in &parts {
                let size = part.len() / outer;
                all.extend_from_slice(&part[row * size..(row + 1) * size]);
            }
        }
        Ok(T::wrap(all))
    }
    let count = shape::count(&result)?;
    // Without elements there is nothing to copy, and an outer size of 0 would be a divisor.
    let outer = if count == 0 { 0 } else { outer };
    let data = each_type!(any: first, |T, _v| fill::<T>(tensors, outer, count))?;
    Tensor::from_data(result, data)
}

/// Stacks tensors of one shape along a new axis.
pub fn stack(tensors: &[&Tensor], axis: usize) -> Result<Tensor, OpError> {
    let with_axis = |tensor: &&Tensor| {
        let mut shape = tensor.shape().to_vec();
        if axis > shape.len() {
            let rank = shape.len();
            return Err(OpError::invalid(format!(
                "new axis {axis} is out of range for tensors with {rank} dimensions"
            )));
        }
        shape.insert(axis, 1);
        tensor.reshaped(shape)
    };
    let tensors = tensors.iter().map(with_axis).collect::<Result<Vec<_>, _>>()?;
    concat(&tensors.iter().collect::<Vec<_>>(), axis)
}

/// A slice of a tensor along an axis. The range must be within it.
pub fn part(tensor: &Tensor, axis: usize, start: usize, size: usize) -> Result<Tensor, OpError> {
    let mut shape = tensor.shape().to_vec();
    let whole = shape.get(axis).copied().unwrap_or(0);
    if axis >= shape.len() || start.checked_add(size).is_none_or(|end| end > whole) {
        let end = start.saturating_add(size);
        return Err(OpError::invalid(format!(
            "slice [{start}, {end}) is out of range for axis {axis} of shape {shape:?}"
        )));
    }
    shape[axis] = size;
    let (outer, _, inner) = if tensor.is_empty() { (0, 0, 0) } else { shape::around(tensor.shape(), axis) };
    let data = each_type!(any: tensor, |T, v| {
        let mut all = Vec::<T>::with_capacity(outer * size * inner);
        for row in 0..outer {
            let begin = (row * whole + start) * inner;
            all.extend_from_slice(&v[begin..begin + size * inner]);
        }
        T::wrap(all)
    });
    Tensor::from_data(shape, data)
}

/// The slice at one index of an axis, without the axis.
pub fn at(tensor: &Tensor, axis: usize, index: usize) -> Result<Tensor, OpError> {
    let mut shape = tensor.shape().to_vec();
    let part = part(tensor, axis, index, 1)?;
    shape.remove(axis);
    part.reshaped(shape)
}
