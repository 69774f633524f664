//! Kernels that copy words by strides and by indices.

use roci_kernels::params::{
    Combine, Gather, GatherElements, GatherNd, Numbers, Resample, ScatterElements, ScatterNd, StridedCopy,
};

use super::super::input::{Element, Input};
use super::super::reference::{Expected, POISON, exact};
use super::{CaseData, LayerCase, LayerCaseBuilder, bytes_moved, floats, indices, join_sizes, resolve_index, words};
use crate::Tolerance;

const EXACT_WORDS: (Element, Tolerance) = (Element::U32, Tolerance::Exact);

/// The words of `x` at these indices.
fn words_at(x: &Input, places: impl Iterator<Item = usize>) -> Vec<Expected> {
    places.map(|place| exact(x.values[place])).collect()
}

/// A matrix with its rows in reverse order.
pub(super) fn strided_copy(builder: &LayerCaseBuilder) -> Box<dyn LayerCase> {
    let (rows, columns) = (builder.size(79, 2051), builder.size(131, 2053));
    let count = rows * columns;
    let params = StridedCopy {
        count,
        source_offset: count - rows,
        shape: [1, 1, 1, columns, rows],
        strides: [0, 0, 0, -(rows as i32), 1],
        target_offset: 0,
        run: count,
        pitch: count,
    };
    builder.case(params, join_sizes(&[columns, rows]), bytes_moved(&[2 * count]), EXACT_WORDS, strided_copy_data)
}

fn strided_copy_data(_: &str, p: &StridedCopy) -> CaseData {
    let x = words(p.count, 1);
    let [rows, columns] = [p.shape[3], p.shape[4]].map(|size| size as usize);
    let places = (0..rows).rev().flat_map(|row| (0..columns).map(move |column| row * columns + column));
    let expected = words_at(&x, places);
    (vec![x], expected)
}

pub(super) fn gather(builder: &LayerCaseBuilder) -> Box<dyn LayerCase> {
    let params =
        Gather { outer: 3, axis: builder.size(53, 5003), inner: builder.size(17, 129), count: builder.size(71, 4099) };
    let moves = bytes_moved(&[2 * 3 * params.count * params.inner, params.count]);
    let size = format!("{} of 3x[{}]x{}", params.count, params.axis, params.inner);
    builder.case(params, size, moves, EXACT_WORDS, |_, p| {
        let (x, index) = (words(p.outer * p.axis * p.inner, 1), indices(p.count, p.axis, 2));
        let (axis, inner) = (p.axis as usize, p.inner as usize);
        let lines =
            (0..p.outer as usize).flat_map(|o| index.values.iter().map(move |&j| o * axis + resolve_index(j, p.axis)));
        let expected = words_at(&x, lines.flat_map(|line| (0..inner).map(move |i| line * inner + i)));
        (vec![x, index], expected)
    })
}

/// Gathers along the first axis of a matrix.
pub(super) fn gather_elements(builder: &LayerCaseBuilder) -> Box<dyn LayerCase> {
    let (axis, rows, columns) = (builder.size(37, 1021), builder.size(53, 2051), builder.size(67, 517));
    let params = GatherElements {
        count: rows * columns,
        shape: [1, 1, 1, rows, columns],
        strides: [0, 0, 0, 0, 1],
        axis,
        axis_stride: columns,
    };
    let size = format!("{rows}x{columns} of [{axis}]");
    builder.case(params, size, bytes_moved(&[3 * rows * columns]), EXACT_WORDS, |_, p| {
        let columns = p.axis_stride as usize;
        let (x, index) = (words(p.axis * p.axis_stride, 1), indices(p.count, p.axis, 2));
        let at = |(at, &index): (usize, &f64)| resolve_index(index, p.axis) * columns + at % columns;
        let expected = words_at(&x, index.values.iter().enumerate().map(at));
        (vec![x, index], expected)
    })
}

/// Gathers rows of a batch of matrices, by pairs of indices.
pub(super) fn gather_nd(builder: &LayerCaseBuilder) -> Box<dyn LayerCase> {
    let (matrices, rows, slice) = (builder.size(5, 31), builder.size(19, 67), builder.size(33, 517));
    let count = builder.size(101, 4099);
    let params = GatherNd {
        batches: 1,
        count,
        slice,
        depth: 2,
        sizes: [matrices, rows, 0, 0, 0],
        strides: [rows * slice, slice, 0, 0, 0],
        batch_stride: 0,
    };
    let size = format!("{count} of {matrices}x{rows}x{slice}");
    builder.case(params, size, bytes_moved(&[2 * count * slice, 2 * count]), EXACT_WORDS, |_, p| {
        let [matrices, rows, ..] = p.sizes;
        let x = words(matrices * rows * p.slice, 1);
        let index = pairs(p.count, [matrices, rows]);
        let starts = index.values.as_chunks::<2>().0.iter();
        let starts = starts.map(|&[m, r]| resolve_index(m, matrices) * rows as usize + resolve_index(r, rows));
        let slice = p.slice as usize;
        let expected = words_at(&x, starts.flat_map(|start| (0..slice).map(move |i| start * slice + i)));
        (vec![x, index], expected)
    })
}

/// Pairs of indices into two axes.
fn pairs(count: u32, [first, second]: [u32; 2]) -> Input {
    let [first, second] = [(first, 2), (second, 3)].map(|(axis, seed)| indices(count, axis, seed).values);
    Input::words(first.iter().zip(&second).flat_map(|(&first, &second)| [first as u32, second as u32]).collect())
}

/// The result of updates to poisoned memory. The last update of an element wins.
fn scattered(count: usize, updates: impl Iterator<Item = (usize, f64)>) -> Vec<Expected> {
    let mut target = vec![f64::from(POISON); count];
    updates.for_each(|(place, update)| target[place] = update);
    target.into_iter().map(exact).collect()
}

/// Scatters along the first axis of a matrix. Most elements are written either several times or
/// never.
pub(super) fn scatter_elements(builder: &LayerCaseBuilder) -> Box<dyn LayerCase> {
    let (axis, steps, columns) = (builder.size(37, 127), builder.size(41, 131), builder.size(67, 4099));
    let params = ScatterElements {
        lines: columns,
        shape: [1, 1, 1, columns],
        strides: [0, 0, 0, 1],
        update_strides: [0, 0, 0, 1],
        axis,
        axis_stride: columns,
        steps,
        step_stride: columns,
        combine: Combine::Replace.word(),
        numbers: Numbers::U32.word(),
        unique_indices: 0,
    };
    let size = format!("{steps}x{columns} to [{axis}]");
    builder.case(params, size, bytes_moved(&[3 * steps * columns]), EXACT_WORDS, |_, p| {
        let columns = p.lines as usize;
        let (index, updates) = (indices(p.steps * p.lines, p.axis, 1), words(p.steps * p.lines, 2));
        let to = |(at, &index): (usize, &f64)| resolve_index(index, p.axis) * columns + at % columns;
        let places = index.values.iter().enumerate().map(to).zip(updates.values.iter().copied());
        let expected = scattered(p.axis as usize * columns, places);
        (vec![index, updates], expected)
    })
}

/// Scatters rows into a batch of matrices, by pairs of indices.
pub(super) fn scatter_nd(builder: &LayerCaseBuilder) -> Box<dyn LayerCase> {
    let (matrices, rows, slice) = (builder.size(5, 31), builder.size(19, 67), builder.size(33, 4099));
    let count = builder.size(61, 257);
    let params = ScatterNd {
        count,
        slice,
        depth: 2,
        sizes: [matrices, rows, 0, 0, 0],
        strides: [rows * slice, slice, 0, 0, 0],
        combine: Combine::Replace.word(),
        numbers: Numbers::U32.word(),
        unique_indices: 0,
    };
    let size = format!("{count} to {matrices}x{rows}x{slice}");
    builder.case(params, size, bytes_moved(&[2 * count * slice, 2 * count]), EXACT_WORDS, |_, p| {
        let [matrices, rows, ..] = p.sizes;
        let (index, updates) = (pairs(p.count, [matrices, rows]), words(p.count * p.slice, 2));
        let slice = p.slice as usize;
        let starts = index.values.as_chunks::<2>().0.iter();
        let starts = starts.map(|&[m, r]| resolve_index(m, matrices) * rows as usize + resolve_index(r, rows));
        let places = starts.flat_map(|start| (0..slice).map(move |i| start * slice + i));
        let expected = scattered((matrices * rows) as usize * slice, places.zip(updates.values.iter().copied()));
        (vec![index, updates], expected)
    })
}

pub(super) fn resample(builder: &LayerCaseBuilder) -> Box<dyn LayerCase> {
    let (outer, axis, inner) = (builder.size(3, 67), builder.size(29, 127), builder.size(31, 131));
    let params = Resample { outer, axis, inner, count: builder.size(43, 257), taps: 4 };
    let work = bytes_moved(&[outer * axis * inner, outer * params.count * inner]);
    let size = format!("{outer}x[{axis} to {}]x{inner}", params.count);
    builder.case(params, size, work, (Element::F32, Tolerance::Sum), |_, p| {
        let x = floats(p.outer * p.axis * p.inner, (-4.0, 4.0), 1);
        let table = p.count * p.taps;
        let (index, weight) = (indices(table, p.axis, 2), floats(table, (-0.5, 1.0), 3));
        let (axis, inner, taps) = (p.axis as usize, p.inner as usize, p.taps as usize);
        let mut expected = Vec::new();
        for o in 0..p.outer as usize {
            for (index, weight) in index.values.chunks(taps).zip(weight.values.chunks(taps)) {
                for i in 0..inner {
                    let from = |&index: &f64| x.values[(o * axis + resolve_index(index, p.axis)) * inner + i];
                    let terms = || index.iter().zip(weight).map(|(index, weight)| weight * from(index));
                    expected.push(Expected { value: terms().sum(), magnitude: terms().map(f64::abs).sum() });
                }
            }
        }
        (vec![x, index, weight], expected)
    })
}
