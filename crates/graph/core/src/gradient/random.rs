//! Gradients of dropout.

use super::BackwardNode;
use crate::interpreter::RunError;
use crate::ops::{Elementwise, Random};

pub(super) fn backward(op: &Random, backward: &mut BackwardNode<'_>) -> Result<(), RunError> {
    let Random::Dropout { .. } = op else { return Err(backward.no_gradient()) };
    let g = backward.output_gradient()?;
    let share = match backward.has_input(1) {
        true => backward.elements(1)?.float().map_err(|error| backward.error(error))?,
        false => 0.5,
    };
    let training = match backward.has_input(2) {
        true => backward.elements(2)?.floats().map_err(|error| backward.error(error))?.iter().any(|flag| *flag != 0.0),
        false => false,
    };
    if !training || share == 0.0 {
        return backward.add_gradient(0, g);
    }
    // Kept elements were scaled by 1 / (1 - ratio).
    let mask = backward.builder.output_of(backward.index, 1)?;
    let larger = backward.builder.scale(g, 1.0 / (1.0 - share))?;
    let zero = backward.builder.number_like(g, 0.0)?;
    let result = backward.builder.op(Elementwise::Where, &[mask, larger, zero])?;
    backward.add_gradient(0, result)
}
