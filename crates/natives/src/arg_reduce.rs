//! `arg_max` and `arg_min`: where along an axis the largest or smallest element is.

use super::check::Extent;
use super::each::{Each, Layout, Plan};
use super::numbers::{count, falling, not_empty, numbers, rising};
use super::take::lines;
use crate::params::{self, Numbers};

/// `y[o, i] =` the `r` of the largest or smallest `x[o, r, i]`.
pub(super) struct ArgReduce<const SMALLEST: bool>;

/// Columns that are looked through side by side.
const LANES: usize = 64;

impl<const SMALLEST: bool> Each for ArgReduce<SMALLEST> {
    type Params = params::ArgReduce;
    const INPUTS: &'static [&'static str] = &["x"];

    fn plan(p: &params::ArgReduce) -> Result<Plan, String> {
        numbers(p.numbers)?;
        let outputs = count(&[p.outer, p.inner])?;
        if outputs > 0 {
            not_empty(&[p.axis])?;
        }
        let inputs = vec![Extent::product(&[p.outer, p.axis, p.inner])];
        Ok(Plan { inputs, output: Layout::dense(outputs), cost: 4 * u64::from(p.axis) })
    }

    fn compute(p: &params::ArgReduce, inputs: &[&[u32]], first: usize, output: &mut [u32]) {
        // One loop for each, so that none decides anew for every element.
        match Numbers::of(p.numbers) {
            Some(Numbers::F32) => search(p, inputs[0], first, output, |word| Self::rank(word, Numbers::F32)),
            Some(numbers) => search(p, inputs[0], first, output, |word| Self::rank(word, numbers)),
            None => {}
        }
    }
}

impl<const SMALLEST: bool> ArgReduce<SMALLEST> {
    #[inline(always)]
    fn rank(word: u32, numbers: Numbers) -> u32 {
        if SMALLEST { falling(word, numbers) } else { rising(word, numbers) }
    }
}

fn search(p: &params::ArgReduce, x: &[u32], first: usize, output: &mut [u32], rank: impl Fn(u32) -> u32) {
    let (axis, inner) = (p.axis as usize, p.inner as usize);
    lines(first, inner, output, |line, column, piece| {
        for (block, places) in piece.chunks_mut(LANES).enumerate() {
            let start = line * axis * inner + column + block * LANES;
            let mut best = [0; LANES];
            best.iter_mut().zip(&x[start..]).for_each(|(best, &word)| *best = rank(word));
            places.fill(0);
            for r in 1..p.axis {
                let row = &x[start + r as usize * inner..];
                for ((place, best), &word) in places.iter_mut().zip(&mut best).zip(row) {
                    let candidate = rank(word);
                    if candidate > *best || (candidate == *best && p.last != 0) {
                        (*best, *place) = (candidate, r);
                    }
                }
            }
        }
    });
}
