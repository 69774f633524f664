//! Gradients of what moves elements: they go back to where they came from.

use super::Back;
use crate::interpreter::RunError;
use crate::ops::movement::{PadMode, pads, slice_parts};
use crate::ops::{Facts, Movement};
use crate::{Tensor, shape};

pub(super) fn back(op: &Movement, back: &mut Back<'_>) -> Result<(), RunError> {
    let x = back.input(0)?;
    let own = back.shape(x)?;
    match op {
        Movement::Reshape { .. } | Movement::Flatten { .. } | Movement::Squeeze | Movement::Unsqueeze => {
            let g = back.got()?;
            let made = back.builder.reshape(g, &own)?;
            back.give(0, made)
        }
        Movement::Transpose { perm } => {
            let perm = perm.clone().unwrap_or_else(|| (0..own.len()).rev().collect());
            let mut inverse = vec![0; perm.len()];
            for (to, &from) in perm.iter().enumerate() {
                inverse[from] = to;
            }
            let g = back.got()?;
            let made = back.builder.transpose(g, inverse)?;
            back.give(0, made)
        }
        // What was repeated gets the sum.
        Movement::Expand => {
            let g = back.got()?;
            back.give(0, g)
        }
        Movement::Slice => {
            let facts = back.facts();
            let parts = slice_parts(&Facts::new(&facts, 1), &own).map_err(|error| back.error(error))?;
            let mut around = vec![(0, 0); own.len()];
            for part in parts.ok_or_else(|| back.refuse("a part that depends on data"))? {
                if part.step != 1 && part.count > 1 {
                    return Err(back.refuse("the gradient of a part with steps"));
                }
                let behind = own[part.axis] - part.start - part.count;
                around[part.axis] = (part.start as i64, behind as i64);
            }
            padded(back, &around)
        }
        Movement::Pad { mode: PadMode::Constant } => {
            let facts = back.facts();
            let around = pads(&Facts::new(&facts, 1), own.len()).map_err(|error| back.error(error))?;
            let around = around.ok_or_else(|| back.refuse("padding that depends on data"))?;
            let less: Vec<_> = around.iter().map(|(before, behind)| (-before, -behind)).collect();
            padded(back, &less)
        }
        Movement::Concat { axis } => concat(back, *axis),
        Movement::Split { axis, .. } => split(back, *axis),
        _ => Err(back.without()),
    }
}

/// The gradient with zeros around, or less of it where a number is negative.
fn padded(back: &mut Back<'_>, around: &[(i64, i64)]) -> Result<(), RunError> {
    let g = back.got()?;
    let sizes = around.iter().map(|pair| pair.0).chain(around.iter().map(|pair| pair.1));
    let sizes = back.builder.list(sizes);
    let made = back.builder.op(Movement::Pad { mode: PadMode::Constant }, &[g, sizes])?;
    back.give(0, made)
}

/// Each operand gets its part.
fn concat(back: &mut Back<'_>, axis: i64) -> Result<(), RunError> {
    let g = back.got()?;
    let axis = shape::axis(axis, back.shape(g)?.len()).map_err(|error| back.error(error))?;
    let mut start = 0;
    for index in 0..back.node.inputs.len() {
        let size = back.shape(back.input(index)?)?[axis] as i64;
        if back.wants(index) {
            let [from, to, along] = [start, start + size, axis as i64].map(|number| back.builder.list([number]));
            let part = back.builder.op(Movement::Slice, &[g, from, to, along])?;
            back.give(index, part)?;
        }
        start += size;
    }
    Ok(())
}

/// The parts together, with zeros for those that the loss does not depend on.
fn split(back: &mut Back<'_>, axis: i64) -> Result<(), RunError> {
    let mut parts = Vec::new();
    for index in 0..back.node.outputs.len() {
        let part = match back.got[index] {
            Some(part) => part,
            None => {
                let id = back.builder.output_of(back.index, index)?;
                let (shape, dtype) = (back.shape(id)?, back.builder.dtype(id).map_err(|error| back.error(error))?);
                let zeros = Tensor::zeros(dtype, shape).map_err(|error| back.error(error))?;
                back.builder.constant(zeros)
            }
        };
        parts.push(part);
    }
    let made = back.builder.op(Movement::Concat { axis }, &parts)?;
    back.give(0, made)
}
