//! Scalar integer arithmetic and comparisons.

use super::{ScalarOp, scalar};
use crate::mode::Mode;

/// Adds; SCC is signed overflow.
pub(super) fn add_signed(_: Mode, a: u64, b: u64, scc: &mut bool) -> u64 {
    let (sum, overflow) = (a as i32).overflowing_add(b as i32);
    *scc = overflow;
    u64::from(sum.cast_unsigned())
}

/// Shifts left and adds; SCC is the carry out of 32 bits.
fn shift_add(a: u32, b: u32, shift: u32, scc: &mut bool) -> u32 {
    let sum = (u64::from(a) << shift) + u64::from(b);
    *scc = sum > u64::from(u32::MAX);
    sum as u32
}

/// A comparison that sets SCC, in its register and immediate forms.
macro_rules! compare {
    ($($op:tt: $signed:literal, $signed_k:literal, $unsigned:literal, $unsigned_k:literal;)*) => {
        vec![$(
            ($signed, scalar!(|a: i32, b: i32, scc| -> () { *scc = a $op b; })),
            ($signed_k, scalar!(|a: i32, b: i32, scc| -> () { *scc = a $op b; })),
            ($unsigned, scalar!(|a: u32, b: u32, scc| -> () { *scc = a $op b; })),
            ($unsigned_k, scalar!(|a: u32, b: u32, scc| -> () { *scc = a $op b & 0xffff; })),
        )*]
    };
}

pub(super) fn table() -> Vec<(&'static str, ScalarOp)> {
    let mut table = compare! {
        ==: "s_cmp_eq_i32", "s_cmpk_eq_i32", "s_cmp_eq_u32", "s_cmpk_eq_u32";
        !=: "s_cmp_lg_i32", "s_cmpk_lg_i32", "s_cmp_lg_u32", "s_cmpk_lg_u32";
        >: "s_cmp_gt_i32", "s_cmpk_gt_i32", "s_cmp_gt_u32", "s_cmpk_gt_u32";
        >=: "s_cmp_ge_i32", "s_cmpk_ge_i32", "s_cmp_ge_u32", "s_cmpk_ge_u32";
        <: "s_cmp_lt_i32", "s_cmpk_lt_i32", "s_cmp_lt_u32", "s_cmpk_lt_u32";
        <=: "s_cmp_le_i32", "s_cmpk_le_i32", "s_cmp_le_u32", "s_cmpk_le_u32";
    };
    table.extend([
        (
            "s_cmp_eq_u64",
            scalar!(|a: u64, b: u64, scc| -> () {
                *scc = a == b;
            }),
        ),
        (
            "s_cmp_lg_u64",
            scalar!(|a: u64, b: u64, scc| -> () {
                *scc = a != b;
            }),
        ),
        (
            "s_add_u32",
            scalar!(|a: u32, b: u32, scc| -> u32 {
                let (sum, carry) = a.overflowing_add(b);
                *scc = carry;
                sum
            }),
        ),
        (
            "s_sub_u32",
            scalar!(|a: u32, b: u32, scc| -> u32 {
                let (difference, borrow) = a.overflowing_sub(b);
                *scc = borrow;
                difference
            }),
        ),
        ("s_add_i32", ScalarOp { function: add_signed, wide: 0, results: 1 }),
        (
            "s_sub_i32",
            scalar!(|a: i32, b: i32, scc| -> i32 {
                let (difference, overflow) = a.overflowing_sub(b);
                *scc = overflow;
                difference
            }),
        ),
        (
            "s_addc_u32",
            scalar!(|a: u32, b: u32, scc| -> u32 {
                let sum = u64::from(a) + u64::from(b) + u64::from(*scc);
                *scc = sum > u64::from(u32::MAX);
                sum as u32
            }),
        ),
        (
            "s_subb_u32",
            scalar!(|a: u32, b: u32, scc| -> u32 {
                let subtrahend = u64::from(b) + u64::from(*scc);
                *scc = subtrahend > u64::from(a);
                (u64::from(a).wrapping_sub(subtrahend)) as u32
            }),
        ),
        ("s_mul_i32", scalar!(|a: u32, b: u32, _scc| -> u32 { a.wrapping_mul(b) })),
        ("s_mul_hi_u32", scalar!(|a: u32, b: u32, _scc| -> u32 { ((u64::from(a) * u64::from(b)) >> 32) as u32 })),
        ("s_mul_hi_i32", scalar!(|a: i32, b: i32, _scc| -> i32 { ((i64::from(a) * i64::from(b)) >> 32) as i32 })),
        (
            "s_min_i32",
            scalar!(|a: i32, b: i32, scc| -> i32 {
                *scc = a < b;
                a.min(b)
            }),
        ),
        (
            "s_min_u32",
            scalar!(|a: u32, b: u32, scc| -> u32 {
                *scc = a < b;
                a.min(b)
            }),
        ),
        (
            "s_max_i32",
            scalar!(|a: i32, b: i32, scc| -> i32 {
                *scc = a >= b;
                a.max(b)
            }),
        ),
        (
            "s_max_u32",
            scalar!(|a: u32, b: u32, scc| -> u32 {
                *scc = a >= b;
                a.max(b)
            }),
        ),
        (
            "s_abs_i32",
            scalar!(|a: i32, scc| -> i32 {
                *scc = a != 0;
                a.wrapping_abs()
            }),
        ),
        (
            "s_absdiff_i32",
            scalar!(|a: i32, b: i32, scc| -> i32 {
                let difference = a.wrapping_sub(b).wrapping_abs();
                *scc = difference != 0;
                difference
            }),
        ),
        ("s_lshl1_add_u32", scalar!(|a: u32, b: u32, scc| -> u32 { shift_add(a, b, 1, scc) })),
        ("s_lshl2_add_u32", scalar!(|a: u32, b: u32, scc| -> u32 { shift_add(a, b, 2, scc) })),
        ("s_lshl3_add_u32", scalar!(|a: u32, b: u32, scc| -> u32 { shift_add(a, b, 3, scc) })),
        ("s_lshl4_add_u32", scalar!(|a: u32, b: u32, scc| -> u32 { shift_add(a, b, 4, scc) })),
    ]);
    table
}
