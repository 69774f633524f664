//! 16-bit integers, one or two per lane.

use std::mem::transmute;

use super::int32::extremes;
use crate::lanes::macros::lane;
use crate::lanes::{LaneOp, MapFn};
use crate::row::{CHUNK, CHUNKS, OperandKind};

#[inline(always)]
fn shift_left(amount: u16, value: u16) -> u16 {
    value << (amount & 15)
}

#[inline(always)]
fn shift_right(amount: u16, value: u16) -> u16 {
    value >> (amount & 15)
}

#[inline(always)]
fn shift_right_signed(amount: i16, value: i16) -> i16 {
    value >> (amount & 15)
}

#[inline(always)]
fn saturating_mul(a: u16, b: u16) -> u16 {
    (u32::from(a) * u32::from(b)).min(0xffff) as u16
}

#[inline(always)]
fn mad_u16(a: u16, b: u16, c: u16) -> u16 {
    a.wrapping_mul(b).wrapping_add(c)
}

#[inline(always)]
fn mad_i16(a: i16, b: i16, c: i16) -> i16 {
    a.wrapping_mul(b).wrapping_add(c)
}

#[inline(always)]
fn saturating_mad_u16(a: u16, b: u16, c: u16) -> u16 {
    // 0xffff * 0xffff + 0xffff still fits 32 bits.
    (u32::from(a) * u32::from(b) + u32::from(c)).min(0xffff) as u16
}

#[inline(always)]
fn saturating_mad_i16(a: i16, b: i16, c: i16) -> i16 {
    (i32::from(a) * i32::from(b) + i32::from(c)).clamp(-0x8000, 0x7fff) as i16
}

/// A function of 16-bit integers as an instruction with one value per lane.
macro_rules! one {
    ($type:ident, $function:path; 2) => {
        lane!(|a: $type, b: $type| -> $type { $function(a, b) })
    };
    ($type:ident, $function:path; 3) => {
        lane!(|a: $type, b: $type, c: $type| -> $type { $function(a, b, c) })
    };
}

/// The same function as an instruction with two values per lane. Eight registers are treated as
/// sixteen values, which LLVM vectorizes; it does not vectorize lanes of pairs.
macro_rules! two {
    ($type:ident, $function:path; 2) => {
        two!(@of a b c, $type, $function, [[$type; 2], [$type; 2]], a, b)
    };
    ($type:ident, $function:path; 3) => {
        two!(@of a b c, $type, $function, [[$type; 2], [$type; 2], [$type; 2]], a, b, c)
    };
    (@of $a:ident $b:ident $c:ident, $type:ident, $function:path, [$($pair:ty),+], $($x:ident),+) => {
        lane!(@levels Map, MapFn, [], [$($pair),+], OperandKind::PackedB16,
            |_mode: Mode, out: Rows<'_>, $a: Rows<'_>, $b: Rows<'_>, $c: Rows<'_>| -> () {
                for chunk in 0..CHUNKS {
                    $(
                        // SAFETY: the contract covers the row of the source.
                        let words = unsafe { $x.chunk(0, chunk) };
                        // SAFETY: every bit pattern is valid in both types.
                        let $x = unsafe { transmute::<[u32; CHUNK], [$type; 2 * CHUNK]>(words) };
                    )+
                    let mut results = [0; 2 * CHUNK];
                    for index in 0..2 * CHUNK {
                        results[index] = $function($($x[index]),+);
                    }
                    // SAFETY: every bit pattern is valid in both types.
                    let words = unsafe { transmute::<[$type; 2 * CHUNK], [u32; CHUNK]>(results) };
                    // SAFETY: the contract covers the row of the result.
                    unsafe { out.set_chunk(0, chunk, words) };
                }
            })
    };
}

/// The single and the packed instruction of a function, optionally with another function for
/// `clamp`.
macro_rules! both {
    ($one:literal, $two:literal, $type:ident, $function:path; $count:tt) => {
        vec![($one, one!($type, $function; $count)), ($two, two!($type, $function; $count))]
    };
    ($one:literal, $two:literal, $type:ident, $function:path, $saturating:path; $count:tt) => {
        vec![
            ($one, one!($type, $function; $count).saturating(one!($type, $saturating; $count))),
            ($two, two!($type, $function; $count).saturating(two!($type, $saturating; $count))),
        ]
    };
}

pub(super) fn table() -> Vec<(&'static str, LaneOp)> {
    [
        both!("v_add_nc_u16", "v_pk_add_u16", u16, u16::wrapping_add, u16::saturating_add; 2),
        both!("v_add_nc_i16", "v_pk_add_i16", i16, i16::wrapping_add, i16::saturating_add; 2),
        both!("v_sub_nc_u16", "v_pk_sub_u16", u16, u16::wrapping_sub, u16::saturating_sub; 2),
        both!("v_sub_nc_i16", "v_pk_sub_i16", i16, i16::wrapping_sub, i16::saturating_sub; 2),
        both!("v_mul_lo_u16", "v_pk_mul_lo_u16", u16, u16::wrapping_mul, saturating_mul; 2),
        both!("v_mad_u16", "v_pk_mad_u16", u16, mad_u16, saturating_mad_u16; 3),
        both!("v_mad_i16", "v_pk_mad_i16", i16, mad_i16, saturating_mad_i16; 3),
        both!("v_lshlrev_b16", "v_pk_lshlrev_b16", u16, shift_left; 2),
        both!("v_lshrrev_b16", "v_pk_lshrrev_b16", u16, shift_right; 2),
        both!("v_ashrrev_i16", "v_pk_ashrrev_i16", i16, shift_right_signed; 2),
        extremes!(u16),
        extremes!(i16),
        vec![
            ("v_pk_min_u16", two!(u16, u16::min; 2)),
            ("v_pk_max_u16", two!(u16, u16::max; 2)),
            ("v_pk_min_i16", two!(i16, i16::min; 2)),
            ("v_pk_max_i16", two!(i16, i16::max; 2)),
        ],
        conversions(),
    ]
    .concat()
}

fn conversions() -> Vec<(&'static str, LaneOp)> {
    vec![
        ("v_cvt_i32_i16", lane!(|a: i16| -> i32 { i32::from(a) })),
        ("v_cvt_u32_u16", lane!(|a: u16| -> u32 { u32::from(a) })),
        // Both always saturate: LLVM clamps 64-bit integers to 16 bits with them.
        ("v_cvt_pk_u16_u32", lane!(|a: u32, b: u32| -> u32 { a.min(0xffff) | b.min(0xffff) << 16 })),
        (
            "v_cvt_pk_i16_i32",
            lane!(|a: i32, b: i32| -> u32 {
                let low = a.clamp(-0x8000, 0x7fff).cast_unsigned();
                let high = b.clamp(-0x8000, 0x7fff).cast_unsigned();
                low & 0xffff | high << 16
            }),
        ),
        (
            "v_sat_pk_u8_i16",
            lane!(|a: i32| -> u16 {
                let low = (a << 16 >> 16).clamp(0, 0xff);
                let high = (a >> 16).clamp(0, 0xff);
                (low | high << 8) as u16
            }),
        ),
    ]
}

#[cfg(test)]
mod tests {
    use crate::lanes::testing::{check, check_saturated};

    #[test]
    fn single_numbers_ignore_the_upper_half() {
        check(&[
            ("v_add_nc_u16", &[0x5555_ffff, 2], 1),
            ("v_add_nc_i16", &[0x5555_7fff, 1], 0x8000),
            ("v_sub_nc_u16", &[0x5555_0000, 1], 0xffff),
            ("v_sub_nc_i16", &[0x8000, 0x5555_0001], 0x7fff),
            ("v_mul_lo_u16", &[0x5555_0101, 0x0101], 0x0201),
            ("v_mad_u16", &[0xffff, 0xffff, 0x7777_0003], 4),
            ("v_mad_i16", &[0xffff, 5, 6], 1),
            ("v_lshlrev_b16", &[0x14, 0x5555_0fff], 0xfff0),
            ("v_lshrrev_b16", &[0x14, 0x5555_8000], 0x0800),
            ("v_ashrrev_i16", &[0x14, 0x5555_8000], 0xf800),
            ("v_min_u16", &[0x1_8000, 0x7fff], 0x7fff),
            ("v_min_i16", &[0x1_8000, 0x7fff], 0x8000),
            ("v_max_u16", &[0x1_8000, 0x7fff], 0x8000),
            ("v_max_i16", &[0x1_8000, 0x7fff], 0x7fff),
            ("v_min3_i16", &[1, 0xffff, 0], 0xffff),
            ("v_max3_u16", &[1, 0xffff, 0], 0xffff),
            ("v_med3_i16", &[1, 0xffff, 0], 0),
            ("v_med3_u16", &[1, 0xffff, 0], 1),
        ]);
    }

    #[test]
    fn pairs_do_not_touch_each_other() {
        check(&[
            ("v_pk_add_u16", &[0x0001_ffff, 0x0001_0001], 0x0002_0000),
            ("v_pk_add_i16", &[0x7fff_ffff, 0x0001_0001], 0x8000_0000),
            ("v_pk_sub_u16", &[0x0001_0000, 0x0001_0001], 0x0000_ffff),
            ("v_pk_sub_i16", &[0x8000_0000, 0x0001_0001], 0x7fff_ffff),
            ("v_pk_mul_lo_u16", &[0x0101_ffff, 0x0101_ffff], 0x0201_0001),
            ("v_pk_mad_u16", &[0x0002_ffff, 0x0003_0001, 0x0004_0001], 0x000a_0000),
            ("v_pk_mad_i16", &[0xffff_8000, 0x0005_0001, 0x0006_8000], 0x0001_0000),
            ("v_pk_lshlrev_b16", &[0x0004_0011, 0x0fff_8001], 0xfff0_0002),
            ("v_pk_lshrrev_b16", &[0x0004_0011, 0x8000_8001], 0x0800_4000),
            ("v_pk_ashrrev_i16", &[0x0004_0011, 0x8000_8001], 0xf800_c000),
            ("v_pk_min_u16", &[0x8000_0001, 0x7fff_ffff], 0x7fff_0001),
            ("v_pk_min_i16", &[0x8000_0001, 0x7fff_ffff], 0x8000_ffff),
            ("v_pk_max_u16", &[0x8000_0001, 0x7fff_ffff], 0x8000_ffff),
            ("v_pk_max_i16", &[0x8000_0001, 0x7fff_ffff], 0x7fff_0001),
        ]);
    }

    #[test]
    fn clamp_saturates() {
        check_saturated(&[
            ("v_add_nc_u16", &[0xffff, 2], 0xffff),
            ("v_add_nc_i16", &[0x7fff, 1], 0x7fff),
            ("v_sub_nc_u16", &[0, 1], 0),
            ("v_sub_nc_i16", &[0x8000, 1], 0x8000),
            ("v_mul_lo_u16", &[0x100, 0x100], 0xffff),
            ("v_mad_u16", &[0xff, 0x101, 1], 0xffff),
            ("v_mad_u16", &[0xff, 0x101, 0], 0xffff),
            ("v_mad_u16", &[0xff, 0x100, 1], 0xff01),
            ("v_mad_i16", &[0x8000, 0x8000, 0x8000], 0x7fff),
            ("v_mad_i16", &[0x8000, 0x7fff, 0], 0x8000),
            ("v_pk_add_u16", &[0x0001_ffff, 0x0001_0001], 0x0002_ffff),
            ("v_pk_add_i16", &[0x7fff_8000, 0x0001_ffff], 0x7fff_8000),
            ("v_pk_sub_u16", &[0x0001_0000, 0x0001_0001], 0x0000_0000),
            ("v_pk_sub_i16", &[0x8000_0000, 0x0001_8000], 0x8000_7fff),
            ("v_pk_mul_lo_u16", &[0x0100_0002, 0x0100_0003], 0xffff_0006),
            ("v_pk_mad_u16", &[0x0002_ffff, 0x0003_0001, 0x0004_0001], 0x000a_ffff),
            ("v_pk_mad_i16", &[0xffff_8000, 0x0005_0001, 0x0006_8000], 0x0001_8000),
        ]);
    }

    #[test]
    fn conversions_extend_and_saturate() {
        check(&[
            ("v_cvt_i32_i16", &[0x5555_8000], 0xffff_8000),
            ("v_cvt_u32_u16", &[0x5555_8000], 0x8000),
            ("v_cvt_pk_u16_u32", &[0x1_0000, 0x1234], 0x1234_ffff),
            ("v_cvt_pk_i16_i32", &[0x8000, 0x8000_0000], 0x8000_7fff),
            ("v_cvt_pk_i16_i32", &[0xffff_fffe, 5], 0x0005_fffe),
            ("v_sat_pk_u8_i16", &[0x0100_ffff], 0xff00),
            ("v_sat_pk_u8_i16", &[0x8000_00fe], 0x00fe),
            ("v_sat_pk_u8_i16", &[0x0012_7fff], 0x12ff),
        ]);
    }
}
