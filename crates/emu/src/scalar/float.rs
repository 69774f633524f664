//! Floating point on scalars (gfx11.5).

use half::f16;

use super::{ScalarOp, scalar};
use crate::lanes::rounding::{self, Rules};

/// `a * b + c` of f32 bits.
pub(super) fn fma32(a: u32, b: u32, c: u32) -> u32 {
    f32::from_bits(a).mul_add(f32::from_bits(b), f32::from_bits(c)).to_bits()
}

/// `a * b + c` of f16 bits, rounded once.
pub(super) fn fma16(a: u32, b: u32, c: u32) -> u32 {
    let [a, b, c] = [a, b, c].map(|bits| f16::from_bits(bits as u16));
    u32::from(rounding::fma16(Rules::PLAIN, a, b, c).to_bits())
}

/// The lesser as IEEE 754-2008 has it: a number wins over NaN, -0 is below +0.
fn min(a: f32, b: f32) -> f32 {
    if a.is_nan() || b < a || b == a && b.is_sign_negative() { if b.is_nan() { a } else { b } } else { a }
}

fn max(a: f32, b: f32) -> f32 {
    -min(-a, -b)
}

/// Comparisons in f32 and f16.
macro_rules! compare {
    ($($f32:literal, $f16:literal, |$a:ident, $b:ident| $body:expr;)*) => {
        vec![$(
            ($f32, scalar!(|$a: f32, $b: f32, scc| -> () { *scc = $body; })),
            ($f16, scalar!(|$a: f16, $b: f16, scc| -> () { *scc = $body; })),
        )*]
    };
}

/// Functions computed in f32 and, for f16, rounded again, which changes nothing for these.
macro_rules! both {
    ($($f32:literal, $f16:literal, |$a:ident $(, $b:ident)?| $body:expr;)*) => {
        vec![$(
            ($f32, scalar!(|$a: f32 $(, $b: f32)?, _scc| -> f32 { $body })),
            ($f16, scalar!(|$a: f16 $(, $b: f16)?, _scc| -> f16 {
                let $a = $a.to_f32();
                $(let $b = $b.to_f32();)?
                f16::from_f32($body)
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
    table.extend(both! {
        "s_add_f32", "s_add_f16", |a, b| a + b;
        "s_sub_f32", "s_sub_f16", |a, b| a - b;
        "s_mul_f32", "s_mul_f16", |a, b| a * b;
        "s_min_f32", "s_min_f16", |a, b| min(a, b);
        "s_max_f32", "s_max_f16", |a, b| max(a, b);
        "s_ceil_f32", "s_ceil_f16", |a| a.ceil();
        "s_floor_f32", "s_floor_f16", |a| a.floor();
        "s_trunc_f32", "s_trunc_f16", |a| a.trunc();
        "s_rndne_f32", "s_rndne_f16", |a| a.round_ties_even();
    });
    table.extend([
        ("s_cvt_f32_i32", scalar!(|a: i32, _scc| -> f32 { a as f32 })),
        ("s_cvt_f32_u32", scalar!(|a: u32, _scc| -> f32 { a as f32 })),
        ("s_cvt_i32_f32", scalar!(|a: f32, _scc| -> i32 { a as i32 })),
        ("s_cvt_u32_f32", scalar!(|a: f32, _scc| -> u32 { a as u32 })),
        ("s_cvt_f16_f32", scalar!(|a: f32, _scc| -> f16 { f16::from_f32(a) })),
        ("s_cvt_f32_f16", scalar!(|a: f16, _scc| -> f32 { a.to_f32() })),
        ("s_cvt_hi_f32_f16", scalar!(|a: u32, _scc| -> f32 { f16::from_bits((a >> 16) as u16).to_f32() })),
        (
            "s_cvt_pk_rtz_f16_f32",
            scalar!(|a: f32, b: f32, _scc| -> u32 { u32::from(toward_zero(a)) | u32::from(toward_zero(b)) << 16 }),
        ),
    ]);
    table
}

/// The f16 nearest to zero of those around a value.
fn toward_zero(value: f32) -> u16 {
    let nearest = f16::from_f32(value);
    if value.is_finite() && nearest.to_f32().abs() > value.abs() {
        // The next one towards zero; from infinity that is the greatest number.
        return nearest.to_bits() - 1;
    }
    nearest.to_bits()
}
