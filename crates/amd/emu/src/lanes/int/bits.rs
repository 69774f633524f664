//! Bit operations: logic, fields, counts, shifts, moves.

use crate::lanes::LaneOp;
use crate::lanes::macros::lane;

/// Number of leading or trailing bits; -1 if none was found in 32.
#[inline(always)]
fn bit_position(count: u32) -> u32 {
    if count == 32 { !0 } else { count }
}

pub(super) fn table() -> Vec<(&'static str, LaneOp)> {
    [logic(), fields(), counts(), shifts()].concat()
}

fn logic() -> Vec<(&'static str, LaneOp)> {
    vec![
        ("v_mov_b32", lane!(|a: u32| -> u32 { a })),
        ("v_mov_b16", lane!(|a: u16| -> u16 { a })),
        ("v_not_b32", lane!(|a: u32| -> u32 { !a })),
        ("v_not_b16", lane!(|a: u16| -> u16 { !a })),
        ("v_and_b32", lane!(|a: u32, b: u32| -> u32 { a & b })),
        ("v_and_b16", lane!(|a: u16, b: u16| -> u16 { a & b })),
        ("v_or_b32", lane!(|a: u32, b: u32| -> u32 { a | b })),
        ("v_or_b16", lane!(|a: u16, b: u16| -> u16 { a | b })),
        ("v_xor_b32", lane!(|a: u32, b: u32| -> u32 { a ^ b })),
        ("v_xor_b16", lane!(|a: u16, b: u16| -> u16 { a ^ b })),
        ("v_xnor_b32", lane!(|a: u32, b: u32| -> u32 { !(a ^ b) })),
        ("v_and_or_b32", lane!(|a: u32, b: u32, c: u32| -> u32 { a & b | c })),
        ("v_or3_b32", lane!(|a: u32, b: u32, c: u32| -> u32 { a | b | c })),
        ("v_xor3_b32", lane!(|a: u32, b: u32, c: u32| -> u32 { a ^ b ^ c })),
        ("v_lshl_or_b32", lane!(|a: u32, b: u32, c: u32| -> u32 { a << (b & 31) | c })),
    ]
}

fn fields() -> Vec<(&'static str, LaneOp)> {
    vec![
        ("v_bfi_b32", lane!(|mask: u32, a: u32, b: u32| -> u32 { mask & a | !mask & b })),
        ("v_bfm_b32", lane!(|width: u32, offset: u32| -> u32 { !(!0 << (width & 31)) << (offset & 31) })),
        ("v_bfe_u32", lane!(|a: u32, offset: u32, width: u32| -> u32 { a >> (offset & 31) & !(!0 << (width & 31)) })),
        (
            "v_bfe_i32",
            lane!(|a: i32, offset: u32, width: u32| -> i32 {
                let field = (a >> (offset & 31)).cast_unsigned() & !(!0 << (width & 31));
                // Highest bit of the field; none if the width is zero.
                let top = (1 << (width & 31)) >> 1;
                (field ^ top).wrapping_sub(top).cast_signed()
            }),
        ),
        ("v_bfrev_b32", lane!(|a: u32| -> u32 { a.reverse_bits() })),
        // The shift amounts of these two are 16-bit operands; `op_sel` may select the upper half.
        (
            "v_alignbit_b32",
            lane!(|high: u32, low: u32, shift: u16| -> u32 {
                let shift = u32::from(shift) & 31;
                // Two shifts, so that a shift by zero takes no bit of the upper word.
                low >> shift | high << 1 << (31 - shift)
            }),
        ),
        (
            "v_alignbyte_b32",
            lane!(|high: u32, low: u32, shift: u16| -> u32 {
                let shift = (u32::from(shift) & 3) * 8;
                low >> shift | high << 1 << (31 - shift)
            }),
        ),
    ]
}

fn counts() -> Vec<(&'static str, LaneOp)> {
    let leading = lane!(|a: u32| -> u32 { bit_position(a.leading_zeros()) });
    let trailing = lane!(|a: u32| -> u32 { bit_position(a.trailing_zeros()) });
    let signs = lane!(|a: i32| -> u32 { bit_position((a ^ a >> 31).leading_zeros()) });
    // The same under the names of gfx11 and of gfx10.
    vec![
        ("v_clz_i32_u32", leading),
        ("v_ffbh_u32", leading),
        ("v_ctz_i32_b32", trailing),
        ("v_ffbl_b32", trailing),
        ("v_cls_i32", signs),
        ("v_ffbh_i32", signs),
        ("v_bcnt_u32_b32", lane!(|a: u32, b: u32| -> u32 { a.count_ones().wrapping_add(b) })),
    ]
}

fn shifts() -> Vec<(&'static str, LaneOp)> {
    vec![
        ("v_lshlrev_b32", lane!(|shift: u32, a: u32| -> u32 { a << (shift & 31) })),
        ("v_lshrrev_b32", lane!(|shift: u32, a: u32| -> u32 { a >> (shift & 31) })),
        ("v_ashrrev_i32", lane!(|shift: u32, a: i32| -> i32 { a >> (shift & 31) })),
        ("v_lshlrev_b64", lane!(|shift: u32, a: u64| -> u64 { a << (shift & 63) })),
        ("v_lshrrev_b64", lane!(|shift: u32, a: u64| -> u64 { a >> (shift & 63) })),
        ("v_ashrrev_i64", lane!(|shift: u32, a: i64| -> i64 { a >> (shift & 63) })),
    ]
}

#[cfg(test)]
mod tests {
    use crate::lanes::testing::{ONES, check};

    #[test]
    fn logic_is_bit_by_bit() {
        check(&[
            ("v_mov_b32", &[0x7fc0_1234], 0x7fc0_1234),
            ("v_mov_b16", &[0x5555_1234], 0x1234),
            ("v_not_b32", &[0x0f0f_0000], 0xf0f0_ffff),
            ("v_not_b16", &[0x5555_0f0f], 0xf0f0),
            ("v_and_b32", &[0b1100, 0b1010], 0b1000),
            ("v_and_b16", &[0x1_000c, 0x1_000a], 0b1000),
            ("v_or_b32", &[0b1100, 0b1010], 0b1110),
            ("v_or_b16", &[0x1_000c, 0b1010], 0b1110),
            ("v_xor_b32", &[0b1100, 0b1010], 0b0110),
            ("v_xor_b16", &[0x1_000c, 0b1010], 0b0110),
            ("v_xnor_b32", &[0b1100, 0b1010], 0xffff_fff9),
            ("v_and_or_b32", &[0b1100, 0b1010, 1], 0b1001),
            ("v_or3_b32", &[1, 2, 8], 11),
            ("v_xor3_b32", &[0b1100, 0b1010, 0b1111], 0b1001),
            ("v_lshl_or_b32", &[3, 0x24, 1], 0x31),
        ]);
    }

    #[test]
    fn fields_may_be_empty_or_reach_over_the_end() {
        check(&[
            ("v_bfi_b32", &[0xff00, 0x1234_5678, 0xabcd_ef01], 0xabcd_5601),
            ("v_bfm_b32", &[8, 4], 0xff0),
            ("v_bfm_b32", &[0, 4], 0),
            ("v_bfm_b32", &[32, 4], 0),
            ("v_bfm_b32", &[31, 31], 0x8000_0000),
            ("v_bfe_u32", &[0x1234_5678, 8, 12], 0x456),
            ("v_bfe_u32", &[ONES, 28, 31], 0xf),
            ("v_bfe_u32", &[ONES, 0, 32], 0),
            ("v_bfe_u32", &[ONES, 33, 1], 1),
            ("v_bfe_i32", &[0x0000_0f80, 4, 8], 0xffff_fff8),
            ("v_bfe_i32", &[0x0000_0780, 4, 8], 0x78),
            ("v_bfe_i32", &[ONES, 0, 0], 0),
            ("v_bfe_i32", &[ONES, 0, 32], 0),
            ("v_bfe_i32", &[0x7000_0000, 28, 31], 7),
            ("v_bfe_i32", &[0x8000_0000, 28, 31], 0xffff_fff8),
            ("v_bfe_i32", &[1, 0, 1], ONES),
            ("v_bfrev_b32", &[0x8000_0006], 0x6000_0001),
            ("v_alignbit_b32", &[0x1234_5678, 0x9abc_def0, 0], 0x9abc_def0),
            ("v_alignbit_b32", &[0x1234_5678, 0x9abc_def0, 8], 0x789a_bcde),
            ("v_alignbit_b32", &[0x1234_5678, 0x9abc_def0, 0x7_0000 + 32 + 4], 0x89ab_cdef),
            ("v_alignbit_b32", &[1, 0, 31], 2),
            ("v_alignbyte_b32", &[0x1234_5678, 0x9abc_def0, 0], 0x9abc_def0),
            ("v_alignbyte_b32", &[0x1234_5678, 0x9abc_def0, 5], 0x789a_bcde),
            ("v_alignbyte_b32", &[0x1234_5678, 0x9abc_def0, 3], 0x3456_789a),
        ]);
    }

    #[test]
    fn counts_without_a_match_are_minus_one() {
        check(&[
            ("v_clz_i32_u32", &[0], ONES),
            ("v_clz_i32_u32", &[1], 31),
            ("v_ffbh_u32", &[ONES], 0),
            ("v_ctz_i32_b32", &[0], ONES),
            ("v_ctz_i32_b32", &[0x8000_0000], 31),
            ("v_ffbl_b32", &[6], 1),
            ("v_cls_i32", &[0], ONES),
            ("v_cls_i32", &[ONES], ONES),
            ("v_cls_i32", &[0x4000_0000], 1),
            ("v_cls_i32", &[0x8000_0000], 1),
            ("v_ffbh_i32", &[0xffff_fffe], 31),
            ("v_bcnt_u32_b32", &[ONES, ONES], 31),
            ("v_bcnt_u32_b32", &[0, 7], 7),
        ]);
    }

    #[test]
    fn shifts_take_the_lower_bits_of_their_amount() {
        check(&[
            ("v_lshlrev_b32", &[33, 3], 6),
            ("v_lshrrev_b32", &[63, 0x8000_0000], 1),
            ("v_ashrrev_i32", &[0xffff_ffff, 0x8000_0000], ONES),
            ("v_ashrrev_i32", &[32, 0x8000_0000], 0x8000_0000),
            ("v_lshlrev_b64", &[65, 0x8000_0000], 0x1_0000_0000),
            ("v_lshlrev_b64", &[63, 1], 0x8000_0000_0000_0000),
            ("v_lshrrev_b64", &[64 + 33, 0x8000_0000_0000_0000], 0x4000_0000),
            ("v_ashrrev_i64", &[36, 0x8000_0000_0000_0000], 0xffff_ffff_f800_0000),
        ]);
    }
}
