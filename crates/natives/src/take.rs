//! `take`, `take_elements` and `take_nd`: words at places that an index says.

use super::check::Extent;
use super::each::{Each, Layout, Plan};
use super::numbers::{count, held, not_empty};
use crate::params;

/// `y[o, j, i] = x[o, index[j], i]`.
pub(super) struct Take;

/// `y[p] = x[strides * position of p in shape + axis_stride * index[p]]`.
pub(super) struct TakeElements;

/// `y[b, n, i] = x[b * batch_stride + strides * index[b, n, ..] + i]`.
pub(super) struct TakeNd;

/// Bytes that a word taken is worth: reading, its index, writing.
const COST: u64 = 12;

impl Each for Take {
    type Params = params::Take;
    const INPUTS: &'static [&'static str] = &["x", "index"];

    fn plan(p: &params::Take) -> Result<Plan, String> {
        let outputs = count(&[p.outer, p.count, p.inner])?;
        if outputs > 0 {
            not_empty(&[p.axis])?;
        }
        let inputs = vec![Extent::product(&[p.outer, p.axis, p.inner]), Extent::product(&[p.count])];
        Ok(Plan { inputs, output: Layout::dense(outputs), cost: COST })
    }

    fn compute(p: &params::Take, inputs: &[&[u32]], first: usize, output: &mut [u32]) {
        let [x, index] = [inputs[0], inputs[1]];
        let (axis, inner, count) = (p.axis as usize, p.inner as usize, p.count as usize);
        let source = |line: usize| (line / count * axis + held(index[line % count], p.axis)) * inner;
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

/// Calls `each` with the pieces of `output` that lie in lines of `length` words: the line, the column, the piece.
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

impl Each for TakeElements {
    type Params = params::TakeElements;
    const INPUTS: &'static [&'static str] = &["x", "index"];

    fn plan(p: &params::TakeElements) -> Result<Plan, String> {
        let outputs = count(&p.shape)?;
        if outputs != p.count {
            return Err(format!("the shape {:?} has {outputs} elements, but the count is {}", p.shape, p.count));
        }
        let mut extent = Extent::words(0);
        if outputs > 0 {
            not_empty(&[p.axis])?;
            let mut dimensions = vec![(p.axis, p.axis_stride)];
            dimensions.extend(p.shape.into_iter().zip(p.strides));
            extent = Extent::of(&dimensions);
        }
        Ok(Plan { inputs: vec![extent, Extent::product(&[p.count])], output: Layout::dense(outputs), cost: COST })
    }

    fn compute(p: &params::TakeElements, inputs: &[&[u32]], first: usize, output: &mut [u32]) {
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
                *word = x[start + column * strides[4] + held(index, p.axis) * p.axis_stride as usize];
            }
        });
    }
}

impl Each for TakeNd {
    type Params = params::TakeNd;
    const INPUTS: &'static [&'static str] = &["x", "index"];

    fn plan(p: &params::TakeNd) -> Result<Plan, String> {
        let outputs = count(&[p.batches, p.count, p.slice])?;
        let depth = depth(p.depth)?;
        let mut extent = Extent::words(0);
        if outputs > 0 {
            not_empty(&p.sizes[..depth])?;
            let mut dimensions = vec![(p.batches, p.batch_stride), (p.slice, 1)];
            dimensions.extend(p.sizes.into_iter().zip(p.strides).take(depth));
            extent = Extent::of(&dimensions);
        }
        let index = Extent::product(&[p.batches, p.count, p.depth]);
        Ok(Plan { inputs: vec![extent, index], output: Layout::dense(outputs), cost: COST })
    }

    fn compute(p: &params::TakeNd, inputs: &[&[u32]], first: usize, output: &mut [u32]) {
        let [x, index] = [inputs[0], inputs[1]];
        let (depth, count) = (p.depth as usize, p.count as usize);
        lines(first, p.slice as usize, output, |line, column, piece| {
            let mut start = line / count * p.batch_stride as usize + column;
            for ((&index, size), stride) in index[line * depth..][..depth].iter().zip(p.sizes).zip(p.strides) {
                start += held(index, size) * stride as usize;
            }
            piece.copy_from_slice(&x[start..start + piece.len()]);
        });
    }
}

/// The number of indices in a tuple.
pub(super) fn depth(depth: u32) -> Result<usize, String> {
    if depth > 5 { Err(format!("tuples of {depth} indices, where 5 is the most")) } else { Ok(depth as usize) }
}
