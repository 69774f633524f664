//! `scatter_elements` and `scatter_nd`: updates at places that an index says, in order.
//!
//! One thread does it all: places may lie anywhere in the output, so it cannot be cut.

use super::check::Extent;
use super::lines::{Lines, Plan};
use super::numbers::{combine, combined, count, found, numbers};
use super::simd::Level;
use super::take::depth;
use crate::params;

/// `y[strides * line + axis_stride * index[update]]`, for each line and step.
pub(super) struct ScatterElements;

/// `y[strides * index[n, ..] + i]`, for each `n`.
pub(super) struct ScatterNd;

/// The plan of a kernel that updates `target` words of `y`.
fn plan(index: Extent, updates: Extent, target: Extent) -> Result<Plan, String> {
    let target = u64::try_from(target.elements()).map_err(|_| format!("updates {} words", target.elements()))?;
    Ok(Plan { lines: 1, inputs: vec![index, updates], outputs: vec![target], cost: 0 })
}

impl Lines for ScatterElements {
    type Params = params::ScatterElements;
    const INPUTS: &'static [&'static str] = &["index", "updates"];
    const OUTPUTS: &'static [&'static str] = &["y"];

    fn plan(p: &params::ScatterElements) -> Result<Plan, String> {
        numbers(p.numbers)?;
        combine(p.combine)?;
        let lines = count(&p.shape)?;
        if lines != p.lines {
            return Err(format!("the shape {:?} has {lines} lines, not {}", p.shape, p.lines));
        }
        let reach = |strides: [u32; 4], axis: (u32, u32)| {
            let mut dimensions = vec![axis];
            dimensions.extend(p.shape.into_iter().zip(strides));
            Extent::of(&dimensions)
        };
        let updates = reach(p.update_strides, (p.steps, p.step_stride));
        plan(updates, updates, reach(p.strides, (p.axis, p.axis_stride)))
    }

    fn compute(_: Level, p: &params::ScatterElements, inputs: &[&[u32]], _: usize, [y, _]: [&mut [u32]; 2]) {
        let (Ok(numbers), Ok(combine)) = (numbers(p.numbers), combine(p.combine)) else { return };
        let [index, updates] = [inputs[0], inputs[1]];
        let [shape, strides, update_strides] =
            [p.shape, p.strides, p.update_strides].map(|list| list.map(|size| size as usize));
        for line in 0..p.lines as usize {
            let (mut rest, mut start, mut update) = (line, 0, 0);
            for dimension in (0..4).rev() {
                start += rest % shape[dimension] * strides[dimension];
                update += rest % shape[dimension] * update_strides[dimension];
                rest /= shape[dimension];
            }
            for step in 0..p.steps as usize {
                let at = update + step * p.step_stride as usize;
                if let Some(place) = found(index[at], p.axis) {
                    let word = &mut y[start + place * p.axis_stride as usize];
                    *word = combined(*word, updates[at], combine, numbers);
                }
            }
        }
    }
}

impl Lines for ScatterNd {
    type Params = params::ScatterNd;
    const INPUTS: &'static [&'static str] = &["index", "updates"];
    const OUTPUTS: &'static [&'static str] = &["y"];

    fn plan(p: &params::ScatterNd) -> Result<Plan, String> {
        numbers(p.numbers)?;
        combine(p.combine)?;
        let mut dimensions = vec![(p.slice, 1)];
        dimensions.extend(p.sizes.into_iter().zip(p.strides).take(depth(p.depth)?));
        let (index, updates) = (Extent::product(&[p.count, p.depth]), Extent::product(&[p.count, p.slice]));
        plan(index, updates, Extent::of(&dimensions))
    }

    fn compute(_: Level, p: &params::ScatterNd, inputs: &[&[u32]], _: usize, [y, _]: [&mut [u32]; 2]) {
        let (Ok(numbers), Ok(combine)) = (numbers(p.numbers), combine(p.combine)) else { return };
        let [index, updates] = [inputs[0], inputs[1]];
        let (slice, depth) = (p.slice as usize, p.depth as usize);
        for n in 0..p.count as usize {
            let places = index[n * depth..][..depth].iter().zip(p.sizes).zip(p.strides);
            let start = places.map(|((&index, size), stride)| Some(found(index, size)? * stride as usize)).sum();
            let Some(start): Option<usize> = start else { continue };
            for (word, &update) in y[start..start + slice].iter_mut().zip(&updates[n * slice..]) {
                *word = combined(*word, update, combine, numbers);
            }
        }
    }
}
