//! Division steps. `v_div_scale` scales numerator and denominator so that no intermediate result
//! overflows or underflows, `v_div_fmas` performs the last fused multiply-add and undoes the
//! scaling, `v_div_fixup` handles special cases.
//!
//! The published pseudocode does not give correct quotients. These rules do, bit for bit (see the
//! tests), and agree with measurements on gfx1100: scaling depends on the encoded exponents, and
//! the direction of the final scaling on the magnitude of the third source.

use half::f16;

use super::shapes::long;
use crate::lanes::LaneOp;
use crate::lanes::macros::lane;
use crate::lanes::rounding::{FloatMode, flush16, flush32, flush64, fma64, narrow32, wide_fma32};
use crate::lanes::soft;
use crate::mode::RoundingMode;

/// `v_div_scale`: the scaled numerator or denominator, and whether `v_div_fmas` must undo the
/// scaling.
macro_rules! scale {
    ($name:ident, $type:ty, $fraction:expr, $bias:expr, $threshold:expr, $power:expr, $tiny:expr, $nan:expr) => {
        #[inline(always)]
        fn $name(value: $type, denominator: $type, numerator: $type) -> ($type, bool) {
            const UP: $type = <$type>::from_bits(($bias + $power) << $fraction);
            const DOWN: $type = <$type>::from_bits(($bias - $power) << $fraction);
            let below = (numerator.to_bits() << 1 >> ($fraction + 1)) as i32;
            let above = (denominator.to_bits() << 1 >> ($fraction + 1)) as i32;
            let difference = below - above;
            let of_denominator = value.to_bits() == denominator.to_bits();
            let (factor, flag) = if difference >= $threshold {
                // The quotient is close to overflow.
                (if of_denominator { UP } else { 1.0 }, true)
            } else if above == 0 {
                (UP, false)
            } else if above >= 2 * $bias - 1 {
                // The reciprocal, and possibly the quotient, would be denormal.
                let flag = difference <= -$threshold;
                (if flag & !of_denominator { 1.0 } else { DOWN }, flag)
            } else if difference <= -$threshold {
                // The quotient is close to underflow.
                (if of_denominator { 1.0 } else { UP }, true)
            } else if below <= $tiny {
                (UP, false)
            } else {
                (1.0, false)
            };
            let zero = (denominator == 0.0) | (numerator == 0.0);
            (if zero { <$type>::from_bits($nan) } else { value * factor }, flag)
        }
    };
}

scale!(scale32, f32, 23, 127, 96, 64, 24, 0xffc0_0000);
scale!(scale64, f64, 52, 1023, 768, 128, 53, 0xfff8_0000_0000_0000);

/// The last step in f32. The flag undoes the scaling, with a single rounding. Denormal sources are
/// preserved.
#[inline(always)]
fn fmas32(rules: FloatMode, flag: bool, a: f32, b: f32, c: f32) -> f32 {
    let exact = wide_fma32(a, b, c, rules.round);
    let back =
        if c.to_bits() << 1 >> 24 > 127 { 18_446_744_073_709_551_616.0 } else { 1.0 / 18_446_744_073_709_551_616.0 };
    flush32(narrow32(exact * if flag { back } else { 1.0 }, rules.round), rules.flush_out)
}

/// The last step in f64.
#[inline(always)]
fn fmas64(rules: FloatMode, flag: bool, a: f64, b: f64, c: f64) -> f64 {
    if flag {
        let back = if c.to_bits() << 1 >> 53 > 1023 { 128 } else { -128 };
        flush64(soft::fma(a, b, c, back, rules.round), rules.flush_out)
    } else {
        fma64(FloatMode { flush_in: false, ..rules }, a, b, c)
    }
}

/// `v_div_fixup` of quotient, denominator and numerator.
macro_rules! fixup {
    ($name:ident, $type:ty, $flush:ident, $fraction:expr, $bias:expr, $sign:expr, $infinity:expr) => {
        #[inline(always)]
        fn $name(rules: FloatMode, quotient: $type, denominator: $type, numerator: $type) -> $type {
            const QUIET_NAN: $type = <$type>::from_bits($sign | $infinity | 1 << ($fraction - 1));
            let below = $flush(denominator, rules.flush_in).to_bits();
            let above = $flush(numerator, rules.flush_in).to_bits();
            let sign = (below ^ above) & $sign;
            let (below_size, above_size) = (below & !$sign, above & !$sign);
            // The result of an overflow or underflow depends on the rounding mode.
            let away = match rules.round {
                RoundingMode::Nearest => 2,
                RoundingMode::Zero => 0,
                RoundingMode::Up => u8::from(sign == 0),
                RoundingMode::Down => u8::from(sign != 0),
            };
            let least = if (away == 1) & !rules.flush_out { 1 } else { 0 };
            let greatest = if away == 0 { $infinity - 1 } else { $infinity };
            let difference = (above_size >> $fraction) as i32 - (below_size >> $fraction) as i32;
            let finite = if difference < -($bias + $fraction) {
                sign | least
            } else if quotient.to_bits() & !$sign >= $infinity {
                sign | greatest
            } else {
                sign | (quotient.to_bits() & !$sign)
            };
            let special = if (below_size == 0) | (above_size == $infinity) {
                sign | $infinity
            } else if (above_size == 0) | (below_size == $infinity) {
                sign
            } else {
                finite
            };
            let both_zero = (below_size == 0) & (above_size == 0);
            let both_infinite = (below_size == $infinity) & (above_size == $infinity);
            <$type>::from_bits(if above_size > $infinity {
                above | 1 << ($fraction - 1)
            } else if below_size > $infinity {
                below | 1 << ($fraction - 1)
            } else if both_zero | both_infinite {
                QUIET_NAN.to_bits()
            } else {
                special
            })
        }
    };
}

fixup!(fixup16, f16, flush16, 10, 15, 0x8000, 0x7c00);
fixup!(fixup32, f32, flush32, 23, 127, 0x8000_0000, 0x7f80_0000);
fixup!(fixup64, f64, flush64, 52, 1023, 0x8000_0000_0000_0000, 0x7ff0_0000_0000_0000);

pub(super) fn table() -> Vec<(&'static str, LaneOp)> {
    vec![
        (
            "v_div_scale_f32",
            lane!(carry |_bit, a: f32, b: f32, c: f32| -> f32 { scale32(a, b, c) }).with_modes(lane!(carry mode;
            |mode, _bit, a: f32, b: f32, c: f32| -> f32 {
                let flush = mode.flush_in32();
                scale32(flush32(a, flush), flush32(b, flush), flush32(c, flush))
            })),
        ),
        (
            "v_div_scale_f64",
            lane!(carry |_bit, a: f64, b: f64, c: f64| -> f64 { scale64(a, b, c) }).with_modes(lane!(carry mode;
            |mode, _bit, a: f64, b: f64, c: f64| -> f64 {
                let flush = mode.flush_in16_64();
                scale64(flush64(a, flush), flush64(b, flush), flush64(c, flush))
            })),
        ),
        (
            "v_div_fmas_f32",
            lane!(carry |bit, a: f32, b: f32, c: f32| -> f32 { (fmas32(FloatMode::PLAIN, bit, a, b, c), false) })
                .with_modes(lane!(carry mode;
                |mode, bit, a: f32, b: f32, c: f32| -> f32 { (fmas32(FloatMode::of_32(mode), bit, a, b, c), false) })),
        ),
        (
            "v_div_fmas_f64",
            lane!(carry |bit, a: f64, b: f64, c: f64| -> f64 { (fmas64(FloatMode::PLAIN, bit, a, b, c), false) })
                .with_modes(lane!(carry mode;
                |mode, bit, a: f64, b: f64, c: f64| -> f64 { (fmas64(FloatMode::of_16_64(mode), bit, a, b, c), false) })),
        ),
        (
            "v_div_fixup_f16",
            long!(|a: f16, b: f16, c: f16| -> f16 { fixup16(FloatMode::PLAIN, a, b, c) })
                .with_modes(long!(mode; |mode, a: f16, b: f16, c: f16| -> f16 { fixup16(FloatMode::of_16_64(mode), a, b, c) })),
        ),
        (
            "v_div_fixup_f32",
            long!(|a: f32, b: f32, c: f32| -> f32 { fixup32(FloatMode::PLAIN, a, b, c) })
                .with_modes(long!(mode; |mode, a: f32, b: f32, c: f32| -> f32 { fixup32(FloatMode::of_32(mode), a, b, c) })),
        ),
        (
            "v_div_fixup_f64",
            long!(|a: f64, b: f64, c: f64| -> f64 { fixup64(FloatMode::PLAIN, a, b, c) })
                .with_modes(long!(mode; |mode, a: f64, b: f64, c: f64| -> f64 { fixup64(FloatMode::of_16_64(mode), a, b, c) })),
        ),
    ]
}

#[cfg(test)]
mod tests {
    use super::super::testing::{FLUSH, Lanes, lanes, one};
    use crate::lanes::testing::Random;
    use crate::mode::Mode;
    use crate::row::LANES;

    fn negated(lanes: &Lanes, bit: u32) -> Lanes {
        lanes.map(|value| value ^ 1 << bit)
    }

    /// LLVM's f32 division. `inner` is the mode between scaling and the last step.
    fn divide32(mode: Mode, inner: Mode, a: &Lanes, b: &Lanes) -> Lanes {
        let fma = |x: &Lanes, y: &Lanes, z: &Lanes| lanes("v_fma_f32", inner, &[*x, *y, *z], 0).0;
        let (below, _) = lanes("v_div_scale_f32", mode, &[*b, *b, *a], 0);
        let (above, flag) = lanes("v_div_scale_f32", mode, &[*a, *b, *a], 0);
        let reciprocal = lanes("v_rcp_f32", mode, &[below], 0).0;
        let minus = negated(&below, 31);
        let error = fma(&minus, &reciprocal, &[0x3f80_0000; LANES]);
        let reciprocal = fma(&error, &reciprocal, &reciprocal);
        let quotient = lanes("v_mul_f32", inner, &[above, reciprocal], 0).0;
        let rest = fma(&minus, &quotient, &above);
        let quotient = fma(&rest, &reciprocal, &quotient);
        let rest = fma(&minus, &quotient, &above);
        let quotient = lanes("v_div_fmas_f32", mode, &[rest, reciprocal, quotient], flag).0;
        lanes("v_div_fixup_f32", mode, &[quotient, *b, *a], 0).0
    }

    /// LLVM's f64 division.
    fn divide64(a: &Lanes, b: &Lanes) -> Lanes {
        let call = |name, sources: &[Lanes], mask| lanes(name, Mode::DEFAULT, sources, mask);
        let fma = |x: &Lanes, y: &Lanes, z: &Lanes| call("v_fma_f64", &[*x, *y, *z], 0).0;
        let one = [1f64.to_bits(); LANES];
        let (below, _) = call("v_div_scale_f64", &[*b, *b, *a], 0);
        let (above, flag) = call("v_div_scale_f64", &[*a, *b, *a], 0);
        let minus = negated(&below, 63);
        let mut reciprocal = call("v_rcp_f64", &[below], 0).0;
        for _ in 0..2 {
            let error = fma(&minus, &reciprocal, &one);
            reciprocal = fma(&reciprocal, &error, &reciprocal);
        }
        let quotient = call("v_mul_f64", &[above, reciprocal], 0).0;
        let rest = fma(&minus, &quotient, &above);
        let quotient = call("v_div_fmas_f64", &[rest, reciprocal, quotient], flag).0;
        call("v_div_fixup_f64", &[quotient, *b, *a], 0).0
    }

    /// LLVM's f16 division on gfx11.
    fn divide16(a: &Lanes, b: &Lanes) -> Lanes {
        let call = |name, sources: &[Lanes]| lanes(name, Mode::DEFAULT, sources, 0).0;
        let (above, below) = (call("v_cvt_f32_f16", &[*a]), call("v_cvt_f32_f16", &[*b]));
        let minus = negated(&below, 31);
        let reciprocal = call("v_rcp_f32", &[below]);
        let quotient = call("v_mul_f32", &[above, reciprocal]);
        let rest = call("v_fma_mix_f32", &[minus, quotient, above]);
        let quotient = call("v_fmac_f32", &[rest, reciprocal, quotient]);
        let rest = call("v_fma_mix_f32", &[minus, quotient, above]);
        // Only the upper bits of the last correction are added.
        let correction = call("v_mul_f32", &[rest, reciprocal]).map(|bits| bits & 0xff80_0000);
        let quotient = call("v_cvt_f16_f32", &[call("v_add_f32", &[correction, quotient])]);
        call("v_div_fixup_f16", &[quotient, *b, *a])
    }

    /// Random values with exponents of all magnitudes; extreme ones are as likely as others.
    fn numbers(random: &mut Random, fraction: u32, exponents: u64) -> Lanes {
        [(); LANES].map(|()| {
            let bits = random.next();
            let field = match bits & 7 {
                0 => 0,
                1 => (bits >> 8) % 4,
                2 => exponents - 1 - (bits >> 8) % 4,
                _ => (bits >> 8) % exponents,
            };
            let mask = (1u64 << fraction) - 1;
            let fraction_bits = random.next() & mask & if bits & 0x40 == 0 { !0 } else { !(mask >> 5) };
            bits >> 63 << (fraction + exponents.trailing_zeros()) | field << fraction | fraction_bits
        })
    }

    #[test]
    fn f32_quotients_are_correctly_rounded() {
        let mut random = Random::new(23);
        for _ in 0..4_000 {
            let (a, b) = (numbers(&mut random, 23, 256), numbers(&mut random, 23, 256));
            let quotients = divide32(Mode::DEFAULT, Mode::DEFAULT, &a, &b);
            for lane in 0..LANES {
                let [x, y, found] = [a[lane], b[lane], quotients[lane]].map(|bits| f32::from_bits(bits as u32));
                let expected = x / y;
                assert!(
                    found.to_bits() == expected.to_bits() || found.is_nan() && expected.is_nan(),
                    "{x:e} / {y:e}: {found:e}, not {expected:e}"
                );
            }
        }
    }

    #[test]
    fn f32_quotients_flush_where_the_mode_does() {
        let mut random = Random::new(29);
        for _ in 0..1_000 {
            let (a, b) = (numbers(&mut random, 23, 256), numbers(&mut random, 23, 256));
            let quotients = divide32(FLUSH, Mode(FLUSH.0 | 0x30), &a, &b);
            for lane in 0..LANES {
                let flush = |value: f32| if value.is_subnormal() { value * 0.0 } else { value };
                let [x, y, found] = [a[lane], b[lane], quotients[lane]].map(|bits| f32::from_bits(bits as u32));
                let expected = flush(flush(x) / flush(y));
                assert!(
                    found.to_bits() == expected.to_bits() || found.is_nan() && expected.is_nan(),
                    "{x:e} / {y:e}: {found:e}, not {expected:e}"
                );
            }
        }
    }

    #[test]
    fn f64_quotients_are_correctly_rounded() {
        let mut random = Random::new(31);
        for _ in 0..4_000 {
            let (a, b) = (numbers(&mut random, 52, 2048), numbers(&mut random, 52, 2048));
            let quotients = divide64(&a, &b);
            for lane in 0..LANES {
                let [x, y, found] = [a[lane], b[lane], quotients[lane]].map(f64::from_bits);
                let expected = x / y;
                assert!(
                    found.to_bits() == expected.to_bits() || found.is_nan() && expected.is_nan(),
                    "{x:e} / {y:e}: {found:e}, not {expected:e}"
                );
            }
        }
    }

    #[test]
    fn f16_quotients_are_correctly_rounded() {
        use half::f16;
        let mut random = Random::new(37);
        for _ in 0..8_000 {
            let (a, b) = (numbers(&mut random, 10, 32), numbers(&mut random, 10, 32));
            let quotients = divide16(&a, &b);
            for lane in 0..LANES {
                let [x, y, found] = [a[lane], b[lane], quotients[lane]].map(|bits| f16::from_bits(bits as u16));
                // f32 has enough precision for double rounding to be harmless.
                let expected = f16::from_f32_const(x.to_f32_const() / y.to_f32_const());
                assert!(
                    found.to_bits() == expected.to_bits() || found.is_nan() && expected.is_nan(),
                    "{x} / {y}: {found}, not {expected}"
                );
            }
        }
    }

    #[test]
    fn scaling_sets_the_flag_for_the_last_step() {
        let scale = |value: f32, below: f32, above: f32| {
            let sources = [value, below, above].map(|x| [u64::from(x.to_bits()); LANES]);
            let (result, mask) = lanes("v_div_scale_f32", Mode::DEFAULT, &sources, 0);
            (f32::from_bits(result[0] as u32), mask)
        };
        assert_eq!(scale(1.0, 4.0, 1.0), (1.0, 0));
        assert_eq!(scale(1e-20, 1e-20, 1e20), (1e-20 * 2f32.powi(64), !0));
        assert_eq!(scale(1e20, 1e-20, 1e20), (1e20, !0));
        assert!(scale(1.0, 0.0, 1.0).0.is_nan());
        // The exponent field is 253, so the reciprocal is denormal.
        assert_eq!(scale(2f32.powi(126), 2f32.powi(126), 1e30), (2f32.powi(62), 0));
    }

    #[test]
    fn fixup_handles_special_cases() {
        let fixup = |below: f32, above: f32| {
            one("v_div_fixup_f32", Mode::DEFAULT, &[1f32, below, above].map(|x| x.to_bits().into())) as u32
        };
        assert_eq!(fixup(0.0, 0.0), 0xffc0_0000);
        assert_eq!(fixup(f32::INFINITY, f32::NEG_INFINITY), 0xffc0_0000);
        assert_eq!(fixup(-0.0, 1.0), 0xff80_0000);
        assert_eq!(fixup(f32::INFINITY, -1.0), 0x8000_0000);
        assert_eq!(fixup(1.0, f32::from_bits(0x7f80_0001)), 0x7fc0_0001);
        assert_eq!(fixup(-1.0, 1.0), (-1f32).to_bits());
    }
}
