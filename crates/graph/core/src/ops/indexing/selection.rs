//! Selection by value: non-zero, compress, one-hot.

use crate::ops::movement::{Shape, known};
use crate::ops::{Facts, Inputs};
use crate::{Data, Element, OpError, Tensor, each_type, shape};

/// The only integer of an operand that may be a float.
fn whole(tensor: &Tensor) -> Result<i64, OpError> {
    if tensor.dtype().is_float() { Ok(tensor.float()? as i64) } else { tensor.integer() }
}

/// The index of the new axis.
fn new_axis(axis: i64, rank: usize) -> Result<usize, OpError> {
    shape::axis(axis, rank + 1)
}

pub(super) fn one_hot_shape(inputs: &Facts<'_>, axis: i64) -> Shape {
    let input_shape = known!(inputs.get(0)?.shape.as_deref());
    let axis = new_axis(axis, input_shape.len())?;
    let depth = whole(known!(inputs.get(1)?.value.as_ref()))?;
    let mut result = input_shape.to_vec();
    result.insert(axis, shape::sizes(&[depth])?[0]);
    Ok(Some(result))
}

pub(super) fn one_hot(inputs: &Inputs<'_>, axis: i64, shape: Vec<usize>) -> Result<Tensor, OpError> {
    let (indices, values) = (inputs.tensor(0)?, inputs.tensor(2)?);
    if values.len() != 2 {
        return Err(OpError::invalid(format!("there are {} values, expected two: off and on", values.len())));
    }
    let indices: Vec<i64> = if indices.dtype().is_float() {
        indices.floats()?.into_iter().map(|at| at as i64).collect()
    } else {
        indices.integers()?
    };
    let around = shape::around(&shape, new_axis(axis, shape.len() - 1)?);
    each_type!(any: values, |T, v| {
        let mut result = shape::reserve::<T>(&shape)?;
        result.resize(shape::count(&shape)?, <T as Default>::default());
        mark(&mut result, &indices, around, v);
        Tensor::new(shape, result)
    })
}

/// Fills with the first value, and writes the second where indices point.
fn mark<T: Element>(into: &mut [T], indices: &[i64], (_, depth, inner): (usize, usize, usize), values: &[T]) {
    let [off, on] = values else { return };
    into.fill(off.clone());
    // An index out of range is not an error; it selects nothing.
    for (number, &at) in indices.iter().enumerate() {
        if let Ok(at) = super::index(at, depth) {
            into[(number / inner * depth + at) * inner + number % inner] = on.clone();
        }
    }
}

pub(super) fn non_zero(data: &Tensor) -> Result<Tensor, OpError> {
    let found: Vec<usize> = if let Data::Bool(elements) = data.data() {
        elements.iter().enumerate().filter(|(_, element)| **element).map(|(at, _)| at).collect()
    } else {
        each_type!(number: data, |T, v| {
            v.iter().enumerate().filter(|(_, element)| **element != T::default()).map(|(at, _)| at).collect()
        }, else return Err(OpError::dtype("NonZero", data.dtype())))
    };
    let strides = shape::strides(data.shape());
    let axes = data.shape().iter().zip(strides);
    let row = |(&size, stride): (&usize, usize)| found.iter().map(move |at| (at / stride % size) as i64);
    // Strides of an empty tensor are meaningless, and it has no matches.
    let result: Vec<i64> = if found.is_empty() { Vec::new() } else { axes.flat_map(row).collect() };
    Tensor::new([data.rank(), found.len()], result)
}

/// The indices that a condition selects, among `size`.
fn marked(condition: &Tensor, size: usize) -> Result<Vec<usize>, OpError> {
    let marks = condition.slice::<bool>()?;
    if condition.rank() != 1 {
        return Err(OpError::invalid(format!(
            "the condition has shape {:?}, expected one dimension",
            condition.shape()
        )));
    }
    let found: Vec<usize> = marks.iter().enumerate().filter(|(_, mark)| **mark).map(|(at, _)| at).collect();
    match found.last() {
        Some(&last) if last >= size => {
            Err(OpError::invalid(format!("the condition selects index {last} of an axis of size {size}")))
        }
        _ => Ok(found),
    }
}

pub(super) fn compress_shape(inputs: &Facts<'_>, axis: Option<i64>) -> Shape {
    let input_shape = known!(inputs.get(0)?.shape.as_deref());
    let axis = axis.map(|axis| shape::axis(axis, input_shape.len())).transpose()?;
    let condition = known!(inputs.get(1)?.value.as_ref());
    match axis {
        None => Ok(Some(vec![marked(condition, shape::count(input_shape)?)?.len()])),
        Some(axis) => {
            let mut result = input_shape.to_vec();
            result[axis] = marked(condition, input_shape[axis])?.len();
            Ok(Some(result))
        }
    }
}

pub(super) fn compress(
    data: &Tensor,
    condition: &Tensor,
    axis: Option<i64>,
    shape: Vec<usize>,
) -> Result<Tensor, OpError> {
    let (outer, size, inner) = match axis {
        None => (1, data.len(), 1),
        Some(axis) => shape::around(data.shape(), shape::axis(axis, data.rank())?),
    };
    let outer = if shape::count(&shape)? == 0 { 0 } else { outer };
    let places = marked(condition, size)?;
    each_type!(any: data, |T, v| {
        let mut result = shape::reserve::<T>(&shape)?;
        for row in 0..outer {
            for at in &places {
                let from = (row * size + at) * inner;
                result.extend_from_slice(&v[from..from + inner]);
            }
        }
        Tensor::new(shape, result)
    })
}
