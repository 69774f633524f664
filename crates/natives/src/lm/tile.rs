//! The product itself: sixteen rows by some tokens, with the sums of all of them in registers.
//!
//! Products of one group are summed in whole numbers, exactly; then they are scaled and added as floats, one group after the
//! other. So a result depends neither on how many tokens there are nor on how work is shared.

use super::super::simd::codes::{Codes, CodesTask, LINE, ROWS};
use super::activations::{Number, Place};
use super::format::{GROUP, LINES, SCALES};

/// How many bytes ahead weights are asked for.
const AHEAD: usize = 4096;

/// Sixteen rows of a matrix.
#[derive(Clone, Copy)]
pub(super) struct Weights {
    /// Lines of codes: bytes, or halves of them if there is a table.
    pub(super) codes: *const u8,
    pub(super) table: Option<&'static [u8; 16]>,
    pub(super) scales: *const u16,
    /// What is added, where the type has such.
    pub(super) least: Option<*const u16>,
    /// Whether scales are bfloat16.
    pub(super) bf16: bool,
    /// Whether each 16 columns have a scale.
    pub(super) finer: bool,
    pub(super) groups: usize,
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
        match (self.0.weights.table, self.0.weights.finer, self.0.weights.least) {
            (None, false, None) => self.0.tokens::<C, false, false, false>(codes),
            (None, false, Some(_)) => self.0.tokens::<C, false, false, true>(codes),
            (None, true, None) => self.0.tokens::<C, false, true, false>(codes),
            (None, true, Some(_)) => self.0.tokens::<C, false, true, true>(codes),
            (Some(_), false, None) => self.0.tokens::<C, true, false, false>(codes),
            (Some(_), false, Some(_)) => self.0.tokens::<C, true, false, true>(codes),
            (Some(_), true, None) => self.0.tokens::<C, true, true, false>(codes),
            (Some(_), true, Some(_)) => self.0.tokens::<C, true, true, true>(codes),
        }
    }
}

impl Area {
    #[inline(always)]
    fn tokens<C: Codes, const HALVES: bool, const FINER: bool, const LEAST: bool>(&self, codes: C) {
        let mut token = 0;
        while token < self.place.width {
            /// Computes so many tokens, and tells how many.
            macro_rules! tokens {
                ($count:expr) => {{
                    self.compute::<C, { $count }, HALVES, FINER, LEAST>(codes, token);
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
    #[inline(always)]
    fn compute<C: Codes, const T: usize, const HALVES: bool, const FINER: bool, const LEAST: bool>(
        &self,
        codes: C,
        first: usize,
    ) {
        let w = &self.weights;
        let table = codes.table(w.table.unwrap_or(&[0; 16]));
        let lines = if HALVES { LINES / 2 } else { LINES };
        let scales = if FINER { 2 * SCALES } else { SCALES };
        let mut sums = [codes.splat(0.0); T];
        for group in 0..w.groups {
            let source = w.codes.wrapping_add(group * lines * LINE);
            let line = |j: usize| {
                let source = source.wrapping_add(j * LINE);
                codes.prefetch(source.wrapping_add(AHEAD));
                // SAFETY: a line of this group, which the maker of the task vouches for.
                unsafe { codes.load(source) }
            };
            let mut weights = [line(0); LINES];
            if HALVES {
                for j in 0..LINES / 2 {
                    [weights[j], weights[j + LINES / 2]] = codes.nibbles(line(j), table);
                }
            } else {
                for (j, weight) in weights.iter_mut().enumerate() {
                    *weight = line(j);
                }
            }
            let sixteen = |start: *const u16, at: usize| {
                let start = start.wrapping_byte_add(group * scales + at * SCALES);
                if w.bf16 {
                    // SAFETY: sixteen scales of this group, which the maker of the task vouches for.
                    unsafe { codes.load_bf16(start) }
                } else {
                    // SAFETY: as above.
                    unsafe { codes.load_f16(start) }
                }
            };
            let x = self.x.wrapping_add(group * self.place.group());
            let scale = [sixteen(w.scales, 0), if FINER { sixteen(w.scales, 1) } else { codes.splat(0.0) }];
            let least = match w.least {
                Some(start) if LEAST => [sixteen(start, 0), if FINER { sixteen(start, 1) } else { codes.splat(0.0) }],
                _ => [codes.splat(0.0); 2],
            };
            for (t, sum) in sums.iter_mut().enumerate() {
                let token = first + t;
                let own = x.wrapping_add(self.place.codes(token)).cast::<i32>();
                // SAFETY: one of this token's eight words of codes, which the maker of the task vouches for.
                let four = |j: usize| unsafe { own.wrapping_add(j).read_unaligned() };
                let number = |number: Number| {
                    let at = x.wrapping_add(self.place.number(number, token)).cast::<u32>();
                    // SAFETY: one of this token's numbers, as above.
                    unsafe { at.read_unaligned() }
                };
                let float = |name: Number| f32::from_bits(number(name));
                let dot = |start: Number, from: usize, to: usize| {
                    let mut whole = codes.start(number(start).cast_signed());
                    for (j, &weight) in weights.iter().enumerate().take(to).skip(from) {
                        whole = codes.dot(whole, weight, four(j));
                    }
                    codes.floats(whole)
                };
                let by = codes.splat(float(Number::Scale));
                if FINER {
                    let dots = [dot(Number::FirstStart, 0, LINES / 2), dot(Number::LastStart, LINES / 2, LINES)];
                    *sum = codes.mul_add(dots[0], codes.mul(scale[0], by), *sum);
                    *sum = codes.mul_add(dots[1], codes.mul(scale[1], by), *sum);
                } else {
                    *sum = codes.mul_add(dot(Number::Start, 0, LINES), codes.mul(scale[0], by), *sum);
                }
                if LEAST && FINER {
                    *sum = codes.mul_add(least[0], codes.splat(float(Number::FirstSum)), *sum);
                    *sum = codes.mul_add(least[1], codes.splat(float(Number::LastSum)), *sum);
                } else if LEAST {
                    *sum = codes.mul_add(least[0], codes.splat(float(Number::Sum)), *sum);
                }
            }
        }
        for (t, &sum) in sums.iter().enumerate() {
            // SAFETY: the rows of this token are the task's alone, by the promise of its maker.
            unsafe { write(self.y.wrapping_add((first + t) * self.y_stride), codes.values(sum), self.rows, self.add) };
        }
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

/// Makes bytes of the half bytes of sixteen rows. `source` and `target` hold `groups` groups of either, by the promise of whoever
/// makes the task.
pub(super) struct Widen {
    pub(super) source: *const u8,
    pub(super) target: *mut u8,
    pub(super) table: &'static [u8; 16],
    pub(super) groups: usize,
}

impl CodesTask for Widen {
    type Output = ();

    #[inline(always)]
    fn run<C: Codes>(self, codes: C) {
        let table = codes.table(self.table);
        for group in 0..self.groups {
            let source = self.source.wrapping_add(group * GROUP * ROWS / 2);
            let target = self.target.wrapping_add(group * GROUP * ROWS);
            for j in 0..LINES / 2 {
                // SAFETY: a line of this group, by the promise of the task's maker.
                let both = unsafe { codes.load(source.wrapping_add(j * LINE)) };
                for (line, at) in codes.nibbles(both, table).into_iter().zip([j, j + LINES / 2]) {
                    // SAFETY: as above.
                    unsafe { codes.store(target.wrapping_add(at * LINE), line) };
                }
            }
        }
    }
}
