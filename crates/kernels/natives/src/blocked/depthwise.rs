//! Depthwise convolutions.

use super::clear_border;
use super::conv::{origin, taps};
use super::grid::Region;
use roci_families::{self, Conv};
use roci_simd::{Simd, Task};

/// A region of a depthwise convolution; its groups are channel blocks.
pub(super) struct Depthwise<'a> {
    p: &'a roci_families::ConvBlocked,
    x: *const f32,
    w: *const f32,
    y: *mut f32,
    region: Region,
}

impl<'a> Depthwise<'a> {
    /// A task for a region.
    ///
    /// # Safety
    /// `conv_blocked` accepted the launch, the pointers are those of the region's batch, and
    /// nothing else touches the region.
    pub(super) unsafe fn new(
        p: &'a roci_families::ConvBlocked,
        x: *const f32,
        w: *const f32,
        y: *mut f32,
        region: Region,
    ) -> Self {
        Self { p, x, w, y, region }
    }

    /// `C` adjacent pixels of a row.
    ///
    /// # Safety
    /// Their windows, the weights and the pixels themselves are readable, and the pixels are
    /// writable.
    #[inline(always)]
    unsafe fn row<S: Simd, const C: usize, const STRIDE: usize>(
        &self,
        simd: S,
        taps: &[usize],
        [x, w, bias]: [*const f32; 3],
        y: *mut f32,
    ) {
        // SAFETY: a vector of the bias.
        let mut sums = [unsafe { simd.load(bias) }; C];
        if self.p.flags & Conv::ADD != 0 {
            for (c, sum) in sums.iter_mut().enumerate() {
                // SAFETY: `y` is a pixel of the result.
                *sum = simd.add(*sum, unsafe { simd.load(y.wrapping_add(c * S::LANES)) });
            }
        }
        for (index, &tap) in taps.iter().enumerate() {
            // SAFETY: a vector of weights for each element of the window.
            let weight = unsafe { simd.load(w.wrapping_add(index * S::LANES)) };
            for (c, sum) in sums.iter_mut().enumerate() {
                // SAFETY: this element of this pixel's window.
                let x = unsafe { simd.load(x.wrapping_add(tap + c * STRIDE * S::LANES)) };
                *sum = simd.mul_add(x, weight, *sum);
            }
        }
        if self.p.flags & Conv::CLAMP != 0 {
            let (low, high) = (simd.splat(self.p.low), simd.splat(self.p.high));
            sums.iter_mut().for_each(|sum| *sum = simd.min(high, simd.max(low, *sum)));
        }
        for (c, &sum) in sums.iter().enumerate() {
            // SAFETY: `y` is a pixel of the result.
            unsafe { simd.store(y.wrapping_add(c * S::LANES), sum) };
        }
    }

    #[inline(always)]
    fn all<S: Simd, const STRIDE: usize>(&self, simd: S) {
        let p = self.p;
        let taps = taps(p);
        let width = p.y.size[1] as usize;
        for group in self.region.groups.clone() {
            let (x, y) = (self.x.wrapping_add(group * p.x.plane()), self.y.wrapping_add(group * p.y.plane()));
            let bias = self.w.wrapping_add(group * S::LANES);
            let w = self.w.wrapping_add((p.y.blocks() + group * taps.len()) * S::LANES);
            for row in self.region.rows.clone() {
                let mut column = 0;
                while column < width {
                    let from = [x.wrapping_add(origin(p, row, column)), w, bias];
                    let to = y.wrapping_add(p.y.at(row as isize, column as isize) as usize);
                    /// Computes a number of pixels and evaluates to it.
                    macro_rules! pixels {
                        ($count:literal) => {{
                            // SAFETY: `new`'s caller guarantees the region, and that many pixels
                            // are left.
                            unsafe { self.row::<S, $count, STRIDE>(simd, &taps, from, to) };
                            $count
                        }};
                    }
                    column += match width - column {
                        7.. => pixels!(7),
                        3.. => pixels!(3),
                        _ => pixels!(1),
                    };
                }
            }
            // SAFETY: only this part touches these rows of the plane.
            unsafe { clear_border(&p.y, y, self.region.rows.clone()) };
        }
    }
}

impl Task for Depthwise<'_> {
    type Output = ();

    #[inline(always)]
    fn run<S: Simd>(self, simd: S) {
        match self.p.stride[1] {
            1 => self.all::<S, 1>(simd),
            _ => self.all::<S, 2>(simd),
        }
    }
}
