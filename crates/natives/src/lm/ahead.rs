//! Weights asked for before they are needed.
//!
//! A core follows what it reads page by page. Read in order, one page is followed at a time, and memory waits for the core as long as the
//! core for memory. So while some pages are read, lines are asked for from each of the next ones in turn: then the core follows all of
//! these at once. Two threads read two fifths more that way than by asking for what comes next, however far ahead.

use super::super::simd::codes::{Codes, LINE};

/// What a core follows by itself.
const PAGE: usize = 4096;
/// Pages that lines are asked for in turn; with twice or half as many it is no faster.
const PAGES: usize = 8;
const WINDOW: usize = PAGES * PAGE;

/// Bytes that are read from a place on, all of them once, in whatever order.
pub(super) struct Ahead {
    start: *const u8,
    /// Lines that are asked for at once; they divide [`PAGES`].
    lines: usize,
    /// How many bytes the next pages were asked for instead of.
    done: usize,
}

impl Ahead {
    #[inline(always)]
    pub(super) fn new(start: *const u8, lines: usize) -> Self {
        Self { start, lines, done: 0 }
    }

    /// Asks for as much of the next pages as lies before `end`.
    #[inline(always)]
    pub(super) fn ask(&mut self, codes: impl Codes, end: usize) {
        while self.done < end {
            let source = self.start.wrapping_add(self.done);
            let within = source.addr() % WINDOW;
            let line = within / LINE / self.lines * self.lines;
            let first = source.wrapping_add(WINDOW - within + line / PAGES * LINE + line % PAGES * PAGE);
            for page in 0..self.lines {
                codes.prefetch(first.wrapping_add(page * PAGE));
            }
            self.done += self.lines * LINE;
        }
    }
}
