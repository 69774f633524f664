//! Byte operations: averages, sums of absolute differences (SAD).

use crate::lanes::LaneOp;
use crate::lanes::macros::lane;
use crate::row::{CHUNK, Lane, OperandKind, Rows, each};

/// Four registers of a lane.
#[derive(Clone, Copy)]
struct Quad([u32; 4]);

impl Lane for Quad {
    const KIND: OperandKind = OperandKind::Rows(4);

    #[inline(always)]
    unsafe fn load(rows: Rows<'_>, chunk: usize) -> [Self; CHUNK] {
        // SAFETY: the kind has four rows.
        let first = unsafe { rows.chunk(0, chunk) };
        // SAFETY: as above.
        let second = unsafe { rows.chunk(1, chunk) };
        // SAFETY: as above.
        let third = unsafe { rows.chunk(2, chunk) };
        // SAFETY: as above.
        let fourth = unsafe { rows.chunk(3, chunk) };
        each!(lane => Quad([first[lane], second[lane], third[lane], fourth[lane]]))
    }

    #[inline(always)]
    unsafe fn store(values: [Self; CHUNK], rows: Rows<'_>, chunk: usize) {
        for row in 0..4 {
            // SAFETY: the kind has four rows.
            unsafe { rows.set_chunk(row, chunk, each!(lane => values[lane].0[row])) };
        }
    }
}

/// Byte `index`, counted from the lowest.
#[inline(always)]
fn byte(bits: u32, index: u32) -> u32 {
    bits >> (8 * index) & 0xff
}

/// Absolute difference of byte `index`.
#[inline(always)]
fn difference(a: u32, b: u32, index: u32) -> u32 {
    byte(a, index).abs_diff(byte(b, index))
}

/// Sum of absolute differences of four bytes.
#[inline(always)]
fn sad(a: u32, b: u32) -> u32 {
    difference(a, b, 0) + difference(a, b, 1) + difference(a, b, 2) + difference(a, b, 3)
}

/// Absolute difference of byte `index`, unless the byte of the second source is zero.
#[inline(always)]
fn masked_difference(a: u32, b: u32, index: u32) -> u32 {
    // All ones unless the byte is zero: a mask vectorizes better than a condition.
    let mask = (byte(b, index).wrapping_neg().cast_signed() >> 31).cast_unsigned();
    difference(a, b, index) & mask
}

/// Masked SAD: ignores bytes whose second source is zero.
#[inline(always)]
fn masked_sad(a: u32, b: u32) -> u32 {
    masked_difference(a, b, 0) + masked_difference(a, b, 1) + masked_difference(a, b, 2) + masked_difference(a, b, 3)
}

/// Sum of absolute differences of two halves.
#[inline(always)]
fn sad16(a: u32, b: u32) -> u32 {
    (a & 0xffff).abs_diff(b & 0xffff) + (a >> 16).abs_diff(b >> 16)
}

/// Four of eight bytes, starting at byte `index`.
#[inline(always)]
fn window(bits: u64, index: u32) -> u32 {
    // On words, which AVX2 shifts best. Two shifts, so that a shift by zero takes no bit of the
    // upper word.
    let (low, high) = (bits as u32, (bits >> 32) as u32);
    low >> (8 * index) | high << 1 << (31 - 8 * index)
}

/// One sum for each of four windows.
type WindowSums = [u32; 4];

/// SAD of four windows with the same four bytes.
#[inline(always)]
fn sads(a: u64, b: u32) -> WindowSums {
    [sad(window(a, 0), b), sad(window(a, 1), b), sad(window(a, 2), b), sad(window(a, 3), b)]
}

/// Masked SAD of four windows.
#[inline(always)]
fn masked_sads(a: u64, b: u32) -> WindowSums {
    [masked_sad(window(a, 0), b), masked_sad(window(a, 1), b), masked_sad(window(a, 2), b), masked_sad(window(a, 3), b)]
}

/// Adds the sums to four 16-bit values, without narrowing.
#[inline(always)]
fn plus_halves(sums: WindowSums, halves: u64) -> WindowSums {
    let (low, high) = (halves as u32, (halves >> 32) as u32);
    [sums[0] + (low & 0xffff), sums[1] + (low >> 16), sums[2] + (high & 0xffff), sums[3] + (high >> 16)]
}

/// Narrows the sums to 16 bits, truncated.
#[inline(always)]
fn packed(sums: WindowSums) -> u64 {
    u64::from(sums[0] & 0xffff | sums[1] << 16) | u64::from(sums[2] & 0xffff | sums[3] << 16) << 32
}

/// Narrows the sums to 16 bits, saturated.
#[inline(always)]
fn packed_limited(sums: WindowSums) -> u64 {
    packed([sums[0].min(0xffff), sums[1].min(0xffff), sums[2].min(0xffff), sums[3].min(0xffff)])
}

/// An instruction that adds a SAD to its third source.
macro_rules! summed {
    (|$a:ident, $b:ident| $sum:expr) => {{
        let wrapping = lane!(|$a: u32, $b: u32, c: u32| -> u32 { ($sum).wrapping_add(c) });
        let limited = lane!(|$a: u32, $b: u32, c: u32| -> u32 { ($sum).saturating_add(c) });
        wrapping.saturating(limited)
    }};
}

/// An instruction that adds the sums of four windows to four 16-bit values.
macro_rules! summed_halves {
    ($sums:ident) => {{
        let wrapping = lane!(|a: u64, b: u32, c: u64| -> u64 { packed(plus_halves($sums(a, b), c)) });
        let limited = lane!(|a: u64, b: u32, c: u64| -> u64 { packed_limited(plus_halves($sums(a, b), c)) });
        wrapping.saturating(limited)
    }};
}

/// An instruction that adds the sums of four windows to four registers by a method of `u32`.
macro_rules! summed_words {
    ($sums:ident, $add:ident) => {
        lane!(|a: u64, b: u32, c: Quad| -> Quad {
            let sums = $sums(a, b);
            Quad([sums[0].$add(c.0[0]), sums[1].$add(c.0[1]), sums[2].$add(c.0[2]), sums[3].$add(c.0[3])])
        })
    };
}

pub(super) fn table() -> Vec<(&'static str, LaneOp)> {
    // Average of each byte; a bit of the third source selects rounding up.
    let average = lane!(|a: u32, b: u32, c: u32| -> u32 {
        let (same, other) = (a & b, a ^ b);
        same + (other >> 1 & 0x7f7f_7f7f) + (other & c & 0x0101_0101)
    });
    let words = summed_words!(masked_sads, wrapping_add).saturating(summed_words!(masked_sads, saturating_add));
    vec![
        ("v_lerp_u8", average),
        ("v_sad_u8", summed!(|a, b| sad(a, b))),
        ("v_sad_hi_u8", summed!(|a, b| sad(a, b) << 16)),
        ("v_sad_u16", summed!(|a, b| sad16(a, b))),
        ("v_sad_u32", summed!(|a, b| a.abs_diff(b))),
        ("v_msad_u8", summed!(|a, b| masked_sad(a, b))),
        ("v_qsad_pk_u16_u8", summed_halves!(sads)),
        ("v_mqsad_pk_u16_u8", summed_halves!(masked_sads)),
        ("v_mqsad_u32_u8", words),
    ]
}

#[cfg(test)]
mod tests {
    use crate::lanes::testing::{ONES, check, check_saturated};

    #[test]
    fn averages_round_by_a_bit() {
        check(&[
            ("v_lerp_u8", &[0xff03_0201, 0xff04_0200, 0], 0xff03_0200),
            ("v_lerp_u8", &[0xff03_0201, 0xff04_0200, 0x0101_0101], 0xff04_0201),
            ("v_lerp_u8", &[0xff03_0201, 0xff04_0200, 0xfefe_fefe], 0xff03_0200),
        ]);
    }

    #[test]
    fn differences_add_up() {
        check(&[
            ("v_sad_u8", &[0xff00_0102, 0x00ff_0201, 5], 255 + 255 + 1 + 1 + 5),
            ("v_sad_u8", &[1, 0, ONES], 0),
            ("v_sad_hi_u8", &[0xff00_0102, 0x00ff_0201, 5], (512 << 16) + 5),
            ("v_sad_u16", &[0xffff_0001, 0x0000_0003, 5], 0xffff + 2 + 5),
            ("v_sad_u32", &[1, ONES, 3], 1),
            ("v_sad_u32", &[ONES, 1, 3], 1),
            ("v_msad_u8", &[0xff00_0102, 0x00ff_0201, 5], 255 + 1 + 1 + 5),
        ]);
        check_saturated(&[
            ("v_sad_u8", &[3, 0, ONES - 1], ONES),
            ("v_sad_hi_u8", &[3, 0, ONES - 1], ONES),
            ("v_sad_u16", &[3, 0, ONES - 1], ONES),
            ("v_sad_u32", &[ONES, 0, 1], ONES),
            ("v_msad_u8", &[3, 1, ONES - 1], ONES),
            ("v_sad_u8", &[3, 0, 7], 10),
        ]);
    }

    #[test]
    fn windows_move_by_a_byte() {
        let bytes = 0x0706_0504_0302_0100;
        let sums = 0x0004_0003_0002_ffff;
        // Against 3, 2, 1, 0: the sums of the windows are 0, 4, 8 and 12.
        check(&[
            ("v_qsad_pk_u16_u8", &[bytes, 0x0302_0100, sums], 0x0010_000b_0006_ffff),
            ("v_qsad_pk_u16_u8", &[bytes, 0x0302_0101, sums], 0x000f_000a_0005_0000),
            // The lowest byte is zero and is ignored.
            ("v_mqsad_pk_u16_u8", &[bytes, 0x0302_0100, sums], 0x000d_0009_0005_ffff),
            (
                "v_mqsad_u32_u8",
                &[bytes, 0x0302_0100, 0x0000_0004_0000_0003_ffff_fffe_0000_0001],
                0x0000_000d_0000_0009_0000_0001_0000_0001,
            ),
        ]);
        check_saturated(&[
            ("v_qsad_pk_u16_u8", &[bytes, 0x0302_0101, sums], 0x000f_000a_0005_ffff),
            ("v_mqsad_pk_u16_u8", &[bytes, 0x0302_0101, sums], 0x000f_000a_0005_ffff),
            (
                "v_mqsad_u32_u8",
                &[bytes, 0x0302_0100, 0x0000_0004_0000_0003_ffff_fffe_0000_0001],
                0x0000_000d_0000_0009_ffff_ffff_0000_0001,
            ),
        ]);
    }
}
