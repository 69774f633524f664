//! Words of sixteen rows brought side by side: what packing does most.

use super::codes::{LINE, LINE_COLUMNS, ROWS};

/// Four words: four rows of one, or one row of four.
type Four = [u32; 4];

/// Word `w` of each row into line `w`; `W` is a multiple of four.
#[inline(always)]
pub(crate) fn by_columns<const W: usize>(rows: &[[u32; W]; ROWS], lines: &mut [[u8; LINE]]) {
    const { assert!(W.is_multiple_of(4)) };
    // Four lines at a time, each written from end to end.
    for (lines, first) in lines.as_chunks_mut::<4>().0.iter_mut().zip((0..W).step_by(4)) {
        let mut squares = [[[0; 4]; 4]; ROWS / 4];
        for (square, rows) in squares.iter_mut().zip(rows.as_chunks::<4>().0) {
            *square = square_by_columns(rows.map(|row| [row[first], row[first + 1], row[first + 2], row[first + 3]]));
        }
        for (w, line) in lines.iter_mut().enumerate() {
            for (square, target) in squares.iter().zip(line.as_chunks_mut::<{ 4 * LINE_COLUMNS }>().0) {
                *target = bytemuck::cast(square[w].map(u32::to_le));
            }
        }
    }
}

/// Rows of a square as its columns.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
fn square_by_columns(rows: [Four; 4]) -> [Four; 4] {
    use std::arch::x86_64::*;

    #[target_feature(enable = "sse2")]
    #[inline]
    fn inside([a, b, c, d]: [__m128i; 4]) -> [__m128i; 4] {
        let (low, high) = (_mm_unpacklo_epi32(a, b), _mm_unpackhi_epi32(a, b));
        let (low_2, high_2) = (_mm_unpacklo_epi32(c, d), _mm_unpackhi_epi32(c, d));
        [
            _mm_unpacklo_epi64(low, low_2),
            _mm_unpackhi_epi64(low, low_2),
            _mm_unpacklo_epi64(high, high_2),
            _mm_unpackhi_epi64(high, high_2),
        ]
    }

    // SAFETY: both are 64 bytes of plain data.
    let rows = unsafe { std::mem::transmute::<[Four; 4], [__m128i; 4]>(rows) };
    // SAFETY: every such CPU has these instructions.
    let columns = unsafe { inside(rows) };
    // SAFETY: both are 64 bytes of plain data.
    unsafe { std::mem::transmute::<[__m128i; 4], [Four; 4]>(columns) }
}

/// Rows of a square as its columns.
#[cfg(not(target_arch = "x86_64"))]
#[inline(always)]
fn square_by_columns(rows: [Four; 4]) -> [Four; 4] {
    std::array::from_fn(|column| rows.map(|row| row[column]))
}
