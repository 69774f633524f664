//! `scatter_elements` and `scatter_nd`: updates at indices, in order.
//!
//! A scatter runs as a single part: it cannot be split, because an index may refer to any element
//! of the output.

use super::check::Extent;
use super::element_type::{combine, combine_words, count, element_type, resolve_index};
use super::gather::depth;
use super::per_row::{PerRow, RowFootprint};
use crate::KernelFactory;
use crate::per_row::PerRowKernel;
use roci_simd::Level;
use std::sync::Arc;

/// The kernels of this file, by name.
pub(crate) const KERNELS: &[(&str, KernelFactory)] = &[
    ("scatter_elements", |level| Arc::new(PerRowKernel::<ScatterElements>::new(level))),
    ("scatter_nd", |level| Arc::new(PerRowKernel::<ScatterNd>::new(level))),
];

/// `y[strides * line + axis_stride * index[update]]`, for each line and step.
pub(super) struct ScatterElements;

/// `y[strides * index[n, ..] + i]`, for each `n`.
pub(super) struct ScatterNd;

/// What a kernel that updates `target` words of `y` reads and writes.
fn footprint(index: Extent, updates: Extent, target: Extent) -> Result<RowFootprint, String> {
    let target = u64::try_from(target.elements())
        .map_err(|_| format!("{} updated words overflow 64 bits", target.elements()))?;
    Ok(RowFootprint { lines: 1, inputs: vec![index, updates], outputs: vec![target], cost: 0 })
}

impl PerRow for ScatterElements {
    type Params = roci_families::ScatterElements;
    const INPUTS: &'static [&'static str] = &["index", "updates"];
    const OUTPUTS: &'static [&'static str] = &["y"];

    fn footprint(p: &roci_families::ScatterElements) -> Result<RowFootprint, String> {
        element_type(p.numbers)?;
        combine(p.combine)?;
        let lines = count(&p.shape)?;
        if lines != p.lines {
            return Err(format!("shape {:?} has {lines} rows, expected {}", p.shape, p.lines));
        }
        let reach = |strides: [u32; 4], axis: (u32, u32)| {
            let mut dimensions = vec![axis];
            dimensions.extend(p.shape.into_iter().zip(strides));
            Extent::of(&dimensions)
        };
        let updates = reach(p.update_strides, (p.steps, p.step_stride));
        footprint(updates, updates, reach(p.strides, (p.axis, p.axis_stride)))
    }

    fn compute(_: Level, p: &roci_families::ScatterElements, inputs: &[&[u32]], _: usize, [y, _]: [&mut [u32]; 2]) {
        let (Ok(numbers), Ok(combine)) = (element_type(p.numbers), combine(p.combine)) else { return };
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
                if let Some(position) = resolve_index(index[at], p.axis) {
                    let word = &mut y[start + position * p.axis_stride as usize];
                    *word = combine_words(*word, updates[at], combine, numbers);
                }
            }
        }
    }
}

impl PerRow for ScatterNd {
    type Params = roci_families::ScatterNd;
    const INPUTS: &'static [&'static str] = &["index", "updates"];
    const OUTPUTS: &'static [&'static str] = &["y"];

    fn footprint(p: &roci_families::ScatterNd) -> Result<RowFootprint, String> {
        element_type(p.numbers)?;
        combine(p.combine)?;
        let mut dimensions = vec![(p.slice, 1)];
        dimensions.extend(p.sizes.into_iter().zip(p.strides).take(depth(p.depth)?));
        let (index, updates) = (Extent::product(&[p.count, p.depth]), Extent::product(&[p.count, p.slice]));
        footprint(index, updates, Extent::of(&dimensions))
    }

    fn compute(_: Level, p: &roci_families::ScatterNd, inputs: &[&[u32]], _: usize, [y, _]: [&mut [u32]; 2]) {
        let (Ok(numbers), Ok(combine)) = (element_type(p.numbers), combine(p.combine)) else { return };
        let [index, updates] = [inputs[0], inputs[1]];
        let (slice, depth) = (p.slice as usize, p.depth as usize);
        for n in 0..p.count as usize {
            let indices = index[n * depth..][..depth].iter().zip(p.sizes).zip(p.strides);
            let start =
                indices.map(|((&index, size), stride)| Some(resolve_index(index, size)? * stride as usize)).sum();
            let Some(start): Option<usize> = start else { continue };
            for (word, &update) in y[start..start + slice].iter_mut().zip(&updates[n * slice..]) {
                *word = combine_words(*word, update, combine, numbers);
            }
        }
    }
}
