//! Scatter operations.

use super::{gather, index};
use crate::ops::movement::{Shape, known};
use crate::ops::{Facts, Inputs};
use crate::{Data, OpError, Tensor, each_type, shape};

/// How an update combines with the old element.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scatter {
    /// Replaces it.
    Replace,
    /// Their sum.
    Add,
    /// Their product.
    Multiply,
    /// The maximum.
    Max,
    /// The minimum.
    Min,
}

impl Scatter {
    fn float(self, old: f64, new: f64) -> f64 {
        match self {
            Self::Replace => new,
            Self::Add => old + new,
            Self::Multiply => old * new,
            _ if old.is_nan() || new.is_nan() => f64::NAN,
            Self::Max => old.max(new),
            Self::Min => old.min(new),
        }
    }

    /// Applies updates to the elements at these offsets, in order.
    fn write(self, data: &Tensor, offsets: &[usize], updates: &Tensor) -> Result<Tensor, OpError> {
        let shape = data.shape();
        if updates.dtype() != data.dtype() {
            return Err(OpError::dtype(format!("an update of {} elements", data.dtype()), updates.dtype()));
        }
        if self == Self::Replace {
            return each_type!(any: data, |T, v| {
                Tensor::new(shape, apply(v.to_vec(), offsets, updates.slice::<T>()?, replace)?)
            });
        }
        if data.dtype().is_float() {
            let result = apply(data.floats()?, offsets, &updates.floats()?, |old, new| self.float(*old, *new))?;
            return Tensor::from_floats(data.dtype(), shape, &result);
        }
        if let Data::Bool(elements) = data.data() {
            let any = matches!(self, Self::Add | Self::Max);
            let join = |old: &bool, new: &bool| if any { *old | *new } else { *old & *new };
            return Tensor::new(shape, apply(elements.clone(), offsets, updates.slice::<bool>()?, join)?);
        }
        each_type!(integer: data, |T, v| {
            let join = |old: &T, new: &T| match self {
                Self::Replace => *new,
                Self::Add => old.wrapping_add(*new),
                Self::Multiply => old.wrapping_mul(*new),
                Self::Max => *old.max(new),
                Self::Min => *old.min(new),
            };
            Tensor::new(shape, apply(v.to_vec(), offsets, updates.slice::<T>()?, join)?)
        }, else Err(OpError::dtype("a reduction", data.dtype())))
    }
}

/// The update, regardless of the old element.
fn replace<T: Clone>(_old: &T, new: &T) -> T {
    new.clone()
}

/// Combines each update with the element at its offset, in order.
fn apply<T>(mut all: Vec<T>, offsets: &[usize], updates: &[T], join: impl Fn(&T, &T) -> T) -> Result<Vec<T>, OpError> {
    for (&at, new) in offsets.iter().zip(updates) {
        let old = all.get_mut(at).ok_or_else(|| OpError::invalid("an update is out of range"))?;
        *old = join(old, new);
    }
    Ok(all)
}

pub(super) fn elements_shape(inputs: &Facts<'_>, axis: i64) -> Shape {
    let updates = known!(inputs.get(2)?.shape.as_deref());
    let indices = known!(gather::elements_shape(inputs, axis)?);
    if indices != updates {
        return Err(OpError::invalid(format!(
            "the updates have shape {updates:?}, expected that of the indices, {indices:?}"
        )));
    }
    Ok(inputs.get(0)?.shape.clone())
}

pub(super) fn elements(inputs: &Inputs<'_>, axis: i64, reduction: Scatter) -> Result<Tensor, OpError> {
    let data = inputs.tensor(0)?;
    let offsets = gather::element_offsets(data.shape(), inputs.tensor(1)?, axis)?;
    reduction.write(data, &offsets, inputs.tensor(2)?)
}

pub(super) fn nd_shape(inputs: &Facts<'_>) -> Shape {
    let updates = known!(inputs.get(2)?.shape.as_deref());
    let expected = known!(gather::nd_shape(inputs, 0)?);
    if expected != updates {
        return Err(OpError::invalid(format!("the updates have shape {updates:?}, expected {expected:?}")));
    }
    Ok(inputs.get(0)?.shape.clone())
}

pub(super) fn nd(inputs: &Inputs<'_>, reduction: Scatter) -> Result<Tensor, OpError> {
    let (data, updates) = (inputs.tensor(0)?, inputs.tensor(2)?);
    if updates.is_empty() {
        return Ok(data.clone());
    }
    let (starts, length) = gather::slices(data.shape(), inputs.tensor(1)?, 0)?;
    let offsets: Vec<usize> = starts.into_iter().flat_map(|start| start..start + length).collect();
    reduction.write(data, &offsets, updates)
}

pub(super) fn cache_shape(inputs: &Facts<'_>, axis: i64) -> Shape {
    let input_shape = known!(inputs.get(0)?.shape.as_deref());
    let update = known!(inputs.get(1)?.shape.as_deref());
    let axis = shape::axis(axis, input_shape.len())?;
    let fits =
        |(at, (update, size)): (usize, (&usize, &usize))| if at == axis { update <= size } else { update == size };
    if axis == 0 {
        return Err(OpError::invalid("the axis of the cache update is 0, which is the batch axis"));
    }
    if update.len() != input_shape.len() || !update.iter().zip(input_shape).enumerate().all(fits) {
        return Err(OpError::invalid(format!(
            "the update has shape {update:?}, expected the cache's shape {input_shape:?} or a shorter axis {axis}"
        )));
    }
    if let Some(places) = inputs.optional(2).and_then(|fact| fact.shape.as_deref())
        && places != [input_shape[0]]
    {
        return Err(OpError::invalid(format!(
            "the write indices have shape {places:?}, expected [{}]",
            input_shape[0]
        )));
    }
    Ok(Some(input_shape.to_vec()))
}

pub(super) fn cache(inputs: &Inputs<'_>, axis: i64, circular: bool) -> Result<Tensor, OpError> {
    let (data, update) = (inputs.tensor(0)?, inputs.tensor(1)?);
    if update.is_empty() {
        return Ok(data.clone());
    }
    let axis = shape::axis(axis, data.rank())?;
    let (outer, size, inner) = shape::around(data.shape(), axis);
    let steps = update.shape()[axis];
    let places = match inputs.optional(2)? {
        Some(places) => places.integers()?,
        None => vec![0; data.shape()[0]],
    };
    let per_sample = outer / places.len();
    let mut offsets = shape::reserve(update.shape())?;
    for row in 0..outer {
        let place = places[row / per_sample];
        for step in 0..steps {
            let place = i128::from(place) + step as i128;
            let place = if circular { place.rem_euclid(size as i128) } else { place };
            let place = i64::try_from(place).ok().filter(|&place| place >= 0);
            let place = place.ok_or_else(|| OpError::invalid("the write index of a cache is negative"))?;
            let start = (row * size + index(place, size)?) * inner;
            offsets.extend(start..start + inner);
        }
    }
    Scatter::Replace.write(data, &offsets, update)
}
