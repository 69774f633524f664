//! Functions of one f32 in single precision, for kernels that only the CPU has: an error of a few
//! units in the last place, in a fraction of the time of `math`.
//!
//! Plain arithmetic and selections, so that loops over them vectorize.

/// Adding and then subtracting this rounds to an integer, which is in the low bits of the sum.
const ROUND: f32 = 12_582_912.0;

/// `coefficients[0] + coefficients[1] * x + ...`.
#[inline(always)]
fn polynomial<const N: usize>(x: f32, coefficients: [f32; N]) -> f32 {
    let mut sum = 0.0;
    for coefficient in coefficients.into_iter().rev() {
        sum = sum * x + coefficient;
    }
    sum
}

/// `e^x` for `x <= 0`; zero below -87.
#[inline(always)]
pub(super) fn exp(x: f32) -> f32 {
    /// `ln 2` as a sum of two, the first of few bits.
    const LN_2: [f32; 2] = [0.693_359_4, -2.121_944_4e-4];
    let shifted = x * std::f32::consts::LOG2_E + ROUND;
    let n = shifted - ROUND;
    let r = (x - n * LN_2[0]) - n * LN_2[1];
    let scale = f32::from_bits((shifted.to_bits() << 23).wrapping_add(127 << 23));
    let series = polynomial(r, [1.0, 1.0, 0.5, 1.0 / 6.0, 1.0 / 24.0, 1.0 / 120.0, 1.0 / 720.0]);
    if x < -87.0 { 0.0 } else { series * scale }
}

/// The error function: a series near zero, one minus an exponential further out.
#[inline(always)]
fn erf(x: f32) -> f32 {
    let (size, square) = (x.abs(), x * x);
    let near = x + x * polynomial(
        square,
        [0.128_379_17, -0.376_125_34, 0.112_819_925, -0.026_768_135, 0.004_991_194, -0.000_596_761_7],
    );
    let power = polynomial(
        size,
        [
            -0.128_717_52,
            -0.634_846_7,
            -0.106_777_88,
            0.024_254_622,
            -0.003_883_964_4,
            0.000_383_197_13,
            -0.000_017_285_347,
        ],
    );
    let far = 1.0 - exp(power * size - size);
    let far = if x < 0.0 { -far } else { far };
    if size > 0.921_875 { far } else { near }
}

/// `x` times the standard normal distribution function.
#[inline(always)]
pub(super) fn gelu(x: f32) -> f32 {
    // Zero times an infinite `x` must be zero.
    let clamped = if x < -20.0 { -20.0 } else { x };
    0.5 * clamped * (1.0 + erf(x * std::f32::consts::FRAC_1_SQRT_2))
}
