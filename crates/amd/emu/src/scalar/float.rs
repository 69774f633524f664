//! Scalar floating point (gfx11.5). Follows the MODE register like vector instructions.

use half::f16;

use super::{ScalarOp, scalar};
use crate::lanes::float::select;
use crate::lanes::rounding::{self, FloatMode, flush16, flush32, narrow32, result16, widen16};
use crate::mode::{Mode, RoundingMode};

/// `a * b + c` of f32 bits, rounded once.
pub(super) fn fma32(mode: Mode, a: u32, b: u32, c: u32) -> u32 {
    let [a, b, c] = [a, b, c].map(f32::from_bits);
    rounding::fma32(FloatMode::of_32(mode), a, b, c).to_bits()
}

/// `a * b + c` of f16 bits, rounded once.
pub(super) fn fma16(mode: Mode, a: u32, b: u32, c: u32) -> u32 {
    let [a, b, c] = [a, b, c].map(|bits| f16::from_bits(bits as u16));
    u32::from(rounding::fma16(FloatMode::of_16_64(mode), a, b, c).to_bits())
}

/// Flushes an f32 source if the mode says so.
fn source32(mode: Mode, value: f32) -> f32 {
    flush32(value, mode.flush_in32())
}

/// Flushes an f16 source if the mode says so.
fn source16(mode: Mode, value: f16) -> f16 {
    flush16(value, mode.flush_in16_64())
}

/// Converts f32 to f16.
fn half_of(mode: Mode, rules: FloatMode, value: f32) -> f16 {
    result16(rules, source32(mode, value))
}

/// Comparisons of f32 and f16.
macro_rules! compare {
    ($($f32:literal, $f16:literal, |$a:ident, $b:ident| $body:expr;)*) => {
        vec![$(
            ($f32, scalar!(mode; |mode, a: f32, b: f32, scc| -> () {
                let ($a, $b) = (source32(mode, a), source32(mode, b));
                *scc = $body;
            })),
            ($f16, scalar!(mode; |mode, a: f16, b: f16, scc| -> () {
                let ($a, $b) = (source16(mode, a), source16(mode, b));
                *scc = $body;
            })),
        )*]
    };
}

/// Unary functions with exact results, computed in f32.
macro_rules! exact {
    ($($f32:literal, $f16:literal, $by:expr;)*) => {
        vec![$(
            ($f32, scalar!(mode; |mode, a: f32, _scc| -> f32 { $by(source32(mode, a)) })),
            ($f16, scalar!(mode; |mode, a: f16, _scc| -> f16 {
                result16(FloatMode::PLAIN, $by(widen16(source16(mode, a))))
            })),
        )*]
    };
}

#[expect(
    clippy::neg_cmp_op_on_partial_ord,
    clippy::double_comparisons,
    reason = "the negated forms hold for NaN, as they must"
)]
pub(super) fn table() -> Vec<(&'static str, ScalarOp)> {
    let mut table = compare! {
        "s_cmp_lt_f32", "s_cmp_lt_f16", |a, b| a < b;
        "s_cmp_eq_f32", "s_cmp_eq_f16", |a, b| a == b;
        "s_cmp_le_f32", "s_cmp_le_f16", |a, b| a <= b;
        "s_cmp_gt_f32", "s_cmp_gt_f16", |a, b| a > b;
        "s_cmp_lg_f32", "s_cmp_lg_f16", |a, b| a < b || a > b;
        "s_cmp_ge_f32", "s_cmp_ge_f16", |a, b| a >= b;
        "s_cmp_o_f32", "s_cmp_o_f16", |a, b| !a.is_nan() && !b.is_nan();
        "s_cmp_u_f32", "s_cmp_u_f16", |a, b| a.is_nan() || b.is_nan();
        "s_cmp_nge_f32", "s_cmp_nge_f16", |a, b| !(a >= b);
        "s_cmp_nlg_f32", "s_cmp_nlg_f16", |a, b| !(a < b || a > b);
        "s_cmp_ngt_f32", "s_cmp_ngt_f16", |a, b| !(a > b);
        "s_cmp_nle_f32", "s_cmp_nle_f16", |a, b| !(a <= b);
        "s_cmp_neq_f32", "s_cmp_neq_f16", |a, b| a != b;
        "s_cmp_nlt_f32", "s_cmp_nlt_f16", |a, b| !(a < b);
    };
    table.extend(exact! {
        "s_ceil_f32", "s_ceil_f16", f32::ceil;
        "s_floor_f32", "s_floor_f16", f32::floor;
        "s_trunc_f32", "s_trunc_f16", f32::trunc;
        "s_rndne_f32", "s_rndne_f16", f32::round_ties_even;
    });
    table.extend(arithmetic());
    table.extend(conversions());
    table
}

fn arithmetic() -> [(&'static str, ScalarOp); 10] {
    macro_rules! of_32 {
        ($by:ident, $a:ident, $b:expr) => {
            scalar!(mode; |mode, $a: f32, b: f32, _scc| -> f32 { rounding::$by(FloatMode::of_32(mode), $a, $b(b)) })
        };
    }
    macro_rules! of_16 {
        ($by:ident, $a:ident, $b:expr) => {
            scalar!(mode; |mode, $a: f16, b: f16, _scc| -> f16 { rounding::$by(FloatMode::of_16_64(mode), $a, $b(b)) })
        };
    }
    macro_rules! extreme {
        ($type:ty, $module:ident, $source:ident, $by:ident) => {
            scalar!(mode; |mode, a: $type, b: $type, _scc| -> $type {
                select::$module::$by(mode.ieee(), $source(mode, a), $source(mode, b))
            })
        };
    }
    [
        ("s_add_f32", of_32!(add32, a, std::convert::identity)),
        ("s_add_f16", of_16!(add16, a, std::convert::identity)),
        ("s_sub_f32", of_32!(add32, a, std::ops::Neg::neg)),
        ("s_sub_f16", of_16!(add16, a, std::ops::Neg::neg)),
        ("s_mul_f32", of_32!(mul32, a, std::convert::identity)),
        ("s_mul_f16", of_16!(mul16, a, std::convert::identity)),
        ("s_min_f32", extreme!(f32, single, source32, min)),
        ("s_min_f16", extreme!(f16, half, source16, min)),
        ("s_max_f32", extreme!(f32, single, source32, max)),
        ("s_max_f16", extreme!(f16, half, source16, max)),
    ]
}

fn conversions() -> [(&'static str, ScalarOp); 8] {
    [
        ("s_cvt_f32_i32", scalar!(mode; |mode, a: i32, _scc| -> f32 { narrow32(f64::from(a), mode.round32()) })),
        ("s_cvt_f32_u32", scalar!(mode; |mode, a: u32, _scc| -> f32 { narrow32(f64::from(a), mode.round32()) })),
        ("s_cvt_i32_f32", scalar!(|a: f32, _scc| -> i32 { a as i32 })),
        ("s_cvt_u32_f32", scalar!(|a: f32, _scc| -> u32 { a as u32 })),
        ("s_cvt_f16_f32", scalar!(mode; |mode, a: f32, _scc| -> f16 { half_of(mode, FloatMode::of_16_64(mode), a) })),
        ("s_cvt_f32_f16", scalar!(mode; |mode, a: f16, _scc| -> f32 { widen16(source16(mode, a)) })),
        (
            "s_cvt_hi_f32_f16",
            scalar!(mode; |mode, a: u32, _scc| -> f32 { widen16(source16(mode, f16::from_bits((a >> 16) as u16))) }),
        ),
        (
            "s_cvt_pk_rtz_f16_f32",
            scalar!(mode; |mode, a: f32, b: f32, _scc| -> u32 {
                let rules = FloatMode::of_16_64(mode).toward(RoundingMode::Zero);
                let [low, high] = [a, b].map(|value| u32::from(half_of(mode, rules, value).to_bits()));
                low | high << 16
            }),
        ),
    ]
}

#[cfg(test)]
mod tests {
    use crate::mode::Mode;
    use crate::scalar::{ScalarSemantics, find};

    fn run(name: &str, mode: u32, a: u32, b: u32) -> (u32, bool) {
        let Some(ScalarSemantics::Op(op)) = find(name) else { panic!("{name} should be a computation") };
        let mut scc = false;
        let result = (op.function)(Mode(mode), a.into(), b.into(), &mut scc);
        (result as u32, scc)
    }

    #[test]
    fn f32_and_f16_have_separate_rounding_modes() {
        let tiny = 3e-9f32.to_bits();
        let one = 1f32.to_bits();
        assert_eq!(run("s_add_f32", 0x3f0, one, tiny).0, one);
        assert_eq!(run("s_add_f32", 0x3f1, one, tiny).0, one + 1);
        assert_eq!(run("s_add_f32", 0x3f4, one, tiny).0, one);
        assert_eq!(run("s_sub_f32", 0x3f3, one, tiny).0, one - 1);
        assert_eq!(run("s_mul_f32", 0x3f2, 0xbf80_0001, 0x3f80_0001).0, 0xbf80_0003);
        assert_eq!(run("s_add_f16", 0x3f4, 0x3c00, 1).0, 0x3c01);
        assert_eq!(run("s_add_f16", 0x3f1, 0x3c00, 1).0, 0x3c00);
        assert_eq!(run("s_cvt_f16_f32", 0x3f4, one + 1, 0).0, 0x3c01);
        assert_eq!(run("s_cvt_f32_u32", 0x3f1, 0x0100_0001, 0).0, 0x4b80_0001);
        assert_eq!(run("s_cvt_pk_rtz_f16_f32", 0x3f4, one + 1, 0x477f_f000).0, 0x7bff_3c00);
    }

    #[test]
    fn denormals_flush_by_type() {
        assert_eq!(run("s_add_f32", 0x3c0, 1, 1).0, 0);
        assert_eq!(run("s_add_f16", 0x3c0, 1, 1).0, 2);
        assert_eq!(run("s_add_f16", 0x330, 1, 1).0, 0);
        assert_eq!(run("s_max_f32", 0x3c0, 1, 0).0, 0);
        assert_eq!(run("s_ceil_f32", 0x3c0, 1, 0).0, 0);
        assert_eq!(run("s_ceil_f32", 0x3f0, 1, 0).0, 1f32.to_bits());
        assert!(run("s_cmp_gt_f32", 0x3f0, 1, 0).1);
        assert!(!run("s_cmp_gt_f32", 0x3c0, 1, 0).1);
        assert!(!run("s_cmp_gt_f16", 0x330, 1, 0).1);
        assert_eq!(run("s_cvt_f32_f16", 0x330, 1, 0).0, 0);
    }

    #[test]
    fn signaling_nans_are_quieted_only_in_ieee_mode() {
        assert_eq!(run("s_min_f32", 0x3f0, 0x7f80_0001, 0x3f80_0000).0, 0x7fc0_0001);
        assert_eq!(run("s_min_f32", 0x1f0, 0x7f80_0001, 0x3f80_0000).0, 0x3f80_0000);
        assert_eq!(run("s_max_f16", 0x3f0, 0x8000, 0).0, 0);
    }

    #[test]
    fn f16_may_saturate() {
        let saturating = 0x3f0 | Mode::FP16_OVFL;
        assert_eq!(run("s_mul_f16", 0x3f0, 0x7bff, 0x7bff).0, 0x7c00);
        assert_eq!(run("s_mul_f16", saturating, 0x7bff, 0x7bff).0, 0x7bff);
        assert_eq!(run("s_mul_f16", saturating, 0xfc00, 0x7bff).0, 0xfc00);
    }
}
