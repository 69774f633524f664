//! Padding and cropping.

use super::select_axes::{OUTSIDE, pick};
use super::{Shape, integers, known, optional_integers};
use crate::ops::{Facts, Inputs};
use crate::{DType, OpError, Tensor, shape};

/// What the padding contains.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PadMode {
    /// One value: that of an operand, or 0.
    Constant,
    /// The elements reflected at the outermost one.
    Reflect,
    /// The outermost element.
    Edge,
    /// The elements from the other end.
    Wrap,
}

/// Pads before and after each axis; `None` if operands are unknown.
pub fn pads(inputs: &Facts<'_>, rank: usize) -> Result<Option<Vec<(i64, i64)>>, OpError> {
    let pads = known!(integers(inputs.get(1)?)?);
    let axes = known!(optional_integers(inputs, 3)?).unwrap_or_else(|| (0..rank as i64).collect());
    shape::axes(&axes, rank)?;
    if pads.len() != 2 * axes.len() {
        return Err(OpError::invalid(format!(
            "there are {} pads for {} axes, expected two per axis",
            pads.len(),
            axes.len()
        )));
    }
    let mut result = vec![(0, 0); rank];
    for (index, &axis) in axes.iter().enumerate() {
        result[shape::axis(axis, rank)?] = (pads[index], pads[axes.len() + index]);
    }
    Ok(Some(result))
}

pub(super) fn pad_shape(inputs: &Facts<'_>) -> Shape {
    let input_shape = known!(inputs.get(0)?.shape.as_deref());
    let pads = known!(pads(inputs, input_shape.len())?);
    let size = |(&size, &(before, behind)): (&usize, &(i64, i64))| {
        usize::try_from(size as i128 + i128::from(before) + i128::from(behind))
    };
    let result = input_shape.iter().zip(&pads).map(size).collect::<Result<Vec<_>, _>>();
    result.map(Some).map_err(|_| OpError::invalid(format!("shape {input_shape:?} cannot be padded by {pads:?}")))
}

pub(super) fn pad(inputs: &Inputs<'_>, mode: PadMode, shape: Vec<usize>) -> Result<Tensor, OpError> {
    let data = inputs.tensor(0)?;
    let facts = inputs.facts()?;
    let pads = pads(&Facts::new(&facts, 1), data.rank())?.unwrap_or_default();
    let fill = pad_fill(inputs.optional(2)?, data.dtype())?;
    let strides = shape::strides(data.shape());
    pick(data, shape, Some(&fill), |axis, at| {
        let from = pad_source(at, data.shape()[axis], pads[axis], mode)?;
        Ok(from.map_or(OUTSIDE, |from| from * strides[axis]))
    })
}

/// The source index of a padded element; `None` for the constant.
pub fn pad_source(
    at: usize,
    size: usize,
    (before, behind): (i64, i64),
    mode: PadMode,
) -> Result<Option<usize>, OpError> {
    let from = at as i128 - i128::from(before);
    if mode == PadMode::Constant {
        return Ok(usize::try_from(from).ok().filter(|&from| from < size));
    }
    // Negative pads crop first; the rest is what is reflected.
    let first = i128::from(before.min(0).unsigned_abs());
    let length = size as i128 - first - i128::from(behind.min(0).unsigned_abs());
    if length <= 0 {
        return Err(OpError::invalid(format!(
            "an axis of size {size} is cropped to nothing, so it has no elements to pad with"
        )));
    }
    let from = from - first;
    let inside = match mode {
        PadMode::Edge | PadMode::Constant => from.clamp(0, length - 1),
        PadMode::Wrap => from.rem_euclid(length),
        PadMode::Reflect if length == 1 => 0,
        PadMode::Reflect => {
            let period = 2 * (length - 1);
            let turned = from.rem_euclid(period);
            turned.min(period - turned)
        }
    };
    Ok(Some((first + inside) as usize))
}

/// The padding value, in the type of the data; old models give a float for every type.
pub fn pad_fill(given: Option<&Tensor>, dtype: DType) -> Result<Tensor, OpError> {
    match given {
        None => Tensor::zeros(dtype, []),
        Some(one) if one.len() != 1 => {
            Err(OpError::invalid(format!("the padding value has {} elements, expected one", one.len())))
        }
        Some(one) if one.dtype() == dtype => Ok(one.clone()),
        Some(one) => Tensor::from_floats(dtype, [], &one.floats()?),
    }
}

pub(super) fn center_shape(inputs: &Facts<'_>, axes: Option<&[i64]>) -> Shape {
    let input_shape = known!(inputs.get(0)?.shape.as_deref());
    let expected = shape::sizes(&known!(integers(inputs.get(1)?)?))?;
    let axes = axes.map_or_else(|| (0..input_shape.len() as i64).collect(), <[i64]>::to_vec);
    shape::axes(&axes, input_shape.len())?;
    if axes.len() != expected.len() {
        return Err(OpError::invalid(format!(
            "there are {} sizes for {} axes, expected one per axis",
            expected.len(),
            axes.len()
        )));
    }
    let mut result = input_shape.to_vec();
    for (&axis, &size) in axes.iter().zip(&expected) {
        result[shape::axis(axis, input_shape.len())?] = size;
    }
    Ok(Some(result))
}

pub(super) fn center(data: &Tensor, shape: Vec<usize>) -> Result<Tensor, OpError> {
    let fill = Tensor::zeros(data.dtype(), [])?;
    let strides = shape::strides(data.shape());
    let expected = shape.clone();
    pick(data, shape, Some(&fill), |axis, at| {
        let (size, expected) = (data.shape()[axis], expected[axis]);
        let (cut, put) = (size.saturating_sub(expected) / 2, expected.saturating_sub(size) / 2);
        let from = (at + cut).checked_sub(put).filter(|&from| from < size);
        Ok(from.map_or(OUTSIDE, |from| from * strides[axis]))
    })
}
