//! `fill`, `copy`, `binary_*`, `reduce_*` and `softmax` against naive f64 code.

use proptest::prelude::*;
use roci_hal::native::NativeBinding;
use roci_kernels::native::Level;
use roci_kernels::params;

use crate::launch::{bytes, launch_at, launch_bound, ulps, values};

const UNTOUCHED: u32 = 0xdead_beef;

proptest! {
    #[test]
    fn fill_writes_only_its_range(count in 0u32..3000, before in 0u32..40, after in 0usize..40, value: u32) {
        for &level in Level::available() {
            let mut target = vec![UNTOUCHED; (count + before) as usize + after];
            let p = params::Fill { count, offset: before, value };
            launch_at(level, "fill", &mut [bytes(&mut target)], bytemuck::bytes_of(&p), 3).unwrap();
            let inside = before as usize..(before + count) as usize;
            for (i, &word) in target.iter().enumerate() {
                prop_assert_eq!(word, if inside.contains(&i) { value } else { UNTOUCHED });
            }
        }
    }

    #[test]
    fn copy_moves_only_its_range(count in 0u32..3000, from in 0u32..40, to in 0u32..40, workers in 1usize..5) {
        for &level in Level::available() {
            let mut source: Vec<u32> = (0..from + count).collect();
            let mut target = vec![UNTOUCHED; (to + count) as usize + 3];
            let p = params::Copy { count, source_offset: from, target_offset: to };
            let mut buffers = [bytes(&mut source), bytes(&mut target)];
            launch_at(level, "copy", &mut buffers, bytemuck::bytes_of(&p), workers).unwrap();
            for (i, &word) in target.iter().enumerate() {
                let inside = (to as usize..(to + count) as usize).contains(&i);
                prop_assert_eq!(word, if inside { i as u32 - to + from } else { UNTOUCHED });
            }
        }
    }

    #[test]
    fn broadcasts_match_the_definition(
        shape in prop::array::uniform4(0u32..7),
        a_kinds in prop::array::uniform4(0u8..3),
        b_kinds in prop::array::uniform4(0u8..3),
        inner in 1u32..300,
        workers in 1usize..5,
    ) {
        let shape = [shape[0], shape[1], shape[2], shape[3] * inner];
        let (a_strides, b_strides) = (strides(shape, a_kinds), strides(shape, b_kinds));
        let p = params::Binary { count: shape.iter().product(), shape, a_strides, b_strides };
        let [a, b] = [a_strides, b_strides].map(|strides| values(extent(shape, strides), 4.0, 11));
        for &level in Level::available() {
            let (mut a, mut b, mut y) = (a.clone(), b.clone(), vec![f32::NAN; p.count as usize]);
            let mut buffers = [bytes(&mut a), bytes(&mut b), bytes(&mut y)];
            launch_at(level, "binary_sub_broadcast", &mut buffers, bytemuck::bytes_of(&p), workers).unwrap();
            for (i, &y) in y.iter().enumerate() {
                prop_assert_eq!(y, a[place(i, shape, a_strides)] - b[place(i, shape, b_strides)], "element {}", i);
            }
        }
    }

    #[test]
    fn reductions_match_the_definition(outer in 0u32..9, axis in 0u32..300, inner in 0u32..80, workers in 1usize..5, seed: u32) {
        let x = values((outer * axis * inner) as usize, 3.0, seed);
        let p = params::Reduce { outer, axis, inner };
        for &level in Level::available() {
            for name in ["reduce_sum", "reduce_max"] {
                let (mut x, mut y) = (x.clone(), vec![f32::NAN; (outer * inner) as usize]);
                launch_at(level, name, &mut [bytes(&mut x), bytes(&mut y)], bytemuck::bytes_of(&p), workers).unwrap();
                for (at, &y) in y.iter().enumerate() {
                    let (o, i) = (at as u32 / inner, at as u32 % inner);
                    let along = (0..axis).map(|r| f64::from(x[((o * axis + r) * inner + i) as usize]));
                    let exact = if name == "reduce_sum" { along.sum() } else { along.fold(f64::NEG_INFINITY, f64::max) };
                    prop_assert!(ulps(y, exact) <= 1, "{} at {}: {} but {}", name, level, y, exact);
                }
            }
        }
    }

    #[test]
    fn softmax_matches_the_definition(rows in 0u32..9, columns in 0u32..400, workers in 1usize..5, seed: u32) {
        let x = values((rows * columns) as usize, 30.0, seed);
        let p = params::Softmax { rows, columns };
        for &level in Level::available() {
            let (mut apart, mut y) = (x.clone(), vec![f32::NAN; x.len()]);
            let mut buffers = [bytes(&mut apart), bytes(&mut y)];
            launch_at(level, "softmax", &mut buffers, bytemuck::bytes_of(&p), workers).unwrap();
            for (x, y) in x.chunks(columns.max(1) as usize).zip(y.chunks(columns.max(1) as usize)) {
                let max = x.iter().copied().fold(f32::NEG_INFINITY, f32::max);
                let exps: Vec<f64> = x.iter().map(|&x| f64::from(x - max).exp()).collect();
                let sum: f64 = exps.iter().sum();
                for (&y, exp) in y.iter().zip(exps) {
                    prop_assert!(ulps(y, exp / sum) <= 2, "{} but {}", y, exp / sum);
                }
            }
            let mut same = x.clone();
            let memory = [NativeBinding { pointer: same.as_mut_ptr().cast(), length: same.len() * 4 }];
            launch_bound(level, "softmax", &memory, &[0, 0], bytemuck::bytes_of(&p), workers).unwrap();
            prop_assert_eq!(same, y);
        }
    }
}

/// Strides of an input that is dense, broadcast or strided in each dimension, according to `kinds`.
pub(crate) fn strides(shape: [u32; 4], kinds: [u8; 4]) -> [u32; 4] {
    let mut next = 1;
    let mut strides = [0; 4];
    for i in (0..4).rev() {
        if kinds[i] > 0 {
            strides[i] = next * u32::from(kinds[i]);
            next = strides[i] * shape[i].max(1);
        }
    }
    strides
}

pub(crate) fn extent(shape: [u32; 4], strides: [u32; 4]) -> usize {
    if shape.contains(&0) {
        return 0;
    }
    shape.iter().zip(strides).map(|(&size, stride)| ((size - 1) * stride) as usize).sum::<usize>() + 1
}

pub(crate) fn place(mut index: usize, shape: [u32; 4], strides: [u32; 4]) -> usize {
    let mut place = 0;
    for i in (0..4).rev() {
        place += index % shape[i] as usize * strides[i] as usize;
        index /= shape[i] as usize;
    }
    place
}

#[test]
fn binary_functions_match_at_every_level() {
    type Case = (&'static str, fn(f64, f64) -> f64, u64);
    let cases: &[Case] = &[
        ("binary_add", |a, b| a + b, 0),
        ("binary_sub", |a, b| a - b, 0),
        ("binary_mul", |a, b| a * b, 0),
        ("binary_div", |a, b| a / b, 0),
        ("binary_min", f64::min, 0),
        ("binary_max", f64::max, 0),
        ("binary_pow", f64::powf, 1),
    ];
    let special = [
        0.0,
        -0.0,
        1.0,
        -1.0,
        2.0,
        -2.0,
        3.0,
        -3.0,
        0.5,
        -0.5,
        f32::INFINITY,
        f32::NEG_INFINITY,
        f32::NAN,
        1e30,
        -1e30,
        1e-42,
    ];
    let mut a = values(5000, 9.0, 1);
    let mut b = values(5000, 9.0, 2);
    for x in special {
        for y in special {
            a.push(x);
            b.push(y);
        }
    }
    let p = params::Binary::flat(a.len() as u32);
    for &level in Level::available() {
        for &(name, exact, limit) in cases {
            let broadcast = format!("{name}_broadcast");
            for name in [name, &broadcast] {
                let mut y = vec![0.0f32; a.len()];
                let mut buffers = [bytes(&mut a), bytes(&mut b), bytes(&mut y)];
                launch_at(level, name, &mut buffers, bytemuck::bytes_of(&p), 4).unwrap();
                for ((&a, &b), &y) in a.iter().zip(&b).zip(&y) {
                    let exact = exact(a.into(), b.into());
                    assert!(ulps(y, exact) <= limit, "{name} at {level}: f({a:e}, {b:e}) = {y:e}, exactly {exact:e}");
                }
            }
        }
    }
}

#[test]
fn binary_writes_over_either_input() {
    let (a, b) = (values(5003, 9.0, 1), values(5003, 9.0, 2));
    let p = params::Binary::flat(5003);
    for &level in Level::available() {
        for over in 0..2 {
            let mut memory = [a.clone(), b.clone()];
            let bound = [0, 1].map(|i| NativeBinding { pointer: memory[i].as_mut_ptr().cast(), length: 5003 * 4 });
            launch_bound(level, "binary_sub", &bound, &[0, 1, over], bytemuck::bytes_of(&p), 3).unwrap();
            assert!(memory[over].iter().zip(a.iter().zip(&b)).all(|(y, (a, b))| *y == a - b), "{level}");
        }
    }
}

#[test]
fn large_arrays_take_the_streaming_path_and_agree() {
    let count = 5 << 20;
    let (mut a, mut b, mut y) = (values(count, 9.0, 1), values(count, 9.0, 2), vec![0.0f32; count]);
    for &level in Level::available() {
        let mut buffers = [bytes(&mut a), bytes(&mut b), bytes(&mut y)];
        launch_at(level, "binary_add", &mut buffers, bytemuck::bytes_of(&params::Binary::flat(count as u32)), 1)
            .unwrap();
        assert!(y.iter().zip(a.iter().zip(&b)).all(|(y, (a, b))| *y == a + b), "{level}");
        let copy = params::Copy { count: count as u32 - 9, source_offset: 3, target_offset: 5 };
        launch_at(level, "copy", &mut [bytes(&mut a), bytes(&mut y)], bytemuck::bytes_of(&copy), 1).unwrap();
        assert_eq!(a[3..count - 6], y[5..count - 4]);
        let fill = params::Fill { count: count as u32 - 3, offset: 2, value: 1f32.to_bits() };
        launch_at(level, "fill", &mut [bytes(&mut y)], bytemuck::bytes_of(&fill), 1).unwrap();
        assert!(y[2..count - 1].iter().all(|&y| y == 1.0));
    }
}

#[test]
fn invalid_launches_are_rejected_with_the_reason() {
    let mut memory = [vec![UNTOUCHED; 64], vec![UNTOUCHED; 64]];
    let bound = memory.each_mut().map(|words| NativeBinding { pointer: words.as_mut_ptr().cast(), length: 256 });
    let refused = |name: &str, order: &[usize], constants: &[u8]| {
        launch_bound(Level::best(), name, &bound, order, constants, 2).expect_err("the launch is invalid")
    };
    let fill = params::Fill { count: u32::MAX, offset: u32::MAX, value: 0 };
    assert_eq!(
        refused("fill", &[0], bytemuck::bytes_of(&fill)),
        "writes 8589934590 elements of `target`, but 64 are bound"
    );
    let copy = params::Copy { count: 10, source_offset: 0, target_offset: 5 };
    assert_eq!(refused("copy", &[0, 0], bytemuck::bytes_of(&copy)), "`target` overlaps `source`");
    assert_eq!(refused("copy", &[0], bytemuck::bytes_of(&copy)), "expects 2 bindings, got 1");
    assert_eq!(refused("copy", &[0, 1], &[0; 8]), "expects 12 bytes of constants, got 8");
    let shape = params::Binary { count: 7, shape: [1, 1, 2, 3], ..params::Binary::flat(6) };
    let reason = "shape [1, 1, 2, 3] has 6 elements, but the count is 7";
    assert_eq!(refused("binary_add_broadcast", &[0, 0, 1], bytemuck::bytes_of(&shape)), reason);
    let over = params::Binary { count: 6, shape: [1, 1, 2, 3], a_strides: [0, 0, 0, 1], b_strides: [0; 4] };
    assert_eq!(refused("binary_add_broadcast", &[0, 1, 0], bytemuck::bytes_of(&over)), "`y` overlaps `a`");
    let reduce = params::Reduce { outer: u32::MAX, axis: u32::MAX, inner: u32::MAX };
    let reason = "reads 79228162458924105385300197375 elements of `x`, but 64 are bound";
    assert_eq!(refused("reduce_sum", &[0, 1], bytemuck::bytes_of(&reduce)), reason);
    let softmax = params::Softmax { rows: 9, columns: 9 };
    assert_eq!(refused("softmax", &[0, 1], bytemuck::bytes_of(&softmax)), "reads 81 elements of `x`, but 64 are bound");
    let matvec = params::Matvec { m: 8, k: 8, lda: 9 };
    assert_eq!(
        refused("matvec_f32", &[0, 1, 1], bytemuck::bytes_of(&matvec)),
        "reads 71 elements of `a`, but 64 are bound"
    );
    assert!(memory.iter().flatten().all(|&word| word == UNTOUCHED));
}

#[test]
fn small_work_is_one_part_and_large_work_uses_all_workers() {
    let parts = |count: u32, workers| {
        let mut target = vec![0u32; count as usize];
        let p = params::Fill { count, offset: 0, value: 1 };
        launch_at(Level::best(), "fill", &mut [bytes(&mut target)], bytemuck::bytes_of(&p), workers).unwrap()
    };
    assert_eq!(parts(0, 8), 0);
    assert_eq!(parts(1, 8), 1);
    assert_eq!(parts(8 << 10, 8), 1);
    assert!(parts(4 << 20, 8) >= 16);
}
