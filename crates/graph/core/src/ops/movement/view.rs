//! Views: other shapes of the same elements.

use super::{Shape, integers, known, optional_integers};
use crate::ops::Facts;
use crate::{OpError, shape};

pub(super) fn reshape(inputs: &Facts<'_>, allow_zero: bool) -> Shape {
    let expected = known!(integers(inputs.get(1)?)?);
    let Some(given) = inputs.get(0)?.shape.as_deref() else {
        // Without 0 and -1 the operand determines the whole shape.
        return if expected.iter().all(|&size| size > 0) { shape::sizes(&expected).map(Some) } else { Ok(None) };
    };
    let wrong = || OpError::invalid(format!("shape {given:?} cannot become {expected:?}"));
    let mut result = Vec::with_capacity(expected.len());
    let mut open = None;
    for (axis, &size) in expected.iter().enumerate() {
        result.push(match size {
            0 if !allow_zero => *given.get(axis).ok_or_else(wrong)?,
            -1 if open.is_none() => {
                open = Some(axis);
                1
            }
            _ => usize::try_from(size).map_err(|_| wrong())?,
        });
    }
    let all = shape::count(given)?;
    if let Some(axis) = open {
        let rest = shape::count(&result)?;
        if rest == 0 || all % rest != 0 {
            return Err(wrong());
        }
        result[axis] = all / rest;
    }
    if shape::count(&result)? != all {
        return Err(wrong());
    }
    Ok(Some(result))
}

pub(super) fn flatten(inputs: &Facts<'_>, axis: i64) -> Shape {
    let input_shape = known!(inputs.get(0)?.shape.as_deref());
    // If the axis is the rank, all sizes come before it.
    let rank = input_shape.len() as i64;
    let axis = if axis == rank { input_shape.len() } else { shape::axis(axis, input_shape.len().max(1))? };
    let (before, behind) = input_shape.split_at(axis.min(input_shape.len()));
    Ok(Some(vec![shape::count(before)?, shape::count(behind)?]))
}

pub(super) fn squeeze(inputs: &Facts<'_>) -> Shape {
    let input_shape = known!(inputs.get(0)?.shape.as_deref());
    let Some(axes) = known!(optional_integers(inputs, 1)?) else {
        return Ok(Some(input_shape.iter().copied().filter(|&size| size != 1).collect()));
    };
    let axes = shape::axes(&axes, input_shape.len())?;
    if let Some(&axis) = axes.iter().find(|&&axis| input_shape[axis] != 1) {
        return Err(OpError::invalid(format!("axis {axis} of shape {input_shape:?} is not of size 1")));
    }
    let remaining = input_shape.iter().enumerate().filter(|(axis, _)| !axes.contains(axis));
    Ok(Some(remaining.map(|(_, &size)| size).collect()))
}

pub(super) fn unsqueeze(inputs: &Facts<'_>) -> Shape {
    let input_shape = known!(inputs.get(0)?.shape.as_deref());
    let axes = known!(integers(inputs.get(1)?)?);
    let axes = shape::axes(&axes, input_shape.len() + axes.len())?;
    let mut result = input_shape.to_vec();
    // Sorted, so that each insertion has its final index.
    for axis in axes {
        result.insert(axis, 1);
    }
    Ok(Some(result))
}
