//! The inner loops: a panel by some tokens, with all their sums in registers.
//!
//! The products of one group are summed exactly, as integers. Then they are scaled and added as
//! floats, group after group. A result therefore depends neither on the number of tokens nor on the
//! number of threads.

use std::ops::Range;

use super::activations::{GroupValue, TileLayout};
use super::blocks::mxfp4_scale;
use super::format::{GROUP, LINES, SCALES, split_bits};
use super::prefetch::Prefetcher;
use crate::int8::{Int8, Int8Task, LINE, ROWS};

/// A panel of a matrix.
#[derive(Clone, Copy)]
pub(super) struct WeightPanel {
    /// Lines of codes: bytes, or nibbles if there is a table.
    pub(super) codes: *const u8,
    pub(super) table: Option<&'static [u8; 16]>,
    /// Bits of a code above its nibble, and the bias of codes; both 0 if the nibble is an index
    /// into a table.
    pub(super) split: usize,
    pub(super) bias: u8,
    /// Whether the table subtracts 8 from a nibble.
    pub(super) centered: bool,
    pub(super) scales: *const u16,
    /// Minimums, where the type has them.
    pub(super) mins: Option<*const u16>,
    /// Whether scales are bf16. In place they are exponents of eight bits then.
    pub(super) bf16: bool,
    /// Whether each 16 columns have a scale.
    pub(super) fine_scales: bool,
    pub(super) groups: usize,
    /// Whether the weights are read for the first time, so that they come from memory.
    pub(super) streamed: bool,
    /// End of the weights that this thread reads, the limit of prefetches.
    pub(super) end: *const u8,
    /// Bytes between rows in place, whose blocks hold both scale and codes; `codes` is then the
    /// first row.
    pub(super) pitch: Option<usize>,
}

/// The product of a panel and some tokens of a tile.
#[derive(Clone, Copy)]
pub(super) struct PanelProduct {
    pub(super) weights: WeightPanel,
    /// The tile.
    pub(super) x: *const u8,
    pub(super) layout: TileLayout,
    /// The first row of the tile's first token, and elements between tokens.
    pub(super) y: *mut f32,
    pub(super) y_stride: usize,
    /// Number of valid rows of the panel, at most sixteen.
    pub(super) rows: usize,
    /// Whether to add to `y` instead of overwriting it.
    pub(super) add: bool,
}

/// A [`PanelProduct`] as a task, for all tokens of its tile.
///
/// The creator of the task guarantees the memory: a panel of weights, a tile, and the rows of all
/// its tokens in `y`, which nothing else accesses.
pub(super) struct Int8Product(pub(super) PanelProduct);

impl Int8Task for Int8Product {
    type Output = ();

    #[inline(always)]
    fn run<C: Int8>(self, simd: C) {
        let w = &self.0.weights;
        let storage = Storage {
            in_rows: w.pitch.is_some(),
            nibbles: w.table.is_some(),
            split: w.split,
            fine_scales: w.fine_scales && w.pitch.is_none(),
            mins: w.mins.is_some() && w.pitch.is_none(),
        };
        if const { !C::SPECIALIZED } {
            return self.0.tokens(simd, storage);
        }
        /// Calls the function with constants, which the compiler folds into its loops.
        macro_rules! specialized {
            ($($in_rows:literal $nibbles:literal $split:literal $fine_scales:literal $mins:literal)*) => {
                $(if storage == (Storage { in_rows: $in_rows, nibbles: $nibbles, split: $split, fine_scales: $fine_scales, mins: $mins }) {
                    let storage = Storage { in_rows: $in_rows, nibbles: $nibbles, split: $split, fine_scales: $fine_scales, mins: $mins };
                    return self.0.tokens(simd, storage);
                })*
            };
        }
        specialized!(
            true false 0 false false
            true true 0 false false
            false false 0 false false
            false false 0 false true
            false false 0 true false
            false false 0 true true
            false true 0 false false
            false true 0 false true
            false true 0 true false
            false true 0 true true
            false false 1 false false
            false false 1 false true
            false false 2 true false
        );
    }
}

/// How weights are stored. The compiler folds constant values of this type into the loops.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Storage {
    /// Rows in place, not packed.
    in_rows: bool,
    /// 4-bit codes.
    nibbles: bool,
    /// Bits of a code above its nibble; 0 for other encodings.
    split: usize,
    /// A scale for each 16 columns.
    fine_scales: bool,
    /// Minimums in addition to scales.
    mins: bool,
}

impl PanelProduct {
    #[inline(always)]
    fn tokens<C: Int8>(&self, simd: C, storage: Storage) {
        let mut token = 0;
        while token < self.layout.width {
            /// Computes a number of tokens and evaluates to it.
            macro_rules! tokens {
                ($count:expr) => {{
                    self.compute::<C, { $count }>(simd, storage, token);
                    $count
                }};
            }
            token += match self.layout.width - token {
                16.. if const { C::TOKENS >= 16 } => tokens!(16),
                8.. if const { C::TOKENS >= 8 } => tokens!(8),
                4.. => tokens!(4),
                2.. => tokens!(2),
                _ => tokens!(1),
            };
        }
    }

    /// `T` tokens from `first` on.
    ///
    /// No closures here: the compiler does not always inline them into the function that has the
    /// instructions.
    #[inline(always)]
    fn compute<C: Int8, const T: usize>(&self, simd: C, storage: Storage, first: usize) {
        let Storage { in_rows, nibbles, split, fine_scales, mins: has_mins } = storage;
        let w = &self.weights;
        let table = simd.table(w.table.unwrap_or(&[0; 16]));
        let mut sums = [simd.splat(0.0); T];
        let lines = if nibbles || split > 0 { LINES / 2 } else { LINES };
        let each = (lines + split) * LINE + SCALES * if fine_scales { 2 } else { 1 } * if has_mins { 2 } else { 1 };
        let mut prefetcher = Prefetcher::new(w.codes, lines, w.end);
        let streamed = w.streamed && first == 0;
        for group in 0..w.groups {
            if streamed {
                prefetcher.advance(simd, (group + 1) * each);
            }
            let scales = if in_rows {
                w.scales_in_place(simd, group)
            } else {
                w.load_scales(simd, fine_scales, w.scales, group)
            };
            let mins = match w.mins {
                Some(mins) if has_mins => w.load_scales(simd, fine_scales, mins, group),
                _ => scales,
            };
            let x = self.x.wrapping_add(group * self.layout.group());
            if in_rows && T == 1 {
                let token = Token { x, layout: self.layout, token: first };
                let nibbles = if nibbles { Some(table) } else { None };
                let dot = if w.centered {
                    token.dot_rows::<C, true>(simd, w, nibbles, group)
                } else {
                    token.dot_rows::<C, false>(simd, w, nibbles, group)
                };
                sums[0] = simd.mul_add(dot, simd.mul(scales[0], simd.splat(token.float(GroupValue::Scale))), sums[0]);
                continue;
            }
            let lines = w.lines(simd, (in_rows, nibbles, split), table, group);
            for (t, sum) in sums.iter_mut().enumerate() {
                let token = Token { x, layout: self.layout, token: first + t };
                let by = simd.splat(token.float(GroupValue::Scale));
                if fine_scales {
                    let dot = token.dot(simd, GroupValue::FirstOffset, &lines, 0..LINES / 2);
                    *sum = simd.mul_add(dot, simd.mul(scales[0], by), *sum);
                    let dot = token.dot(simd, GroupValue::LastOffset, &lines, LINES / 2..LINES);
                    *sum = simd.mul_add(dot, simd.mul(scales[1], by), *sum);
                } else {
                    let dot = token.dot(simd, GroupValue::Offset, &lines, 0..LINES);
                    *sum = simd.mul_add(dot, simd.mul(scales[0], by), *sum);
                }
                if has_mins {
                    *sum = token.add_mins(simd, fine_scales, &mins, *sum);
                }
            }
        }
        for (t, &sum) in sums.iter().enumerate() {
            let y = self.y.wrapping_add((first + t) * self.y_stride);
            // SAFETY: the task's creator guarantees that only the task touches the rows of this
            // token.
            unsafe { write(y, simd.values(sum), self.rows, self.add) };
        }
    }
}

impl WeightPanel {
    /// The codes of a group.
    #[inline(always)]
    pub(super) fn lines<C: Int8>(
        &self,
        simd: C,
        (in_rows, nibbles, split): (bool, bool, usize),
        table: C::Table,
        group: usize,
    ) -> [C::Codes; LINES] {
        if in_rows {
            return self.lines_in_place(simd, nibbles, table, group);
        }
        let count = if nibbles || split > 0 { LINES / 2 } else { LINES };
        let source = self.codes.wrapping_add(group * (count + split) * LINE);
        // SAFETY: the task's creator guarantees the lines of the group; this is the first.
        let mut lines = [unsafe { simd.load(source) }; LINES];
        for j in 0..count {
            let source = source.wrapping_add(j * LINE);
            // SAFETY: as above, another line.
            lines[j] = unsafe { simd.load(source) };
            if nibbles {
                [lines[j], lines[j + LINES / 2]] = simd.lookup_nibbles(lines[j], table);
            } else if split > 0 {
                [lines[j], lines[j + LINES / 2]] = simd.split_nibbles(lines[j]);
            }
        }
        if split > 0 {
            for (j, codes) in lines.iter_mut().enumerate() {
                let (line, first) = split_bits(j, split);
                // SAFETY: as above, a line of further bits.
                let high = unsafe { simd.load(source.wrapping_add((count + line) * LINE)) };
                *codes = simd.with_high_bits(*codes, high, first, split, self.bias);
            }
        }
        lines
    }

    /// The codes of a group of rows in place: blocks of a scale, which is f16 or an exponent, and
    /// 32 codes, which are signed bytes or nibbles.
    #[inline(always)]
    fn lines_in_place<C: Int8>(&self, simd: C, nibbles: bool, table: C::Table, group: usize) -> [C::Codes; LINES] {
        let pitch = self.pitch.unwrap_or(0);
        let source = self.block(group).wrapping_add(self.block_header());
        // SAFETY: the first sixteen bytes of codes in a block of every row, guaranteed by the
        // task's creator.
        let first = unsafe { simd.load_rows(source, pitch) };
        let mut lines = [first[0]; LINES];
        if nibbles {
            for j in 0..LINES / 2 {
                [lines[j], lines[j + LINES / 2]] = simd.lookup_nibbles(first[j], table);
            }
            return lines;
        }
        // SAFETY: as above, the last sixteen.
        let last = unsafe { simd.load_rows(source.wrapping_add(GROUP / 2), pitch) };
        for j in 0..LINES / 2 {
            lines[j] = simd.flip_signs(first[j]);
            lines[j + LINES / 2] = simd.flip_signs(last[j]);
        }
        lines
    }

    /// The block of a group in the first of the rows in place.
    #[inline(always)]
    fn block(&self, group: usize) -> *const u8 {
        let codes = if self.table.is_some() { GROUP / 2 } else { GROUP };
        self.codes.wrapping_add(group * (codes + self.block_header()))
    }

    /// Bytes of the scale of a block in place.
    #[inline(always)]
    fn block_header(&self) -> usize {
        if self.bf16 { size_of::<u8>() } else { size_of::<u16>() }
    }

    /// The scales of a group of rows in place.
    #[inline(always)]
    pub(super) fn row_scales(&self, simd: impl Int8, group: usize) -> [u16; ROWS] {
        // SAFETY: the start of a block of every row, guaranteed by the task's creator.
        let mut scales = unsafe { simd.gather_u16(self.block(group), self.pitch.unwrap_or(0)) };
        if self.bf16 {
            for scale in &mut scales {
                *scale = mxfp4_scale(*scale & 0xff);
            }
        }
        scales
    }

    #[inline(always)]
    fn scales_in_place<C: Int8>(&self, simd: C, group: usize) -> [C::Floats; 2] {
        let scales = self.row_scales(simd, group);
        [self.load_float16(simd, scales.as_ptr()); 2]
    }

    /// The scales or minimums of a group, of both its halves.
    #[inline(always)]
    pub(super) fn load_scales<C: Int8>(
        &self,
        simd: C,
        fine_scales: bool,
        all: *const u16,
        group: usize,
    ) -> [C::Floats; 2] {
        let own = all.wrapping_byte_add(group * if fine_scales { 2 * SCALES } else { SCALES });
        let first = self.load_float16(simd, own);
        [first, if fine_scales { self.load_float16(simd, own.wrapping_byte_add(SCALES)) } else { first }]
    }

    #[inline(always)]
    fn load_float16<C: Int8>(&self, simd: C, own: *const u16) -> C::Floats {
        if self.bf16 {
            // SAFETY: sixteen scales, guaranteed by the task's creator.
            unsafe { simd.load_bf16(own) }
        } else {
            // SAFETY: as above.
            unsafe { simd.load_f16(own) }
        }
    }
}

/// A group of a token.
#[derive(Clone, Copy)]
pub(super) struct Token {
    pub(super) x: *const u8,
    pub(super) layout: TileLayout,
    pub(super) token: usize,
}

impl Token {
    #[inline(always)]
    pub(super) fn float(self, value: GroupValue) -> f32 {
        let at = self.x.wrapping_add(self.layout.value(value, self.token)).cast::<f32>();
        // SAFETY: a value of this token, guaranteed by the task's creator.
        unsafe { at.read_unaligned() }
    }

    /// Adds the minimums to a sum.
    #[inline(always)]
    pub(super) fn add_mins<C: Int8>(
        self,
        simd: C,
        fine_scales: bool,
        mins: &[C::Floats; 2],
        sum: C::Floats,
    ) -> C::Floats {
        if fine_scales {
            let sum = simd.mul_add(mins[0], simd.splat(self.float(GroupValue::FirstSum)), sum);
            simd.mul_add(mins[1], simd.splat(self.float(GroupValue::LastSum)), sum)
        } else {
            simd.mul_add(mins[0], simd.splat(self.float(GroupValue::Sum)), sum)
        }
    }

    /// The sums of a group of rows in place.
    #[inline(always)]
    fn dot_rows<C: Int8, const CENTERED: bool>(
        self,
        simd: C,
        w: &WeightPanel,
        nibbles: Option<C::Table>,
        group: usize,
    ) -> C::Floats {
        let offset = self.float(GroupValue::Offset).to_bits().cast_signed();
        let source = w.block(group).wrapping_add(w.block_header());
        let x = self.x.wrapping_add(self.layout.codes(self.token));
        // SAFETY: a block of every row, and this token's codes, guaranteed by the task's creator.
        let sums = unsafe { simd.dot_rows::<CENTERED>(source, w.pitch.unwrap_or(0), nibbles, x, offset) };
        simd.floats(sums)
    }

    /// The sums over some lines, starting from `start`.
    #[inline(always)]
    fn dot<C: Int8>(self, simd: C, start: GroupValue, lines: &[C::Codes; LINES], range: Range<usize>) -> C::Floats {
        let start = self.float(start).to_bits().cast_signed();
        let four = self.x.wrapping_add(self.layout.codes(self.token)).cast::<i32>();
        let mut sums = simd.initial_sums(start);
        for j in range {
            // SAFETY: one of this token's eight words of codes, guaranteed by the task's creator.
            sums = simd.dot(sums, lines[j], unsafe { four.wrapping_add(j).read_unaligned() });
        }
        simd.floats(sums)
    }
}

/// Writes the first `rows` sums, or adds them to `y`.
///
/// # Safety
/// `rows` elements from `y` on are readable and writable.
#[inline(always)]
pub(super) unsafe fn write(y: *mut f32, mut sums: [f32; ROWS], rows: usize, add: bool) {
    if rows == ROWS {
        let y = y.cast::<[f32; ROWS]>();
        if add {
            // SAFETY: the caller guarantees sixteen elements.
            let old = unsafe { y.read() };
            sums = std::array::from_fn(|i| sums[i] + old[i]);
        }
        // SAFETY: as above.
        unsafe { y.write(sums) };
        return;
    }
    // SAFETY: the caller guarantees `rows` elements.
    let y = unsafe { std::slice::from_raw_parts_mut(y, rows) };
    for (y, sum) in y.iter_mut().zip(sums) {
        *y = if add { *y + sum } else { sum };
    }
}
