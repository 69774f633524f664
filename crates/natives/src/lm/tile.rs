//! The product itself: sixteen rows by some tokens, with the sums of all of them in registers.
//!
//! Products of one group are summed in whole numbers, exactly; then they are scaled and added as floats, one group after the
//! other. So a result depends neither on how many tokens there are nor on how work is shared.

use std::ops::Range;

use super::super::simd::codes::{Codes, CodesTask, LINE, ROWS};
use super::activations::{Number, Place};
use super::ahead::Ahead;
use super::format::{GROUP, LINES, SCALES};

/// Sixteen rows of a matrix.
#[derive(Clone, Copy)]
pub(super) struct Weights {
    /// Lines of codes: bytes, or halves of them if there is a table.
    pub(super) codes: *const u8,
    pub(super) table: Option<&'static [u8; 16]>,
    /// Whether what the table says is 8 less than what stands there.
    pub(super) plain: bool,
    pub(super) scales: *const u16,
    /// What is added, where the type has such.
    pub(super) least: Option<*const u16>,
    /// Whether scales are bfloat16.
    pub(super) bf16: bool,
    /// Whether each 16 columns have a scale.
    pub(super) finer: bool,
    pub(super) groups: usize,
    /// Whether they are read for the first time, and so from memory.
    pub(super) fresh: bool,
    /// Bytes between rows where these lie as in a file, each with its scales among its codes; `codes` then is the first row.
    pub(super) pitch: Option<usize>,
}

/// Sixteen rows by some tokens of a tile.
#[derive(Clone, Copy)]
pub(super) struct Area {
    pub(super) weights: Weights,
    /// The tile.
    pub(super) x: *const u8,
    pub(super) place: Place,
    /// Where the first row of the tile's first token goes, and elements between tokens.
    pub(super) y: *mut f32,
    pub(super) y_stride: usize,
    /// Rows that are there, at most sixteen.
    pub(super) rows: usize,
    /// Whether sums are added to what is in `y`.
    pub(super) add: bool,
}

/// An [`Area`] as a task, all tokens of its tile.
///
/// Whoever makes one vouches for the memory: sixteen rows of weights, a tile, and the rows of all its tokens in `y`, which nothing
/// else touches.
pub(super) struct Tokens(pub(super) Area);

impl CodesTask for Tokens {
    type Output = ();

    #[inline(always)]
    fn run<C: Codes>(self, codes: C) {
        let w = &self.0.weights;
        if w.pitch.is_some() {
            return match w.table {
                None => self.0.tokens::<C, true, false, false, false>(codes),
                Some(_) => self.0.tokens::<C, true, true, false, false>(codes),
            };
        }
        match (w.table, w.finer, w.least) {
            (None, false, None) => self.0.tokens::<C, false, false, false, false>(codes),
            (None, false, Some(_)) => self.0.tokens::<C, false, false, false, true>(codes),
            (None, true, None) => self.0.tokens::<C, false, false, true, false>(codes),
            (None, true, Some(_)) => self.0.tokens::<C, false, false, true, true>(codes),
            (Some(_), false, None) => self.0.tokens::<C, false, true, false, false>(codes),
            (Some(_), false, Some(_)) => self.0.tokens::<C, false, true, false, true>(codes),
            (Some(_), true, None) => self.0.tokens::<C, false, true, true, false>(codes),
            (Some(_), true, Some(_)) => self.0.tokens::<C, false, true, true, true>(codes),
        }
    }
}

impl Area {
    #[inline(always)]
    fn tokens<C: Codes, const ROWS: bool, const HALVES: bool, const FINER: bool, const LEAST: bool>(&self, codes: C) {
        let mut token = 0;
        while token < self.place.width {
            /// Computes so many tokens, and tells how many.
            macro_rules! tokens {
                ($count:expr) => {{
                    self.compute::<C, { $count }, ROWS, HALVES, FINER, LEAST>(codes, token);
                    $count
                }};
            }
            token += match self.place.width - token {
                16.. if C::TOKENS >= 16 => tokens!(16),
                8.. if C::TOKENS >= 8 => tokens!(8),
                4.. => tokens!(4),
                2.. => tokens!(2),
                _ => tokens!(1),
            };
        }
    }

    /// `T` tokens from `first` on.
    ///
    /// No closures here: the compiler does not always inline them into where the instructions are.
    #[inline(always)]
    fn compute<C: Codes, const T: usize, const ROWS: bool, const HALVES: bool, const FINER: bool, const LEAST: bool>(
        &self,
        codes: C,
        first: usize,
    ) {
        let w = &self.weights;
        let table = codes.table(w.table.unwrap_or(&[0; 16]));
        let mut sums = [codes.splat(0.0); T];
        let lines = if HALVES { LINES / 2 } else { LINES };
        let each = lines * LINE + SCALES * if FINER { 2 } else { 1 } * if LEAST { 2 } else { 1 };
        let mut ahead = Ahead::new(w.codes, lines);
        let fresh = w.fresh && first == 0;
        for group in 0..w.groups {
            if fresh {
                ahead.ask(codes, (group + 1) * each);
            }
            let scales =
                if ROWS { w.scales_of_rows(codes, group) } else { w.sixteens::<C, FINER>(codes, w.scales, group) };
            let least = match w.least {
                Some(least) if LEAST => w.sixteens::<C, FINER>(codes, least, group),
                _ => scales,
            };
            let x = self.x.wrapping_add(group * self.place.group());
            if ROWS && T == 1 {
                let token = Token { x, place: self.place, token: first };
                let halves = if HALVES { Some(table) } else { None };
                let dot = if w.plain {
                    token.dot_rows::<C, true>(codes, w, halves, group)
                } else {
                    token.dot_rows::<C, false>(codes, w, halves, group)
                };
                sums[0] = codes.mul_add(dot, codes.mul(scales[0], codes.splat(token.float(Number::Scale))), sums[0]);
                continue;
            }
            let lines = w.lines::<C, ROWS, HALVES>(codes, table, group);
            for (t, sum) in sums.iter_mut().enumerate() {
                let token = Token { x, place: self.place, token: first + t };
                let by = codes.splat(token.float(Number::Scale));
                if FINER {
                    let dot = token.dot(codes, Number::FirstStart, &lines, 0..LINES / 2);
                    *sum = codes.mul_add(dot, codes.mul(scales[0], by), *sum);
                    let dot = token.dot(codes, Number::LastStart, &lines, LINES / 2..LINES);
                    *sum = codes.mul_add(dot, codes.mul(scales[1], by), *sum);
                } else {
                    let dot = token.dot(codes, Number::Start, &lines, 0..LINES);
                    *sum = codes.mul_add(dot, codes.mul(scales[0], by), *sum);
                }
                if LEAST {
                    *sum = token.add_least::<C, FINER>(codes, &least, *sum);
                }
            }
        }
        for (t, &sum) in sums.iter().enumerate() {
            let y = self.y.wrapping_add((first + t) * self.y_stride);
            // SAFETY: the rows of this token are the task's alone, by the promise of its maker.
            unsafe { write(y, codes.values(sum), self.rows, self.add) };
        }
    }
}

impl Weights {
    /// The codes of a group.
    #[inline(always)]
    pub(super) fn lines<C: Codes, const ROWS: bool, const HALVES: bool>(
        &self,
        codes: C,
        table: C::Table,
        group: usize,
    ) -> [C::Line; LINES] {
        if ROWS {
            return self.lines_of_rows::<C, HALVES>(codes, table, group);
        }
        let count = if HALVES { LINES / 2 } else { LINES };
        let source = self.codes.wrapping_add(group * count * LINE);
        // SAFETY: the group's first line, which the maker of the task vouches for.
        let mut lines = [unsafe { codes.load(source) }; LINES];
        for j in 0..count {
            let source = source.wrapping_add(j * LINE);
            // SAFETY: as above, another line.
            lines[j] = unsafe { codes.load(source) };
            if HALVES {
                [lines[j], lines[j + LINES / 2]] = codes.nibbles(lines[j], table);
            }
        }
        lines
    }

    /// The same of rows that lie as in a file: blocks of a scale and the codes of a group, which are bytes with a sign, or halves.
    #[inline(always)]
    fn lines_of_rows<C: Codes, const HALVES: bool>(&self, codes: C, table: C::Table, group: usize) -> [C::Line; LINES] {
        let pitch = self.pitch.unwrap_or(0);
        let source = self.block(group).wrapping_add(size_of::<u16>());
        // SAFETY: the first sixteen bytes of codes in a block of every row, which the maker of the task vouches for.
        let first = unsafe { codes.load_rows(source, pitch) };
        let mut lines = [first[0]; LINES];
        if HALVES {
            for j in 0..LINES / 2 {
                [lines[j], lines[j + LINES / 2]] = codes.nibbles(first[j], table);
            }
            return lines;
        }
        // SAFETY: as above, the last sixteen.
        let last = unsafe { codes.load_rows(source.wrapping_add(GROUP / 2), pitch) };
        for j in 0..LINES / 2 {
            lines[j] = codes.flip(first[j]);
            lines[j + LINES / 2] = codes.flip(last[j]);
        }
        lines
    }

    /// A block of the first row, where rows lie as in a file.
    #[inline(always)]
    fn block(&self, group: usize) -> *const u8 {
        let codes = if self.table.is_some() { GROUP / 2 } else { GROUP };
        self.codes.wrapping_add(group * (codes + size_of::<u16>()))
    }

    /// The scales of a group of such rows.
    #[inline(always)]
    pub(super) fn column(&self, codes: impl Codes, group: usize) -> [u16; ROWS] {
        // SAFETY: the beginning of a block of every row, which the maker of the task vouches for.
        unsafe { codes.column(self.block(group), self.pitch.unwrap_or(0)) }
    }

    #[inline(always)]
    fn scales_of_rows<C: Codes>(&self, codes: C, group: usize) -> [C::Floats; 2] {
        let scales = self.column(codes, group);
        [self.sixteen(codes, scales.as_ptr()); 2]
    }

    /// The scales of a group, or what is added; of both 16 columns if they have their own.
    #[inline(always)]
    pub(super) fn sixteens<C: Codes, const FINER: bool>(
        &self,
        codes: C,
        all: *const u16,
        group: usize,
    ) -> [C::Floats; 2] {
        let own = all.wrapping_byte_add(group * if FINER { 2 * SCALES } else { SCALES });
        let first = self.sixteen(codes, own);
        [first, if FINER { self.sixteen(codes, own.wrapping_byte_add(SCALES)) } else { first }]
    }

    #[inline(always)]
    fn sixteen<C: Codes>(&self, codes: C, own: *const u16) -> C::Floats {
        if self.bf16 {
            // SAFETY: sixteen scales, which the maker of the task vouches for.
            unsafe { codes.load_bf16(own) }
        } else {
            // SAFETY: as above.
            unsafe { codes.load_f16(own) }
        }
    }
}

/// A group of a token.
#[derive(Clone, Copy)]
pub(super) struct Token {
    pub(super) x: *const u8,
    pub(super) place: Place,
    pub(super) token: usize,
}

impl Token {
    #[inline(always)]
    pub(super) fn float(self, number: Number) -> f32 {
        let at = self.x.wrapping_add(self.place.number(number, self.token)).cast::<f32>();
        // SAFETY: one of this token's numbers, which the maker of the task vouches for.
        unsafe { at.read_unaligned() }
    }

    /// `sum` with what is added to all weights.
    #[inline(always)]
    pub(super) fn add_least<C: Codes, const FINER: bool>(
        self,
        codes: C,
        least: &[C::Floats; 2],
        sum: C::Floats,
    ) -> C::Floats {
        if FINER {
            let sum = codes.mul_add(least[0], codes.splat(self.float(Number::FirstSum)), sum);
            codes.mul_add(least[1], codes.splat(self.float(Number::LastSum)), sum)
        } else {
            codes.mul_add(least[0], codes.splat(self.float(Number::Sum)), sum)
        }
    }

    /// The products with rows that lie as in a file.
    #[inline(always)]
    fn dot_rows<C: Codes, const PLAIN: bool>(
        self,
        codes: C,
        w: &Weights,
        halves: Option<C::Table>,
        group: usize,
    ) -> C::Floats {
        let offset = self.float(Number::Start).to_bits().cast_signed();
        let source = w.block(group).wrapping_add(size_of::<u16>());
        let x = self.x.wrapping_add(self.place.codes(self.token));
        // SAFETY: a block of every row, and this token's codes, which the maker of the task vouches for.
        let sums = unsafe { codes.dot_rows::<PLAIN>(source, w.pitch.unwrap_or(0), halves, x, offset) };
        codes.floats(sums)
    }

    /// The products with some lines, and `start`.
    #[inline(always)]
    fn dot<C: Codes>(self, codes: C, start: Number, lines: &[C::Line; LINES], range: Range<usize>) -> C::Floats {
        let start = self.float(start).to_bits().cast_signed();
        let four = self.x.wrapping_add(self.place.codes(self.token)).cast::<i32>();
        let mut sums = codes.start(start);
        for j in range {
            // SAFETY: one of this token's eight words of codes, which the maker of the task vouches for.
            sums = codes.dot(sums, lines[j], unsafe { four.wrapping_add(j).read_unaligned() });
        }
        codes.floats(sums)
    }
}

/// Writes the first `rows` sums, perhaps added to what is there.
///
/// # Safety
/// So many elements from `y` on may be read and written.
#[inline(always)]
pub(super) unsafe fn write(y: *mut f32, mut sums: [f32; ROWS], rows: usize, add: bool) {
    if rows == ROWS {
        let y = y.cast::<[f32; ROWS]>();
        if add {
            // SAFETY: the caller vouches for sixteen elements.
            let old = unsafe { y.read() };
            sums = std::array::from_fn(|i| sums[i] + old[i]);
        }
        // SAFETY: as above.
        unsafe { y.write(sums) };
        return;
    }
    // SAFETY: the caller vouches for so many elements.
    let y = unsafe { std::slice::from_raw_parts_mut(y, rows) };
    for (y, sum) in y.iter_mut().zip(sums) {
        *y = if add { *y + sum } else { sum };
    }
}
