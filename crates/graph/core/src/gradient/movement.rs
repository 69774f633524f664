//! Gradients of movement operations: the gradient moves back to where the elements came from.

use super::BackwardNode;
use crate::interpreter::RunError;
use crate::ops::movement::{PadMode, pads, slice_parts};
use crate::ops::{Facts, Movement};
use crate::{Tensor, shape};

pub(super) fn backward(op: &Movement, backward: &mut BackwardNode<'_>) -> Result<(), RunError> {
    let x = backward.input(0)?;
    let own = backward.shape(x)?;
    match op {
        Movement::Reshape { .. } | Movement::Flatten { .. } | Movement::Squeeze | Movement::Unsqueeze => {
            let g = backward.output_gradient()?;
            let result = backward.builder.reshape(g, &own)?;
            backward.add_gradient(0, result)
        }
        Movement::Transpose { perm } => {
            let perm = perm.clone().unwrap_or_else(|| (0..own.len()).rev().collect());
            let mut inverse = vec![0; perm.len()];
            for (to, &from) in perm.iter().enumerate() {
                inverse[from] = to;
            }
            let g = backward.output_gradient()?;
            let result = backward.builder.transpose(g, inverse)?;
            backward.add_gradient(0, result)
        }
        // Repeated elements get the sum.
        Movement::Expand => {
            let g = backward.output_gradient()?;
            backward.add_gradient(0, g)
        }
        Movement::Slice => {
            let facts = backward.facts();
            let parts = slice_parts(&Facts::new(&facts, 1), &own).map_err(|error| backward.error(error))?;
            let mut around = vec![(0, 0); own.len()];
            for part in parts.ok_or_else(|| backward.unsupported("a part that depends on data"))? {
                if part.step != 1 && part.count > 1 {
                    return Err(backward.unsupported("the gradient of a part with steps"));
                }
                let behind = own[part.axis] - part.start - part.count;
                around[part.axis] = (part.start as i64, behind as i64);
            }
            padded(backward, &around)
        }
        Movement::Pad { mode: PadMode::Constant } => {
            let facts = backward.facts();
            let around = pads(&Facts::new(&facts, 1), own.len()).map_err(|error| backward.error(error))?;
            let around = around.ok_or_else(|| backward.unsupported("padding that depends on data"))?;
            let less: Vec<_> = around.iter().map(|(before, behind)| (-before, -behind)).collect();
            padded(backward, &less)
        }
        Movement::Concat { axis } => concat(backward, *axis),
        Movement::Split { axis, .. } => split(backward, *axis),
        _ => Err(backward.no_gradient()),
    }
}

/// Pads the gradient with zeros, or crops it where a number is negative.
fn padded(backward: &mut BackwardNode<'_>, around: &[(i64, i64)]) -> Result<(), RunError> {
    let g = backward.output_gradient()?;
    let sizes = around.iter().map(|pair| pair.0).chain(around.iter().map(|pair| pair.1));
    let sizes = backward.builder.list(sizes);
    let result = backward.builder.op(Movement::Pad { mode: PadMode::Constant }, &[g, sizes])?;
    backward.add_gradient(0, result)
}

/// Each operand gets its slice.
fn concat(backward: &mut BackwardNode<'_>, axis: i64) -> Result<(), RunError> {
    let g = backward.output_gradient()?;
    let axis = shape::axis(axis, backward.shape(g)?.len()).map_err(|error| backward.error(error))?;
    let mut start = 0;
    for index in 0..backward.node.inputs.len() {
        let size = backward.shape(backward.input(index)?)?[axis] as i64;
        if backward.needs_gradient(index) {
            let [from, to, along] = [start, start + size, axis as i64].map(|number| backward.builder.list([number]));
            let part = backward.builder.op(Movement::Slice, &[g, from, to, along])?;
            backward.add_gradient(index, part)?;
        }
        start += size;
    }
    Ok(())
}

/// Concatenates the parts, with zeros for those that the loss does not depend on.
fn split(backward: &mut BackwardNode<'_>, axis: i64) -> Result<(), RunError> {
    let mut parts = Vec::new();
    for index in 0..backward.node.outputs.len() {
        let part = match backward.got[index] {
            Some(part) => part,
            None => {
                let id = backward.builder.output_of(backward.index, index)?;
                let (shape, dtype) =
                    (backward.shape(id)?, backward.builder.dtype(id).map_err(|error| backward.error(error))?);
                let zeros = Tensor::zeros(dtype, shape).map_err(|error| backward.error(error))?;
                backward.builder.constant(zeros)
            }
        };
        parts.push(part);
    }
    let result = backward.builder.op(Movement::Concat { axis }, &parts)?;
    backward.add_gradient(0, result)
}
