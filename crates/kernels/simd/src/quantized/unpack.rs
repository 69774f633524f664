//! Copies of panels with one byte per code, for weights that are read many times.

use super::format::{GROUP, LINES, SCALES};
use super::prefetch::Prefetcher;
use super::product::WeightPanel;
use crate::int8::{Int8, Int8Task, LINE, ROWS};

/// Copies codes as bytes, signed or not, followed by the scales if rows are in place. The creator
/// of the task guarantees the weights, and a target of [`Unpack::bytes`].
pub(super) struct Unpack {
    pub(super) weights: WeightPanel,
    pub(super) target: *mut u8,
    pub(super) signed: bool,
}

impl Unpack {
    /// The offset of the scales, which come last.
    pub(super) fn scales(groups: usize) -> usize {
        groups * GROUP * ROWS
    }

    /// Maximum bytes written.
    pub(super) fn bytes(groups: usize) -> usize {
        Self::scales(groups) + groups * SCALES
    }
}

impl Int8Task for Unpack {
    type Output = ();

    #[inline(always)]
    fn run<C: Int8>(self, simd: C) {
        match (self.weights.pitch, self.weights.table, self.weights.split) {
            (None, None, 1) => self.copy::<C, false, false, 1>(simd),
            (None, None, 2) => self.copy::<C, false, false, 2>(simd),
            (None, None, _) => self.copy::<C, false, false, 0>(simd),
            (None, Some(_), _) => self.copy::<C, false, true, 0>(simd),
            (Some(_), None, _) => self.copy::<C, true, false, 0>(simd),
            (Some(_), Some(_), _) => self.copy::<C, true, true, 0>(simd),
        }
    }
}

impl Unpack {
    #[inline(always)]
    fn copy<C: Int8, const IN_ROWS: bool, const NIBBLES: bool, const SPLIT: usize>(self, simd: C) {
        let w = &self.weights;
        let table = simd.table(w.table.unwrap_or(&[0; 16]));
        let lines = if NIBBLES || SPLIT > 0 { LINES / 2 } else { LINES };
        let mut prefetcher = Prefetcher::new(w.codes, lines, w.end);
        for group in 0..w.groups {
            if w.streamed {
                prefetcher.advance(simd, (group + 1) * ((lines + SPLIT) * LINE + SCALES));
            }
            let target = self.target.wrapping_add(group * GROUP * ROWS);
            for (j, line) in w.lines(simd, (IN_ROWS, NIBBLES, SPLIT), table, group).into_iter().enumerate() {
                let line = if self.signed { simd.flip_signs(line) } else { line };
                // SAFETY: a line of this group, guaranteed by the task's creator.
                unsafe { simd.store(target.wrapping_add(j * LINE), line) };
            }
            if IN_ROWS {
                let target = self.target.wrapping_add(Self::scales(w.groups) + group * SCALES);
                // SAFETY: the scales of this group, guaranteed by the task's creator.
                unsafe { target.cast::<[u16; ROWS]>().write_unaligned(w.row_scales(simd, group)) };
            }
        }
    }
}
