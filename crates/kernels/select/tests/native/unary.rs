//! Unary functions against f64 functions of the standard library.

use proptest::prelude::*;
use roci_hal::native::NativeBinding;
use roci_kernels::native::Level;
use roci_kernels::params;

use crate::launch::{bytes, launch_at, launch_bound, ulps, values};

/// Kernel, exact function, maximum error in ULPs.
type Case = (&'static str, fn(f64) -> f64, u64);

const CASES: &[Case] = &[
    ("unary_neg", |x| -x, 0),
    ("unary_abs", f64::abs, 0),
    ("unary_exp", f64::exp, 1),
    ("unary_log", f64::ln, 1),
    ("unary_sqrt", f64::sqrt, 0),
    ("unary_rsqrt", |x| 1.0 / x.sqrt(), 1),
    ("unary_relu", |x| if x < 0.0 { 0.0 } else { x }, 0),
    ("unary_sigmoid", |x| 1.0 / (1.0 + (-x).exp()), 1),
    ("unary_tanh", f64::tanh, 1),
    ("unary_gelu", gelu, 1),
    ("unary_silu", |x| if x == f64::NEG_INFINITY { -0.0 } else { x / (1.0 + (-x).exp()) }, 1),
    ("unary_sin", f64::sin, 1),
    ("unary_cos", f64::cos, 1),
];

/// Complementary error function: by continued fraction for large arguments, else from the series of
/// erf.
fn erfc(z: f64) -> f64 {
    let tail = |z: f64| {
        let fraction = (1..=400).rev().fold(0.0, |below, n| f64::from(n) / 2.0 / (z + below));
        (-z * z).exp() / std::f64::consts::PI.sqrt() / (z + fraction)
    };
    if z > 1.0 {
        tail(z)
    } else if z < -1.0 {
        2.0 - tail(-z)
    } else {
        1.0 - erf_near(z)
    }
}

fn erf_near(z: f64) -> f64 {
    let (mut term, mut sum) = (z, z);
    for n in 1..40 {
        term *= -z * z / f64::from(n);
        sum += term / f64::from(2 * n + 1);
    }
    sum * std::f64::consts::FRAC_2_SQRT_PI
}

pub(crate) fn erf(z: f64) -> f64 {
    if z.abs() < 1.0 { erf_near(z) } else { 1.0 - erfc(z) }
}

/// `x / 2 * erfc(-x / sqrt(2))`.
pub(crate) fn gelu(x: f64) -> f64 {
    if x == f64::NEG_INFINITY {
        return -0.0;
    }
    0.5 * x * erfc(-x * std::f64::consts::FRAC_1_SQRT_2)
}

fn run(level: Level, name: &str, x: &[f32], workers: usize) -> Vec<f32> {
    let mut x = x.to_vec();
    let mut y = vec![f32::NAN; x.len()];
    let p = params::Unary { count: x.len() as u32 };
    launch_at(level, name, &mut [bytes(&mut x), bytes(&mut y)], bytemuck::bytes_of(&p), workers)
        .expect("the launch is valid");
    y
}

/// Values of every magnitude and all special values.
pub(crate) fn interesting() -> Vec<f32> {
    let mut x: Vec<f32> = (0..=u32::MAX).step_by(40_009).map(f32::from_bits).collect();
    x.extend([0.0, -0.0, 1.0, -1.0, f32::INFINITY, f32::NEG_INFINITY, f32::NAN, f32::MIN_POSITIVE, f32::MAX, f32::MIN]);
    x.extend([0.5, 1.0, 2.0, 5.0, 10.0, 20.0, 90.0, 105.0].into_iter().flat_map(|limit| values(2000, limit, 7)));
    x.extend((1..2000).map(|i| i as f32 * std::f32::consts::FRAC_PI_2));
    x
}

#[test]
fn unary_functions_are_accurate_at_every_level() {
    let x = interesting();
    for &level in Level::available() {
        for &(name, exact, limit) in CASES {
            let y = run(level, name, &x, 2);
            for (&x, &y) in x.iter().zip(&y) {
                let exact = exact(x.into());
                let off = ulps(y, exact);
                assert!(off <= limit, "{name} at {level}: f({x:e}) = {y:e}, exactly {exact:e}, {off} units off");
            }
        }
    }
}

#[test]
fn levels_and_parts_agree_bit_for_bit() {
    let x = interesting();
    for (name, ..) in CASES {
        let bits = |level, workers| run(level, name, &x, workers).into_iter().map(f32::to_bits).collect::<Vec<_>>();
        let one = bits(Level::best(), 1);
        for &level in Level::available() {
            let many = bits(level, 4);
            let same = |(i, (a, b)): (usize, (&u32, &u32))| a == b || (f32::from_bits(*a).is_nan() && x[i].is_nan());
            let differs = one.iter().zip(&many).enumerate().position(|pair| !same(pair));
            assert_eq!(differs.map(|i| (x[i], one[i], many[i])), None, "{name} at {level}");
        }
    }
}

#[test]
fn large_outputs_take_the_streaming_path_and_agree() {
    let x = values(6 << 20, 10.0, 3);
    for &level in Level::available() {
        let y = run(level, "unary_neg", &x, 1);
        assert!(x.iter().zip(&y).all(|(x, y)| -x == *y), "{level}");
    }
}

proptest! {
    #[test]
    fn any_count_in_place_and_out_of_place(count in 0usize..5000, seed: u32, workers in 1usize..9) {
        let x = values(count, 8.0, seed);
        for &level in Level::available() {
            let apart = run(level, "unary_tanh", &x, workers);
            let mut both = x.clone();
            let memory = [NativeBinding { pointer: both.as_mut_ptr().cast(), length: count * 4 }];
            let p = params::Unary { count: count as u32 };
            launch_bound(level, "unary_tanh", &memory, &[0, 0], bytemuck::bytes_of(&p), workers).unwrap();
            prop_assert_eq!(&apart, &both);
        }
    }

    #[test]
    fn a_count_beyond_the_binding_is_rejected_without_effect(bound in 0usize..100, beyond in 1u32..1000) {
        let mut x = values(bound, 1.0, 1);
        let mut y = vec![7.0f32; bound];
        let p = params::Unary { count: bound as u32 + beyond };
        let result = launch_at(Level::best(), "unary_exp", &mut [bytes(&mut x), bytes(&mut y)], bytemuck::bytes_of(&p), 2);
        prop_assert_eq!(result, Err(format!("reads {} elements of `x`, but {bound} are bound", bound as u32 + beyond)));
        prop_assert!(y.iter().all(|&y| y == 7.0));
    }
}

#[test]
fn a_shifted_overlap_is_rejected() {
    let mut memory = vec![1.0f32; 64];
    let start = memory.as_mut_ptr();
    let bindings = [0, 1].map(|i| NativeBinding { pointer: start.wrapping_add(i).cast(), length: 128 });
    let p = params::Unary { count: 32 };
    let result = launch_bound(Level::best(), "unary_neg", &bindings, &[0, 1], bytemuck::bytes_of(&p), 1);
    assert_eq!(result, Err("`y` partially overlaps `x`".to_owned()));
}
