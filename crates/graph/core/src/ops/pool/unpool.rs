//! Max unpooling.

use crate::ops::window::{Axis, Padding, Window, justified};
use crate::ops::{Facts, Inputs};
use crate::{DType, Fact, OpError, Tensor, shape};

/// The input shape of the pooling, as far as the window determines it; indices refer to this shape.
pub fn pooled(window: &Window, x: &[usize]) -> Result<Vec<usize>, OpError> {
    let [_, _, spatial @ ..] = x else {
        return Err(OpError::invalid(format!("the input has shape {x:?}, expected [N, C, sizes]")));
    };
    let Padding::Explicit(pads) = &window.padding else {
        return Err(OpError::unsupported("unpooling with automatic padding"));
    };
    let fits = |length: usize| length == 0 || length == spatial.len();
    if window.kernel.len() != spatial.len() || !fits(window.strides.len()) || !fits(pads.len()) {
        return Err(OpError::invalid(format!(
            "a window of {:?} with {window} must have one entry per spatial axis of the input's shape {x:?}",
            window.kernel
        )));
    }
    let mut to = x[..2].to_vec();
    for (axis, &size) in spatial.iter().enumerate() {
        let (before, after) = pads.get(axis).copied().unwrap_or((0, 0));
        let stride = window.stride(axis).filter(|stride| justified(*stride, 1));
        let extent = Axis::extent(window.kernel[axis], 1).filter(|extent| justified(*extent, size));
        let full = stride.zip(extent).and_then(|(stride, extent)| {
            let full = size.saturating_sub(1).checked_mul(stride)?.checked_add(extent)?;
            full.checked_sub(before)?.checked_sub(after)
        });
        to.push(full.ok_or_else(|| {
            OpError::invalid(format!(
                "a window of {:?} with {window} does not fit an input of shape {x:?}",
                window.kernel
            ))
        })?);
    }
    shape::count(&to)?;
    Ok(to)
}

pub(super) fn infer(window: &Window, inputs: &Facts<'_>) -> Result<Fact, OpError> {
    let (x, places) = (inputs.get(0)?, inputs.get(1)?);
    if !x.dtype.is_float() {
        return Err(OpError::dtype("MaxUnpool", x.dtype));
    }
    if places.dtype != DType::I64 {
        return Err(OpError::dtype("an index", places.dtype));
    }
    let (Some(from), Some(other)) = (&x.shape, &places.shape) else { return Ok(Fact::unknown(x.dtype)) };
    if from != other {
        return Err(OpError::invalid(format!(
            "the indices have shape {other:?}, expected that of the input, {from:?}"
        )));
    }
    let own = pooled(window, from)?;
    let to = match inputs.optional(2) {
        None => own,
        Some(Fact { value: None, .. }) => return Ok(Fact::unknown(x.dtype)),
        Some(Fact { value: Some(given), .. }) => {
            let size = |(size, own): (&i64, &usize)| {
                usize::try_from(*size).ok().filter(|size| justified(*size, *own) && size >= own)
            };
            let given = given.integers()?;
            let sizes: Option<Vec<_>> = given.iter().zip(&own).map(size).collect();
            let sizes = sizes.filter(|sizes| sizes.len() == own.len() && given.len() == own.len());
            sizes.ok_or_else(|| {
                OpError::invalid(format!("the output shape is {given:?}, expected {own:?} or slightly larger"))
            })?
        }
    };
    if from.contains(&0) {
        shape::count_bounded(&to)?;
    }
    shape::count(&to)?;
    Ok(Fact::new(x.dtype, to))
}

/// Indices refer to the shape that the window implies, which is a corner of the result if that is
/// larger.
pub(super) fn eval(window: &Window, inputs: &Inputs<'_>, to: &[usize]) -> Result<Tensor, OpError> {
    let x = inputs.tensor(0)?;
    let own = pooled(window, x.shape())?;
    let count = shape::count(&own)?;
    let (steps, into_steps) = (shape::strides(&own), shape::strides(to));
    let mut result = shape::filled(to, 0.0)?;
    for (one, place) in x.floats()?.into_iter().zip(inputs.tensor(1)?.integers()?) {
        let from = usize::try_from(place)
            .ok()
            .filter(|place| *place < count)
            .ok_or_else(|| OpError::invalid(format!("index {place} is out of range for {count} elements")))?;
        let axes = own.iter().zip(&steps).zip(&into_steps);
        let into: usize = axes.map(|((size, step), into)| from / step % size * into).sum();
        result[into] = one;
    }
    Tensor::from_floats(x.dtype(), to, &result)
}
