//! Kernels that copy words by strides and by indices.

use roci_kernels::params::{
    Combine, Gather, GatherElements, GatherNd, Numbers, Resample, ScatterElements, ScatterNd, StridedCopy,
};

use super::super::input::{Element, Input};
use super::super::reference::{Expected, POISON, exact};
use super::{Layer, Made, Picker, by, floats, indices, moved, place, words};
use crate::Tolerance;

const SAME: (Element, Tolerance) = (Element::U32, Tolerance::Exact);

/// The words of `x` at these indices.
fn taken(x: &Input, places: impl Iterator<Item = usize>) -> Vec<Expected> {
    places.map(|place| exact(x.values[place])).collect()
}

/// A matrix with its rows in reverse order.
pub(super) fn strided_copy(picker: &Picker) -> Box<dyn Layer> {
    let (rows, columns) = (picker.pick(79, 2051), picker.pick(131, 2053));
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
    picker.problem(params, by(&[columns, rows]), moved(&[2 * count]), SAME, arranged)
}

fn arranged(_: &str, p: &StridedCopy) -> Made {
    let x = words(p.count, 1);
    let [rows, columns] = [p.shape[3], p.shape[4]].map(|size| size as usize);
    let places = (0..rows).rev().flat_map(|row| (0..columns).map(move |column| row * columns + column));
    let expected = taken(&x, places);
    (vec![x], expected)
}

pub(super) fn gather(picker: &Picker) -> Box<dyn Layer> {
    let params =
        Gather { outer: 3, axis: picker.pick(53, 5003), inner: picker.pick(17, 129), count: picker.pick(71, 4099) };
    let moves = moved(&[2 * 3 * params.count * params.inner, params.count]);
    let size = format!("{} of 3x[{}]x{}", params.count, params.axis, params.inner);
    picker.problem(params, size, moves, SAME, |_, p| {
        let (x, index) = (words(p.outer * p.axis * p.inner, 1), indices(p.count, p.axis, 2));
        let (axis, inner) = (p.axis as usize, p.inner as usize);
        let lines = (0..p.outer as usize).flat_map(|o| index.values.iter().map(move |&j| o * axis + place(j, p.axis)));
        let expected = taken(&x, lines.flat_map(|line| (0..inner).map(move |i| line * inner + i)));
        (vec![x, index], expected)
    })
}

/// Gathers along the first axis of a matrix.
pub(super) fn gather_elements(picker: &Picker) -> Box<dyn Layer> {
    let (axis, rows, columns) = (picker.pick(37, 1021), picker.pick(53, 2051), picker.pick(67, 517));
    let params = GatherElements {
        count: rows * columns,
        shape: [1, 1, 1, rows, columns],
        strides: [0, 0, 0, 0, 1],
        axis,
        axis_stride: columns,
    };
    let size = format!("{rows}x{columns} of [{axis}]");
    picker.problem(params, size, moved(&[3 * rows * columns]), SAME, |_, p| {
        let columns = p.axis_stride as usize;
        let (x, index) = (words(p.axis * p.axis_stride, 1), indices(p.count, p.axis, 2));
        let at = |(at, &index): (usize, &f64)| place(index, p.axis) * columns + at % columns;
        let expected = taken(&x, index.values.iter().enumerate().map(at));
        (vec![x, index], expected)
    })
}

/// Gathers rows of a batch of matrices, by pairs of indices.
pub(super) fn gather_nd(picker: &Picker) -> Box<dyn Layer> {
    let (matrices, rows, slice) = (picker.pick(5, 31), picker.pick(19, 67), picker.pick(33, 517));
    let count = picker.pick(101, 4099);
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
    picker.problem(params, size, moved(&[2 * count * slice, 2 * count]), SAME, |_, p| {
        let [matrices, rows, ..] = p.sizes;
        let x = words(matrices * rows * p.slice, 1);
        let index = pairs(p.count, [matrices, rows]);
        let starts = index.values.as_chunks::<2>().0.iter();
        let starts = starts.map(|&[m, r]| place(m, matrices) * rows as usize + place(r, rows));
        let slice = p.slice as usize;
        let expected = taken(&x, starts.flat_map(|start| (0..slice).map(move |i| start * slice + i)));
        (vec![x, index], expected)
    })
}

/// Pairs of indices into two axes.
fn pairs(count: u32, [first, second]: [u32; 2]) -> Input {
    let [first, second] = [(first, 2), (second, 3)].map(|(axis, seed)| indices(count, axis, seed).values);
    Input::words(first.iter().zip(&second).flat_map(|(&first, &second)| [first as u32, second as u32]).collect())
}

/// The result of updates to poisoned memory. The last update of an element wins.
fn updated(count: usize, updates: impl Iterator<Item = (usize, f64)>) -> Vec<Expected> {
    let mut target = vec![f64::from(POISON); count];
    updates.for_each(|(place, update)| target[place] = update);
    target.into_iter().map(exact).collect()
}

/// Scatters along the first axis of a matrix. Most elements are written either several times or
/// never.
pub(super) fn scatter_elements(picker: &Picker) -> Box<dyn Layer> {
    let (axis, steps, columns) = (picker.pick(37, 127), picker.pick(41, 131), picker.pick(67, 4099));
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
    picker.problem(params, size, moved(&[3 * steps * columns]), SAME, |_, p| {
        let columns = p.lines as usize;
        let (index, updates) = (indices(p.steps * p.lines, p.axis, 1), words(p.steps * p.lines, 2));
        let to = |(at, &index): (usize, &f64)| place(index, p.axis) * columns + at % columns;
        let places = index.values.iter().enumerate().map(to).zip(updates.values.iter().copied());
        let expected = updated(p.axis as usize * columns, places);
        (vec![index, updates], expected)
    })
}

/// Scatters rows into a batch of matrices, by pairs of indices.
pub(super) fn scatter_nd(picker: &Picker) -> Box<dyn Layer> {
    let (matrices, rows, slice) = (picker.pick(5, 31), picker.pick(19, 67), picker.pick(33, 4099));
    let count = picker.pick(61, 257);
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
    picker.problem(params, size, moved(&[2 * count * slice, 2 * count]), SAME, |_, p| {
        let [matrices, rows, ..] = p.sizes;
        let (index, updates) = (pairs(p.count, [matrices, rows]), words(p.count * p.slice, 2));
        let slice = p.slice as usize;
        let starts = index.values.as_chunks::<2>().0.iter();
        let starts = starts.map(|&[m, r]| place(m, matrices) * rows as usize + place(r, rows));
        let places = starts.flat_map(|start| (0..slice).map(move |i| start * slice + i));
        let expected = updated((matrices * rows) as usize * slice, places.zip(updates.values.iter().copied()));
        (vec![index, updates], expected)
    })
}

pub(super) fn resample(picker: &Picker) -> Box<dyn Layer> {
    let (outer, axis, inner) = (picker.pick(3, 67), picker.pick(29, 127), picker.pick(31, 131));
    let params = Resample { outer, axis, inner, count: picker.pick(43, 257), taps: 4 };
    let work = moved(&[outer * axis * inner, outer * params.count * inner]);
    let size = format!("{outer}x[{axis} to {}]x{inner}", params.count);
    picker.problem(params, size, work, (Element::F32, Tolerance::Sum), |_, p| {
        let x = floats(p.outer * p.axis * p.inner, (-4.0, 4.0), 1);
        let table = p.count * p.taps;
        let (index, weight) = (indices(table, p.axis, 2), floats(table, (-0.5, 1.0), 3));
        let (axis, inner, taps) = (p.axis as usize, p.inner as usize, p.taps as usize);
        let mut expected = Vec::new();
        for o in 0..p.outer as usize {
            for (index, weight) in index.values.chunks(taps).zip(weight.values.chunks(taps)) {
                for i in 0..inner {
                    let from = |&index: &f64| x.values[(o * axis + place(index, p.axis)) * inner + i];
                    let terms = || index.iter().zip(weight).map(|(index, weight)| weight * from(index));
                    expected.push(Expected { value: terms().sum(), magnitude: terms().map(f64::abs).sum() });
                }
            }
        }
        (vec![x, index, weight], expected)
    })
}
