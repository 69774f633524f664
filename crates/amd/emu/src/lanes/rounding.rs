//! f16, f32 and f64 arithmetic with any rounding mode and with denormals flushed. Each result is
//! rounded once.
//!
//! The host only rounds to nearest, so other modes start from a wider result: f32 is computed in
//! f64, f16 in f32. Where even that is inexact it is *rounded to odd*: the last bit of an inexact
//! result is set. A second rounding in any direction then gives the same as rounding the exact
//! result once. f64 has no wider type; see [`super::soft`].

use half::f16;

use super::soft;
use crate::mode::{Mode, RoundingMode};

/// Rounding and denormal mode of one type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FloatMode {
    pub(super) round: RoundingMode,
    /// Flush denormal sources to zero.
    pub(super) flush_in: bool,
    /// Flush denormal results to zero.
    pub(super) flush_out: bool,
    /// An f16 overflow gives the largest finite value instead of infinity.
    pub(super) saturate: bool,
}

impl FloatMode {
    /// Rounds to nearest and preserves denormals.
    pub(crate) const PLAIN: Self =
        Self { round: RoundingMode::Nearest, flush_in: false, flush_out: false, saturate: false };

    /// The mode of f32.
    #[inline(always)]
    pub(crate) const fn of_32(mode: Mode) -> Self {
        Self { round: mode.round32(), flush_in: mode.flush_in32(), flush_out: mode.flush_out32(), saturate: false }
    }

    /// The mode of f16 and f64.
    #[inline(always)]
    pub(crate) const fn of_16_64(mode: Mode) -> Self {
        Self {
            round: mode.round16_64(),
            flush_in: mode.flush_in16_64(),
            flush_out: mode.flush_out16_64(),
            saturate: mode.saturates16(),
        }
    }

    /// The same with another rounding mode.
    pub(crate) const fn toward(self, round: RoundingMode) -> Self {
        Self { round, ..self }
    }
}

/// Optionally flushes denormals to zero of the same sign.
macro_rules! flush {
    ($name:ident, $type:ty, $exponent:expr, $sign:expr) => {
        /// Optionally flushes denormals to zero of the same sign.
        #[inline(always)]
        pub(crate) fn $name(value: $type, flush: bool) -> $type {
            let bits = value.to_bits();
            <$type>::from_bits(if flush & (bits & $exponent == 0) { bits & $sign } else { bits })
        }
    };
}

flush!(flush16, f16, 0x7c00, 0x8000);
flush!(flush32, f32, 0x7f80_0000, 0x8000_0000);
flush!(flush64, f64, 0x7ff0_0000_0000_0000, 0x8000_0000_0000_0000);

/// A sum rounded to odd. Sources must be far from overflow and underflow, or not finite.
macro_rules! odd_sum {
    ($name:ident, $type:ty, $sign:expr) => {
        /// `a + b`, rounded to odd. Sources must be far from overflow and underflow, or infinite or
        /// NaN.
        #[inline(always)]
        pub(super) fn $name(a: $type, b: $type) -> $type {
            let sum = a + b;
            // Knuth's TwoSum: the rounding error of a sum can be represented exactly.
            let b_part = sum - a;
            let error = (a - (sum - b_part)) + (b - b_part);
            let bits = sum.to_bits();
            // NaN compares false, so infinite sums count as exact. Both neighbors of an even
            // significand are odd.
            let inexact = (error > 0.0) | (error < 0.0);
            let adjust = inexact & (bits & 1 == 0);
            let away = (error.to_bits() ^ bits) & $sign == 0;
            let moved = if away { bits.wrapping_add(1) } else { bits.wrapping_sub(1) };
            <$type>::from_bits(if adjust { moved } else { bits })
        }
    };
}

odd_sum!(odd_sum32, f32, 0x8000_0000);
odd_sum!(odd_sum64, f64, 0x8000_0000_0000_0000);

/// Whether a result rounded to nearest must move by one ulp, and whether away from zero.
#[inline(always)]
fn step(round: RoundingMode, above: bool, below: bool, negative: bool) -> (bool, bool) {
    match round {
        RoundingMode::Nearest => (false, false),
        // The result is below the exact value: move up.
        RoundingMode::Up => (below, !negative),
        RoundingMode::Down => (above, negative),
        RoundingMode::Zero => (if negative { below } else { above }, false),
    }
}

/// Rounds an exact (or odd-rounded) f64 to f32.
#[inline(always)]
pub(crate) fn narrow32(exact: f64, round: RoundingMode) -> f32 {
    let nearest = exact as f32;
    if matches!(round, RoundingMode::Nearest) {
        return nearest;
    }
    let back = f64::from(nearest);
    let bits = nearest.to_bits();
    // A zero has the sign of the exact value, so adjusting the bits by one ulp is correct.
    let (moves, away) = step(round, back > exact, back < exact, bits >> 31 == 1);
    let moved = if away { bits.wrapping_add(1) } else { bits.wrapping_sub(1) };
    f32::from_bits(if moves { moved } else { bits })
}

/// Rounds an exact (or odd-rounded) f32 to f16.
#[inline(always)]
pub(crate) fn narrow16_by(exact: f32, round: RoundingMode) -> f16 {
    let nearest = narrow16(exact);
    if matches!(round, RoundingMode::Nearest) {
        return nearest;
    }
    let back = widen16(nearest);
    let bits = nearest.to_bits();
    let (moves, away) = step(round, back > exact, back < exact, bits >> 15 == 1);
    let moved = if away { bits.wrapping_add(1) } else { bits.wrapping_sub(1) };
    f16::from_bits(if moves { moved } else { bits })
}

/// Converts f16 to f32; NaN becomes quiet. Free of branches, calls and tables, so that it
/// vectorizes.
#[inline(always)]
pub(crate) fn widen16(value: f16) -> f32 {
    let bits = u32::from(value.to_bits());
    let magnitude = bits & 0x7fff;
    // The exponent biases differ by 112; multiplying also normalizes denormals.
    let finite = (f32::from_bits(magnitude << 13) * f32::from_bits((127 + 112) << 23)).to_bits();
    let special = 0x7f80_0000 | magnitude << 13 | if magnitude > 0x7c00 { 0x0040_0000 } else { 0 };
    f32::from_bits((bits & 0x8000) << 16 | if magnitude >= 0x7c00 { special } else { finite })
}

/// Converts f32 to the nearest f16 (ties to even); NaN becomes quiet. Free of branches like
/// [`widen16`].
#[inline(always)]
pub(super) fn narrow16(value: f32) -> f16 {
    let bits = value.to_bits();
    let magnitude = bits & 0x7fff_ffff;
    // Rebias, and round off 13 bits: add half an ulp minus one, plus one if the last bit kept is
    // odd.
    let normal = magnitude.wrapping_add(0xc800_0fff + (magnitude >> 13 & 1)) >> 13;
    // 2^-24 is the ulp of denormal f16 and the ulp of 0.5f32: adding 0.5 rounds at this bit.
    let denormal = (f32::from_bits(magnitude) + 0.5).to_bits().wrapping_sub(0.5f32.to_bits());
    let finite = if magnitude < 0x3880_0000 { denormal } else { normal };
    // From 65520 on the nearest value is infinity.
    let limited = if magnitude >= 0x477f_f000 { 0x7c00 } else { finite };
    let nan = 0x7e00 | (magnitude >> 13 & 0x3ff);
    f16::from_bits((bits >> 16 & 0x8000 | if magnitude > 0x7f80_0000 { nan } else { limited }) as u16)
}

/// Converts an exact (or odd-rounded) f32 to f16: rounded, saturated, flushed.
#[inline(always)]
pub(crate) fn result16(rules: FloatMode, exact: f32) -> f16 {
    let bits = saturated16(u32::from(narrow16_by(exact, rules.round).to_bits()), exact, rules.saturate);
    flush16(f16::from_bits(bits as u16), rules.flush_out)
}

/// Replaces infinity with the largest finite f16, if enabled and the exact value is finite.
#[inline(always)]
pub(super) fn saturated16(bits: u32, exact: f32, saturate: bool) -> u32 {
    let overflows = (bits & 0x7fff == 0x7c00) & (exact.to_bits() & 0x7f80_0000 != 0x7f80_0000);
    if saturate & overflows { bits - 1 } else { bits }
}

/// An exact zero sum of terms of opposite sign is negative when rounding down.
macro_rules! zero_sum {
    ($name:ident, $type:ty) => {
        /// The sum, or -0 if terms of opposite sign cancel and the rounding mode is down.
        #[inline(always)]
        pub(super) fn $name(sum: $type, a: $type, b: $type, round: RoundingMode) -> $type {
            let unlike = a.is_sign_negative() != b.is_sign_negative();
            if (sum == 0.0) & unlike & matches!(round, RoundingMode::Down) { -0.0 } else { sum }
        }
    };
}

zero_sum!(zero_sum32, f32);
zero_sum!(zero_sum64, f64);

/// `a + b` in f32.
#[inline(always)]
pub(crate) fn add32(rules: FloatMode, a: f32, b: f32) -> f32 {
    let (a, b) = (flush32(a, rules.flush_in), flush32(b, rules.flush_in));
    if matches!(rules.round, RoundingMode::Nearest) {
        return flush32(a + b, rules.flush_out);
    }
    let (a, b) = (f64::from(a), f64::from(b));
    let sum = zero_sum64(odd_sum64(a, b), a, b, rules.round);
    flush32(narrow32(sum, rules.round), rules.flush_out)
}

/// `a * b` in f32.
#[inline(always)]
pub(crate) fn mul32(rules: FloatMode, a: f32, b: f32) -> f32 {
    let (a, b) = (flush32(a, rules.flush_in), flush32(b, rules.flush_in));
    if matches!(rules.round, RoundingMode::Nearest) {
        return flush32(a * b, rules.flush_out);
    }
    flush32(narrow32(f64::from(a) * f64::from(b), rules.round), rules.flush_out)
}

/// `a * b + c` in f32, rounded once.
#[inline(always)]
pub(crate) fn fma32(rules: FloatMode, a: f32, b: f32, c: f32) -> f32 {
    let (a, b, c) = (flush32(a, rules.flush_in), flush32(b, rules.flush_in), flush32(c, rules.flush_in));
    if matches!(rules.round, RoundingMode::Nearest) {
        return flush32(a.mul_add(b, c), rules.flush_out);
    }
    flush32(narrow32(wide_fma32(a, b, c, rules.round), rules.round), rules.flush_out)
}

/// `a * b + c` of f32 in f64, rounded to odd. The rounding mode only determines the sign of zero.
#[inline(always)]
pub(super) fn wide_fma32(a: f32, b: f32, c: f32, round: RoundingMode) -> f64 {
    let (product, c) = (f64::from(a) * f64::from(b), f64::from(c));
    zero_sum64(odd_sum64(product, c), product, c, round)
}

/// `a + b` in f16.
pub(crate) fn add16(rules: FloatMode, a: f16, b: f16) -> f16 {
    let (a, b) = (widen16(flush16(a, rules.flush_in)), widen16(flush16(b, rules.flush_in)));
    let sum = zero_sum32(odd_sum32(a, b), a, b, rules.round);
    result16(rules, sum)
}

/// `a * b` in f16.
pub(crate) fn mul16(rules: FloatMode, a: f16, b: f16) -> f16 {
    // 22 significant bits: the product is exact in f32.
    let product = widen16(flush16(a, rules.flush_in)) * widen16(flush16(b, rules.flush_in));
    result16(rules, product)
}

/// `a * b + c` in f16, rounded once.
#[inline(always)]
pub(crate) fn fma16(rules: FloatMode, a: f16, b: f16, c: f16) -> f16 {
    let product = widen16(flush16(a, rules.flush_in)) * widen16(flush16(b, rules.flush_in));
    let c = widen16(flush16(c, rules.flush_in));
    let sum = zero_sum32(odd_sum32(product, c), product, c, rules.round);
    result16(rules, sum)
}

/// `a + b` in f64.
#[inline(always)]
pub(super) fn add64(rules: FloatMode, a: f64, b: f64) -> f64 {
    let (a, b) = (flush64(a, rules.flush_in), flush64(b, rules.flush_in));
    match rules.round {
        RoundingMode::Nearest => flush64(a + b, rules.flush_out),
        round => flush64(soft::fma(a, 1.0, b, 0, round), rules.flush_out),
    }
}

/// `a * b` in f64.
#[inline(always)]
pub(crate) fn mul64(rules: FloatMode, a: f64, b: f64) -> f64 {
    let (a, b) = (flush64(a, rules.flush_in), flush64(b, rules.flush_in));
    match rules.round {
        RoundingMode::Nearest => flush64(a * b, rules.flush_out),
        round => flush64(soft::product(a, b, round), rules.flush_out),
    }
}

/// `a * b + c` in f64, rounded once.
#[inline(always)]
pub(super) fn fma64(rules: FloatMode, a: f64, b: f64, c: f64) -> f64 {
    let (a, b, c) = (flush64(a, rules.flush_in), flush64(b, rules.flush_in), flush64(c, rules.flush_in));
    match rules.round {
        RoundingMode::Nearest => flush64(a.mul_add(b, c), rules.flush_out),
        round => flush64(soft::fma(a, b, c, 0, round), rules.flush_out),
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::Random;
    use super::*;

    #[test]
    fn every_f16_widens_exactly() {
        for bits in 0..=u16::MAX {
            let value = f16::from_bits(bits);
            let (ours, theirs) = (widen16(value), value.to_f32_const());
            assert!(ours.to_bits() == theirs.to_bits() || ours.is_nan() && theirs.is_nan(), "{bits:x}");
            assert!(narrow16(ours).to_bits() == bits || value.is_nan(), "{bits:x}");
            assert_eq!(ours.is_nan(), ours.to_bits() & 0x7fc0_0000 == 0x7fc0_0000, "{bits:x}: NaN are quiet");
        }
    }

    #[test]
    fn f32_narrows_to_the_nearest_f16() {
        let mut random = Random::new(11);
        let ends =
            [0x3300_0000, 0x3300_0001, 0x3380_0000, 0x387f_ffff, 0x477f_efff, 0x477f_f000, 0x7f80_0000, 0x7f80_0001];
        for case in 0..1_000_000 {
            let bits = random.next();
            // Exponents around those of f16; every second case is a tie.
            let word = (100 + (bits >> 40) % 50) << 23 | bits & 0x7f_ffff & if case & 1 == 0 { !0 } else { !0xfff };
            let word = ends.get(case).copied().unwrap_or(word as u32) | (bits >> 63 << 31) as u32;
            let value = f32::from_bits(word);
            let (ours, theirs) = (narrow16(value), f16::from_f32_const(value));
            assert!(
                ours.to_bits() == theirs.to_bits() || value.is_nan() && ours.is_nan(),
                "{word:x}: {ours:?} {theirs:?}"
            );
        }
    }

    #[test]
    fn rounding_modes_bound_the_exact_value() {
        for (value, nearest, up, down, zero) in [
            (1.0 + 1.0 / 4096.0, 0x3c00, 0x3c01, 0x3c00, 0x3c00),
            (-1.0 - 1.0 / 4096.0, 0xbc00, 0xbc00, 0xbc01, 0xbc00),
            (65520.0, 0x7c00, 0x7c00, 0x7bff, 0x7bff),
            (-1e9, 0xfc00, 0xfbff, 0xfc00, 0xfbff),
            (1e-20, 0, 1, 0, 0),
            (-1e-20, 0x8000, 0x8000, 0x8001, 0x8000),
            (f32::INFINITY, 0x7c00, 0x7c00, 0x7c00, 0x7c00),
        ] {
            let results = [RoundingMode::Nearest, RoundingMode::Up, RoundingMode::Down, RoundingMode::Zero]
                .map(|by| narrow16_by(value, by).to_bits());
            assert_eq!(results, [nearest, up, down, zero], "{value}");
        }
    }
}
