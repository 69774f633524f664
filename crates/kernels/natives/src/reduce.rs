//! `reduce_*`: reduction of one axis.
//!
//! Sums and products are accumulated in f64, so that their order rarely changes the rounded result.
//!
//! One part computes an output element, as one workgroup of the GPU twin does: parts of a launch
//! cannot wait for each other, so none could add up partial sums. A reduction to few elements
//! therefore runs on few threads. To reduce a whole tensor, a caller launches twice on every
//! device: `[1, n, 1]` as `[p, n / p, 1]`, then the `p` results.

use std::ops::Range;

use roci_hal::native::{NativeBinding, NativeKernel, NativeLaunch};

use super::check::{self, AccessRange, Extent};
use super::{memory, partition};
use crate::KernelFactory;
use roci_simd::{CacheLine, Level, Simd, Task};
use std::sync::Arc;

/// The kernels of this file, by name.
pub(crate) const KERNELS: &[(&str, KernelFactory)] = &[
    ("reduce_sum", |level| Arc::new(Reduce::new(level, Sum))),
    ("reduce_max", |level| Arc::new(Reduce::new(level, Max))),
    ("reduce_min", |level| Arc::new(Reduce::new(level, Min))),
    ("reduce_prod", |level| Arc::new(Reduce::new(level, Prod))),
];

/// Number of accumulators along a contiguous axis; otherwise, number of columns reduced at a time.
const LANES: usize = 64;

/// How two values are combined.
pub(super) trait Reduction: Copy + Send + Sync + 'static {
    /// The result for an empty axis.
    const EMPTY: f64;

    /// Combines one more value.
    fn fold(old: f64, value: f64) -> f64;
}

/// The sum.
#[derive(Clone, Copy)]
pub(super) struct Sum;

/// The product.
#[derive(Clone, Copy)]
pub(super) struct Prod;

/// The largest value, or NaN if there is one; minus infinity for an empty axis.
#[derive(Clone, Copy)]
pub(super) struct Max;

/// The smallest value, or NaN if there is one; infinity for an empty axis.
#[derive(Clone, Copy)]
pub(super) struct Min;

impl Reduction for Sum {
    const EMPTY: f64 = 0.0;

    #[inline(always)]
    fn fold(old: f64, value: f64) -> f64 {
        old + value
    }
}

impl Reduction for Max {
    const EMPTY: f64 = f64::NEG_INFINITY;

    #[inline(always)]
    fn fold(old: f64, value: f64) -> f64 {
        if value > old || value.is_nan() { value } else { old }
    }
}

impl Reduction for Min {
    const EMPTY: f64 = f64::INFINITY;

    #[inline(always)]
    fn fold(old: f64, value: f64) -> f64 {
        if value < old || value.is_nan() { value } else { old }
    }
}

impl Reduction for Prod {
    const EMPTY: f64 = 1.0;

    #[inline(always)]
    fn fold(old: f64, value: f64) -> f64 {
        old * value
    }
}

/// `y[o, i] = fold over r of x[o, r, i]`.
pub(super) struct Reduce<F> {
    level: Level,
    fold: F,
}

impl<F: Reduction> Reduce<F> {
    pub(super) fn new(level: Level, fold: F) -> Self {
        Self { level, fold }
    }
}

/// Folds a contiguous slice.
#[inline(always)]
pub(super) fn fold_slice<S: Simd, F: Reduction>(simd: S, x: &[f32]) -> f64 {
    let mut lanes = [F::EMPTY; LANES];
    let (chunks, rest) = x.as_chunks::<LANES>();
    for chunk in chunks {
        for line in (0..LANES).step_by(CacheLine::WORDS) {
            simd.prefetch(chunk.as_ptr().wrapping_add(memory::PREFETCH_DISTANCE + line).cast());
        }
        for (lane, &x) in lanes.iter_mut().zip(chunk) {
            *lane = F::fold(*lane, x.into());
        }
    }
    for (lane, &x) in lanes.iter_mut().zip(rest) {
        *lane = F::fold(*lane, x.into());
    }
    lanes.into_iter().fold(F::EMPTY, F::fold)
}

// SAFETY: `prepare` checks both arrays against their bindings and rejects overlaps; parts are
// disjoint ranges of outputs.
unsafe impl<F: Reduction> NativeKernel for Reduce<F> {
    fn accesses(&self) -> &[roci_hal::Access] {
        check::last_written(2)
    }

    fn prepare(&self, launch: &NativeLaunch<'_>) -> Result<usize, String> {
        let p: roci_families::Reduce = check::constants(launch)?;
        let [x, y] = check::bindings(launch)?;
        if p.outer == 0 || p.inner == 0 {
            return Ok(0);
        }
        let x_extent = Extent::product(&[p.outer, p.axis, p.inner]);
        let y_extent = Extent::product(&[p.outer, p.inner]);
        let x = AccessRange::read::<f32>("x", x, x_extent)?;
        AccessRange::write::<f32>("y", y, y_extent)?.disjoint_from(&x)?;
        let bytes = u64::try_from(4 * (x_extent.elements() + y_extent.elements())).unwrap_or(u64::MAX);
        Ok(partition::count(bytes, p.outer as usize * p.inner as usize, launch.workers))
    }

    unsafe fn run(&self, launch: &NativeLaunch<'_>, part: usize, parts: usize) {
        let Ok(p) = check::constants::<roci_families::Reduce>(launch) else { return };
        let [x, y] = [launch.bindings[0], launch.bindings[1]];
        let outputs = p.outer as usize * p.inner as usize;
        let step = if outputs >= parts * LANES { partition::STEP } else { 1 };
        let range = partition::range(outputs, step, part, parts);
        // SAFETY: this part's own outputs; the caller guarantees the binding.
        let y = unsafe { memory::output(y, range.clone()) };
        self.level.run(Part { fold: self.fold, x, axis: p.axis as usize, inner: p.inner as usize, range, y });
    }
}

struct Part<'a, F> {
    #[expect(dead_code, reason = "names the type of the fold")]
    fold: F,
    x: NativeBinding,
    axis: usize,
    inner: usize,
    range: Range<usize>,
    y: &'a mut [f32],
}

impl<F: Reduction> Task for Part<'_, F> {
    type Output = ();

    #[inline(always)]
    fn run<S: Simd>(self, simd: S) {
        if self.inner == 1 {
            for (output, y) in self.range.zip(self.y) {
                // SAFETY: the axis of this output, within the extent that `prepare` checked;
                // nothing writes it during the launch.
                let x = unsafe { memory::input(self.x, output * self.axis..(output + 1) * self.axis) };
                *y = fold_slice::<S, F>(simd, x) as f32;
            }
            return;
        }
        let mut output = self.range.start;
        while output < self.range.end {
            let (outer, column) = (output / self.inner, output % self.inner);
            let count = LANES.min(self.inner - column).min(self.range.end - output);
            let mut lanes = [F::EMPTY; LANES];
            for r in 0..self.axis {
                let start = (outer * self.axis + r) * self.inner + column;
                // SAFETY: within one row of the axis, so within the extent that `prepare` checked;
                // nothing writes it during the launch.
                let x: &[f32] = unsafe { memory::input(self.x, start..start + count) };
                for (lane, &x) in lanes.iter_mut().zip(x) {
                    *lane = F::fold(*lane, x.into());
                }
            }
            let first = output - self.range.start;
            for (y, lane) in self.y[first..first + count].iter_mut().zip(lanes) {
                *y = lane as f32;
            }
            output += count;
        }
    }
}
