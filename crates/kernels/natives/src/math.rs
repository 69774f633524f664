//! Functions of one f32, computed in f64 and rounded once.
//!
//! Plain arithmetic and selections, without branches and library calls, so that loops over them
//! vectorize. In f64 no intermediate value overflows or is subnormal, and short polynomials leave
//! an error far below half a unit in the last place of the f32 result. No fused multiply-add is
//! used, so the results are the same on every CPU.

use std::f64::consts::{FRAC_1_SQRT_2, FRAC_2_PI, FRAC_2_SQRT_PI, LN_2, LOG2_E};

/// Adding and then subtracting this rounds to an integer, which is in the low bits of the sum.
const ROUND: f64 = 6_755_399_441_055_744.0;

/// `coefficients[0] + coefficients[1] * x + ...`.
#[inline(always)]
fn polynomial<const N: usize>(x: f64, coefficients: [f64; N]) -> f64 {
    let mut sum = 0.0;
    for coefficient in coefficients.into_iter().rev() {
        sum = sum * x + coefficient;
    }
    sum
}

/// `x` clamped to `low` and `high`; propagates NaN.
#[inline(always)]
fn clamp(x: f64, low: f64, high: f64) -> f64 {
    let x = if x > high { high } else { x };
    if x < low { low } else { x }
}

/// `2^n * e^r` for the integer `n` nearest `x / ln 2` and the remainder `r`, for `|x| < 700`.
#[inline(always)]
fn exp_f64(x: f64) -> f64 {
    let shifted = x * LOG2_E + ROUND;
    let n = shifted - ROUND;
    let r = x - n * LN_2;
    let scale = f64::from_bits((shifted.to_bits() << 52).wrapping_add(1023 << 52));
    let series = polynomial(
        r,
        [1.0, 1.0, 0.5, 1.0 / 6.0, 1.0 / 24.0, 1.0 / 120.0, 1.0 / 720.0, 1.0 / 5040.0, 1.0 / 40320.0, 1.0 / 362_880.0],
    );
    series * scale
}

/// The natural logarithm of a positive normal f64.
#[inline(always)]
fn log_f64(x: f64) -> f64 {
    // Split so that the fraction is between sqrt(1/2) and sqrt(2).
    const HALF_ROOT: u64 = 0x3fe6_a09e_667f_3bcd;
    let shifted = x.to_bits().wrapping_sub(HALF_ROOT);
    let fraction = f64::from_bits((shifted & 0x000f_ffff_ffff_ffff).wrapping_add(HALF_ROOT));
    // The exponent without a conversion from 64-bit integers, which most vector units lack.
    let biased = (shifted >> 52).wrapping_add(1024) & 0x7ff;
    let exponent = f64::from_bits(biased | 0x4330_0000_0000_0000) - (4_503_599_627_370_496.0 + 1024.0);
    let s = (fraction - 1.0) / (fraction + 1.0);
    let z = s * s;
    let series = polynomial(z, [2.0, 2.0 / 3.0, 2.0 / 5.0, 2.0 / 7.0, 2.0 / 9.0, 2.0 / 11.0, 2.0 / 13.0, 2.0 / 15.0]);
    exponent * LN_2 + s * series
}

/// `e^x`.
#[inline(always)]
pub(super) fn exp(x: f32) -> f32 {
    exp_f64(clamp(x.into(), -110.0, 100.0)) as f32
}

/// The natural logarithm.
#[inline(always)]
pub(super) fn log(x: f32) -> f32 {
    let wide = log_f64(x.into()) as f32;
    let special = if x == 0.0 { f32::NEG_INFINITY } else { f32::NAN };
    let finite = if x > 0.0 { wide } else { special };
    if x == f32::INFINITY { x } else { finite }
}

/// `1 / sqrt(x)`.
#[inline(always)]
pub(super) fn rsqrt(x: f32) -> f32 {
    (1.0 / f64::from(x).sqrt()) as f32
}

/// The larger of `x` and zero; propagates NaN.
#[inline(always)]
pub(super) fn relu(x: f32) -> f32 {
    if x < 0.0 { 0.0 } else { x }
}

#[inline(always)]
fn sigmoid_f64(x: f64) -> f64 {
    1.0 / (1.0 + exp_f64(clamp(-x, -110.0, 110.0)))
}

/// `1 / (1 + e^-x)`.
#[inline(always)]
pub(super) fn sigmoid(x: f32) -> f32 {
    sigmoid_f64(x.into()) as f32
}

/// `x / (1 + e^-x)`; zero at minus infinity, its limit.
#[inline(always)]
pub(super) fn silu(x: f32) -> f32 {
    let x = clamp(x.into(), -120.0, f64::INFINITY);
    (x * sigmoid_f64(x)) as f32
}

/// The hyperbolic tangent.
#[inline(always)]
pub(super) fn tanh(x: f32) -> f32 {
    let wide = f64::from(x);
    let far = 1.0 - 2.0 / (exp_f64(clamp(2.0 * wide, -60.0, 60.0)) + 1.0);
    // Near zero the difference above cancels; two terms of the series are exact enough there.
    let near = wide - wide * wide * wide * (1.0 / 3.0);
    (if wide.abs() < 1.0 / 1024.0 { near } else { far }) as f32
}

/// The complementary error function for `z >= 0`; beyond 10.5 it is below the smallest f32.
#[inline(always)]
fn erfc_f64(z: f64) -> f64 {
    // erfc(z) e^(z^2) as a polynomial in t = 1 / (1 + z / 2.5), mapped to -1..1, for z in 0..10.5;
    // interpolated at Chebyshev nodes, relative error below 2^-34.
    const SCALE: f64 = 2.4761904761904763;
    const SHIFT: f64 = 1.476190476190476;
    const SCALED_ERFC: [f64; 13] = [
        0.2925478590423242,
        0.39058390526465736,
        0.21719350959314543,
        0.08262277761335317,
        0.017918942300244472,
        0.00012897017849843221,
        -0.000977166597834952,
        -8.7332261271414e-05,
        6.842348442032558e-05,
        5.866190540758002e-06,
        -6.077542205017696e-06,
        -1.3684926372521702e-07,
        4.596025823170399e-07,
    ];
    let z = clamp(z, 0.0, 10.5);
    let t = 2.5 / (2.5 + z);
    exp_f64(-z * z) * polynomial(t * SCALE - SHIFT, SCALED_ERFC)
}

/// `x / 2 * (1 + erf(x / sqrt(2)))`, the exact form; zero at minus infinity, its limit.
#[inline(always)]
pub(super) fn gelu(x: f32) -> f32 {
    let wide = f64::from(x);
    let tail = erfc_f64(wide.abs() * FRAC_1_SQRT_2);
    let weight = if wide < 0.0 { tail } else { 2.0 - tail };
    (0.5 * clamp(wide, -20.0, f64::INFINITY) * weight) as f32
}

/// The error function.
#[inline(always)]
pub(super) fn erf(x: f32) -> f32 {
    let wide = f64::from(x);
    let far = 1.0 - erfc_f64(wide.abs());
    let far = if wide < 0.0 { -far } else { far };
    // Near zero the difference above cancels; the first terms of the series are exact enough there.
    let z = wide * wide;
    let series = polynomial(z, [1.0, -1.0 / 3.0, 1.0 / 10.0, -1.0 / 42.0, 1.0 / 216.0, -1.0 / 1320.0]);
    let near = wide * FRAC_2_SQRT_PI * series;
    (if wide.abs() < 0.25 { near } else { far }) as f32
}

/// `ln(1 + e^x)`.
#[inline(always)]
pub(super) fn softplus(x: f32) -> f32 {
    let wide = f64::from(x);
    let z = exp_f64(clamp(-wide.abs(), -110.0, 0.0));
    let near = z * polynomial(z, [1.0, -0.5, 1.0 / 3.0]);
    let rest = if z < 1.0 / 1024.0 { near } else { log_f64(1.0 + z) };
    // NaN is not below zero, so the sum propagates it.
    (if wide < 0.0 { rest } else { wide + rest }) as f32
}

/// `e^x - 1`.
#[inline(always)]
pub(super) fn exp_m1(x: f32) -> f32 {
    let wide = f64::from(x);
    let near = wide * polynomial(wide, [1.0, 0.5, 1.0 / 6.0]);
    let far = exp_f64(clamp(wide, -110.0, 100.0)) - 1.0;
    (if wide.abs() < 1.0 / 1024.0 { near } else { far }) as f32
}

/// Magnitude beyond which [`sin`] and [`cos`] lose accuracy; callers use the standard library
/// there.
pub(super) const TRIGONOMETRIC_LIMIT: f32 = 1_048_576.0;

/// Sine of `x + quarter * pi / 2`, for `|x|` up to [`TRIGONOMETRIC_LIMIT`].
#[inline(always)]
fn sine(x: f32, quarter: u64) -> f32 {
    // pi/2 in three terms; the first two have so few bits that products with the quadrant are
    // exact.
    const FIRST: f64 = 1.570796325802803;
    const SECOND: f64 = 9.920935791635221e-10;
    const THIRD: f64 = 5.170182981794105e-19;
    let wide = f64::from(x);
    let shifted = wide * FRAC_2_PI + ROUND;
    let n = shifted - ROUND;
    let r = ((wide - n * FIRST) - n * SECOND) - n * THIRD;
    let z = r * r;
    let sine = r * polynomial(
        z,
        [1.0, -1.0 / 6.0, 1.0 / 120.0, -1.0 / 5040.0, 1.0 / 362_880.0, -1.0 / 39_916_800.0, 1.0 / 6_227_020_800.0],
    );
    let cosine =
        polynomial(z, [1.0, -0.5, 1.0 / 24.0, -1.0 / 720.0, 1.0 / 40_320.0, -1.0 / 3_628_800.0, 1.0 / 479_001_600.0]);
    let quadrant = shifted.to_bits().wrapping_add(quarter);
    let value = if quadrant & 1 == 0 { sine } else { cosine };
    (if quadrant & 2 == 0 { value } else { -value }) as f32
}

/// The sine, for `|x|` up to [`TRIGONOMETRIC_LIMIT`].
#[inline(always)]
pub(super) fn sin(x: f32) -> f32 {
    sine(x, 0)
}

/// The cosine, for `|x|` up to [`TRIGONOMETRIC_LIMIT`].
#[inline(always)]
pub(super) fn cos(x: f32) -> f32 {
    sine(x, 1)
}

/// `a` to the power of `b`, as C's `pow` for all special values.
#[inline(always)]
pub(super) fn pow(a: f32, b: f32) -> f32 {
    let (base, power) = (f64::from(a.abs()), f64::from(b));
    let whole = (power + ROUND) - ROUND == power || power.abs() > 1e9;
    let odd = whole && power.abs() < 16_777_216.0 && (power + ROUND).to_bits() & 1 == 1;
    let log = if base == 0.0 { f64::NEG_INFINITY } else { log_f64(base) };
    let log = if base == f64::INFINITY { f64::INFINITY } else { log };
    let magnitude = exp_f64(clamp(power * log, -110.0, 100.0));
    let magnitude = if a < 0.0 && !whole && base != f64::INFINITY { f64::NAN } else { magnitude };
    let signed = if odd && a.is_sign_negative() { -magnitude } else { magnitude };
    let value = if a.is_nan() { f32::NAN } else { signed as f32 };
    // 1 to any power and any value to the power 0 are 1, even for NaN.
    if a == 1.0 || b == 0.0 || (a == -1.0 && b.is_infinite()) { 1.0 } else { value }
}
