//! Other shapes of the same elements.

use super::{Shape, integers, known, optional_integers};
use crate::ops::Facts;
use crate::{OpError, shape};

pub(super) fn reshape(inputs: &Facts<'_>, allow_zero: bool) -> Shape {
    let wanted = known!(integers(inputs.get(1)?)?);
    let Some(given) = inputs.get(0)?.shape.as_deref() else {
        // Without 0 and -1 the shape is told in full.
        return if wanted.iter().all(|&size| size > 0) { shape::sizes(&wanted).map(Some) } else { Ok(None) };
    };
    let wrong = || OpError::invalid(format!("shape {given:?} cannot become {wanted:?}"));
    let mut made = Vec::with_capacity(wanted.len());
    let mut open = None;
    for (axis, &size) in wanted.iter().enumerate() {
        made.push(match size {
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
        let rest = shape::count(&made)?;
        if rest == 0 || all % rest != 0 {
            return Err(wrong());
        }
        made[axis] = all / rest;
    }
    if shape::count(&made)? != all {
        return Err(wrong());
    }
    Ok(Some(made))
}

pub(super) fn flatten(inputs: &Facts<'_>, axis: i64) -> Shape {
    let given = known!(inputs.get(0)?.shape.as_deref());
    // The axis may be the rank, and then all sizes are in front of it.
    let rank = given.len() as i64;
    let axis = if axis == rank { given.len() } else { shape::axis(axis, given.len().max(1))? };
    let (before, behind) = given.split_at(axis.min(given.len()));
    Ok(Some(vec![shape::count(before)?, shape::count(behind)?]))
}

pub(super) fn squeeze(inputs: &Facts<'_>) -> Shape {
    let given = known!(inputs.get(0)?.shape.as_deref());
    let Some(axes) = known!(optional_integers(inputs, 1)?) else {
        return Ok(Some(given.iter().copied().filter(|&size| size != 1).collect()));
    };
    let axes = shape::axes(&axes, given.len())?;
    if let Some(&axis) = axes.iter().find(|&&axis| given[axis] != 1) {
        return Err(OpError::invalid(format!("axis {axis} of shape {given:?} is not of size 1")));
    }
    let kept = given.iter().enumerate().filter(|(axis, _)| !axes.contains(axis));
    Ok(Some(kept.map(|(_, &size)| size).collect()))
}

pub(super) fn unsqueeze(inputs: &Facts<'_>) -> Shape {
    let given = known!(inputs.get(0)?.shape.as_deref());
    let axes = known!(integers(inputs.get(1)?)?);
    let axes = shape::axes(&axes, given.len() + axes.len())?;
    let mut made = given.to_vec();
    // Sorted, so that each finds the place that it has in the end.
    for axis in axes {
        made.insert(axis, 1);
    }
    Ok(Some(made))
}
