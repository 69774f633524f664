//! Kernels that work on whole rows or lines.

use roci_kernels::params::{ArgReduce, Normalize, Numbers, Scan, TopK};

use super::super::input::{Element, Input};
use super::super::reference::{Expected, exact};
use super::{LayerCase, LayerCaseBuilder, bytes_moved, floats, join_sizes};
use crate::Tolerance;

const F32: u32 = Numbers::F32 as u32;

/// The element indices of each line along the middle axis.
fn along([outer, axis, inner]: [u32; 3]) -> impl Iterator<Item = Vec<usize>> {
    let [outer, axis, inner] = [outer, axis, inner].map(|size| size as usize);
    let line = move |o: usize, i: usize| (0..axis).map(|r| (o * axis + r) * inner + i).collect();
    (0..outer).flat_map(move |o| (0..inner).map(move |i| line(o, i)))
}

pub(super) fn arg_reduce(builder: &LayerCaseBuilder) -> Box<dyn LayerCase> {
    let (outer, axis) = (builder.size(31, 1021), builder.size(517, 4099));
    let params = ArgReduce { outer, axis, inner: 1, numbers: F32, last: 0 };
    let work = bytes_moved(&[outer * axis, outer]);
    builder.case(params, format!("{outer}x[{axis}]"), work, (Element::U32, Tolerance::Exact), |kernel, p| {
        let x = floats(p.outer * p.axis * p.inner, (-4.0, 4.0), 1);
        let sign = if kernel == "arg_min" { -1.0 } else { 1.0 };
        // `max_by` returns the last of equal elements; with `rev` that is the first one.
        let best = |line: Vec<usize>| {
            let order = |&a: &usize, &b: &usize| (sign * x.values[line[a]]).total_cmp(&(sign * x.values[line[b]]));
            exact((0..line.len()).rev().max_by(order).unwrap_or(0) as f64)
        };
        let expected = along([p.outer, p.axis, p.inner]).map(best).collect();
        (vec![x], expected)
    })
}

pub(super) fn scan(builder: &LayerCaseBuilder) -> Box<dyn LayerCase> {
    let (outer, axis) = (builder.size(31, 1021), builder.size(517, 4099));
    let params = Scan { outer, axis, inner: 1, numbers: F32, exclusive: 0, reverse: 0 };
    let work = bytes_moved(&[2 * outer * axis]);
    builder.case(params, format!("{outer}x[{axis}]"), work, (Element::F32, Tolerance::Sum), |kernel, p| {
        let products = kernel == "scan_prod";
        // Values near 1 keep the products near 1.
        let x = floats(p.outer * p.axis * p.inner, if products { (0.97, 1.03) } else { (-4.0, 4.0) }, 1);
        let mut expected = vec![exact(0.0); x.values.len()];
        for line in along([p.outer, p.axis, p.inner]) {
            let mut sum = exact(if products { 1.0 } else { 0.0 });
            for place in line {
                let value = x.values[place];
                sum = if products {
                    exact(sum.value * value)
                } else {
                    Expected { value: sum.value + value, magnitude: sum.magnitude + value.abs() }
                };
                expected[place] = sum;
            }
        }
        (vec![x], expected)
    })
}

/// `normalize_rows` and `moments`.
pub(super) fn normalize(builder: &LayerCaseBuilder) -> Box<dyn LayerCase> {
    let (rows, columns) = (builder.size(31, 1021), builder.size(517, 4099));
    let params = Normalize { rows, columns, epsilon: 1e-5, centered: 1 };
    let outputs = if builder.kernel == "moments" { 2 * rows } else { rows * columns };
    let work = bytes_moved(&[rows * columns, outputs]);
    builder.case(params, format!("{rows}x[{columns}]"), work, (Element::F32, Tolerance::Sum), |kernel, p| {
        let x = floats(p.rows * p.columns, (-2.0, 4.0), 1);
        let count = f64::from(p.columns);
        let mut expected = Vec::new();
        for row in x.values.chunks(p.columns as usize) {
            let mean = row.iter().sum::<f64>() / count;
            let variance = row.iter().map(|x| (x - mean) * (x - mean)).sum::<f64>() / count;
            let inverse = 1.0 / (variance + f64::from(p.epsilon)).sqrt();
            if kernel == "moments" {
                expected.push(exact(inverse));
            } else {
                // The mean is subtracted, but its rounding error remains.
                let one =
                    |x: &f64| Expected { value: (x - mean) * inverse, magnitude: (x.abs() + mean.abs()) * inverse };
                expected.extend(row.iter().map(one));
            }
        }
        let mean = || floats(p.rows, (0.0, 0.0), 2);
        (if kernel == "moments" { vec![x, mean()] } else { vec![x] }, expected)
    })
}

/// The indices of the largest elements. The kernel's other output, their values, is the binding
/// before.
pub(super) fn top_k(builder: &LayerCaseBuilder) -> Box<dyn LayerCase> {
    let (rows, columns, k) = (builder.size(31, 257), builder.size(517, 4099), 10);
    let params = TopK { rows, columns, k, numbers: F32, largest: 1 };
    let work = bytes_moved(&[rows * columns, 2 * rows * k]);
    let size = format!("{k} of {}", join_sizes(&[rows, columns]));
    builder.case(params, size, work, (Element::U32, Tolerance::Exact), |_, p| {
        let x = floats(p.rows * p.columns, (-4.0, 4.0), 1);
        let mut expected = Vec::new();
        for row in x.values.chunks(p.columns as usize) {
            let mut places: Vec<usize> = (0..row.len()).collect();
            // Stable sort: among equal elements, the lower index comes first.
            places.sort_by(|&a, &b| row[b].total_cmp(&row[a]));
            expected.extend(places[..p.k as usize].iter().map(|&place| exact(place as f64)));
        }
        (vec![x, Input::words(vec![0; (p.rows * p.k) as usize])], expected)
    })
}
