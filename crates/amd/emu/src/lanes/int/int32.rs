//! Sums, products, minimum and maximum of 32-bit integers.

use crate::lanes::LaneOp;
use crate::lanes::macros::lane;

/// The low 24 bits, sign-extended.
#[inline(always)]
fn i24(bits: u32) -> i32 {
    (bits << 8).cast_signed() >> 8
}

/// The low 24 bits, zero-extended.
#[inline(always)]
fn u24(bits: u32) -> u32 {
    bits & 0xff_ffff
}

/// Saturates to the range of `i32`.
#[inline(always)]
pub(super) fn saturate_i32(value: i64) -> i32 {
    value.clamp(i64::from(i32::MIN), i64::from(i32::MAX)) as i32
}

/// Saturates to the range of `u32`.
#[inline(always)]
pub(super) fn saturate_u32(value: u64) -> u32 {
    value.min(u64::from(u32::MAX)) as u32
}

pub(super) fn table() -> Vec<(&'static str, LaneOp)> {
    [sums(), products(), limits()].concat()
}

fn sums() -> Vec<(&'static str, LaneOp)> {
    vec![
        (
            "v_add_nc_u32",
            lane!(|a: u32, b: u32| -> u32 { a.wrapping_add(b) })
                .saturating(lane!(|a: u32, b: u32| -> u32 { a.saturating_add(b) })),
        ),
        (
            "v_sub_nc_u32",
            lane!(|a: u32, b: u32| -> u32 { a.wrapping_sub(b) })
                .saturating(lane!(|a: u32, b: u32| -> u32 { a.saturating_sub(b) })),
        ),
        (
            "v_subrev_nc_u32",
            lane!(|a: u32, b: u32| -> u32 { b.wrapping_sub(a) })
                .saturating(lane!(|a: u32, b: u32| -> u32 { b.saturating_sub(a) })),
        ),
        (
            "v_add_nc_i32",
            lane!(|a: i32, b: i32| -> i32 { a.wrapping_add(b) })
                .saturating(lane!(|a: i32, b: i32| -> i32 { a.saturating_add(b) })),
        ),
        (
            "v_sub_nc_i32",
            lane!(|a: i32, b: i32| -> i32 { a.wrapping_sub(b) })
                .saturating(lane!(|a: i32, b: i32| -> i32 { a.saturating_sub(b) })),
        ),
        ("v_add3_u32", lane!(|a: u32, b: u32, c: u32| -> u32 { a.wrapping_add(b).wrapping_add(c) })),
        ("v_lshl_add_u32", lane!(|a: u32, b: u32, c: u32| -> u32 { (a << (b & 31)).wrapping_add(c) })),
        ("v_add_lshl_u32", lane!(|a: u32, b: u32, c: u32| -> u32 { a.wrapping_add(b) << (c & 31) })),
        ("v_xad_u32", lane!(|a: u32, b: u32, c: u32| -> u32 { (a ^ b).wrapping_add(c) })),
    ]
}

fn products() -> Vec<(&'static str, LaneOp)> {
    let low = lane!(|a: u32, b: u32| -> u32 { a.wrapping_mul(b) });
    vec![
        ("v_mul_lo_u32", low),
        // The lower half of a product does not depend on signedness; gfx10 still has a separate
        // mnemonic.
        ("v_mul_lo_i32", low),
        ("v_mul_hi_u32", lane!(|a: u32, b: u32| -> u32 { ((u64::from(a) * u64::from(b)) >> 32) as u32 })),
        ("v_mul_hi_i32", lane!(|a: i32, b: i32| -> i32 { ((i64::from(a) * i64::from(b)) >> 32) as i32 })),
        (
            "v_mul_i32_i24",
            lane!(|a: u32, b: u32| -> i32 { i24(a).wrapping_mul(i24(b)) })
                .saturating(lane!(|a: u32, b: u32| -> i32 { saturate_i32(i64::from(i24(a)) * i64::from(i24(b))) })),
        ),
        (
            "v_mul_u32_u24",
            lane!(|a: u32, b: u32| -> u32 { u24(a).wrapping_mul(u24(b)) })
                .saturating(lane!(|a: u32, b: u32| -> u32 { saturate_u32(u64::from(u24(a)) * u64::from(u24(b))) })),
        ),
        ("v_mul_hi_i32_i24", lane!(|a: u32, b: u32| -> i32 { ((i64::from(i24(a)) * i64::from(i24(b))) >> 32) as i32 })),
        ("v_mul_hi_u32_u24", lane!(|a: u32, b: u32| -> u32 { ((u64::from(u24(a)) * u64::from(u24(b))) >> 32) as u32 })),
        (
            "v_mad_i32_i24",
            lane!(|a: u32, b: u32, c: i32| -> i32 { i24(a).wrapping_mul(i24(b)).wrapping_add(c) }).saturating(lane!(
                |a: u32, b: u32, c: i32| -> i32 { saturate_i32(i64::from(i24(a)) * i64::from(i24(b)) + i64::from(c)) }
            )),
        ),
        (
            "v_mad_u32_u24",
            lane!(|a: u32, b: u32, c: u32| -> u32 { u24(a).wrapping_mul(u24(b)).wrapping_add(c) }).saturating(lane!(
                |a: u32, b: u32, c: u32| -> u32 { saturate_u32(u64::from(u24(a)) * u64::from(u24(b)) + u64::from(c)) }
            )),
        ),
        (
            "v_mad_u32_u16",
            lane!(|a: u16, b: u16, c: u32| -> u32 { (u32::from(a) * u32::from(b)).wrapping_add(c) })
                .saturating(lane!(|a: u16, b: u16, c: u32| -> u32 { (u32::from(a) * u32::from(b)).saturating_add(c) })),
        ),
        (
            "v_mad_i32_i16",
            lane!(|a: i16, b: i16, c: i32| -> i32 { (i32::from(a) * i32::from(b)).wrapping_add(c) })
                .saturating(lane!(|a: i16, b: i16, c: i32| -> i32 { (i32::from(a) * i32::from(b)).saturating_add(c) })),
        ),
    ]
}

/// Minimum, maximum, median and their combinations, of one type.
macro_rules! extremes {
    ($type:ident) => {
        vec![
            (concat!("v_min_", stringify!($type)), lane!(|a: $type, b: $type| -> $type { a.min(b) })),
            (concat!("v_max_", stringify!($type)), lane!(|a: $type, b: $type| -> $type { a.max(b) })),
            (concat!("v_min3_", stringify!($type)), lane!(|a: $type, b: $type, c: $type| -> $type { a.min(b).min(c) })),
            (concat!("v_max3_", stringify!($type)), lane!(|a: $type, b: $type, c: $type| -> $type { a.max(b).max(c) })),
            (
                concat!("v_med3_", stringify!($type)),
                lane!(|a: $type, b: $type, c: $type| -> $type { a.min(b).max(a.max(b).min(c)) }),
            ),
        ]
    };
}
pub(super) use extremes;

fn limits() -> Vec<(&'static str, LaneOp)> {
    let pairs = vec![
        ("v_maxmin_u32", lane!(|a: u32, b: u32, c: u32| -> u32 { a.max(b).min(c) })),
        ("v_minmax_u32", lane!(|a: u32, b: u32, c: u32| -> u32 { a.min(b).max(c) })),
        ("v_maxmin_i32", lane!(|a: i32, b: i32, c: i32| -> i32 { a.max(b).min(c) })),
        ("v_minmax_i32", lane!(|a: i32, b: i32, c: i32| -> i32 { a.min(b).max(c) })),
    ];
    [extremes!(u32), extremes!(i32), pairs].concat()
}

#[cfg(test)]
mod tests {
    use crate::lanes::testing::{ONES, check, check_saturated};

    const MIN: u128 = 0x8000_0000;
    const MAX: u128 = 0x7fff_ffff;
    #[test]
    fn sums_wrap() {
        check(&[
            ("v_add_nc_u32", &[ONES, 2], 1),
            ("v_sub_nc_u32", &[1, 3], 0xffff_fffe),
            ("v_subrev_nc_u32", &[1, 3], 2),
            ("v_add_nc_i32", &[MAX, 1], MIN),
            ("v_sub_nc_i32", &[MIN, 1], MAX),
            ("v_add3_u32", &[ONES, ONES, 5], 3),
            ("v_lshl_add_u32", &[3, 33, 1], 7),
            ("v_add_lshl_u32", &[ONES, 4, 32 + 2], 12),
            ("v_xad_u32", &[0b110, 0b011, ONES], 0b100),
        ]);
    }

    #[test]
    fn sums_saturate_with_clamp() {
        check_saturated(&[
            ("v_add_nc_u32", &[ONES, 2], ONES),
            ("v_add_nc_u32", &[5, 2], 7),
            ("v_sub_nc_u32", &[1, 3], 0),
            ("v_subrev_nc_u32", &[3, 1], 0),
            ("v_subrev_nc_u32", &[1, 3], 2),
            ("v_add_nc_i32", &[MAX, 1], MAX),
            ("v_add_nc_i32", &[MIN, ONES], MIN),
            ("v_sub_nc_i32", &[MIN, 1], MIN),
            ("v_sub_nc_i32", &[0, MIN], MAX),
        ]);
    }

    #[test]
    fn products_use_their_operand_width() {
        check(&[
            ("v_mul_lo_u32", &[0x1_0001, 0x1_0001], 0x2_0001),
            ("v_mul_lo_i32", &[ONES, 7], 0xffff_fff9),
            ("v_mul_hi_u32", &[ONES, ONES], 0xffff_fffe),
            ("v_mul_hi_i32", &[ONES, ONES], 0),
            ("v_mul_hi_i32", &[MIN, MIN], 0x4000_0000),
            ("v_mul_i32_i24", &[0xff_ffff, 5], 0xffff_fffb),
            ("v_mul_i32_i24", &[0x55ff_ffff, 5], 0xffff_fffb),
            ("v_mul_u32_u24", &[0x55ff_ffff, 5], 0x04ff_fffb),
            ("v_mul_hi_i32_i24", &[0xff_ffff, 1], ONES),
            ("v_mul_hi_i32_i24", &[0x80_0000, 0x80_0000], 0x4000),
            ("v_mul_hi_u32_u24", &[0xff_ffff, 0xff_ffff], 0xffff),
            ("v_mad_i32_i24", &[0xff_ffff, 5, 6], 1),
            ("v_mad_u32_u24", &[0xff_ffff, 0xff_ffff, 1], 0xfe00_0002),
            ("v_mad_u32_u16", &[0x5555_ffff, 0xffff, 0], 0xfffe_0001),
            ("v_mad_i32_i16", &[0x8000, 0x8000, ONES], 0x3fff_ffff),
            ("v_mad_i32_i16", &[0xffff, 2, 1], ONES),
        ]);
    }

    #[test]
    fn products_saturate_with_clamp() {
        check_saturated(&[
            ("v_mul_i32_i24", &[0x7f_ffff, 0x7f_ffff], MAX),
            ("v_mul_i32_i24", &[0x7f_ffff, 0x80_0000], MIN),
            ("v_mul_i32_i24", &[0xff_ffff, 5], 0xffff_fffb),
            ("v_mul_u32_u24", &[0xff_ffff, 0xff_ffff], ONES),
            ("v_mad_i32_i24", &[0x7f_ffff, 0x7f_ffff, MIN], MAX),
            ("v_mad_i32_i24", &[1, 1, MAX], MAX),
            ("v_mad_u32_u24", &[1, 1, ONES], ONES),
            ("v_mad_u32_u16", &[0xffff, 0xffff, 0x2_0000], ONES),
            ("v_mad_i32_i16", &[0x8000, 0x8000, MAX], MAX),
            ("v_mad_i32_i16", &[0x8000, 0x7fff, MIN], MIN),
        ]);
    }

    #[test]
    fn minimum_and_maximum_respect_signedness() {
        check(&[
            ("v_min_u32", &[MIN, MAX], MAX),
            ("v_max_u32", &[MIN, MAX], MIN),
            ("v_min_i32", &[MIN, MAX], MIN),
            ("v_max_i32", &[MIN, MAX], MAX),
            ("v_min3_i32", &[1, ONES, 0], ONES),
            ("v_min3_u32", &[1, ONES, 0], 0),
            ("v_max3_i32", &[1, ONES, 0], 1),
            ("v_max3_u32", &[1, ONES, 0], ONES),
            ("v_maxmin_u32", &[3, 9, 5], 5),
            ("v_minmax_u32", &[3, 9, 5], 5),
            ("v_maxmin_i32", &[ONES, MIN, 5], ONES),
            ("v_minmax_i32", &[ONES, 9, MIN], ONES),
        ]);
        for order in [[1, ONES, 0], [1, 0, ONES], [0, 1, ONES], [0, ONES, 1], [ONES, 0, 1], [ONES, 1, 0]] {
            check(&[("v_med3_i32", &order, 0), ("v_med3_u32", &order, 1)]);
        }
    }
}
