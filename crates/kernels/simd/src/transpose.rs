//! Transposition of 32-bit words, which dominates packing.

use crate::int8::{LINE, LINE_COLUMNS, ROWS};

/// Four words: one column of four rows, or one row of four columns.
type Words4 = [u32; 4];

/// Writes word `w` of each row to line `w`.
#[inline(always)]
pub(crate) fn transpose_words<const W: usize>(rows: &[[u32; W]; ROWS], lines: &mut [[u8; LINE]]) {
    // Four lines at a time, each written from start to end.
    for (lines, first) in lines[..W].chunks_mut(4).zip((0..W).step_by(4)) {
        let mut squares = [[[0; 4]; 4]; ROWS / 4];
        for (square, rows) in squares.iter_mut().zip(rows.as_chunks::<4>().0) {
            // The last lines may be fewer than four.
            let at = |word: usize| (first + word).min(W - 1);
            *square = transpose_square(rows.map(|row| [row[first], row[at(1)], row[at(2)], row[at(3)]]));
        }
        for (w, line) in lines.iter_mut().enumerate() {
            for (square, target) in squares.iter().zip(line.as_chunks_mut::<{ 4 * LINE_COLUMNS }>().0) {
                *target = bytemuck::cast(square[w].map(u32::to_le));
            }
        }
    }
}

/// Transposes a 4x4 square.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
fn transpose_square(rows: [Words4; 4]) -> [Words4; 4] {
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
    let rows = unsafe { std::mem::transmute::<[Words4; 4], [__m128i; 4]>(rows) };
    // SAFETY: SSE2 is part of the x86-64 baseline.
    let columns = unsafe { inside(rows) };
    // SAFETY: both are 64 bytes of plain data.
    unsafe { std::mem::transmute::<[__m128i; 4], [Words4; 4]>(columns) }
}

/// Transposes a 4x4 square.
#[cfg(not(target_arch = "x86_64"))]
#[inline(always)]
fn transpose_square(rows: [Words4; 4]) -> [Words4; 4] {
    std::array::from_fn(|column| rows.map(|row| row[column]))
}
