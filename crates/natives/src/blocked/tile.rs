//! The innermost loop: some pixels by some vectors of output channels, held in registers.

use super::super::simd::Simd;

/// Vectors of output channels of a tile.
pub(super) const VECTORS: usize = 2;

/// How far neighbours of the input of a tile lie apart, told ahead: what is known needs no registers.
pub(super) mod step {
    /// Not told.
    pub(in super::super) const ANY: usize = 0;
    /// A block: steps of one.
    pub(in super::super) const NEXT: usize = 1;
    /// Two blocks: steps of two.
    pub(in super::super) const SECOND: usize = 2;
    /// Two elements: steps of two where channels do not lie in blocks.
    pub(in super::super) const SECOND_PLAIN: usize = 3;
}

/// Where a tile of the result lies and what it is made of.
#[derive(Clone, Copy)]
pub(super) struct Tile<'a> {
    /// The window of the first pixel.
    pub(super) x: *const f32,
    /// Where the elements of the window lie from there.
    pub(super) taps: &'a [usize],
    /// Elements between neighbours, between rows of pixels, and between blocks, of `x`.
    pub(super) x_step: usize,
    pub(super) x_row: usize,
    pub(super) x_block: usize,
    /// Channels of the blocks to be summed, in all, and of one of them.
    pub(super) channels: usize,
    pub(super) block: usize,
    pub(super) w: *const f32,
    /// The bias, where the sums start with it.
    pub(super) bias: Option<*const f32>,
    /// The first pixel; elements between rows of pixels, and between blocks.
    pub(super) y: *mut f32,
    pub(super) y_row: usize,
    pub(super) y_block: usize,
    /// Whether sums are added to what is in `y`.
    pub(super) add: bool,
    /// Limits of the results.
    pub(super) clamp: Option<(f32, f32)>,
    /// What is fetched into the cache meanwhile, an address for each row of weights, so many elements apart: the weights
    /// of the next tiles, which would be waited for otherwise.
    pub(super) ahead: *const f32,
    pub(super) ahead_step: usize,
}

impl Tile<'_> {
    /// `R` rows of `C` pixels by `V` vectors, with neighbours of `x` as far apart as `STEP` tells.
    ///
    /// The loops are plain and short on purpose: only if the compiler unrolls them whole do the sums stay in registers.
    ///
    /// # Safety
    /// All that the fields and these numbers span is readable, and of `y` writable.
    #[inline(always)]
    pub(super) unsafe fn compute<S: Simd, const R: usize, const C: usize, const V: usize, const STEP: usize>(
        &self,
        simd: S,
    ) {
        let known = STEP != step::ANY;
        debug_assert!(R <= 3 && (known || R == 1 && C <= 9), "{R} rows of {C} pixels");
        let step = match STEP {
            step::NEXT => S::LANES,
            step::SECOND => 2 * S::LANES,
            step::SECOND_PLAIN => 2,
            _ => self.x_step,
        };
        let place =
            |r: usize, c: usize, v: usize| self.y.wrapping_add(r * self.y_row + c * S::LANES + v * self.y_block);
        let mut sums = [[[simd.splat(0.0); V]; C]; R];
        if let Some(bias) = self.bias {
            for v in 0..V {
                // SAFETY: a vector of the bias for each of output channels.
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
                        *sum = simd.add(*sum, unsafe { simd.load(place(r, c, v)) });
                    }
                }
            }
        }
        let mut ahead = self.ahead;
        let mut w = self.w;
        let mut left = self.channels;
        let mut block = self.x;
        while left > 0 {
            let channels = left.min(self.block);
            for &tap in self.taps {
                let first = block.wrapping_add(tap);
                // Few pointers, so that they stay in registers: one a row where distances are known, else one for three
                // pixels.
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
                    simd.prefetch(ahead.cast());
                    ahead = ahead.wrapping_add(self.ahead_step);
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
                    unsafe { simd.store(place(r, c, v), sum) };
                }
            }
        }
    }
}
