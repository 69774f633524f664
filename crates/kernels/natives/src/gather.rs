//! `gather`, `gather_elements` and `gather_nd`: words at given indices.

use super::check::Extent;
use super::element_type::{clamp_index, count, not_empty};
use super::per_element::{Footprint, Layout, PerElement};
use crate::KernelFactory;
use crate::per_element::PerElementKernel;
use std::sync::Arc;

/// The kernels of this file, by name.
pub(crate) const KERNELS: &[(&str, KernelFactory)] = &[
    ("gather", |_| Arc::new(PerElementKernel::<Gather>::new())),
    ("gather_elements", |_| Arc::new(PerElementKernel::<GatherElements>::new())),
    ("gather_nd", |_| Arc::new(PerElementKernel::<GatherNd>::new())),
];

/// `y[o, j, i] = x[o, index[j], i]`.
pub(super) struct Gather;

/// `y[p] = x[strides * position of p in shape + axis_stride * index[p]]`.
pub(super) struct GatherElements;

/// `y[b, n, i] = x[b * batch_stride + strides * index[b, n, ..] + i]`.
pub(super) struct GatherNd;

/// The cost of a word, in bytes: the word, its index, the write.
const COST: u64 = 12;

impl PerElement for Gather {
    type Params = roci_families::Gather;
    const INPUTS: &'static [&'static str] = &["x", "index"];

    fn footprint(p: &roci_families::Gather) -> Result<Footprint, String> {
        let outputs = count(&[p.outer, p.count, p.inner])?;
        if outputs > 0 {
            not_empty(&[p.axis])?;
        }
        let inputs = vec![Extent::product(&[p.outer, p.axis, p.inner]), Extent::product(&[p.count])];
        Ok(Footprint { inputs, output: Layout::dense(outputs), cost: COST })
    }

    fn compute(p: &roci_families::Gather, inputs: &[&[u32]], first: usize, output: &mut [u32]) {
        let [x, index] = [inputs[0], inputs[1]];
        let (axis, inner, count) = (p.axis as usize, p.inner as usize, p.count as usize);
        let source = |line: usize| (line / count * axis + clamp_index(index[line % count], p.axis)) * inner;
        if inner == 1 {
            (first..).zip(output).for_each(|(line, word)| *word = x[source(line)]);
            return;
        }
        lines(first, inner, output, |line, column, piece| {
            let start = source(line) + column;
            piece.copy_from_slice(&x[start..start + piece.len()]);
        });
    }
}

/// Calls `each` with the runs of `output` within rows of `length` words: the row, the column, the
/// run.
pub(super) fn lines(
    first: usize,
    length: usize,
    mut output: &mut [u32],
    mut each: impl FnMut(usize, usize, &mut [u32]),
) {
    let mut at = first;
    while !output.is_empty() {
        let (line, column) = (at / length, at % length);
        let run = (length - column).min(output.len());
        let (piece, behind) = output.split_at_mut(run);
        each(line, column, piece);
        at += run;
        output = behind;
    }
}

impl PerElement for GatherElements {
    type Params = roci_families::GatherElements;
    const INPUTS: &'static [&'static str] = &["x", "index"];

    fn footprint(p: &roci_families::GatherElements) -> Result<Footprint, String> {
        let outputs = count(&p.shape)?;
        if outputs != p.count {
            return Err(format!("shape {:?} has {outputs} elements, but the count is {}", p.shape, p.count));
        }
        let mut extent = Extent::count(0);
        if outputs > 0 {
            not_empty(&[p.axis])?;
            let mut dimensions = vec![(p.axis, p.axis_stride)];
            dimensions.extend(p.shape.into_iter().zip(p.strides));
            extent = Extent::of(&dimensions);
        }
        Ok(Footprint { inputs: vec![extent, Extent::product(&[p.count])], output: Layout::dense(outputs), cost: COST })
    }

    fn compute(p: &roci_families::GatherElements, inputs: &[&[u32]], first: usize, output: &mut [u32]) {
        let [x, index] = [inputs[0], inputs[1]];
        let [shape, strides] = [p.shape, p.strides].map(|list| list.map(|size| size as usize));
        lines(first, shape[4], output, |line, column, piece| {
            let (mut rest, mut start) = (line, 0);
            for dimension in (0..4).rev() {
                start += rest % shape[dimension] * strides[dimension];
                rest /= shape[dimension];
            }
            let index = &index[line * shape[4] + column..];
            for ((column, word), &index) in (column..).zip(piece).zip(index) {
                *word = x[start + column * strides[4] + clamp_index(index, p.axis) * p.axis_stride as usize];
            }
        });
    }
}

impl PerElement for GatherNd {
    type Params = roci_families::GatherNd;
    const INPUTS: &'static [&'static str] = &["x", "index"];

    fn footprint(p: &roci_families::GatherNd) -> Result<Footprint, String> {
        let outputs = count(&[p.batches, p.count, p.slice])?;
        let depth = depth(p.depth)?;
        let mut extent = Extent::count(0);
        if outputs > 0 {
            not_empty(&p.sizes[..depth])?;
            let mut dimensions = vec![(p.batches, p.batch_stride), (p.slice, 1)];
            dimensions.extend(p.sizes.into_iter().zip(p.strides).take(depth));
            extent = Extent::of(&dimensions);
        }
        let index = Extent::product(&[p.batches, p.count, p.depth]);
        Ok(Footprint { inputs: vec![extent, index], output: Layout::dense(outputs), cost: COST })
    }

    fn compute(p: &roci_families::GatherNd, inputs: &[&[u32]], first: usize, output: &mut [u32]) {
        let [x, index] = [inputs[0], inputs[1]];
        let (depth, count) = (p.depth as usize, p.count as usize);
        lines(first, p.slice as usize, output, |line, column, piece| {
            let mut start = line / count * p.batch_stride as usize + column;
            for ((&index, size), stride) in index[line * depth..][..depth].iter().zip(p.sizes).zip(p.strides) {
                start += clamp_index(index, size) * stride as usize;
            }
            piece.copy_from_slice(&x[start..start + piece.len()]);
        });
    }
}

/// The number of indices in a tuple.
pub(super) fn depth(depth: u32) -> Result<usize, String> {
    if depth > 5 { Err(format!("tuples of {depth} indices; the maximum is 5")) } else { Ok(depth as usize) }
}
