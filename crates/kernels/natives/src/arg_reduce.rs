//! `arg_max` and `arg_min`: the index of the maximum or minimum along an axis.

use super::check::Extent;
use super::element_type::{ascending_key, count, descending_key, element_type, not_empty};
use super::gather::lines;
use super::per_element::{Footprint, Layout, PerElement};
use crate::KernelFactory;
use crate::per_element::PerElementKernel;
use roci_families::{self, Numbers};
use std::sync::Arc;

/// The kernels of this file, by name.
pub(crate) const KERNELS: &[(&str, KernelFactory)] = &[
    ("arg_max", |_| Arc::new(PerElementKernel::<ArgReduce<false>>::new())),
    ("arg_min", |_| Arc::new(PerElementKernel::<ArgReduce<true>>::new())),
];

/// `y[o, i]` is the index `r` of the largest or smallest `x[o, r, i]`.
pub(super) struct ArgReduce<const SMALLEST: bool>;

/// Columns searched at a time.
const LANES: usize = 64;

impl<const SMALLEST: bool> PerElement for ArgReduce<SMALLEST> {
    type Params = roci_families::ArgReduce;
    const INPUTS: &'static [&'static str] = &["x"];

    fn footprint(p: &roci_families::ArgReduce) -> Result<Footprint, String> {
        element_type(p.numbers)?;
        let outputs = count(&[p.outer, p.inner])?;
        if outputs > 0 {
            not_empty(&[p.axis])?;
        }
        let inputs = vec![Extent::product(&[p.outer, p.axis, p.inner])];
        Ok(Footprint { inputs, output: Layout::dense(outputs), cost: 4 * u64::from(p.axis) })
    }

    fn compute(p: &roci_families::ArgReduce, inputs: &[&[u32]], first: usize, output: &mut [u32]) {
        // One loop per element type, so that the inner loop has no branch on it.
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
        if SMALLEST { descending_key(word, numbers) } else { ascending_key(word, numbers) }
    }
}

fn search(p: &roci_families::ArgReduce, x: &[u32], first: usize, output: &mut [u32], rank: impl Fn(u32) -> u32) {
    let (axis, inner) = (p.axis as usize, p.inner as usize);
    lines(first, inner, output, |line, column, piece| {
        for (block, positions) in piece.chunks_mut(LANES).enumerate() {
            let start = line * axis * inner + column + block * LANES;
            let mut best = [0; LANES];
            best.iter_mut().zip(&x[start..]).for_each(|(best, &word)| *best = rank(word));
            positions.fill(0);
            for r in 1..p.axis {
                let row = &x[start + r as usize * inner..];
                for ((index, best), &word) in positions.iter_mut().zip(&mut best).zip(row) {
                    let candidate = rank(word);
                    if candidate > *best || (candidate == *best && p.last != 0) {
                        (*best, *index) = (candidate, r);
                    }
                }
            }
        }
    });
}
