//! Inputs of the gathers and scatters: negative, out-of-range and duplicate indices.

use roci_tolerance::Tolerance;

use super::{Case, Element, Random, case, words};
use crate::{Combine, Numbers, Params};

/// Indices of an axis, some negative and a few out of range.
pub(crate) fn indices(random: &mut Random, count: usize, axis: u32) -> Vec<u32> {
    let mut index = || match random.word() % 16 {
        0 => axis + random.word() % 3,
        1 => (-(axis as i32) - 1 - (random.word() % 3) as i32) as u32,
        2..6 => (-1 - (random.word() % axis) as i32) as u32,
        _ => random.word() % axis,
    };
    (0..count).map(|_| index()).collect()
}

/// Random words.
pub(crate) fn any(random: &mut Random, count: usize) -> Vec<u32> {
    (0..count).map(|_| random.word()).collect()
}

pub(crate) fn moved<P: Params>(params: P, buffers: Vec<Vec<u32>>, label: String) -> Case {
    case(params, buffers, Element::Word, Tolerance::Exact, label)
}

/// Every combination of [`Combine`] and [`Numbers`] that is supported.
pub(crate) fn ways() -> impl Iterator<Item = (Combine, Numbers)> {
    let ways = [Combine::Replace, Combine::Add, Combine::Mul, Combine::Min, Combine::Max];
    ways.into_iter().flat_map(|way| [Numbers::F32, Numbers::I32, Numbers::U32].map(|numbers| (way, numbers)))
}

/// Values near one, with some NaNs and zeros of both signs.
pub(crate) fn values(random: &mut Random, count: usize, numbers: Numbers) -> Vec<u32> {
    if numbers != Numbers::F32 {
        return any(random, count);
    }
    let mut values = random.floats(count, -2.0, 2.0);
    let special = [f32::NAN, -f32::NAN, 0.0, -0.0, f32::INFINITY, f32::NEG_INFINITY];
    values.iter_mut().step_by(11).zip(special.into_iter().cycle()).for_each(|(value, special)| *value = special);
    words(&values)
}

/// A scatter case with exact comparison: updates of an element are applied in a fixed order, so
/// that float sums are deterministic too.
pub(crate) fn scattered<P: Params>(
    params: P,
    numbers: Numbers,
    combine: Combine,
    index: Vec<u32>,
    counts: [usize; 2],
    random: &mut Random,
    label: String,
) -> Case {
    let [updates, target] = counts;
    let buffers = vec![index, values(random, updates, numbers), values(random, target + 1, numbers)];
    // NaN has many bit patterns.
    let element = if numbers == Numbers::F32 { Element::F32 } else { Element::Word };
    case(params, buffers, element, Tolerance::Exact, format!("{label}, {combine:?} {numbers:?}"))
}
