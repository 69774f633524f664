//! Test cases of `scatter_elements`.

use super::ScatterElements;
use crate::cases::indexing::{indices, scattered, ways};
use crate::cases::{Case, Random};
use crate::{Combine, Numbers};

pub(super) fn of(_: &str, random: &mut Random) -> Vec<Case> {
    // Line shape of the updates, steps along the axis, additional target lines in each dimension,
    // length of the target's axis.
    let mut make = |shape: [u32; 4],
                    steps: u32,
                    more: u32,
                    axis: u32,
                    unique_indices: bool,
                    (combine, numbers): (Combine, Numbers)| {
        // The axis is the second dimension of three or more; both are row-major.
        let dense = |shape: [u32; 4], axis: u32| {
            let axis_stride = shape[2] * shape[3];
            ([shape[1] * axis * axis_stride, axis * axis_stride, shape[3], 1], axis_stride)
        };
        let full = shape.map(|size| size + more);
        let (strides, axis_stride) = dense(full, axis);
        let (update_strides, step_stride) = dense(shape, steps);
        let lines = shape.iter().product();
        let params = ScatterElements {
            lines,
            shape,
            strides,
            update_strides,
            axis,
            axis_stride,
            steps,
            step_stride,
            combine: combine.word(),
            numbers: numbers.word(),
            unique_indices: unique_indices.into(),
        };
        let updates = (lines * steps) as usize;
        let index = if unique_indices {
            // Each step has a distinct index.
            (0..updates as u32).map(|at| (at / step_stride % steps * 7 + 3) % axis).collect()
        } else {
            indices(random, updates, axis)
        };
        let target = (full.iter().product::<u32>() * axis) as usize;
        let label = format!("{shape:?} lines of {steps} into {axis}");
        scattered(params, numbers, combine, index, [updates, target], random, label)
    };
    let replace = (Combine::Replace, Numbers::I32);
    let mut cases: Vec<_> = ways().map(|way| make([1, 2, 3, 4], 9, 1, 5, false, way)).collect();
    cases.extend([
        make([1, 1, 1, 1], 1, 0, 1, false, replace),
        make([1, 1, 1, 1], 40, 0, 30, false, (Combine::Add, Numbers::F32)),
        make([2, 2, 3, 50], 3, 0, 8, true, (Combine::Mul, Numbers::F32)),
        make([2, 2, 3, 50], 8, 0, 8, true, replace),
        make([1, 1, 0, 1], 3, 0, 3, false, replace),
        make([1, 1, 3, 1], 0, 1, 3, false, replace),
        make([2, 3, 10, 10], 3, 1, 8, true, replace).with_one_group(),
        make([2, 3, 10, 10], 3, 1, 8, false, replace).with_one_group(),
    ]);
    cases
}
