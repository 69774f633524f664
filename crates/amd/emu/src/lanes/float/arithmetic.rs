//! Sums, products and fused operations.

#![expect(unsafe_code, reason = "works on rows as the lane functions do")]

use super::shapes::{both_levels, either, flushed, halves};
use crate::lanes::LaneOp;
use crate::lanes::macros::lane;
use crate::lanes::rounding::{
    FloatMode, add32, add64, flush32, fma32, fma64, mul32, mul64, odd_sum32, saturated16, zero_sum32,
};
use crate::mode::{Mode, RoundingMode};
use crate::row::{CHUNKS, Lane, each};

/// A function on the host type for round-to-nearest, which is worth its own loop, and a function of
/// [`rounding`](crate::lanes::rounding) for any mode.
macro_rules! by_mode {
    ($rules:ident; |$($x:ident : $t:ty),+| -> $r:ty $plain:block, $by:ident($($y:expr),+)) => {
        lane!(|$($x: $t),+| -> $r $plain).with_modes(either!(
            |mode: Mode| matches!(FloatMode::$rules(mode).round, RoundingMode::Nearest);
            |mode, $($x: $t),+| -> $r { $by(FloatMode { round: RoundingMode::Nearest, ..FloatMode::$rules(mode) }, $($y),+) }
            else { $by(FloatMode::$rules(mode), $($y),+) }))
    };
}

/// f16 operations, single or packed. Rounding an f32 sum a second time is harmless if both round to
/// nearest, because f32 has more than twice the precision of f16 plus two bits. Products are exact
/// in f32. A fused sum must first be rounded to odd.
macro_rules! half_operation {
    (add $kind:ident) => { halves!($kind, |a, b| a + b; |round| odd_add(a, b, round)) };
    (sub $kind:ident) => { halves!($kind, |a, b| a - b; |round| odd_add(a, -b, round)) };
    (subrev $kind:ident) => { halves!($kind, |a, b| b - a; |round| odd_add(b, -a, round)) };
    (mul $kind:ident) => { halves!($kind, |a, b| a * b; |_round| a * b) };
    (fma $kind:ident) => { halves!($kind, |a, b, c| odd_sum32(a * b, c); |round| odd_add(a * b, c, round)) };
}
pub(super) use half_operation;

/// A sum rounded to odd, with the sign of zero that the rounding mode requires.
#[inline(always)]
pub(super) fn odd_add(a: f32, b: f32, round: RoundingMode) -> f32 {
    zero_sum32(odd_sum32(a, b), a, b, round)
}

/// A product that is +0 if a (flushed) factor is zero, whatever the other factor.
#[inline(always)]
fn mul_zero(rules: FloatMode, a: f32, b: f32) -> f32 {
    let (x, y) = (flush32(a, rules.flush_in), flush32(b, rules.flush_in));
    if (x == 0.0) | (y == 0.0) { 0.0 } else { mul32(rules, a, b) }
}

/// `a * b + c`, where the product is +0 if a factor is zero.
#[inline(always)]
fn fma_zero(rules: FloatMode, a: f32, b: f32, c: f32) -> f32 {
    let (x, y) = (flush32(a, rules.flush_in), flush32(b, rules.flush_in));
    let zero = (x == 0.0) | (y == 0.0);
    fma32(rules, if zero { 0.0 } else { a }, if zero { 0.0 } else { b }, c)
}

/// The mode of `v_mad_f32` and similar instructions: they always flush denormals.
#[inline(always)]
fn flushing(mode: Mode) -> FloatMode {
    FloatMode { flush_in: true, flush_out: true, ..FloatMode::of_32(mode) }
}

/// `a * b + c`, rounded twice, with denormals flushed.
#[inline(always)]
fn mad(rules: FloatMode, a: f32, b: f32, c: f32) -> f32 {
    add32(rules, mul32(rules, a, b), c)
}

/// The same, where the product is +0 if a factor is zero.
#[inline(always)]
fn mad_zero(rules: FloatMode, a: f32, b: f32, c: f32) -> f32 {
    add32(rules, mul_zero(rules, a, b), c)
}

/// A fused operation in f32 whose result is then rounded to f16.
macro_rules! mixed {
    (|$a:ident, $b:ident, $c:ident| $body:expr) => {
        mixed!(@function |_rules, $a, $b, $c| $body, |_mode| (FloatMode::PLAIN, FloatMode::PLAIN))
    };
    (|$rules:ident, $a:ident, $b:ident, $c:ident| $body:expr) => {
        mixed!(@function |$rules, $a, $b, $c| $body, |mode| (FloatMode::of_32(mode), FloatMode::of_16_64(mode)))
    };
    (@function |$rules:ident, $a:ident, $b:ident, $c:ident| $body:expr, $by:expr) => {{
        #[inline(always)]
        fn lane($rules: FloatMode, $a: f32, $b: f32, $c: f32) -> f32 {
            $body
        }
        both_levels!([narrow]; [OperandKind::F32, OperandKind::F32, OperandKind::F32] -> OperandKind::F16; |mode, out, a, b, c| {
            let (wide, half): (FloatMode, FloatMode) = $by(mode);
            for chunk in 0..CHUNKS {
                // SAFETY: the contract covers the row of the source.
                let a = unsafe { <f32 as Lane>::load(a, chunk) };
                // SAFETY: as above.
                let b = unsafe { <f32 as Lane>::load(b, chunk) };
                // SAFETY: as above.
                let c = unsafe { <f32 as Lane>::load(c, chunk) };
                let values = each!(index => lane(wide, a[index], b[index], c[index]));
                let bits = narrow(values, half.round);
                let bits = each!(index => saturated16(bits[index], values[index], half.saturate));
                let bits = flushed(bits, half.flush_out);
                // SAFETY: the contract covers the row of the result.
                unsafe { out.set_chunk(0, chunk, bits) };
            }
        })
    }};
}

/// `v_mad_f32` and `v_mad_legacy_f32`. The default function flushes too, but rounds to nearest
/// only.
macro_rules! twice_rounded {
    ($by:ident) => {
        lane!(|a: f32, b: f32, c: f32| -> f32 { $by(flushing(Mode(0)), a, b, c) })
            .with_modes(either!(|mode: Mode| matches!(mode.round32(), RoundingMode::Nearest);
                |_mode, a: f32, b: f32, c: f32| -> f32 { $by(flushing(Mode(0)), a, b, c) }
                else { $by(flushing(_mode), a, b, c) }))
    };
}

pub(super) fn table() -> Vec<(&'static str, LaneOp)> {
    let fma_32 = by_mode!(of_32; |a: f32, b: f32, c: f32| -> f32 { a.mul_add(b, c) }, fma32(a, b, c));
    let fma_16 = half_operation!(fma F16);
    let fma_64 = by_mode!(of_16_64; |a: f64, b: f64, c: f64| -> f64 { a.mul_add(b, c) }, fma64(a, b, c));
    let mul_zero = by_mode!(of_32; |a: f32, b: f32| -> f32 {
        if (a == 0.0) | (b == 0.0) { 0.0 } else { a * b }
    }, mul_zero(a, b));
    let fma_zero = by_mode!(of_32; |a: f32, b: f32, c: f32| -> f32 {
        let zero = (a == 0.0) | (b == 0.0);
        (if zero { 0.0 } else { a }).mul_add(if zero { 0.0 } else { b }, c)
    }, fma_zero(a, b, c));
    // Mixed-precision operations compute in f32; the engine has already converted f16 sources.
    let to_f16 = mixed!(|a, b, c| a.mul_add(b, c)).with_modes(mixed!(|rules, a, b, c| fma32(rules, a, b, c)));
    let mad = twice_rounded!(mad);
    let mad_zero = twice_rounded!(mad_zero);
    vec![
        ("v_add_f32", by_mode!(of_32; |a: f32, b: f32| -> f32 { a + b }, add32(a, b))),
        ("v_sub_f32", by_mode!(of_32; |a: f32, b: f32| -> f32 { a - b }, add32(a, -b))),
        ("v_subrev_f32", by_mode!(of_32; |a: f32, b: f32| -> f32 { b - a }, add32(-a, b))),
        ("v_mul_f32", by_mode!(of_32; |a: f32, b: f32| -> f32 { a * b }, mul32(a, b))),
        ("v_fma_f32", fma_32),
        ("v_fmac_f32", fma_32.accumulating()),
        ("v_fmaak_f32", fma_32),
        ("v_fmamk_f32", fma_32),
        ("v_fma_mix_f32", fma_32),
        ("v_fma_mixlo_f16", to_f16),
        ("v_fma_mixhi_f16", to_f16),
        ("v_mul_dx9_zero_f32", mul_zero),
        ("v_fma_dx9_zero_f32", fma_zero),
        ("v_fmac_dx9_zero_f32", fma_zero.accumulating()),
        ("v_mad_f32", mad),
        ("v_mac_f32", mad.accumulating()),
        ("v_madak_f32", mad),
        ("v_madmk_f32", mad),
        ("v_mad_legacy_f32", mad_zero),
        ("v_mac_legacy_f32", mad_zero.accumulating()),
        ("v_add_f16", half_operation!(add F16)),
        ("v_sub_f16", half_operation!(sub F16)),
        ("v_subrev_f16", half_operation!(subrev F16)),
        ("v_mul_f16", half_operation!(mul F16)),
        ("v_fma_f16", fma_16),
        ("v_fmac_f16", fma_16.accumulating()),
        ("v_fmaak_f16", fma_16),
        ("v_fmamk_f16", fma_16),
        ("v_add_f64", by_mode!(of_16_64; |a: f64, b: f64| -> f64 { a + b }, add64(a, b))),
        ("v_mul_f64", by_mode!(of_16_64; |a: f64, b: f64| -> f64 { a * b }, mul64(a, b))),
        ("v_fma_f64", fma_64),
        // Graphics lighting: the product, or `-MAX` if base or exponent is invalid.
        (
            "v_mullit_f32",
            by_mode!(of_32; |a: f32, b: f32, c: f32| -> f32 {
            if lit(b, c) { a * b } else { f32::MIN }
        }, mullit(a, b, c)),
        ),
    ]
}

/// Whether base and exponent of `v_mullit_f32` are valid. NaN compares false.
#[inline(always)]
fn lit(base: f32, power: f32) -> bool {
    (base > f32::MIN) & (power > 0.0)
}

#[inline(always)]
fn mullit(rules: FloatMode, a: f32, b: f32, c: f32) -> f32 {
    if lit(b, flush32(c, rules.flush_in)) { mul32(rules, a, b) } else { f32::MIN }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{DOWN, FLUSH, UP, ZERO_FLUSH, f32_of, one};
    use crate::lanes::find;
    use crate::mode::Mode;

    #[test]
    fn the_f16_fused_operation_rounds_once() {
        // 1 + 2^-11 is a tie, which 2^-24 breaks upwards; an f32 sum would lose it.
        assert_eq!(one("v_fma_f16", Mode::DEFAULT, &[0x1001, 0x3c00, 0x3c00]), 0x3c01);
        assert_eq!(one("v_fma_f16", Mode::DEFAULT, &[0x1000, 0x3c00, 0x3c00]), 0x3c00);
        // Products far below the precision of f32 relative to c: 2^-48.
        assert_eq!(one("v_fma_f16", Mode::DEFAULT, &[1, 1, 0x7bff]), 0x7bff);
        assert_eq!(one("v_fma_f16", UP, &[1, 1, 0x3c00]), 0x3c01);
        assert_eq!(one("v_fma_f16", DOWN, &[1, 0x8001, 0x3c00]), 0x3bff);
        assert_eq!(one("v_pk_fma_f16", UP, &[0x0001_0001, 0x0001_8001, 0x3c00_3c00]), 0x3c01_3c00);
    }

    #[test]
    fn dx9_products_with_a_zero_factor_are_zero() {
        assert_eq!(f32_of("v_mul_dx9_zero_f32", &[-0.0, f32::INFINITY]).to_bits(), 0);
        assert_eq!(f32_of("v_mul_dx9_zero_f32", &[2.0, 3.0]), 6.0);
        assert!(f32_of("v_mul_f32", &[0.0, f32::INFINITY]).is_nan());
        assert_eq!(f32_of("v_fma_dx9_zero_f32", &[f32::NAN, 0.0, 3.0]), 3.0);
        assert_eq!(f32_of("v_fma_dx9_zero_f32", &[0.0, f32::NAN, 3.0]), 3.0);
        assert_eq!(f32_of("v_fma_dx9_zero_f32", &[0.0, 1.0, -0.0]).to_bits(), 0);
        // Denormals are flushed first.
        assert_eq!(one("v_mul_dx9_zero_f32", FLUSH, &[1, 0x7f80_0000]), 0);
    }

    #[test]
    fn mad_rounds_twice_and_flushes() {
        // The square ends in 2^-24, half an ulp.
        let (a, c) = (1.0 + 2f32.powi(-12), -1.0 - 2f32.powi(-11));
        assert_eq!(f32_of("v_mad_f32", &[a, a, c]), 0.0);
        assert_eq!(f32_of("v_fma_f32", &[a, a, c]), 2f32.powi(-24));
        assert_eq!(f32_of("v_mad_f32", &[1.0, f32::from_bits(1), 0.0]).to_bits(), 0);
        assert_eq!(f32_of("v_mad_legacy_f32", &[0.0, f32::INFINITY, 2.0]), 2.0);
        assert_eq!(one("v_mad_f32", UP, &[0x3f80_0000, 0x3f80_0000, 0x3000_0000]), 0x3f80_0001);
    }

    #[test]
    fn mixed_results_round_to_f32_and_then_to_f16() {
        // In f32 the sum is a tie between two f16 values and rounds to even.
        let sources = [1.0, 1.0 + 2f32.powi(-11), 2f32.powi(-40)].map(|value| value.to_bits().into());
        assert_eq!(one("v_fma_mixlo_f16", Mode::DEFAULT, &sources), 0x3c00);
        assert_eq!(one("v_fma_mixhi_f16", UP, &sources), 0x3c01);
        assert_eq!(one("v_fma_mix_f32", ZERO_FLUSH, &sources), 0x3f80_1000);
    }

    #[test]
    fn rounding_modes_apply_per_type() {
        let third = [1f32, 3e-9].map(|value| u64::from(value.to_bits()));
        // Mode bits [1:0] apply to f32, [3:2] to f16 and f64.
        assert_eq!(one("v_add_f32", Mode(0x3f1), &third), 0x3f80_0001);
        assert_eq!(one("v_add_f32", Mode(0x3f4), &third), 0x3f80_0000);
        let wide = [1f64, 1e-30].map(f64::to_bits);
        assert_eq!(one("v_add_f64", Mode(0x3f4), &wide), 1f64.to_bits() + 1);
        assert_eq!(one("v_add_f64", Mode(0x3f1), &wide), 1f64.to_bits());
        assert_eq!(one("v_sub_f32", DOWN, &[0x3f80_0000, 0x3f80_0000]), 0x8000_0000);
        assert_eq!(one("v_subrev_f16", DOWN, &[0x3c00, 0x3c00]), 0x8000);
    }

    #[test]
    fn denormals_flush_by_type() {
        // f32 flushes, f16 and f64 preserve denormals.
        let mode = Mode(0x3c0);
        assert_eq!(one("v_add_f32", mode, &[1, 1]), 0);
        assert_eq!(one("v_add_f16", mode, &[1, 1]), 2);
        assert_eq!(one("v_add_f64", mode, &[1, 1]), 2);
        assert_eq!(one("v_mul_f32", mode, &[0x8080_0000, 0x3f00_0000]), 0x8000_0000);
        // The reverse.
        assert_eq!(one("v_add_f16", Mode(0x330), &[1, 1]), 0);
        assert_eq!(one("v_add_f32", Mode(0x330), &[1, 1]), 2);
    }

    #[test]
    fn accumulators_are_marked() {
        for name in
            ["v_fmac_f32", "v_fmac_f16", "v_mac_f32", "v_pk_fmac_f16", "v_dot2acc_f32_f16", "v_fmac_dx9_zero_f32"]
        {
            assert!(find(name).is_some_and(|op| op.accumulates), "{name}");
        }
        assert!(find("v_fma_f32").is_some_and(|op| !op.accumulates));
    }

    #[test]
    fn mullit_needs_a_valid_base_and_exponent() {
        assert_eq!(f32_of("v_mullit_f32", &[2.0, 3.0, 1.0]), 6.0);
        for (base, power) in [(f32::MIN, 1.0), (f32::NEG_INFINITY, 1.0), (f32::NAN, 1.0), (3.0, 0.0), (3.0, f32::NAN)] {
            assert_eq!(f32_of("v_mullit_f32", &[2.0, base, power]), f32::MIN);
        }
    }

    #[test]
    fn cube_faces() {
        for (direction, face, s, t, major) in [
            ([3.0, 1.0, 2.0], 0.0, -2.0, -1.0, 6.0),
            ([-3.0, 1.0, 2.0], 1.0, 2.0, -1.0, -6.0),
            ([1.0, 3.0, 2.0], 2.0, 1.0, 2.0, 6.0),
            ([1.0, -3.0, 2.0], 3.0, 1.0, -2.0, -6.0),
            ([1.0, 2.0, 3.0], 4.0, 1.0, -2.0, 6.0),
            ([1.0, 2.0, -3.0], 5.0, -1.0, -2.0, -6.0),
        ] {
            let found =
                ["v_cubeid_f32", "v_cubesc_f32", "v_cubetc_f32", "v_cubema_f32"].map(|name| f32_of(name, &direction));
            assert_eq!(found, [face, s, t, major], "{direction:?}");
        }
    }
}
