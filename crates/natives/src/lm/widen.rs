//! Sixteen rows copied to where each code is a byte of its own, for what reads them many times.

use super::super::simd::codes::{Codes, CodesTask, LINE, ROWS};
use super::ahead::Ahead;
use super::format::{GROUP, LINES, SCALES};
use super::tile::Weights;

/// Copies codes as bytes, signed or not, and behind them the scales of rows that lie as in a file. `weights` is what it says, and `target` as
/// large as [`Widen::bytes`], by the promise of whoever makes the task.
pub(super) struct Widen {
    pub(super) weights: Weights,
    pub(super) target: *mut u8,
    pub(super) signed: bool,
}

impl Widen {
    /// Where scales lie, which are the end.
    pub(super) fn scales(groups: usize) -> usize {
        groups * GROUP * ROWS
    }

    /// What is written at most.
    pub(super) fn bytes(groups: usize) -> usize {
        Self::scales(groups) + groups * SCALES
    }
}

impl CodesTask for Widen {
    type Output = ();

    #[inline(always)]
    fn run<C: Codes>(self, codes: C) {
        match (self.weights.pitch, self.weights.table) {
            (None, None) => self.copy::<C, false, false>(codes),
            (None, Some(_)) => self.copy::<C, false, true>(codes),
            (Some(_), None) => self.copy::<C, true, false>(codes),
            (Some(_), Some(_)) => self.copy::<C, true, true>(codes),
        }
    }
}

impl Widen {
    #[inline(always)]
    fn copy<C: Codes, const OF_ROWS: bool, const HALVES: bool>(self, codes: C) {
        let w = &self.weights;
        let table = codes.table(w.table.unwrap_or(&[0; 16]));
        let lines = if HALVES { LINES / 2 } else { LINES };
        let mut ahead = Ahead::new(w.codes, lines);
        for group in 0..w.groups {
            if w.fresh {
                ahead.ask(codes, (group + 1) * (lines * LINE + SCALES));
            }
            let target = self.target.wrapping_add(group * GROUP * ROWS);
            for (j, line) in w.lines::<C, OF_ROWS, HALVES>(codes, table, group).into_iter().enumerate() {
                let line = if self.signed { codes.flip(line) } else { line };
                // SAFETY: a line of this group, by the promise of the task's maker.
                unsafe { codes.store(target.wrapping_add(j * LINE), line) };
            }
            if OF_ROWS {
                let target = self.target.wrapping_add(Self::scales(w.groups) + group * SCALES);
                // SAFETY: the scales of this group, by the same promise.
                unsafe { target.cast::<[u16; ROWS]>().write_unaligned(w.column(codes, group)) };
            }
        }
    }
}
