//! Software floating point on integers, for what the host cannot compute or round. Slow and exact.

use crate::mode::RoundingMode;

/// A floating-point format.
#[derive(Clone, Copy, Debug)]
pub(super) struct FloatFormat {
    /// Bits of the fraction field.
    fraction: u32,
    /// Exponent bias.
    bias: i32,
}

impl FloatFormat {
    pub(super) const F16: Self = Self { fraction: 10, bias: 15 };
    pub(super) const F32: Self = Self { fraction: 23, bias: 127 };
    pub(super) const F64: Self = Self { fraction: 52, bias: 1023 };

    const fn sign(self) -> u64 {
        (2 * self.bias as u64 + 2) << self.fraction
    }

    const fn infinity(self) -> u64 {
        (2 * self.bias as u64 + 1) << self.fraction
    }
}

/// A finite value: sign and `significand * 2^exponent`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ExactValue {
    negative: bool,
    significand: u128,
    exponent: i32,
}

impl ExactValue {
    /// Decodes a finite value; `None` for infinities and NaN.
    pub(super) const fn of(bits: u64, format: FloatFormat) -> Option<Self> {
        let field = (bits & format.infinity()) >> format.fraction;
        if field == format.infinity() >> format.fraction {
            return None;
        }
        let fraction = bits & ((1 << format.fraction) - 1);
        let (significand, field) = if field == 0 { (fraction, 1) } else { (fraction | 1 << format.fraction, field) };
        Some(Self {
            negative: bits & format.sign() != 0,
            significand: significand as u128,
            exponent: field as i32 - format.bias - format.fraction as i32,
        })
    }

    /// Multiplies by a power of two.
    pub(super) const fn scaled(self, by: i32) -> Self {
        Self { exponent: self.exponent.saturating_add(by), ..self }
    }

    /// Encodes the value in a format, rounded once.
    pub(super) fn round(self, format: FloatFormat, round: RoundingMode) -> u64 {
        let sign = if self.negative { format.sign() } else { 0 };
        if self.significand == 0 {
            return sign;
        }
        let top = 127 - self.significand.leading_zeros() as i32;
        // Bits to drop: down to the precision of the format, and down to the ulp of its denormals.
        let unit = 1 - format.bias - format.fraction as i32;
        let drop = (top - format.fraction as i32).max(unit.saturating_sub(self.exponent));
        if i64::from(top) + i64::from(self.exponent) > i64::from(format.bias) {
            return sign | overflow(format, self.negative, round);
        }
        let (significand, rest, half) = match drop {
            ..=0 => (self.significand << -drop, 0, 1),
            1..=127 => (self.significand >> drop, self.significand & ((1 << drop) - 1), 1 << (drop - 1)),
            128 => (0, self.significand, 1 << 127),
            // Less than half an ulp.
            _ => (0, 1, 2),
        };
        let up = match round {
            RoundingMode::Nearest => rest > half || (rest == half && significand & 1 == 1),
            RoundingMode::Up => rest != 0 && !self.negative,
            RoundingMode::Down => rest != 0 && self.negative,
            RoundingMode::Zero => false,
        };
        let significand = (significand + u128::from(up)) as u64;
        // The implicit bit increments the exponent field, and so does a carry out of the fraction.
        let field = (self.exponent + drop - unit) as u64;
        let bits = (field << format.fraction) + significand;
        if bits >= format.infinity() {
            return sign | overflow(format, self.negative, round);
        }
        sign | bits
    }
}

/// Result of an overflow, without its sign.
fn overflow(format: FloatFormat, negative: bool, round: RoundingMode) -> u64 {
    let infinite = match round {
        RoundingMode::Nearest => true,
        RoundingMode::Up => !negative,
        RoundingMode::Down => negative,
        RoundingMode::Zero => false,
    };
    format.infinity() - u64::from(!infinite)
}

/// Shifts a significand right; the dropped bits are ORed into the last bit.
const fn sticky_shift(significand: u128, by: u32) -> u128 {
    match by {
        0 => significand,
        1..=127 => significand >> by | (significand << (128 - by) != 0) as u128,
        _ => (significand != 0) as u128,
    }
}

/// `(a * b + c) * 2^scale` in a format, rounded once; `None` if a source is not finite.
fn fma_in(format: FloatFormat, sources: [u64; 3], scale: i32, round: RoundingMode) -> Option<u64> {
    let [Some(x), Some(y), Some(z)] = sources.map(|bits| ExactValue::of(bits, format)) else {
        return None;
    };
    let product = ExactValue {
        negative: x.negative != y.negative,
        significand: x.significand * y.significand,
        exponent: x.exponent + y.exponent,
    };
    Some(sum(product, z, round).scaled(scale).round(format, round))
}

/// `(a * b + c) * 2^scale` in f64, rounded once.
#[inline(never)]
pub(super) fn fma(a: f64, b: f64, c: f64, scale: i32, round: RoundingMode) -> f64 {
    let finite = fma_in(FloatFormat::F64, [a, b, c].map(f64::to_bits), scale, round);
    finite.map_or_else(|| a.mul_add(b, c), f64::from_bits)
}

/// `a * b` in f64, rounded once.
pub(super) fn product(a: f64, b: f64, round: RoundingMode) -> f64 {
    // A zero with the sign of the product changes neither the product nor the sign of a zero
    // product.
    let zero = if a.is_sign_negative() == b.is_sign_negative() { 0.0 } else { -0.0 };
    if a.is_finite() && b.is_finite() { fma(a, b, zero, 0, round) } else { a * b }
}

/// A sum of two values of at most 106 bits, exact except for a sticky last bit.
fn sum(a: ExactValue, b: ExactValue, round: RoundingMode) -> ExactValue {
    if a.significand == 0 || b.significand == 0 {
        let negative = if a.negative == b.negative { a.negative } else { matches!(round, RoundingMode::Down) };
        return match (a.significand, b.significand) {
            (0, 0) => ExactValue { negative, ..a },
            (0, _) => b,
            _ => a,
        };
    }
    // Align both to bit 126: this leaves room for a carry, and more than enough low bits for the
    // sticky bit.
    let align = |value: ExactValue| {
        let shift = value.significand.leading_zeros() - 1;
        ExactValue { significand: value.significand << shift, exponent: value.exponent - shift as i32, ..value }
    };
    let (a, b) = (align(a), align(b));
    let (large, small) = if a.exponent >= b.exponent { (a, b) } else { (b, a) };
    let low = sticky_shift(small.significand, large.exponent.abs_diff(small.exponent));
    let (negative, significand) = if large.negative == small.negative {
        (large.negative, large.significand + low)
    } else if large.significand >= low {
        (large.negative, large.significand - low)
    } else {
        (small.negative, low - large.significand)
    };
    let negative = if significand == 0 { matches!(round, RoundingMode::Down) } else { negative };
    ExactValue { negative, significand, exponent: large.exponent }
}

/// `value * 2^by` in a format, rounded once. Infinities and NaN (made quiet) pass through.
#[inline(never)]
pub(super) fn ldexp(bits: u64, by: i32, format: FloatFormat, round: RoundingMode) -> u64 {
    match ExactValue::of(bits, format) {
        Some(exact) => exact.scaled(by.clamp(-10_000, 10_000)).round(format, round),
        None if bits & !format.sign() > format.infinity() => bits | 1 << (format.fraction - 1),
        None => bits,
    }
}

#[cfg(test)]
mod tests {
    use super::super::rounding::{FloatMode, add16, add32, add64, fma16, fma32, fma64, mul16, mul32, mul64};
    use super::super::testing::Random;
    use super::*;

    #[test]
    fn nearest_agrees_with_the_host() {
        let mut random = Random::new(3);
        for _ in 0..200_000 {
            let mut number = || {
                let bits = random.next();
                // Close exponents, so that the terms overlap; occasionally the limits of the range.
                let field = if bits & 7 == 0 { bits >> 52 } else { 1000 + (bits >> 52) % 48 };
                f64::from_bits(random.next() >> 12 | field << 52)
            };
            let (a, b, c) = (number(), number(), number());
            for (soft, host) in [
                (fma(a, b, c, 0, RoundingMode::Nearest), a.mul_add(b, c)),
                (product(a, b, RoundingMode::Nearest), a * b),
            ] {
                assert!(
                    soft.to_bits() == host.to_bits() || soft.is_nan() && host.is_nan(),
                    "{a:e} {b:e} {c:e}: {soft:e} {host:e}"
                );
            }
        }
    }

    /// Random values of a format: of similar magnitude, denormal, or at the limits of the range.
    fn number(random: &mut Random, format: FloatFormat) -> u64 {
        let bits = random.next();
        let exponents = 2 * format.bias as u64 + 2;
        let field = match bits & 7 {
            0 => 0,
            1 => bits >> 8 & 1 | (exponents - 2) & (bits >> 9 & 1).wrapping_neg(),
            2 => (bits >> 8) % exponents,
            _ => format.bias as u64 - 12 + (bits >> 8) % 24.min(exponents - format.bias as u64 + 11),
        };
        // Occasionally few bits, to produce ties.
        let fraction = random.next() & ((1 << format.fraction) - 1);
        let fraction =
            if bits & 0x80 == 0 { fraction } else { fraction >> (format.fraction / 2) << (format.fraction / 2) };
        field.min(exponents - 2) << format.fraction | fraction | if bits >> 63 == 1 { format.sign() } else { 0 }
    }

    fn flushed(bits: u64, format: FloatFormat, flush: bool) -> u64 {
        if flush && bits & format.infinity() == 0 { bits & format.sign() } else { bits }
    }

    /// Compares sums, products and fused multiply-adds in every mode with the functions of
    /// `rounding`.
    fn agree(format: FloatFormat, by: impl Fn(FloatMode, [u64; 3]) -> [u64; 3]) {
        let one = (format.bias as u64) << format.fraction;
        let mut random = Random::new(5);
        for case in 0..400_000u32 {
            let sources = [(); 3].map(|()| number(&mut random, format));
            let round =
                [RoundingMode::Nearest, RoundingMode::Up, RoundingMode::Down, RoundingMode::Zero][case as usize % 4];
            let rules = FloatMode { round, flush_in: case & 4 != 0, flush_out: case & 8 != 0, saturate: false };
            let [a, b, c] = sources.map(|bits| flushed(bits, format, rules.flush_in));
            let zero = (a ^ b) & format.sign();
            let expected = [[a, one, b], [a, b, zero], [a, b, c]].map(|terms| {
                let result = fma_in(format, terms, 0, round).expect("all sources are finite");
                flushed(result, format, rules.flush_out)
            });
            assert_eq!(by(rules, sources), expected, "{format:?} {rules:?} {sources:x?}");
        }
    }

    #[test]
    fn f16_arithmetic_agrees_with_integers_under_every_mode() {
        agree(FloatFormat::F16, |rules, sources| {
            let [a, b, c] = sources.map(|bits| half::f16::from_bits(bits as u16));
            [add16(rules, a, b), mul16(rules, a, b), fma16(rules, a, b, c)].map(|value| value.to_bits().into())
        });
    }

    #[test]
    fn f32_arithmetic_agrees_with_integers_under_every_mode() {
        agree(FloatFormat::F32, |rules, sources| {
            let [a, b, c] = sources.map(|bits| f32::from_bits(bits as u32));
            [add32(rules, a, b), mul32(rules, a, b), fma32(rules, a, b, c)].map(|value| value.to_bits().into())
        });
    }

    #[test]
    fn f64_arithmetic_agrees_with_integers_under_every_mode() {
        agree(FloatFormat::F64, |rules, sources| {
            let [a, b, c] = sources.map(f64::from_bits);
            [add64(rules, a, b), mul64(rules, a, b), fma64(rules, a, b, c)].map(f64::to_bits)
        });
    }

    #[test]
    fn rounding_modes_differ_if_inexact() {
        let third = |round| fma(1.0, 1.0, f64::MIN_POSITIVE, 0, round).to_bits();
        let one = 1f64.to_bits();
        assert_eq!(
            [RoundingMode::Nearest, RoundingMode::Up, RoundingMode::Down, RoundingMode::Zero].map(third),
            [one, one + 1, one, one]
        );
        assert_eq!(product(f64::MAX, 2.0, RoundingMode::Zero), f64::MAX);
        assert_eq!(product(f64::MAX, -2.0, RoundingMode::Up), f64::MIN);
        assert_eq!(product(f64::MAX, -2.0, RoundingMode::Down), f64::NEG_INFINITY);
        let least = f64::from_bits(1);
        assert_eq!(product(least, least, RoundingMode::Up), least);
        assert_eq!(product(least, -least, RoundingMode::Down), -least);
        assert_eq!(product(least, -least, RoundingMode::Up).to_bits(), (-0f64).to_bits());
    }

    #[test]
    fn zero_sums_have_the_sign_of_the_rounding_mode() {
        assert_eq!(fma(1.0, 1.0, -1.0, 0, RoundingMode::Down).to_bits(), (-0f64).to_bits());
        assert_eq!(fma(1.0, 1.0, -1.0, 0, RoundingMode::Up).to_bits(), 0);
        assert_eq!(fma(0.0, 1.0, -0.0, 0, RoundingMode::Down).to_bits(), (-0f64).to_bits());
        assert_eq!(fma(0.0, 1.0, 0.0, 0, RoundingMode::Down).to_bits(), 0);
        assert_eq!(fma(-0.0, 1.0, -0.0, 0, RoundingMode::Nearest).to_bits(), (-0f64).to_bits());
    }

    #[test]
    fn ldexp_rounds_into_denormals_once() {
        let f32_of = |value: f32, by| {
            f32::from_bits(ldexp(value.to_bits().into(), by, FloatFormat::F32, RoundingMode::Nearest) as u32)
        };
        assert_eq!(f32_of(1.0, -149).to_bits(), 1);
        assert_eq!(f32_of(1.0, -150).to_bits(), 0);
        assert_eq!(f32_of(1.5, -150).to_bits(), 1);
        assert_eq!(f32_of(f32::from_bits(1), 149), 1.0);
        assert_eq!(f32_of(1.0, i32::MAX), f32::INFINITY);
        assert_eq!(f32_of(-1.0, i32::MIN).to_bits(), 0x8000_0000);
        assert_eq!(f32_of(f32::INFINITY, -5), f32::INFINITY);
    }
}
