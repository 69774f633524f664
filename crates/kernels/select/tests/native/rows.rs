//! Integer reductions, `arg_*`, `scan_*`, `log_softmax`, `normalize_rows`, `moments` and `top_k`
//! against naive f64 code.

use proptest::prelude::*;
use roci_hal::native::NativeBinding;
use roci_kernels::native::Level;
use roci_kernels::params::{self, Numbers};
use roci_testkit::Tolerance;

use crate::launch::{bytes, launch_at, launch_bound, ulps, values};

/// The elements `x[o, .., i]` of one output.
fn line<T: Copy>(x: &[T], axis: usize, inner: usize, output: usize) -> Vec<T> {
    (0..axis).map(|r| x[(output / inner * axis + r) * inner + output % inner]).collect()
}

/// Small integers as floats, with many duplicates.
fn few(count: usize, seed: u32) -> Vec<f32> {
    values(count, 6.0, seed).into_iter().map(f32::round).collect()
}

/// Odd integers of all magnitudes.
fn whole(count: usize, seed: u32) -> Vec<i32> {
    values(count, 2e9, seed).into_iter().map(|x| x as i32 | 1).collect()
}

/// Runs a kernel with one input and one output, and also in place if it supports that.
fn run<P: bytemuck::Pod, T: bytemuck::Pod>(name: &str, x: &[T], y: &mut [T], p: P, in_place: bool) {
    let mut x = x.to_vec();
    launch_at(Level::best(), name, &mut [bytes(&mut x), bytes(y)], bytemuck::bytes_of(&p), 3).unwrap();
    if in_place {
        let memory = [NativeBinding { pointer: x.as_mut_ptr().cast(), length: size_of_val(&x[..]) }];
        launch_bound(Level::best(), name, &memory, &[0, 0], bytemuck::bytes_of(&p), 2).unwrap();
        assert_eq!(bytes(&mut x), bytes(y), "{name} in place");
    }
}

proptest! {
    #[test]
    fn reductions_of_integers_wrap(outer in 0u32..5, axis in 0u32..90, inner in 1u32..60, seed: u32) {
        let x = whole((outer * axis * inner) as usize, seed);
        let p = params::Reduce { outer, axis, inner };
        let mut y = vec![0; (outer * inner) as usize];
        type Fold = fn(Vec<i32>) -> i32;
        let folds: [(&str, Fold); 6] = [
            ("reduce_sum_i32", |x| x.into_iter().map(i64::from).sum::<i64>() as i32),
            ("reduce_prod_i32", |x| x.into_iter().fold(1, i32::wrapping_mul)),
            ("reduce_max_i32", |x| x.into_iter().max().unwrap_or(i32::MIN)),
            ("reduce_min_i32", |x| x.into_iter().min().unwrap_or(i32::MAX)),
            ("reduce_max_u32", |x| x.into_iter().map(|x| x as u32).max().unwrap_or(0) as i32),
            ("reduce_min_u32", |x| x.into_iter().map(|x| x as u32).min().unwrap_or(u32::MAX) as i32),
        ];
        for (name, fold) in folds {
            run(name, &x, &mut y, p, false);
            for (output, &y) in y.iter().enumerate() {
                prop_assert_eq!(y, fold(line(&x, axis as usize, inner as usize, output)), "{}", name);
            }
        }
    }

    #[test]
    fn product_and_minimum_match_the_definition(outer in 0u32..5, axis in 0u32..90, inner in 1u32..60, seed: u32) {
        let x = values((outer * axis * inner) as usize, 1.7, seed);
        let p = params::Reduce { outer, axis, inner };
        for &level in Level::available() {
            for name in ["reduce_prod", "reduce_min"] {
                let (mut x, mut y) = (x.clone(), vec![f32::NAN; (outer * inner) as usize]);
                launch_at(level, name, &mut [bytes(&mut x), bytes(&mut y)], bytemuck::bytes_of(&p), 2).unwrap();
                for (output, &y) in y.iter().enumerate() {
                    let along = line(&x, axis as usize, inner as usize, output).into_iter().map(f64::from);
                    let is_product = name == "reduce_prod";
                    let exact = if is_product { along.product() } else { along.fold(f64::INFINITY, f64::min) };
                    prop_assert!(ulps(y, exact) <= 1, "{} at {}: {} but {}", name, level, y, exact);
                }
            }
        }
    }

    #[test]
    fn arg_extrema_match_the_definition(outer in 0u32..5, axis in 1u32..50, inner in 1u32..90, seed: u32, last: bool) {
        let x = few((outer * axis * inner) as usize, seed);
        let mut whole: Vec<i32> = x.iter().map(|&x| x as i32).collect();
        for smallest in [false, true] {
            let name = if smallest { "arg_min" } else { "arg_max" };
            let best = |line: Vec<f32>| {
                let goes = |a: f32, b: f32| if smallest { a < b } else { a > b };
                let place = (0..line.len()).filter(|&at| !line.iter().any(|&other| goes(other, line[at])));
                if last { place.max() } else { place.min() }
            };
            let expected: Vec<u32> = (0..(outer * inner) as usize)
                .map(|output| best(line(&x, axis as usize, inner as usize, output)).unwrap() as u32)
                .collect();
            for numbers in [Numbers::F32, Numbers::I32] {
                let mut floats = x.clone();
                let input = if numbers == Numbers::F32 { bytes(&mut floats) } else { bytes(&mut whole) };
                let mut y = vec![u32::MAX; expected.len()];
                let p = params::ArgReduce { outer, axis, inner, numbers: numbers.word(), last: last.into() };
                launch_at(Level::best(), name, &mut [input, bytes(&mut y)], bytemuck::bytes_of(&p), 2).unwrap();
                prop_assert_eq!(&y, &expected, "{}", name);
            }
        }
    }

    #[test]
    fn scans_match_the_definition(
        outer in 0u32..5, axis in 0u32..70, inner in 1u32..90, seed: u32, exclusive: bool, reverse: bool,
    ) {
        let count = (outer * axis * inner) as usize;
        let [x, near_one] = [values(count, 3.0, seed), values(count, 1.4, !seed)];
        let whole = whole(count, seed);
        let p = |numbers: Numbers| params::Scan {
            outer, axis, inner, numbers: numbers.word(), exclusive: exclusive.into(), reverse: reverse.into(),
        };
        let before = |r: usize| {
            let mut steps: Vec<usize> = (0..axis as usize).collect();
            if reverse { steps.reverse() }
            let at = steps.iter().position(|&step| step == r).unwrap();
            steps[..at + usize::from(!exclusive)].to_vec()
        };
        let mut y = vec![f32::NAN; count];
        let mut words = vec![0; count];
        for name in ["scan_sum", "scan_prod"] {
            let is_sum = name == "scan_sum";
            let x = if is_sum { &x } else { &near_one };
            run(name, x, &mut y, p(Numbers::F32), true);
            run(name, &whole, &mut words, p(Numbers::I32), true);
            for output in 0..(outer * inner) as usize {
                let (axis, inner) = (axis as usize, inner as usize);
                let [got, from] = [&y, x].map(|all| line(all, axis, inner, output));
                let [got_whole, from_whole] = [&words, &whole].map(|all| line(all, axis, inner, output));
                for r in 0..axis {
                    let steps = before(r);
                    let floats = steps.iter().map(|&step| f64::from(from[step]));
                    let exact: f64 = if is_sum { floats.sum() } else { floats.product() };
                    prop_assert!(ulps(got[r], exact) <= 1, "{}: {} but {}", name, got[r], exact);
                    let integers = steps.iter().map(|&step| from_whole[step]);
                    let fold = if is_sum { i32::wrapping_add } else { i32::wrapping_mul };
                    let exact = integers.fold(i32::from(!is_sum), fold);
                    prop_assert_eq!(got_whole[r], exact);
                }
            }
        }
    }

    #[test]
    fn log_softmax_matches_the_definition(rows in 0u32..5, columns in 1u32..300, seed: u32) {
        let x = values((rows * columns) as usize, 30.0, seed);
        let mut y = vec![f32::NAN; x.len()];
        run("log_softmax", &x, &mut y, params::Softmax { rows, columns }, true);
        for (x, y) in x.chunks(columns as usize).zip(y.chunks(columns as usize)) {
            let max = f64::from(x.iter().copied().fold(f32::NEG_INFINITY, f32::max));
            let sum: f64 = x.iter().map(|&x| (f64::from(x) - max).exp()).sum();
            for (&x, &y) in x.iter().zip(y) {
                let exact = f64::from(x) - max - sum.ln();
                let allowed = Tolerance::FewUlps.allowed(exact, exact.abs().max(1.0));
                prop_assert!((f64::from(y) - exact).abs() <= allowed, "{} but {}", y, exact);
            }
        }
    }

    #[test]
    fn rows_are_normalized(rows in 0u32..5, columns in 1u32..300, seed: u32, centered: bool, offset in -1e3f32..1e3) {
        let x: Vec<f32> = values((rows * columns) as usize, 3.0, seed).into_iter().map(|x| x + offset).collect();
        let p = params::Normalize { rows, columns, epsilon: 1e-3, centered: centered.into() };
        let mut y = vec![f32::NAN; x.len()];
        run("normalize_rows", &x, &mut y, p, true);
        let mut input = x.clone();
        let [mut mean, mut inverse] = [0, 1].map(|_| vec![f32::NAN; rows as usize]);
        let mut buffers = [bytes(&mut input), bytes(&mut mean), bytes(&mut inverse)];
        launch_at(Level::best(), "moments", &mut buffers, bytemuck::bytes_of(&p), 2).unwrap();
        for (row, (x, y)) in x.chunks(columns as usize).zip(y.chunks(columns as usize)).enumerate() {
            let count = f64::from(columns);
            let wide: Vec<f64> = x.iter().map(|&x| x.into()).collect();
            let middle = if centered { wide.iter().sum::<f64>() / count } else { 0.0 };
            let variance = wide.iter().map(|x| (x - middle).powi(2)).sum::<f64>() / count;
            let scale = 1.0 / (variance + f64::from(1e-3f32)).sqrt();
            prop_assert!(ulps(mean[row], middle) <= 1 && ulps(inverse[row], scale) <= 1);
            for (&x, &y) in wide.iter().zip(y) {
                let exact = (x - middle) * scale;
                let allowed = Tolerance::FewUlps.allowed(exact, exact.abs().max(1e-3));
                prop_assert!((f64::from(y) - exact).abs() <= allowed, "{} but {}", y, exact);
            }
        }
    }

    #[test]
    fn top_k_is_sorted(rows in 0u32..4, columns in 1u32..200, part in 0.0f64..1.0, seed: u32, largest: bool) {
        let k = (f64::from(columns + 1) * part) as u32;
        let mut x = few((rows * columns) as usize, seed);
        x.iter_mut().step_by(37).for_each(|x| *x = f32::NAN);
        let outputs = (rows * k) as usize;
        let (mut input, mut best, mut places) = (x.clone(), vec![-7.0f32; outputs], vec![u32::MAX; outputs]);
        let p = params::TopK { rows, columns, k, numbers: Numbers::F32.word(), largest: largest.into() };
        let mut buffers = [bytes(&mut input), bytes(&mut best), bytes(&mut places)];
        launch_at(Level::best(), "top_k", &mut buffers, bytemuck::bytes_of(&p), 2).unwrap();
        for (row, x) in x.chunks(columns as usize).enumerate() {
            let mut order: Vec<usize> = (0..columns as usize).collect();
            // NaN compares above all numbers, and both zeros are equal; a stable sort keeps the
            // order of equal elements.
            let size = |at: &usize| if x[*at].is_nan() { f64::INFINITY } else { f64::from(x[*at]) + 0.0 };
            order.sort_by(|a, b| if largest { size(b).total_cmp(&size(a)) } else { size(a).total_cmp(&size(b)) });
            for (j, &expected) in order.iter().take(k as usize).enumerate() {
                let at = row * k as usize + j;
                prop_assert_eq!(places[at] as usize, expected);
                prop_assert_eq!(best[at].to_bits(), x[expected].to_bits());
            }
        }
    }
}

#[test]
fn nan_is_the_extremum_and_zeros_are_equal() {
    let x = [1.0, -0.0, f32::NAN, 5.0, -f32::NAN, 0.0];
    for (name, expected) in [("arg_max", 2), ("arg_min", 2)] {
        let mut y = [9u32];
        let p = params::ArgReduce { outer: 1, axis: 6, inner: 1, ..Default::default() };
        launch_at(Level::best(), name, &mut [bytes(&mut x.clone()), bytes(&mut y)], bytemuck::bytes_of(&p), 1).unwrap();
        assert_eq!(y, [expected], "{name}");
    }
    for name in ["reduce_max", "reduce_min"] {
        let mut y = [0.0f32];
        run(name, &x[..], &mut y, params::Reduce { outer: 1, axis: 6, inner: 1 }, false);
        assert!(y[0].is_nan(), "{name}");
    }
    for (zeros, name) in [([-0.0f32, 0.0], "arg_max"), ([0.0, -0.0], "arg_min")] {
        let mut y = [9u32];
        let p = params::ArgReduce { outer: 1, axis: 2, inner: 1, ..Default::default() };
        launch_at(Level::best(), name, &mut [bytes(&mut zeros.clone()), bytes(&mut y)], bytemuck::bytes_of(&p), 1)
            .unwrap();
        assert_eq!(y, [0], "{name}");
    }
}

#[test]
fn oversized_k_and_aliased_outputs_are_rejected() {
    let mut memory = [[0u32; 8]; 2];
    let bound = memory.each_mut().map(|words| NativeBinding { pointer: words.as_mut_ptr().cast(), length: 32 });
    let refused = |name, order: &[usize], p: &[u8]| {
        launch_bound(Level::best(), name, &bound, order, p, 1).expect_err("the launch is invalid")
    };
    let top = params::TopK { rows: 1, columns: 4, k: 5, ..Default::default() };
    assert_eq!(refused("top_k", &[0, 1, 1], bytemuck::bytes_of(&top)), "k is 5, but a row has 4 elements");
    let top = params::TopK { k: 4, ..top };
    assert_eq!(refused("top_k", &[0, 1, 1], bytemuck::bytes_of(&top)), "`indices` overlaps `values`");
    assert_eq!(refused("top_k", &[0, 0, 1], bytemuck::bytes_of(&top)), "`values` overlaps `x`");
    let scan = params::Scan { outer: 3, axis: 3, inner: 1, ..Default::default() };
    assert_eq!(refused("scan_sum", &[0, 1], bytemuck::bytes_of(&scan)), "reads 9 elements of `x`, but 8 are bound");
}
