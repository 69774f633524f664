//! Concat and Split.

use super::{Shape, known, optional_integers};
use crate::ops::{Facts, Inputs};
use crate::{OpError, Tensor, Value, each_type, shape};

pub(super) fn concat_shape(inputs: &Facts<'_>, axis: i64) -> Shape {
    let first = inputs.get(0)?;
    let mut all = Vec::with_capacity(inputs.len());
    for index in 0..inputs.len() {
        let fact = inputs.get(index)?;
        if fact.dtype != first.dtype {
            return Err(OpError::invalid(format!("types {} and {} cannot be concatenated", first.dtype, fact.dtype)));
        }
        all.push(fact.shape.as_deref());
    }
    let all = known!(all.into_iter().collect::<Option<Vec<_>>>());
    let mut result = all[0].to_vec();
    let axis = shape::axis(axis, result.len())?;
    for other in &all[1..] {
        let same = result.len() == other.len()
            && result.iter().zip(*other).enumerate().all(|(at, (one, other))| at == axis || one == other);
        if !same {
            return Err(OpError::invalid(format!(
                "shapes {result:?} and {other:?} cannot be concatenated along axis {axis}"
            )));
        }
        result[axis] = result[axis].checked_add(other[axis]).ok_or_else(|| OpError::TooLarge(other.to_vec()))?;
    }
    Ok(Some(result))
}

pub(super) fn concat(inputs: &Inputs<'_>, axis: i64, shape: Vec<usize>) -> Result<Tensor, OpError> {
    let tensors = inputs.tensors()?;
    let axis = shape::axis(axis, shape.len())?;
    let outer = if shape::count(&shape)? == 0 { 0 } else { shape::count(&shape[..axis])? };
    each_type!(any: tensors[0], |T, _first| {
        let parts = tensors.iter().map(|tensor| tensor.slice::<T>()).collect::<Result<Vec<_>, _>>()?;
        let mut result = shape::reserve::<T>(&shape)?;
        for row in 0..outer {
            for part in &parts {
                let length = part.len() / outer;
                result.extend_from_slice(&part[row * length..(row + 1) * length]);
            }
        }
        Tensor::new(shape, result)
    })
}

pub(super) fn split_shapes(inputs: &Facts<'_>, axis: i64, parts: usize) -> Result<Vec<Option<Vec<usize>>>, OpError> {
    let unknown = vec![None; parts];
    let Some(given) = inputs.get(0)?.shape.as_deref() else { return Ok(unknown) };
    let Some(sizes) = optional_integers(inputs, 1)? else { return Ok(unknown) };
    let axis = shape::axis(axis, given.len())?;
    let size = given[axis];
    let wrong = |what: String| OpError::invalid(format!("axis {axis} of shape {given:?} cannot be split into {what}"));
    let sizes = if let Some(sizes) = sizes {
        let sizes = shape::sizes(&sizes)?;
        let sum = sizes.iter().try_fold(0usize, |sum, &size| sum.checked_add(size));
        if sum != Some(size) || sizes.len() != parts {
            return Err(wrong(format!("{parts} parts of sizes {sizes:?}")));
        }
        sizes
    } else {
        let few = || wrong(format!("{parts} parts"));
        let each = if parts == 0 { return Err(few()) } else { size.div_ceil(parts) };
        let last = each.checked_mul(parts - 1).and_then(|rest| size.checked_sub(rest)).ok_or_else(few)?;
        let mut sizes = vec![each; parts];
        sizes[parts - 1] = last;
        sizes
    };
    let shape = |size: usize| {
        let mut shape = given.to_vec();
        shape[axis] = size;
        Some(shape)
    };
    Ok(sizes.into_iter().map(shape).collect())
}

pub(super) fn split(data: &Tensor, axis: i64, shapes: Vec<Option<Vec<usize>>>) -> Result<Vec<Value>, OpError> {
    let axis = shape::axis(axis, data.rank())?;
    let (outer, size, inner) = shape::around(data.shape(), axis);
    let outer = if data.is_empty() { 0 } else { outer };
    let mut start = 0;
    let mut result = Vec::with_capacity(shapes.len());
    for shape in shapes {
        let shape = shape.ok_or_else(|| OpError::invalid("the output shape is unknown"))?;
        let part = shape[axis];
        result.push(each_type!(any: data, |T, v| {
            let mut elements = shape::reserve::<T>(&shape)?;
            for row in 0..outer {
                let from = row * size + start;
                elements.extend_from_slice(&v[from * inner..(from + part) * inner]);
            }
            Value::from(Tensor::new(shape, elements)?)
        }));
        start += part;
    }
    Ok(result)
}
