//! Elementary functions of f32 arguments, computed in f64 without branches, calls or tables, so
//! that they vectorize. The error is about 2^-50, so nearly every result is the correctly rounded
//! f32. The hardware's own error is about 1 ulp.

/// `c[0] + x * (c[1] + x * (c[2] + ...))`.
macro_rules! horner {
    ($x:expr; $last:expr) => { $last };
    ($x:expr; $first:expr, $($rest:expr),+) => { $first + $x * horner!($x; $($rest),+) };
}

/// 2 to the power of an f32.
#[inline(always)]
pub(super) fn exp2(value: f32) -> f64 {
    // Beyond this range f32 overflows or is denormal. NaN propagates through the reduced argument.
    let x = f64::from(value.clamp(-200.0, 200.0));
    // 1.5 * 2^52 has an ulp of one, so the low bits of the sum are the nearest integer.
    const SHIFTER: f64 = 6_755_399_441_055_744.0;
    let shifted = x + SHIFTER;
    let t = (x - (shifted - SHIFTER)) * std::f64::consts::LN_2;
    let fraction = horner!(t; 1.0, 1.0, 1.0 / 2.0, 1.0 / 6.0, 1.0 / 24.0, 1.0 / 120.0, 1.0 / 720.0, 1.0 / 5_040.0,
        1.0 / 40_320.0, 1.0 / 362_880.0, 1.0 / 3_628_800.0, 1.0 / 39_916_800.0, 1.0 / 479_001_600.0,
        1.0 / 6_227_020_800.0);
    fraction * f64::from_bits(shifted.to_bits().wrapping_add(1023) << 52)
}

/// Binary logarithm of an f32; -infinity for zero, NaN for negative values.
#[inline(always)]
pub(super) fn log2(value: f32) -> f64 {
    let bits = f64::from(value).to_bits();
    // Reduce the significand to [sqrt(1/2), sqrt(2)), so that logarithms close to zero stay
    // precise.
    const ROOT_HALF: u64 = 0x3fe6_a09e_667f_3bcd;
    let scaled = bits.wrapping_sub(ROOT_HALF);
    // The upper half of the f64 has the exponent.
    let exponent = ((scaled >> 32) as u32).cast_signed() >> 20;
    let m = f64::from_bits((scaled & 0x000f_ffff_ffff_ffff).wrapping_add(ROOT_HALF));
    let s = (m - 1.0) / (m + 1.0);
    let z = s * s;
    let series = horner!(z; 1.0, 1.0 / 3.0, 1.0 / 5.0, 1.0 / 7.0, 1.0 / 9.0, 1.0 / 11.0, 1.0 / 13.0, 1.0 / 15.0,
        1.0 / 17.0, 1.0 / 19.0, 1.0 / 21.0);
    let number = f64::from(exponent) + s * series * (2.0 * std::f64::consts::LOG2_E);
    // A chain of selects vectorizes better than logic on conditions.
    let result = if value < f32::INFINITY { number } else { f64::from(value) };
    let result = if value == 0.0 { f64::NEG_INFINITY } else { result };
    // The NaN of invalid operations.
    if value < 0.0 { f64::from(f32::from_bits(0xffc0_0000)) } else { result }
}

/// The sine of `turns` in [-1/4, 1/4], where 1 is a full turn.
#[inline(always)]
fn sine(turns: f64) -> f64 {
    let t = turns * std::f64::consts::TAU;
    let z = t * t;
    t * horner!(z; 1.0, -1.0 / 6.0, 1.0 / 120.0, -1.0 / 5_040.0, 1.0 / 362_880.0, -1.0 / 39_916_800.0,
        1.0 / 6_227_020_800.0, -1.0 / 1_307_674_368_000.0, 1.0 / 355_687_428_096_000.0,
        -1.0 / 121_645_100_408_832_000.0, 1.0 / 51_090_942_171_709_440_000.0)
}

/// Reduces a number of turns to [-1/2, 1/2]; NaN for infinities.
#[inline(always)]
fn partial_turn(turns: f32) -> f64 {
    // Exact: the difference has no more significant bits than the argument.
    f64::from(turns - turns.round_ties_even())
}

/// Sine of an angle in turns.
#[inline(always)]
pub(super) fn sin(turns: f32) -> f64 {
    let part = partial_turn(turns);
    let folded = if part > 0.25 {
        0.5 - part
    } else if part < -0.25 {
        -0.5 - part
    } else {
        part
    };
    // The sine of -0 is -0.
    if turns == 0.0 { f64::from(turns) } else { sine(folded) }
}

/// Cosine of an angle in turns.
#[inline(always)]
pub(super) fn cos(turns: f32) -> f64 {
    sine(0.25 - partial_turn(turns).abs())
}
