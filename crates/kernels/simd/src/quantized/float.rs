//! Products with matrices of floats: a panel by some tokens, column by column.

use super::prefetch::Prefetcher;
use super::product::write;
use crate::int8::{Int8, Int8Task, ROWS};

/// The element type of a matrix.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    F32,
    F16,
    BF16,
}

/// A panel by some tokens.
///
/// The creator of the task guarantees the memory: a panel of weights, `tokens` tokens of `x`, and
/// their rows in `y`, which nothing else accesses.
pub(super) struct FloatProduct {
    pub(super) kind: Kind,
    pub(super) weights: *const u8,
    /// End of the weights that this thread reads, the limit of prefetches.
    pub(super) end: *const u8,
    pub(super) columns: usize,
    pub(super) x: *const f32,
    pub(super) x_stride: usize,
    pub(super) y: *mut f32,
    pub(super) y_stride: usize,
    pub(super) tokens: usize,
    /// Number of valid rows of the panel, at most sixteen.
    pub(super) rows: usize,
    pub(super) add: bool,
}

impl Int8Task for FloatProduct {
    type Output = ();

    #[inline(always)]
    fn run<C: Int8>(self, simd: C) {
        if const { !C::SPECIALIZED } {
            return self.all(simd, self.kind);
        }
        match self.kind {
            Kind::F32 => self.all(simd, Kind::F32),
            Kind::F16 => self.all(simd, Kind::F16),
            Kind::BF16 => self.all(simd, Kind::BF16),
        }
    }
}

impl FloatProduct {
    #[inline(always)]
    fn all<C: Int8>(&self, simd: C, kind: Kind) {
        let mut token = 0;
        while token < self.tokens {
            /// Computes a number of tokens and evaluates to it.
            macro_rules! tokens {
                ($count:expr) => {{
                    self.compute::<C, { $count }>(simd, kind, token);
                    $count
                }};
            }
            token += match self.tokens - token {
                16.. if const { C::TOKENS >= 16 } => tokens!(16),
                4.. => tokens!(4),
                2.. => tokens!(2),
                _ => tokens!(1),
            };
        }
    }

    /// `T` tokens from `first` on.
    #[inline(always)]
    fn compute<C: Int8, const T: usize>(&self, simd: C, kind: Kind, first: usize) {
        let size = if kind == Kind::F32 { size_of::<f32>() } else { size_of::<u16>() };
        let x = self.x.wrapping_add(first * self.x_stride);
        let mut prefetcher = Prefetcher::new(self.weights, 1, self.end);
        let mut sums = [simd.splat(0.0); T];
        for column in 0..self.columns {
            let source = self.weights.wrapping_add(column * ROWS * size);
            if first == 0 {
                prefetcher.advance(simd, (column + 1) * ROWS * size);
            }
            let weights = match kind {
                // SAFETY: sixteen rows of this column, guaranteed by the task's creator.
                Kind::F32 => unsafe { simd.load_f32(source.cast()) },
                // SAFETY: as above.
                Kind::F16 => unsafe { simd.load_f16(source.cast()) },
                // SAFETY: as above.
                Kind::BF16 => unsafe { simd.load_bf16(source.cast()) },
            };
            for (t, sum) in sums.iter_mut().enumerate() {
                // SAFETY: an element of an existing token, guaranteed by the task's creator.
                let x = unsafe { x.wrapping_add(t * self.x_stride + column).read() };
                *sum = simd.mul_add(weights, simd.splat(x), *sum);
            }
        }
        for (t, &sum) in sums.iter().enumerate() {
            // SAFETY: the task's creator guarantees that only the task touches the rows of this
            // token.
            unsafe { write(self.y.wrapping_add((first + t) * self.y_stride), simd.values(sum), self.rows, self.add) };
        }
    }
}
