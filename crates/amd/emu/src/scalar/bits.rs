//! Scalar moves, bit operations and shifts.

use super::{ScalarOp, scalar};

/// A bitwise operation in 32 and 64 bits. SCC is set if the result is not zero.
macro_rules! logic {
    ($($narrow:literal, $wide:literal, |$a:ident, $b:ident| $body:expr;)*) => {
        vec![$(
            ($narrow, scalar!(|$a: u32, $b: u32, scc| -> u32 { let result = $body; *scc = result != 0; result })),
            ($wide, scalar!(|$a: u64, $b: u64, scc| -> u64 { let result = $body; *scc = result != 0; result })),
        )*]
    };
}

/// One result bit per four source bits, set if any of them is.
fn quads(mask: u64) -> u64 {
    let any = mask | mask >> 1 | mask >> 2 | mask >> 3;
    any & 0x1111_1111_1111_1111
}

fn field(offset_and_size: u32, bits: u32) -> (u32, u32) {
    (offset_and_size & (bits - 1), (offset_and_size >> 16 & 0x7f).min(bits))
}

fn extract(value: u64, offset: u32, size: u32) -> u64 {
    if size == 0 { 0 } else { value >> offset & u64::MAX >> (64 - size) }
}

fn extract_signed(value: u64, offset: u32, size: u32, bits: u32) -> i64 {
    if size == 0 {
        return 0;
    }
    let extended = (value << (64 - bits)).cast_signed() >> (64 - bits) >> offset;
    if offset + size >= bits { extended } else { extended << (64 - size) >> (64 - size) }
}

pub(super) fn table() -> Vec<(&'static str, ScalarOp)> {
    let mut table = logic! {
        "s_and_b32", "s_and_b64", |a, b| a & b;
        "s_or_b32", "s_or_b64", |a, b| a | b;
        "s_xor_b32", "s_xor_b64", |a, b| a ^ b;
        "s_nand_b32", "s_nand_b64", |a, b| !(a & b);
        "s_nor_b32", "s_nor_b64", |a, b| !(a | b);
        "s_xnor_b32", "s_xnor_b64", |a, b| !(a ^ b);
        "s_and_not1_b32", "s_and_not1_b64", |a, b| a & !b;
        "s_or_not1_b32", "s_or_not1_b64", |a, b| a | !b;
    };
    table.extend([
        ("s_mov_b32", scalar!(|a: u32, _scc| -> u32 { a })),
        ("s_mov_b64", scalar!(|a: u64, _scc| -> u64 { a })),
        ("s_movk_i32", scalar!(|a: u32, _scc| -> u32 { a })),
        ("s_cselect_b32", scalar!(|a: u32, b: u32, scc| -> u32 { if *scc { a } else { b } })),
        ("s_cselect_b64", scalar!(|a: u64, b: u64, scc| -> u64 { if *scc { a } else { b } })),
        (
            "s_not_b32",
            scalar!(|a: u32, scc| -> u32 {
                *scc = !a != 0;
                !a
            }),
        ),
        (
            "s_not_b64",
            scalar!(|a: u64, scc| -> u64 {
                *scc = !a != 0;
                !a
            }),
        ),
        ("s_brev_b32", scalar!(|a: u32, _scc| -> u32 { a.reverse_bits() })),
        ("s_brev_b64", scalar!(|a: u64, _scc| -> u64 { a.reverse_bits() })),
        (
            "s_wqm_b32",
            scalar!(|a: u32, scc| -> u32 {
                let all = quads(u64::from(a)) as u32 * 15;
                *scc = all != 0;
                all
            }),
        ),
        (
            "s_wqm_b64",
            scalar!(|a: u64, scc| -> u64 {
                let all = quads(a) * 15;
                *scc = all != 0;
                all
            }),
        ),
        (
            "s_quadmask_b32",
            scalar!(|a: u32, scc| -> u32 {
                let mask = (0..8).fold(0, |mask, quad| mask | u32::from(a >> (4 * quad) & 15 != 0) << quad);
                *scc = mask != 0;
                mask
            }),
        ),
        (
            "s_quadmask_b64",
            scalar!(|a: u64, scc| -> u64 {
                let mask = (0..16).fold(0, |mask, quad| mask | u64::from(a >> (4 * quad) & 15 != 0) << quad);
                *scc = mask != 0;
                mask
            }),
        ),
        (
            "s_bcnt0_i32_b32",
            scalar!(|a: u32, scc| -> u32 {
                *scc = a != !0;
                a.count_zeros()
            }),
        ),
        (
            "s_bcnt0_i32_b64",
            scalar!(|a: u64, scc| -> u32 {
                *scc = a != !0;
                a.count_zeros()
            }),
        ),
        (
            "s_bcnt1_i32_b32",
            scalar!(|a: u32, scc| -> u32 {
                *scc = a != 0;
                a.count_ones()
            }),
        ),
        (
            "s_bcnt1_i32_b64",
            scalar!(|a: u64, scc| -> u32 {
                *scc = a != 0;
                a.count_ones()
            }),
        ),
        ("s_ctz_i32_b32", scalar!(|a: u32, _scc| -> u32 { if a == 0 { !0 } else { a.trailing_zeros() } })),
        ("s_ctz_i32_b64", scalar!(|a: u64, _scc| -> u32 { if a == 0 { !0 } else { a.trailing_zeros() } })),
        ("s_ff0_i32_b32", scalar!(|a: u32, _scc| -> u32 { if a == !0 { !0 } else { a.trailing_ones() } })),
        ("s_ff0_i32_b64", scalar!(|a: u64, _scc| -> u32 { if a == !0 { !0 } else { a.trailing_ones() } })),
        ("s_clz_i32_u32", scalar!(|a: u32, _scc| -> u32 { if a == 0 { !0 } else { a.leading_zeros() } })),
        ("s_clz_i32_u64", scalar!(|a: u64, _scc| -> u32 { if a == 0 { !0 } else { a.leading_zeros() } })),
        (
            "s_cls_i32",
            scalar!(|a: i32, _scc| -> u32 { if a == 0 || a == -1 { !0 } else { (a ^ a >> 31).leading_zeros() } }),
        ),
        (
            "s_cls_i32_i64",
            scalar!(|a: i64, _scc| -> u32 { if a == 0 || a == -1 { !0 } else { (a ^ a >> 63).leading_zeros() } }),
        ),
        ("s_sext_i32_i8", scalar!(|a: u32, _scc| -> i32 { i32::from(a as i8) })),
        ("s_sext_i32_i16", scalar!(|a: u32, _scc| -> i32 { i32::from(a as i16) })),
        (
            "s_lshl_b32",
            scalar!(|a: u32, b: u32, scc| -> u32 {
                let r = a << (b & 31);
                *scc = r != 0;
                r
            }),
        ),
        (
            "s_lshl_b64",
            scalar!(|a: u64, b: u32, scc| -> u64 {
                let r = a << (b & 63);
                *scc = r != 0;
                r
            }),
        ),
        (
            "s_lshr_b32",
            scalar!(|a: u32, b: u32, scc| -> u32 {
                let r = a >> (b & 31);
                *scc = r != 0;
                r
            }),
        ),
        (
            "s_lshr_b64",
            scalar!(|a: u64, b: u32, scc| -> u64 {
                let r = a >> (b & 63);
                *scc = r != 0;
                r
            }),
        ),
        (
            "s_ashr_i32",
            scalar!(|a: i32, b: u32, scc| -> i32 {
                let r = a >> (b & 31);
                *scc = r != 0;
                r
            }),
        ),
        (
            "s_ashr_i64",
            scalar!(|a: i64, b: u32, scc| -> i64 {
                let r = a >> (b & 63);
                *scc = r != 0;
                r
            }),
        ),
        ("s_bfm_b32", scalar!(|a: u32, b: u32, _scc| -> u32 { ((1u32 << (a & 31)) - 1) << (b & 31) })),
        ("s_bfm_b64", scalar!(|a: u32, b: u32, _scc| -> u64 { ((1u64 << (a & 63)) - 1) << (b & 63) })),
        (
            "s_bfe_u32",
            scalar!(|a: u32, b: u32, scc| -> u32 {
                let (offset, size) = field(b, 32);
                let r = extract(u64::from(a), offset, size) as u32;
                *scc = r != 0;
                r
            }),
        ),
        (
            "s_bfe_u64",
            scalar!(|a: u64, b: u32, scc| -> u64 {
                let (offset, size) = field(b, 64);
                let r = extract(a, offset, size);
                *scc = r != 0;
                r
            }),
        ),
        (
            "s_bfe_i32",
            scalar!(|a: u32, b: u32, scc| -> i32 {
                let (offset, size) = field(b, 32);
                let r = extract_signed(u64::from(a), offset, size, 32) as i32;
                *scc = r != 0;
                r
            }),
        ),
        (
            "s_bfe_i64",
            scalar!(|a: u64, b: u32, scc| -> i64 {
                let (offset, size) = field(b, 64);
                let r = extract_signed(a, offset, size, 64);
                *scc = r != 0;
                r
            }),
        ),
        (
            "s_bitcmp0_b32",
            scalar!(|a: u32, b: u32, scc| -> () {
                *scc = a >> (b & 31) & 1 == 0;
            }),
        ),
        (
            "s_bitcmp0_b64",
            scalar!(|a: u64, b: u32, scc| -> () {
                *scc = a >> (b & 63) & 1 == 0;
            }),
        ),
        (
            "s_bitcmp1_b32",
            scalar!(|a: u32, b: u32, scc| -> () {
                *scc = a >> (b & 31) & 1 == 1;
            }),
        ),
        (
            "s_bitcmp1_b64",
            scalar!(|a: u64, b: u32, scc| -> () {
                *scc = a >> (b & 63) & 1 == 1;
            }),
        ),
        (
            "s_bitreplicate_b64_b32",
            scalar!(|a: u32, _scc| -> u64 {
                (0..32).fold(0, |result, bit| result | (u64::from(a >> bit & 1) * 3) << (2 * bit))
            }),
        ),
        ("s_pack_ll_b32_b16", scalar!(|a: u32, b: u32, _scc| -> u32 { a & 0xffff | b << 16 })),
        ("s_pack_lh_b32_b16", scalar!(|a: u32, b: u32, _scc| -> u32 { a & 0xffff | b & 0xffff_0000 })),
        ("s_pack_hh_b32_b16", scalar!(|a: u32, b: u32, _scc| -> u32 { a >> 16 | b & 0xffff_0000 })),
        ("s_pack_hl_b32_b16", scalar!(|a: u32, b: u32, _scc| -> u32 { a >> 16 | b << 16 })),
    ]);
    table
}
