//! Rounding to integers, fraction, exponent and significand, scaling by powers of two.

#![expect(unsafe_code, reason = "works on rows as the lane functions do")]

use half::f16;

use super::shapes::halves;
use crate::lanes::LaneOp;
use crate::lanes::macros::lane;
use crate::lanes::rounding::{FloatMode, add32, add64, flush16, flush32, flush64, narrow16, saturated16, widen16};
use crate::lanes::soft::{self, FloatFormat};

/// A unary function whose denormal sources are flushed if the mode says so.
macro_rules! flushing {
    ($type:ty, $result:ty, $flush:ident, $flush_in:ident, $by:expr) => {
        lane!(|a: $type| -> $result { $by(a) })
            .with_modes(lane!(mode; |mode, a: $type| -> $result { $by($flush(a, mode.$flush_in())) }))
    };
}

/// Significand and exponent of a type.
macro_rules! frexp {
    ($mantissa:ident, $exponent:ident, $type:ty, $bits:ty, $integer:ty, $fraction:expr, $bias:expr, $infinity:expr) => {
        /// The significand in [0.5, 1) with its sign. Zero, infinities and NaN (made quiet) are
        /// returned unchanged.
        #[inline(always)]
        fn $mantissa(value: $type) -> $type {
            let bits = value.to_bits();
            let magnitude = bits & (<$bits>::MAX >> 1);
            // Move the highest bit of a denormal to the position of the implicit bit.
            let denormal = magnitude
                << ((magnitude.leading_zeros() + $fraction + 1).wrapping_sub(<$bits>::BITS) & (<$bits>::BITS - 1));
            let fraction = if magnitude >> $fraction == 0 { denormal } else { magnitude } & ((1 << $fraction) - 1);
            let number = (bits & !(<$bits>::MAX >> 1)) | ($bias - 1) << $fraction | fraction;
            let quiet = if magnitude > $infinity { 1 << ($fraction - 1) } else { 0 };
            let special = (magnitude == 0) | (magnitude >= $infinity);
            <$type>::from_bits(if special { bits | quiet } else { number })
        }

        /// The matching exponent; 0 for zero, infinities and NaN.
        #[inline(always)]
        fn $exponent(value: $type) -> $integer {
            let magnitude = value.to_bits() & (<$bits>::MAX >> 1);
            let field = (magnitude >> $fraction) as $integer;
            let highest = <$bits>::BITS as $integer - 1 - magnitude.leading_zeros() as $integer;
            let exponent = if field == 0 { highest - $fraction + 1 } else { field } - ($bias - 1);
            if (magnitude == 0) | (magnitude >= $infinity) { 0 } else { exponent }
        }
    };
}

frexp!(mantissa16, exponent16, f16, u16, i16, 10, 15, 0x7c00);
frexp!(mantissa32, exponent32, f32, u32, i32, 23, 127, 0x7f80_0000);
frexp!(mantissa64, exponent64, f64, u64, i32, 52, 1023, 0x7ff0_0000_0000_0000);

/// `v_fract`: limits `x - floor(x)` to less than one; never -0.
macro_rules! below_one {
    ($difference:expr, $largest:expr) => {{
        let difference = $difference;
        let limited = if difference >= 1.0 { $largest } else { difference };
        if limited == 0.0 { 0.0 } else { limited }
    }};
}

/// The largest f32 less than one.
const BELOW_ONE_32: f32 = f32::from_bits(0x3f7f_ffff);
/// The largest f64 less than one.
const BELOW_ONE_64: f64 = f64::from_bits(0x3fef_ffff_ffff_ffff);
/// The same for f16 computed in f32, where differences are exact; values that would round to one
/// are replaced.
#[inline(always)]
fn fract16(value: f32) -> f32 {
    const BELOW_ONE_16: f32 = 1.0 - 1.0 / 2048.0;
    let difference = value - value.floor();
    let limited = if difference > BELOW_ONE_16 { BELOW_ONE_16 } else { difference };
    if limited == 0.0 { 0.0 } else { limited }
}

#[inline(always)]
fn ldexp32(value: f32, by: i32) -> f32 {
    // Exact in f64, whose exponent range is sufficient; then rounded once.
    let by = by.clamp(-400, 400);
    (f64::from(value) * f64::from_bits(((1023 + by) as u64) << 52)) as f32
}

#[inline(always)]
fn ldexp16(value: f16, by: i16) -> f16 {
    let by = by.clamp(-60, 60);
    narrow16(widen16(value) * f32::from_bits(((127 + i32::from(by)) as u32) << 23))
}

#[inline(always)]
fn ldexp64(value: f64, by: i32) -> f64 {
    let magnitude = value.to_bits() & (u64::MAX >> 1);
    let field = (magnitude >> 52) as i32;
    let moved = field + by.clamp(-5000, 5000);
    // Between normal values only the exponent changes.
    if (field != 0) & (field != 2047) & (moved > 0) & (moved < 2047) {
        f64::from_bits(value.to_bits() & !(2047 << 52) | (moved as u64) << 52)
    } else {
        f64::from_bits(soft::ldexp(value.to_bits(), by, FloatFormat::F64, crate::mode::RoundingMode::Nearest))
    }
}

pub(super) fn table() -> Vec<(&'static str, LaneOp)> {
    // Integral f16 values are exact in f32.
    macro_rules! integral {
        ($($name:literal $method:ident;)+) => {
            vec![$(
                (concat!($name, "_f32"), flushing!(f32, f32, flush32, flush_in32, f32::$method)),
                (concat!($name, "_f16"), halves!(F16, |a| a.$method(); |_round| a.$method())),
                (concat!($name, "_f64"), flushing!(f64, f64, flush64, flush_in16_64, f64::$method)),
            )+]
        };
    }
    let mut all = integral! {
        "v_trunc" trunc;
        "v_ceil" ceil;
        "v_floor" floor;
        "v_rndne" round_ties_even;
    };
    all.extend([
        ("v_frexp_mant_f32", flushing!(f32, f32, flush32, flush_in32, mantissa32)),
        ("v_frexp_mant_f16", flushing!(f16, f16, flush16, flush_in16_64, mantissa16)),
        ("v_frexp_mant_f64", flushing!(f64, f64, flush64, flush_in16_64, mantissa64)),
        ("v_frexp_exp_i32_f32", flushing!(f32, i32, flush32, flush_in32, exponent32)),
        ("v_frexp_exp_i16_f16", flushing!(f16, i16, flush16, flush_in16_64, exponent16)),
        ("v_frexp_exp_i32_f64", flushing!(f64, i32, flush64, flush_in16_64, exponent64)),
        (
            "v_fract_f32",
            lane!(|a: f32| -> f32 { below_one!(a - a.floor(), BELOW_ONE_32) }).with_modes(
                lane!(mode; |mode, a: f32| -> f32 {
                    let rules = FloatMode::of_32(mode);
                    let a = flush32(a, rules.flush_in);
                    below_one!(add32(rules, a, -a.floor()), BELOW_ONE_32)
                }),
            ),
        ),
        (
            "v_fract_f64",
            lane!(|a: f64| -> f64 { below_one!(a - a.floor(), BELOW_ONE_64) }).with_modes(
                lane!(mode; |mode, a: f64| -> f64 {
                    let rules = FloatMode::of_16_64(mode);
                    let a = flush64(a, rules.flush_in);
                    below_one!(add64(rules, a, -a.floor()), BELOW_ONE_64)
                }),
            ),
        ),
        ("v_fract_f16", halves!(F16, |a| fract16(a); |_round| fract16(a))),
        (
            "v_ldexp_f32",
            lane!(|a: f32, by: i32| -> f32 { ldexp32(a, by) }).with_modes(lane!(mode; |mode, a: f32, by: i32| -> f32 {
                let rules = FloatMode::of_32(mode);
                let bits = u64::from(flush32(a, rules.flush_in).to_bits());
                let scaled = soft::ldexp(bits, by, FloatFormat::F32, rules.round) as u32;
                flush32(f32::from_bits(scaled), rules.flush_out)
            })),
        ),
        (
            "v_ldexp_f16",
            lane!(|a: f16, by: i16| -> f16 { ldexp16(a, by) }).with_modes(lane!(mode; |mode, a: f16, by: i16| -> f16 {
                let rules = FloatMode::of_16_64(mode);
                let bits = u64::from(flush16(a, rules.flush_in).to_bits());
                let scaled = soft::ldexp(bits, i32::from(by), FloatFormat::F16, rules.round) as u32;
                let scaled = saturated16(scaled, widen16(a), rules.saturate);
                flush16(f16::from_bits(scaled as u16), rules.flush_out)
            })),
        ),
        (
            "v_ldexp_f64",
            lane!(|a: f64, by: i32| -> f64 { ldexp64(a, by) }).with_modes(lane!(mode; |mode, a: f64, by: i32| -> f64 {
                let rules = FloatMode::of_16_64(mode);
                let bits = flush64(a, rules.flush_in).to_bits();
                flush64(f64::from_bits(soft::ldexp(bits, by, FloatFormat::F64, rules.round)), rules.flush_out)
            })),
        ),
    ]);
    all
}

#[cfg(test)]
mod tests {
    use super::super::testing::{DOWN, FLUSH, UP, f32_of, one};
    use crate::lanes::testing::Random;
    use crate::mode::Mode;

    #[test]
    fn frexp_splits_mantissa_and_exponent() {
        let mut random = Random::new(41);
        for _ in 0..2_000 {
            let bits = random.next() & if random.next() & 3 == 0 { 0x800f_ffff_ffff_ffff } else { !0 };
            let value = f64::from_bits(bits);
            if !value.is_finite() || value == 0.0 {
                continue;
            }
            let mantissa = f64::from_bits(one("v_frexp_mant_f64", Mode::DEFAULT, &[bits]));
            let exponent = one("v_frexp_exp_i32_f64", Mode::DEFAULT, &[bits]) as u32;
            assert!((0.5..1.0).contains(&mantissa.abs()), "{value:e}");
            assert_eq!(one("v_ldexp_f64", Mode::DEFAULT, &[mantissa.to_bits(), exponent.into()]), bits, "{value:e}");
            let narrow = bits >> 32;
            if !f32::from_bits(narrow as u32).is_finite() {
                continue;
            }
            let mantissa = one("v_frexp_mant_f32", Mode::DEFAULT, &[narrow]);
            let exponent = one("v_frexp_exp_i32_f32", Mode::DEFAULT, &[narrow]);
            assert_eq!(one("v_ldexp_f32", Mode::DEFAULT, &[mantissa, exponent]), narrow, "{narrow:x}");
        }
        for half in (0..0x7c00).chain(0x8000..0xfc00) {
            let mantissa = one("v_frexp_mant_f16", Mode::DEFAULT, &[half]);
            let exponent = one("v_frexp_exp_i16_f16", Mode::DEFAULT, &[half]);
            assert_eq!(one("v_ldexp_f16", Mode::DEFAULT, &[mantissa, exponent]), half, "{half:x}");
        }
        assert_eq!(one("v_frexp_exp_i32_f32", Mode::DEFAULT, &[0x7f80_0000]), 0);
        assert_eq!(one("v_frexp_mant_f32", Mode::DEFAULT, &[0x7f80_0001]), 0x7fc0_0001);
        assert_eq!(one("v_frexp_exp_i32_f32", Mode::DEFAULT, &[1]) as u32 as i32, -148);
        assert_eq!(one("v_frexp_exp_i32_f32", FLUSH, &[1]), 0);
    }

    #[test]
    fn fractions_are_below_one_and_not_negative() {
        assert_eq!(f32_of("v_fract_f32", &[-1e-10]).to_bits(), 0x3f7f_ffff);
        assert_eq!(f32_of("v_fract_f32", &[-1.25]), 0.75);
        assert_eq!(f32_of("v_fract_f32", &[-3.0]).to_bits(), 0);
        assert!(f32_of("v_fract_f32", &[f32::INFINITY]).is_nan());
        assert_eq!(one("v_fract_f32", DOWN, &[(-3f32).to_bits().into()]), 0);
        assert_eq!(one("v_fract_f16", Mode::DEFAULT, &[0x8001]), 0x3bff);
        assert_eq!(one("v_fract_f16", DOWN, &[0xc000]), 0);
        assert_eq!(one("v_fract_f64", Mode::DEFAULT, &[(-1e-30f64).to_bits()]), 0x3fef_ffff_ffff_ffff);
    }

    #[test]
    fn integers_keep_the_sign_of_zero() {
        assert_eq!(f32_of("v_rndne_f32", &[2.5]), 2.0);
        assert_eq!(f32_of("v_rndne_f32", &[-0.5]).to_bits(), 0x8000_0000);
        assert_eq!(f32_of("v_trunc_f32", &[-0.9]).to_bits(), 0x8000_0000);
        assert_eq!(f32_of("v_ceil_f32", &[-0.9]).to_bits(), 0x8000_0000);
        assert_eq!(one("v_floor_f16", Mode::DEFAULT, &[0x8001]), 0xbc00);
        assert_eq!(one("v_floor_f16", FLUSH, &[0x8001]), 0x8000);
        assert_eq!(one("v_rndne_f64", Mode::DEFAULT, &[3.5f64.to_bits()]), 4f64.to_bits());
    }

    #[test]
    fn scaling_rounds_once_by_the_mode() {
        let (one_and_half, by) = (u64::from(1.5f32.to_bits()), u64::from((-149i32).cast_unsigned()));
        assert_eq!(one("v_ldexp_f32", Mode::DEFAULT, &[one_and_half, by]), 2);
        assert_eq!(one("v_ldexp_f32", DOWN, &[one_and_half, by]), 1);
        assert_eq!(one("v_ldexp_f32", FLUSH, &[one_and_half, by]), 0);
        assert_eq!(one("v_ldexp_f16", UP, &[0x3c00, 0x8000]), 1);
        assert_eq!(one("v_ldexp_f64", Mode::DEFAULT, &[f64::MAX.to_bits(), 0x7fff_ffff]), f64::INFINITY.to_bits());
        assert_eq!(one("v_ldexp_f64", Mode::DEFAULT, &[1, 1074]), 1f64.to_bits());
    }
}
