//! Products with matrices of floats: sixteen rows by some tokens, column by column.

use super::super::simd::codes::{Codes, CodesTask, ROWS};
use super::ahead::Ahead;
use super::tile::write;

/// How the numbers of a matrix are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    F32,
    F16,
    BF16,
}

/// Sixteen rows by some tokens.
///
/// Whoever makes one vouches for the memory: sixteen rows of weights, so many tokens of `x`, and their rows in `y`, which nothing
/// else touches.
pub(super) struct Tokens {
    pub(super) kind: Kind,
    pub(super) weights: *const u8,
    pub(super) columns: usize,
    pub(super) x: *const f32,
    pub(super) x_stride: usize,
    pub(super) y: *mut f32,
    pub(super) y_stride: usize,
    pub(super) tokens: usize,
    /// Rows that are there, at most sixteen.
    pub(super) rows: usize,
    pub(super) add: bool,
}

impl CodesTask for Tokens {
    type Output = ();

    #[inline(always)]
    fn run<C: Codes>(self, codes: C) {
        match self.kind {
            Kind::F32 => self.all::<C, 0>(codes),
            Kind::F16 => self.all::<C, 1>(codes),
            Kind::BF16 => self.all::<C, 2>(codes),
        }
    }
}

impl Tokens {
    #[inline(always)]
    fn all<C: Codes, const KIND: usize>(&self, codes: C) {
        let mut token = 0;
        while token < self.tokens {
            /// Computes so many tokens, and tells how many.
            macro_rules! tokens {
                ($count:expr) => {{
                    self.compute::<C, KIND, { $count }>(codes, token);
                    $count
                }};
            }
            token += match self.tokens - token {
                16.. if C::TOKENS >= 16 => tokens!(16),
                4.. => tokens!(4),
                2.. => tokens!(2),
                _ => tokens!(1),
            };
        }
    }

    /// `T` tokens from `first` on.
    #[inline(always)]
    fn compute<C: Codes, const KIND: usize, const T: usize>(&self, codes: C, first: usize) {
        let size = if KIND == 0 { size_of::<f32>() } else { size_of::<u16>() };
        let x = self.x.wrapping_add(first * self.x_stride);
        let mut ahead = Ahead::new(self.weights, 1);
        let mut sums = [codes.splat(0.0); T];
        for column in 0..self.columns {
            let source = self.weights.wrapping_add(column * ROWS * size);
            if first == 0 {
                ahead.ask(codes, (column + 1) * ROWS * size);
            }
            let weights = match KIND {
                // SAFETY: sixteen rows of this column, by the promise of the task's maker.
                0 => unsafe { codes.load_f32(source.cast()) },
                // SAFETY: as above.
                1 => unsafe { codes.load_f16(source.cast()) },
                // SAFETY: as above.
                _ => unsafe { codes.load_bf16(source.cast()) },
            };
            for (t, sum) in sums.iter_mut().enumerate() {
                // SAFETY: an element of a token that is there, by the same promise.
                let x = unsafe { x.wrapping_add(t * self.x_stride + column).read() };
                *sum = codes.mul_add(weights, codes.splat(x), *sum);
            }
        }
        for (t, &sum) in sums.iter().enumerate() {
            // SAFETY: the rows of this token are the task's alone, by the same promise.
            unsafe { write(self.y.wrapping_add((first + t) * self.y_stride), codes.values(sum), self.rows, self.add) };
        }
    }
}
