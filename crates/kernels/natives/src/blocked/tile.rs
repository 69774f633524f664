//! The inner loop: a tile of pixels by vectors of output channels, with all sums in registers.

use roci_simd::Simd;

/// Vectors of output channels per tile.
pub(super) const VECTORS: usize = 2;

/// Distances between the inputs of adjacent pixels, as constants: a constant needs no register.
pub(super) mod step {
    /// Not constant.
    pub(in super::super) const ANY: usize = 0;
    /// One block: stride one.
    pub(in super::super) const STRIDE_1: usize = 1;
    /// Two blocks: stride two.
    pub(in super::super) const STRIDE_2: usize = 2;
    /// Two elements: stride two without channel blocks.
    pub(in super::super) const STRIDE_2_UNBLOCKED: usize = 3;
}

/// A tile of the result, and its operands.
#[derive(Clone, Copy)]
pub(super) struct Tile<'a> {
    /// The window of the first pixel.
    pub(super) x: *const f32,
    /// Offsets of the window's elements.
    pub(super) taps: &'a [usize],
    /// Elements between adjacent pixels' windows, between rows of pixels, and between blocks, of
    /// `x`.
    pub(super) x_step: usize,
    pub(super) x_row: usize,
    pub(super) x_block: usize,
    /// Summed channels in total, and per block.
    pub(super) channels: usize,
    pub(super) block: usize,
    pub(super) w: *const f32,
    /// The bias, if sums start with it.
    pub(super) bias: Option<*const f32>,
    /// The first pixel of the result; elements between rows of pixels, and between blocks.
    pub(super) y: *mut f32,
    pub(super) y_row: usize,
    pub(super) y_block: usize,
    /// Whether to add to `y` instead of overwriting it.
    pub(super) add: bool,
    /// Limits of the results.
    pub(super) clamp: Option<(f32, f32)>,
    /// The weights of the next tiles, which are prefetched meanwhile: an address for each row of
    /// weights, `prefetch_step` elements apart.
    pub(super) prefetch: *const f32,
    pub(super) prefetch_step: usize,
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
    pub(super) unsafe fn compute<S: Simd, const R: usize, const C: usize, const V: usize, const STEP: usize>(
        &self,
        simd: S,
    ) {
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
        let mut left = self.channels;
        let mut block = self.x;
        while left > 0 {
            let channels = left.min(self.block);
            for &tap in self.taps {
                let first = block.wrapping_add(tap);
                // Few pointers, so that they stay in registers: one per row if distances are
                // constant, otherwise one per three pixels.
                let mut starts = if known {
                    [0, 1, 2].map(|row| first.wrapping_add(row * self.x_row))
                } else {
                    [0, 3, 6].map(|pixel| first.wrapping_add(pixel * step))
                };
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
            left -= channels;
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
