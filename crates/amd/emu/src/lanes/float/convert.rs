//! Type conversions.
//!
//! Conversions to integers truncate and saturate, and NaN becomes 0, like Rust's `as`. Results in
//! f16 follow the f16 mode, results in f32 the f32 mode.

#![expect(unsafe_code, reason = "works on rows as the lane functions do")]

use half::f16;

use super::shapes::{both_levels, flushed};
use crate::lanes::LaneOp;
use crate::lanes::macros::lane;
use crate::lanes::rounding::{
    FloatMode, flush16, flush32, flush64, narrow16, narrow32, result16, saturated16, widen16,
};
use crate::mode::RoundingMode;
use crate::row::{CHUNKS, Lane, each, joined};

/// Converts a chunk of f32 to f16, flushed and rounded.
macro_rules! to_half {
    ($narrow:ident, $source:expr, $chunk:expr, $flush_in:expr, $rules:expr) => {{
        let rules: FloatMode = $rules;
        // SAFETY: the contract covers the row of the source.
        let values = unsafe { <f32 as Lane>::load($source, $chunk) };
        let values = each!(lane => flush32(values[lane], $flush_in));
        let bits = $narrow(values, rules.round);
        flushed(each!(lane => saturated16(bits[lane], values[lane], rules.saturate)), rules.flush_out)
    }};
}

/// f32 to f16 in the lower half, or two values toward zero in both halves.
macro_rules! half_conversion {
    (single, |$mode:ident| $flush_in:expr, $rules:expr) => {
        both_levels!([narrow]; [OperandKind::F32] -> OperandKind::F16; |$mode, out, a, b, c| {
            for chunk in 0..CHUNKS {
                let bits = to_half!(narrow, a, chunk, $flush_in, $rules);
                // SAFETY: the contract covers the row of the result.
                unsafe { out.set_chunk(0, chunk, bits) };
            }
        })
    };
    (pair, |$mode:ident| $flush_in:expr, $rules:expr) => {
        both_levels!([narrow]; [OperandKind::F32, OperandKind::F32] -> OperandKind::PackedF16; |$mode, out, a, b, c| {
            for chunk in 0..CHUNKS {
                let low = to_half!(narrow, a, chunk, $flush_in, $rules);
                let high = to_half!(narrow, b, chunk, $flush_in, $rules);
                // SAFETY: the contract covers the row of the result.
                unsafe { out.set_chunk(0, chunk, each!(lane => low[lane] | high[lane] << 16)) };
            }
        })
    };
}

/// Saturating conversion to a 32-bit integer, NaN to 0. Like `as`, but in a form that vectorizes.
macro_rules! to_integer {
    ($name:ident, $float:ty) => {
        #[inline(always)]
        fn $name(value: $float) -> i32 {
            let large = value >= 2_147_483_648.0;
            let inside = (value >= -2_147_483_648.0) & !large;
            // SAFETY: zero or a value in the range of i32.
            let integer = unsafe { (if inside { value } else { 0.0 }).to_int_unchecked::<i32>() };
            let negative = if value < 0.0 { i32::MIN } else { 0 };
            let outside = if large { i32::MAX } else { negative };
            if inside { integer } else { outside }
        }
    };
}

to_integer!(integer_of_32, f32);
to_integer!(integer_of_64, f64);

/// Converts a value in [-1, 1] to a 16-bit integer; NaN becomes 0.
#[inline(always)]
fn signed_norm(value: f32) -> i16 {
    // Exact before rounding: f64 has room for the product.
    (f64::from(value).clamp(-1.0, 1.0) * 32767.0).round_ties_even() as i16
}

/// Converts a value in [0, 1] to a 16-bit integer; NaN becomes 0.
#[inline(always)]
fn unsigned_norm(value: f32) -> u16 {
    (f64::from(value).clamp(0.0, 1.0) * 65535.0).round_ties_even() as u16
}

/// Rounds to an integer with the rounding mode of f32.
#[inline(always)]
fn rounded(value: f32, round: RoundingMode) -> f32 {
    match round {
        RoundingMode::Nearest => value.round_ties_even(),
        RoundingMode::Up => value.ceil(),
        RoundingMode::Down => value.floor(),
        RoundingMode::Zero => value.trunc(),
    }
}

/// Quiets NaN, as every conversion does.
#[inline(always)]
fn canonical16(value: f16) -> f16 {
    let bits = value.to_bits();
    f16::from_bits(if bits & 0x7fff > 0x7c00 { bits | 0x200 } else { bits })
}

/// Converts a value to a byte and inserts it into a register.
#[inline(always)]
fn with_byte(value: f32, index: u32, into: u32) -> u32 {
    let shift = (index & 3) * 8;
    into & !(0xff << shift) | u32::from(value as u8) << shift
}

pub(super) fn table() -> Vec<(&'static str, LaneOp)> {
    vec![
        (
            "v_cvt_f16_f32",
            half_conversion!(single, |_mode| false, FloatMode::PLAIN).with_modes(half_conversion!(
                single,
                |mode| mode.flush_in32(),
                FloatMode::of_16_64(mode)
            )),
        ),
        (
            "v_cvt_f32_f16",
            lane!(|a: f16| -> f32 { widen16(a) })
                .with_modes(lane!(mode; |mode, a: f16| -> f32 { widen16(flush16(a, mode.flush_in16_64())) })),
        ),
        (
            "v_cvt_f32_f64",
            lane!(|a: f64| -> f32 { a as f32 }).with_modes(lane!(mode; |mode, a: f64| -> f32 {
                let rules = FloatMode::of_32(mode);
                flush32(narrow32(flush64(a, mode.flush_in16_64()), rules.round), rules.flush_out)
            })),
        ),
        (
            "v_cvt_f64_f32",
            lane!(|a: f32| -> f64 { f64::from(a) })
                .with_modes(lane!(mode; |mode, a: f32| -> f64 { f64::from(flush32(a, mode.flush_in32())) })),
        ),
        (
            "v_cvt_f32_i32",
            lane!(|a: i32| -> f32 { a as f32 })
                .with_modes(lane!(mode; |mode, a: i32| -> f32 { narrow32(f64::from(a), mode.round32()) })),
        ),
        (
            "v_cvt_f32_u32",
            lane!(|a: u32| -> f32 { a as f32 })
                .with_modes(lane!(mode; |mode, a: u32| -> f32 { narrow32(f64::from(a), mode.round32()) })),
        ),
        (
            "v_cvt_f16_i16",
            lane!(|a: i16| -> f16 { narrow16(f32::from(a)) })
                .with_modes(lane!(mode; |mode, a: i16| -> f16 { result16(FloatMode::of_16_64(mode), f32::from(a)) })),
        ),
        (
            "v_cvt_f16_u16",
            lane!(|a: u16| -> f16 { narrow16(f32::from(a)) })
                .with_modes(lane!(mode; |mode, a: u16| -> f16 { result16(FloatMode::of_16_64(mode), f32::from(a)) })),
        ),
        ("v_cvt_f64_i32", lane!(|a: i32| -> f64 { f64::from(a) })),
        ("v_cvt_f64_u32", lane!(|a: u32| -> f64 { f64::from(a) })),
        ("v_cvt_i32_f32", lane!(|a: f32| -> i32 { integer_of_32(a) })),
        ("v_cvt_u32_f32", lane!(|a: f32| -> u32 { a as u32 })),
        ("v_cvt_i32_f64", lane!(|a: f64| -> i32 { integer_of_64(a) })),
        ("v_cvt_u32_f64", lane!(|a: f64| -> u32 { a as u32 })),
        ("v_cvt_i16_f16", lane!(|a: f16| -> i16 { widen16(a) as i16 })),
        ("v_cvt_u16_f16", lane!(|a: f16| -> u16 { widen16(a) as u16 })),
        (
            "v_cvt_floor_i32_f32",
            lane!(|a: f32| -> i32 { integer_of_32(a.floor()) }).with_modes(
                lane!(mode; |mode, a: f32| -> i32 { integer_of_32(flush32(a, mode.flush_in32()).floor()) }),
            ),
        ),
        // Rounds halves up. The sum is exact: 0.5 and an f32 of similar magnitude fit f64, and a
        // tiny f32 does not affect the floor.
        ("v_cvt_nearest_i32_f32", lane!(|a: f32| -> i32 { integer_of_64((f64::from(a) + 0.5).floor()) })),
        ("v_cvt_off_f32_i4", lane!(|a: u32| -> f32 { ((a << 28).cast_signed() >> 28) as f32 * 0.0625 })),
        ("v_cvt_f32_ubyte0", lane!(|a: u32| -> f32 { (a & 0xff) as f32 })),
        ("v_cvt_f32_ubyte1", lane!(|a: u32| -> f32 { (a >> 8 & 0xff) as f32 })),
        ("v_cvt_f32_ubyte2", lane!(|a: u32| -> f32 { (a >> 16 & 0xff) as f32 })),
        ("v_cvt_f32_ubyte3", lane!(|a: u32| -> f32 { (a >> 24) as f32 })),
        (
            "v_cvt_pk_u8_f32",
            lane!(|a: f32, index: u32, into: u32| -> u32 { with_byte(a.round_ties_even(), index, into) }).with_modes(
                lane!(mode; |mode, a: f32, index: u32, into: u32| -> u32 {
                    with_byte(rounded(flush32(a, mode.flush_in32()), mode.round32()), index, into)
                }),
            ),
        ),
        ("v_cvt_pk_i16_f32", lane!(|a: f32, b: f32| -> [i16; 2] { [a as i16, b as i16] })),
        ("v_cvt_pk_u16_f32", lane!(|a: f32, b: f32| -> [u16; 2] { [a as u16, b as u16] })),
        ("v_cvt_norm_i16_f16", lane!(|a: f16| -> i16 { signed_norm(widen16(a)) })),
        ("v_cvt_norm_u16_f16", lane!(|a: f16| -> u16 { unsigned_norm(widen16(a)) })),
        ("v_cvt_pk_norm_i16_f32", lane!(|a: f32, b: f32| -> [i16; 2] { [signed_norm(a), signed_norm(b)] })),
        ("v_cvt_pk_norm_u16_f32", lane!(|a: f32, b: f32| -> [u16; 2] { [unsigned_norm(a), unsigned_norm(b)] })),
        (
            "v_cvt_pk_norm_i16_f16",
            lane!(|a: f16, b: f16| -> [i16; 2] { [signed_norm(widen16(a)), signed_norm(widen16(b))] }),
        ),
        (
            "v_cvt_pk_norm_u16_f16",
            lane!(|a: f16, b: f16| -> [u16; 2] { [unsigned_norm(widen16(a)), unsigned_norm(widen16(b))] }),
        ),
        (
            "v_cvt_pk_rtz_f16_f32",
            half_conversion!(pair, |_mode| false, FloatMode { round: RoundingMode::Zero, ..FloatMode::PLAIN })
                .with_modes(half_conversion!(
                    pair,
                    |mode| mode.flush_in32(),
                    FloatMode { round: RoundingMode::Zero, ..FloatMode::of_16_64(mode) }
                )),
        ),
        (
            "v_pack_b32_f16",
            lane!(|a: f16, b: f16| -> u32 { joined(canonical16(a).to_bits(), canonical16(b).to_bits()) }).with_modes(
                lane!(mode; |mode, a: f16, b: f16| -> u32 {
                    let flush = mode.flush_in16_64();
                    joined(canonical16(flush16(a, flush)).to_bits(), canonical16(flush16(b, flush)).to_bits())
                }),
            ),
        ),
    ]
}

#[cfg(test)]
mod tests {
    use super::super::testing::{DOWN, FLUSH, UP, ZERO_FLUSH, one};
    use crate::mode::Mode;

    fn convert(name: &str, value: f32) -> u32 {
        one(name, Mode::DEFAULT, &[value.to_bits().into()]) as u32
    }

    #[test]
    fn integers_saturate_and_nan_is_zero() {
        for (value, signed, unsigned) in [
            (1e20, i32::MAX, u32::MAX),
            (-1e20, i32::MIN, 0),
            (f32::NAN, 0, 0),
            (-0.9, 0, 0),
            (2.9, 2, 2),
            (f32::NEG_INFINITY, i32::MIN, 0),
        ] {
            assert_eq!(convert("v_cvt_i32_f32", value), signed.cast_unsigned(), "{value}");
            assert_eq!(convert("v_cvt_u32_f32", value), unsigned, "{value}");
            let wide = [f64::from(value).to_bits()];
            assert_eq!(one("v_cvt_i32_f64", Mode::DEFAULT, &wide) as u32, signed.cast_unsigned(), "{value}");
            assert_eq!(one("v_cvt_u32_f64", Mode::DEFAULT, &wide) as u32, unsigned, "{value}");
        }
        assert_eq!(one("v_cvt_i16_f16", Mode::DEFAULT, &[0xfc00]), 0x8000);
        assert_eq!(one("v_cvt_u16_f16", Mode::DEFAULT, &[0xbc00]), 0);
        assert_eq!(one("v_cvt_u16_f16", Mode::DEFAULT, &[0x7bff]), 65504);
        let two = [1e9f32.to_bits().into(), (-1e9f32).to_bits().into()];
        assert_eq!(one("v_cvt_pk_i16_f32", Mode::DEFAULT, &two), 0x8000_7fff);
        assert_eq!(one("v_cvt_pk_u16_f32", Mode::DEFAULT, &two), 0x0000_ffff);
    }

    #[test]
    fn floor_and_nearest_to_integers() {
        for (value, floor, nearest) in
            [(-0.5f32, -1, 0), (0.5, 0, 1), (-1.5, -2, -1), (0.499_999_97, 0, 0), (2.5, 2, 3)]
        {
            assert_eq!(convert("v_cvt_floor_i32_f32", value).cast_signed(), floor, "{value}");
            assert_eq!(convert("v_cvt_nearest_i32_f32", value).cast_signed(), nearest, "{value}");
        }
        assert_eq!(one("v_cvt_floor_i32_f32", Mode::DEFAULT, &[0x8000_0001]) as u32, !0);
        assert_eq!(one("v_cvt_floor_i32_f32", FLUSH, &[0x8000_0001]), 0);
    }

    #[test]
    fn integers_to_floats_round_by_the_mode() {
        let odd = 0x0100_0001;
        for (mode, expected) in [(Mode::DEFAULT, 16_777_216.0f32), (UP, 16_777_218.0), (DOWN, 16_777_216.0)] {
            assert_eq!(one("v_cvt_f32_u32", mode, &[odd]), expected.to_bits().into(), "{mode:?}");
        }
        assert_eq!(one("v_cvt_f32_i32", DOWN, &[0xfeff_ffff]), (-16_777_218f32).to_bits().into());
        assert_eq!(one("v_cvt_f16_u16", Mode::DEFAULT, &[65535]), 0x7c00);
        assert_eq!(one("v_cvt_f16_u16", DOWN, &[65535]), 0x7bff);
        assert_eq!(one("v_cvt_f16_i16", Mode::DEFAULT, &[0x8000]), 0xf800);
        assert_eq!(one("v_cvt_f64_i32", Mode::DEFAULT, &[0x8000_0000]), (-2_147_483_648f64).to_bits());
    }

    #[test]
    fn halves_round_by_their_own_mode() {
        let third = u64::from((1f32 / 3.0).to_bits());
        assert_eq!(one("v_cvt_f16_f32", Mode::DEFAULT, &[third]), 0x3555);
        assert_eq!(one("v_cvt_f16_f32", UP, &[third]), 0x3556);
        // f32 rounds up, f16 to nearest.
        assert_eq!(one("v_cvt_f16_f32", Mode(0x3f1), &[third]), 0x3555);
        assert_eq!(one("v_cvt_f16_f32", ZERO_FLUSH, &[u64::from(3e-5f32.to_bits())]), 0);
        assert_eq!(one("v_cvt_f32_f16", FLUSH, &[1]), 0);
        assert_eq!(one("v_cvt_f32_f16", Mode::DEFAULT, &[1]), (2f32.powi(-24)).to_bits().into());
        assert_eq!(one("v_cvt_f32_f64", UP, &[(1.0 + 1e-12f64).to_bits()]), 0x3f80_0001);
        let pair = [65535f32, -1e9].map(|value| value.to_bits().into());
        assert_eq!(one("v_cvt_pk_rtz_f16_f32", UP, &pair), 0xfbff_7bff);
    }

    #[test]
    fn bytes_and_norms() {
        assert_eq!(one("v_cvt_f32_ubyte3", Mode::DEFAULT, &[0xfe00_0000]), 254f32.to_bits().into());
        assert_eq!(one("v_cvt_off_f32_i4", Mode::DEFAULT, &[0x18]), (-0.5f32).to_bits().into());
        assert_eq!(one("v_cvt_off_f32_i4", Mode::DEFAULT, &[7]), 0.4375f32.to_bits().into());
        let byte =
            |mode, value: f32, index| one("v_cvt_pk_u8_f32", mode, &[value.to_bits().into(), index, 0x1122_3344]);
        assert_eq!(byte(Mode::DEFAULT, 2.5, 1), 0x1122_0244);
        assert_eq!(byte(UP, 2.1, 3), 0x0322_3344);
        assert_eq!(byte(Mode::DEFAULT, 300.0, 4), 0x1122_33ff);
        assert_eq!(byte(Mode::DEFAULT, f32::NAN, 0), 0x1122_3300);
        let pair = [1.5f32, -2.0].map(|value| value.to_bits().into());
        assert_eq!(one("v_cvt_pk_norm_i16_f32", Mode::DEFAULT, &pair), 0x8001_7fff);
        assert_eq!(one("v_cvt_pk_norm_u16_f32", Mode::DEFAULT, &pair), 0x0000_ffff);
        assert_eq!(one("v_cvt_norm_i16_f16", Mode::DEFAULT, &[0x3800]), 0x4000);
        assert_eq!(one("v_pack_b32_f16", Mode::DEFAULT, &[0x7c01, 1]), 0x0001_7e01);
        assert_eq!(one("v_pack_b32_f16", FLUSH, &[0x8001, 0x3c00]), 0x3c00_8000);
    }
}
