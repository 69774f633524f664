//! `gather*`, `scatter_*` and `resample` against naive loops over whole tensors.

use proptest::prelude::*;
use roci_kernels::native::Level;
use roci_kernels::params::{self, Combine, Numbers};
use roci_testkit::Tolerance;

use crate::launch::{bytes, launch_at, ulps, values};

/// All coordinates of a shape, row-major.
fn positions(shape: &[usize]) -> Vec<Vec<usize>> {
    let mut all = vec![Vec::new()];
    for &size in shape {
        all = all.iter().flat_map(|p| (0..size).map(move |i| [&p[..], &[i]].concat())).collect();
    }
    all
}

/// Row-major offset of coordinates.
fn offset(shape: &[usize], position: &[usize]) -> usize {
    shape.iter().zip(position).fold(0, |at, (size, i)| at * size + i)
}

/// Resolves an index as numpy does; `None` if out of range.
fn inside(index: i32, size: usize) -> Option<usize> {
    let at = if index < 0 { index + size as i32 } else { index };
    usize::try_from(at).ok().filter(|&at| at < size)
}

/// Resolves an index and clamps it to the axis.
fn nearest(index: i32, size: usize) -> usize {
    inside(index, size).unwrap_or(if index < 0 { 0 } else { size - 1 })
}

/// Indices, most of them within the axis.
fn indices(count: usize, size: usize, seed: u32) -> Vec<i32> {
    values(count, size as f32 + 0.8, seed).into_iter().map(|value| value as i32).collect()
}

fn run<P: bytemuck::Pod>(name: &str, buffers: &mut [&mut [u8]], p: P, workers: usize) {
    launch_at(Level::best(), name, buffers, bytemuck::bytes_of(&p), workers).unwrap();
}

proptest! {
    #[test]
    fn gather_follows_its_indices(
        outer in 0usize..5, axis in 1usize..9, inner in 0usize..40, count in 0usize..90, seed: u32,
    ) {
        let mut x: Vec<u32> = (0..(outer * axis * inner) as u32).collect();
        let mut index = indices(count, axis, seed);
        let mut y = vec![u32::MAX; outer * count * inner];
        let p = params::Gather { outer: outer as u32, axis: axis as u32, inner: inner as u32, count: count as u32 };
        run("gather", &mut [bytes(&mut x), bytes(&mut index), bytes(&mut y)], p, 3);
        for (at, place) in positions(&[outer, count, inner]).iter().enumerate() {
            let from = [place[0], nearest(index[place[1]], axis), place[2]];
            prop_assert_eq!(y[at] as usize, offset(&[outer, axis, inner], &from));
        }
    }

    #[test]
    fn elements_are_gathered_and_scattered_along_any_axis(
        shape in prop::array::uniform4(1usize..6),
        along in 0usize..4,
        axis in 1usize..9,
        seed: u32,
        way in 0usize..5,
    ) {
        let mut full = shape;
        full[along] = axis;
        let strides = |shape: [usize; 4]| [0, 1, 2, 3].map(|d| shape[d + 1..].iter().product::<usize>() as u32);
        let mut x = values(full.iter().product(), 3.0, seed);
        let count = shape.iter().product();
        let mut index = indices(count, axis, seed ^ 5);
        let mut y = vec![0.0f32; count];
        let mut x_strides = strides(full);
        x_strides[along] = 0;
        let lead = |list: [u32; 4], first| [first, list[0], list[1], list[2], list[3]];
        let p = params::GatherElements {
            count: count as u32,
            shape: lead(shape.map(|size| size as u32), 1),
            strides: lead(x_strides, 0),
            axis: axis as u32,
            axis_stride: strides(full)[along],
        };
        run("gather_elements", &mut [bytes(&mut x), bytes(&mut index), bytes(&mut y)], p, 2);
        let leads = |place: &[usize], to: usize| {
            let mut place = place.to_vec();
            place[along] = to;
            offset(&full, &place)
        };
        for (at, place) in positions(&shape).iter().enumerate() {
            prop_assert_eq!(y[at], x[leads(place, nearest(index[at], axis))]);
        }

        let way = [Combine::Replace, Combine::Add, Combine::Mul, Combine::Min, Combine::Max][way];
        let combine = |old: f32, update: f32| match way {
            Combine::Replace => update,
            Combine::Add => old + update,
            Combine::Mul => old * update,
            Combine::Min => old.min(update),
            Combine::Max => old.max(update),
        };
        let mut expected = x.clone();
        for (at, place) in positions(&shape).iter().enumerate() {
            if let Some(to) = inside(index[at], axis) {
                let word = &mut expected[leads(place, to)];
                *word = combine(*word, y[at]);
            }
        }
        let rest: Vec<usize> = (0..4).filter(|&d| d != along).collect();
        let pick = |list: [u32; 4], first| [first, list[rest[0]], list[rest[1]], list[rest[2]]];
        let p = params::ScatterElements {
            lines: (count / shape[along]) as u32,
            shape: pick(shape.map(|size| size as u32), 1),
            strides: pick(strides(full), 0),
            update_strides: pick(strides(shape), 0),
            axis: axis as u32,
            axis_stride: strides(full)[along],
            steps: shape[along] as u32,
            step_stride: strides(shape)[along],
            combine: way.word(),
            numbers: Numbers::F32.word(),
            unique_indices: 0,
        };
        run("scatter_elements", &mut [bytes(&mut index), bytes(&mut y), bytes(&mut x)], p, 2);
        prop_assert_eq!(x, expected);
    }

    #[test]
    fn index_tuples_gather_and_scatter_slices(
        batches in 1usize..4,
        count in 0usize..9,
        sizes in prop::array::uniform2(1usize..5),
        slice in 1usize..7,
        seed: u32,
    ) {
        let full = [batches, sizes[0], sizes[1], slice];
        let mut x: Vec<i32> = (0..full.iter().product::<usize>() as i32).collect();
        let mut index: Vec<i32> =
            indices(batches * count, sizes[0], seed).into_iter().zip(indices(batches * count, sizes[1], !seed))
                .flat_map(|(a, b)| [a, b]).collect();
        let mut y = vec![-1; batches * count * slice];
        let sizes32 = [sizes[0] as u32, sizes[1] as u32, 0, 0, 0];
        let strides = [(sizes[1] * slice) as u32, slice as u32, 0, 0, 0];
        let batch_stride = sizes32[0] * strides[0];
        let p = params::GatherNd {
            batches: batches as u32, count: count as u32, slice: slice as u32,
            depth: 2, sizes: sizes32, strides, batch_stride,
        };
        run("gather_nd", &mut [bytes(&mut x), bytes(&mut index), bytes(&mut y)], p, 2);
        for (at, place) in positions(&[batches, count, slice]).iter().enumerate() {
            let entry = place[0] * count + place[1];
            let [a, b] = [0, 1].map(|d| nearest(index[2 * entry + d], sizes[d]));
            prop_assert_eq!(y[at], x[offset(&full, &[place[0], a, b, place[2]])]);
        }

        // Updates to the first batch with the tuples of all batches.
        let mut expected = x.clone();
        for (entry, updates) in y.chunks(slice).enumerate() {
            let [a, b] = [0, 1].map(|d| inside(index[2 * entry + d], sizes[d]));
            let (Some(a), Some(b)) = (a, b) else { continue };
            for (i, &update) in updates.iter().enumerate() {
                let word = &mut expected[offset(&full, &[0, a, b, i])];
                *word = word.wrapping_mul(update);
            }
        }
        let p = params::ScatterNd {
            count: (batches * count) as u32, slice: slice as u32, depth: 2, sizes: sizes32, strides,
            combine: Combine::Mul.word(), numbers: Numbers::I32.word(), unique_indices: 0,
        };
        run("scatter_nd", &mut [bytes(&mut index), bytes(&mut y), bytes(&mut x)], p, 2);
        prop_assert_eq!(x, expected);
    }

    #[test]
    fn resampling_matches_the_definition(
        outer in 0usize..4, axis in 1usize..9, inner in 0usize..30, count in 0usize..20, taps in 0usize..5, seed: u32,
    ) {
        let mut x = values(outer * axis * inner, 3.0, seed);
        let mut index = indices(count * taps, axis, seed ^ 3);
        let mut weight = values(count * taps, 1.0, seed ^ 4);
        let mut y = vec![f32::NAN; outer * count * inner];
        let p = params::Resample {
            outer: outer as u32, axis: axis as u32, inner: inner as u32, count: count as u32, taps: taps as u32,
        };
        run("resample", &mut [bytes(&mut x), bytes(&mut index), bytes(&mut weight), bytes(&mut y)], p, 3);
        for (at, place) in positions(&[outer, count, inner]).iter().enumerate() {
            let (mut exact, mut scale) = (0.0, 0.0);
            for t in place[1] * taps..(place[1] + 1) * taps {
                let from = [place[0], nearest(index[t], axis), place[2]];
                let term = f64::from(weight[t]) * f64::from(x[offset(&[outer, axis, inner], &from)]);
                exact += term;
                scale += term.abs();
            }
            let allowed = Tolerance::FewUlps.allowed(exact, scale);
            prop_assert!((f64::from(y[at]) - exact).abs() <= allowed, "{} but {}", y[at], exact);
        }
    }
}

#[test]
fn maximum_and_minimum_propagate_nan() {
    for (way, expected) in
        [(Combine::Min, [f32::NAN, f32::NAN, 1.0, -2.0]), (Combine::Max, [f32::NAN, f32::NAN, 2.0, -1.0])]
    {
        let mut index = [0i32, 1, 2, 3];
        let mut updates = [f32::NAN, 1.0, 2.0, -1.0];
        let mut y = [1.0, -f32::NAN, 1.0, -2.0f32];
        let p = params::ScatterNd {
            count: 4,
            slice: 1,
            depth: 1,
            sizes: [4, 0, 0, 0, 0],
            strides: [1, 0, 0, 0, 0],
            combine: way.word(),
            numbers: Numbers::F32.word(),
            unique_indices: 1,
        };
        run("scatter_nd", &mut [bytes(&mut index), bytes(&mut updates), bytes(&mut y)], p, 1);
        assert!(y.iter().zip(expected).all(|(&y, expected)| ulps(y, expected.into()) == 0), "{way:?}: {y:?}");
    }
}

#[test]
fn invalid_sizes_are_rejected_with_the_reason() {
    let refused = |name: &str, p: &[u8]| {
        let mut buffers = [[0u32; 8]; 3];
        let [a, b, c] = &mut buffers;
        launch_at(Level::best(), name, &mut [bytes(a), bytes(b), bytes(c)], p, 1).expect_err("the launch is invalid")
    };
    let take = params::Gather { outer: 1, axis: 0, inner: 1, count: 1 };
    assert_eq!(refused("gather", bytemuck::bytes_of(&take)), "indexes empty axes of sizes [0]");
    let take = params::Gather { outer: 1, axis: 3, inner: 3, count: 1 };
    assert_eq!(refused("gather", bytemuck::bytes_of(&take)), "reads 9 elements of `x`, but 8 are bound");
    let deep = params::GatherNd { depth: 6, ..Default::default() };
    assert_eq!(refused("gather_nd", bytemuck::bytes_of(&deep)), "tuples of 6 indices; the maximum is 5");
    let scatter = params::ScatterNd { combine: 5, ..Default::default() };
    assert_eq!(refused("scatter_nd", bytemuck::bytes_of(&scatter)), "unknown combination 5");
    let scatter = params::ScatterNd { numbers: 3, ..Default::default() };
    assert_eq!(refused("scatter_nd", bytemuck::bytes_of(&scatter)), "unknown element type 3");
    let far = params::ScatterNd { slice: 1, depth: 1, sizes: [9, 0, 0, 0, 0], strides: [1; 5], ..Default::default() };
    assert_eq!(refused("scatter_nd", bytemuck::bytes_of(&far)), "writes 9 elements of `y`, but 8 are bound");
}
