//! Gradients of what leaves elements out at random.

use super::Back;
use crate::interpreter::RunError;
use crate::ops::{Elementwise, Random};

pub(super) fn back(op: &Random, back: &mut Back<'_>) -> Result<(), RunError> {
    let Random::Dropout { .. } = op else { return Err(back.without()) };
    let g = back.got()?;
    let share = match back.has(1) {
        true => back.known(1)?.float().map_err(|error| back.error(error))?,
        false => 0.5,
    };
    let training = match back.has(2) {
        true => back.known(2)?.floats().map_err(|error| back.error(error))?.iter().any(|flag| *flag != 0.0),
        false => false,
    };
    if !training || share == 0.0 {
        return back.give(0, g);
    }
    // What stayed was made larger by what went.
    let kept = back.builder.output_of(back.index, 1)?;
    let larger = back.builder.scale(g, 1.0 / (1.0 - share))?;
    let zero = back.builder.number_like(g, 0.0)?;
    let made = back.builder.op(Elementwise::Where, &[kept, larger, zero])?;
    back.give(0, made)
}
