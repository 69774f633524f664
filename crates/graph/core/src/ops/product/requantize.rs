//! Requantization of 32-bit sums to bytes.

use super::byte;
use crate::ops::{Facts, Inputs};
use crate::{DType, Fact, OpError, Tensor, shape};

/// The strides of scales or zero points for a tensor: a scalar, one per index of an axis, or
/// broadcast.
pub(super) fn steps(own: &[usize], shape: &[usize], axis: i64) -> Result<Vec<usize>, OpError> {
    let mut steps = vec![0; shape.len()];
    match own {
        [] | [1] => {}
        [size] => {
            let axis = shape::axis(axis, shape.len())?;
            if *size != shape[axis] {
                return Err(OpError::invalid(format!(
                    "there are {size} scales or zero points, expected {} for axis {axis} of shape {shape:?}",
                    shape[axis]
                )));
            }
            steps[axis] = 1;
        }
        _ if shape::broadcast(&[own, shape])? == shape => steps = shape::broadcast_strides(own, shape),
        _ => {
            return Err(OpError::invalid(format!(
                "the scales or zero points have shape {own:?}, which does not broadcast to {shape:?}"
            )));
        }
    }
    Ok(steps)
}

pub(super) fn infer(axes: [i64; 2], inputs: &Facts<'_>) -> Result<Fact, OpError> {
    let sums = inputs.get(0)?;
    if sums.dtype != DType::I32 {
        return Err(OpError::dtype("a sum", sums.dtype));
    }
    byte(inputs, 4)?;
    for index in 1..4 {
        let scale = inputs.get(index)?;
        if !scale.dtype.is_float() {
            return Err(OpError::dtype("a scale", scale.dtype));
        }
        if let (Some(own), Some(shape), Some(axis)) = (&scale.shape, &sums.shape, axes.get(index - 1)) {
            steps(own, shape, *axis)?;
        }
    }
    for index in 3..5 {
        if let Some(own) = inputs.get(index)?.shape.as_deref()
            && shape::count(own)? != 1
        {
            return Err(OpError::unsupported(format!("a result with a scale or zero point of shape {own:?}")));
        }
    }
    Ok(Fact { dtype: inputs.get(4)?.dtype, shape: sums.shape.clone(), value: None })
}

pub(super) fn eval(axes: [i64; 2], inputs: &Inputs<'_>, to: &[usize]) -> Result<Tensor, OpError> {
    let sums = inputs.tensor(0)?.slice::<i32>()?;
    let scales = |index: usize| inputs.tensor(index)?.floats();
    let (left, right, result, zero) = (scales(1)?, scales(2)?, scales(3)?[0] as f32, inputs.tensor(4)?);
    let steps_left = steps(inputs.tensor(1)?.shape(), to, axes[0])?;
    let steps_right = steps(inputs.tensor(2)?.shape(), to, axes[1])?;
    let places = shape::offsets(to, &steps_left).zip(shape::offsets(to, &steps_right));
    let offset = zero.integer()?;
    let (least, most) = if zero.dtype() == DType::U8 { (0, 255) } else { (-128, 127) };
    // In f32 as on devices and in other runtimes, because ties depend on the precision.
    let one = |(sum, (left_at, right_at)): (&i32, (usize, usize))| {
        let factor = left[left_at] as f32 * right[right_at] as f32 / result;
        let rounded = (*sum as f32 * factor).round_ties_even() as i64;
        rounded.saturating_add(offset).clamp(least, most) as f64
    };
    let bytes: Vec<f64> = sums.iter().zip(places).map(one).collect();
    Tensor::from_floats(zero.dtype(), to, &bytes)
}
