//! Convolution of images in a blocked channel layout: tiles of pixels by vectors of output
//! channels, with all sums in registers.

use std::ops::Range;

use crate::{Level, Simd, Task};

/// Vectors of output channels per tile.
pub const VECTORS: usize = 2;

/// Distances between the inputs of adjacent pixels, as constants: a constant needs no register.
mod step {
    /// Not constant.
    pub(super) const ANY: usize = 0;
    /// One block: stride one.
    pub(super) const STRIDE_1: usize = 1;
    /// Two blocks: stride two.
    pub(super) const STRIDE_2: usize = 2;
    /// Two elements: stride two without channel blocks.
    pub(super) const STRIDE_2_UNBLOCKED: usize = 3;
}

/// Rows of pixels of the result, and the tile of their first pixel.
#[derive(Clone, Debug)]
pub struct Pixels<'a> {
    /// A tile at the origin of the images.
    pub tile: Tile<'a>,
    /// Vectors of output channels: one, or [`VECTORS`].
    pub vectors: usize,
    /// Rows to compute.
    pub rows: Range<usize>,
    /// Pixels per row.
    pub width: usize,
    /// Whether the channels of `x` are in blocks of one vector; otherwise they are not blocked.
    pub blocked: bool,
    /// Stride across a row, in pixels.
    pub stride: usize,
}

impl Pixels<'_> {
    /// Computes the pixels.
    ///
    /// # Safety
    /// All memory that the fields and these sizes span is readable; the result is writable too, and
    /// nothing else accesses it.
    pub unsafe fn compute(&self, level: Level) {
        level.run(Compute(self));
    }
}

/// Compiled once for each level.
struct Compute<'a>(&'a Pixels<'a>);

impl Task for Compute<'_> {
    type Output = ();

    #[inline(always)]
    fn run<S: Simd>(self, simd: S) {
        match (self.0.blocked, self.0.stride) {
            (true, 1) => self.with_vectors::<S, { step::STRIDE_1 }>(simd),
            (true, 2) => self.with_vectors::<S, { step::STRIDE_2 }>(simd),
            (false, 2) => self.with_vectors::<S, { step::STRIDE_2_UNBLOCKED }>(simd),
            _ => self.with_vectors::<S, { step::ANY }>(simd),
        }
    }
}

impl Compute<'_> {
    #[inline(always)]
    fn with_vectors<S: Simd, const STEP: usize>(&self, simd: S) {
        match self.0.vectors {
            1 => self.pixels::<S, 1, STEP>(simd),
            _ => self.pixels::<S, VECTORS, STEP>(simd),
        }
    }

    #[inline(always)]
    fn pixels<S: Simd, const V: usize, const STEP: usize>(&self, simd: S) {
        let Pixels { tile: first, rows, width, .. } = self.0;
        // Each tile prefetches its share of the next weights.
        let share = first.prefetch_step * first.channels * first.taps.len();
        let mut prefetch = first.prefetch;
        let mut row = rows.start;
        while row < rows.end {
            let mut at = |column: usize| {
                let now = prefetch;
                prefetch = prefetch.wrapping_add(share);
                Tile {
                    prefetch: now,
                    x: first.x.wrapping_add(row * first.x_row + column * first.x_step),
                    y: first.y.wrapping_add(row * first.y_row + column * S::LANES),
                    ..*first
                }
            };
            /// Computes a tile and evaluates to its columns.
            macro_rules! tile {
                ($rows:literal x $columns:literal at $column:expr) => {{
                    // SAFETY: the caller of `Pixels::compute` guarantees the memory of these
                    // pixels, and that many are left.
                    unsafe { at($column).compute::<S, $rows, $columns, V, STEP>(simd) };
                    $columns
                }};
            }
            if const { STEP != step::ANY && S::LANES == 16 } && *width == 7 && row + 1 < rows.end {
                tile!(2 x 7 at 0);
                row += 2;
                continue;
            }
            let mut column = 0;
            while column < *width {
                column += match *width - column {
                    14.. if const { STEP != step::ANY && S::LANES == 16 } => tile!(1 x 14 at column),
                    7.. if const { S::LANES == 16 } => tile!(1 x 7 at column),
                    6.. if const { S::LANES < 16 } => tile!(1 x 6 at column),
                    3.. if const { STEP != step::ANY && S::LANES == 16 } => tile!(1 x 3 at column),
                    _ => tile!(1 x 1 at column),
                };
            }
            row += 1;
        }
    }
}

/// A tile of the result, and its operands.
#[derive(Clone, Copy, Debug)]
pub struct Tile<'a> {
    /// The window of the first pixel.
    pub x: *const f32,
    /// Offsets of the window's elements.
    pub taps: &'a [usize],
    /// Elements between adjacent pixels' windows, between rows of pixels, and between blocks, of
    /// `x`.
    pub x_step: usize,
    /// As `x_step`.
    pub x_row: usize,
    /// As `x_step`.
    pub x_block: usize,
    /// Summed channels in total.
    pub channels: usize,
    /// Summed channels per block.
    pub block: usize,
    /// The weights, packed.
    pub w: *const f32,
    /// The bias, if sums start with it.
    pub bias: Option<*const f32>,
    /// The first pixel of the result.
    pub y: *mut f32,
    /// Elements between rows of pixels of the result.
    pub y_row: usize,
    /// Elements between blocks of the result.
    pub y_block: usize,
    /// Whether to add to `y` instead of overwriting it.
    pub add: bool,
    /// Limits of the results.
    pub clamp: Option<(f32, f32)>,
    /// The weights of the next tiles, which are prefetched meanwhile.
    pub prefetch: *const f32,
    /// Elements between prefetched addresses: one for each row of weights.
    pub prefetch_step: usize,
}

impl Tile<'_> {
    /// `R` rows of `C` pixels by `V` vectors, with inputs `STEP` apart.
    ///
    /// The loops are plain and short on purpose: sums stay in registers only if the compiler
    /// unrolls them completely.
    ///
    /// # Safety
    /// All memory that the fields and these sizes span is readable; `y` is writable too.
    #[inline(always)]
    unsafe fn compute<S: Simd, const R: usize, const C: usize, const V: usize, const STEP: usize>(&self, simd: S) {
        let known = STEP != step::ANY;
        debug_assert!(R <= 3 && (known || R == 1 && C <= 9), "{R} rows of {C} pixels");
        let step = match STEP {
            step::STRIDE_1 => S::LANES,
            step::STRIDE_2 => 2 * S::LANES,
            step::STRIDE_2_UNBLOCKED => 2,
            _ => self.x_step,
        };
        let result =
            |r: usize, c: usize, v: usize| self.y.wrapping_add(r * self.y_row + c * S::LANES + v * self.y_block);
        let mut sums = [[[simd.splat(0.0); V]; C]; R];
        if let Some(bias) = self.bias {
            for v in 0..V {
                // SAFETY: a vector of the bias for each vector of output channels.
                let bias = unsafe { simd.load(bias.wrapping_add(v * S::LANES)) };
                for row in &mut sums {
                    for sum in row {
                        sum[v] = bias;
                    }
                }
            }
        }
        if self.add {
            for (r, row) in sums.iter_mut().enumerate() {
                for (c, sum) in row.iter_mut().enumerate() {
                    for (v, sum) in sum.iter_mut().enumerate() {
                        // SAFETY: a vector of the tile's results.
                        *sum = simd.add(*sum, unsafe { simd.load(result(r, c, v)) });
                    }
                }
            }
        }
        let mut prefetch = self.prefetch;
        let mut w = self.w;
        let mut remaining = self.channels;
        let mut block = self.x;
        while remaining > 0 {
            let channels = remaining.min(self.block);
            for &tap in self.taps {
                let first = block.wrapping_add(tap);
                // Few pointers, so that they stay in registers: one per row if distances are
                // constant, otherwise one per three pixels.
                let distance = if known { self.x_row } else { 3 * step };
                let mut starts = [first, first.wrapping_add(distance), first.wrapping_add(2 * distance)];
                for _ in 0..channels {
                    let mut weights = [simd.splat(0.0); V];
                    for (v, weight) in weights.iter_mut().enumerate() {
                        // SAFETY: a row of packed weights is `V` vectors.
                        *weight = unsafe { simd.load(w.wrapping_add(v * S::LANES)) };
                    }
                    for (r, row) in sums.iter_mut().enumerate() {
                        for (c, sum) in row.iter_mut().enumerate() {
                            let x = if known {
                                starts[r.min(2)].wrapping_add(c * step)
                            } else {
                                starts[(c / 3).min(2)].wrapping_add(c % 3 * step)
                            };
                            // SAFETY: this channel of this pixel's window.
                            let x = simd.splat(unsafe { *x });
                            for (sum, &weight) in sum.iter_mut().zip(&weights) {
                                *sum = simd.mul_add(x, weight, *sum);
                            }
                        }
                    }
                    w = w.wrapping_add(V * S::LANES);
                    simd.prefetch(prefetch.cast());
                    prefetch = prefetch.wrapping_add(self.prefetch_step);
                    starts.iter_mut().for_each(|start| *start = start.wrapping_add(1));
                }
            }
            remaining -= channels;
            block = block.wrapping_add(self.x_block);
        }
        if let Some((low, high)) = self.clamp {
            let (low, high) = (simd.splat(low), simd.splat(high));
            for row in &mut sums {
                for sum in row {
                    for sum in sum {
                        *sum = simd.min(high, simd.max(low, *sum));
                    }
                }
            }
        }
        for (r, row) in sums.iter().enumerate() {
            for (c, sum) in row.iter().enumerate() {
                for (v, &sum) in sum.iter().enumerate() {
                    // SAFETY: a vector of the tile's results.
                    unsafe { simd.store(result(r, c, v), sum) };
                }
            }
        }
    }
}
