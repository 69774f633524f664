//! `softmax` and `log_softmax` over the rows of a matrix.

use roci_hal::native::{NativeKernel, NativeLaunch};

use super::check::{self, AccessRange, Extent};
use super::reduce::{Max, Sum, fold_slice};
use super::{math, memory, partition};
use crate::KernelFactory;
use roci_simd::{Level, Simd, Task};
use std::sync::Arc;

/// The kernels of this file, by name.
pub(crate) const KERNELS: &[(&str, KernelFactory)] = &[
    ("softmax", |level| Arc::new(Softmax::new(level, false))),
    ("log_softmax", |level| Arc::new(Softmax::new(level, true))),
];

/// Independent sums of exponentials.
const LANES: usize = 32;

/// `y[r, c] = e^(x[r, c] - max) / sum of the same over the row`, or its logarithm; `y` may be `x`.
pub(super) struct Softmax {
    level: Level,
    logarithm: bool,
}

impl Softmax {
    pub(super) fn new(level: Level, logarithm: bool) -> Self {
        Self { level, logarithm }
    }
}

// SAFETY: `prepare` checks both matrices against their bindings and rejects partial overlaps; a
// part is some whole rows, and a row depends only on itself.
unsafe impl NativeKernel for Softmax {
    fn accesses(&self) -> &[roci_hal::Access] {
        check::last_written(2)
    }

    fn prepare(&self, launch: &NativeLaunch<'_>) -> Result<usize, String> {
        let p: roci_families::Softmax = check::constants(launch)?;
        let [x, y] = check::bindings(launch)?;
        let extent = Extent::product(&[p.rows, p.columns]);
        let x = AccessRange::read::<f32>("x", x, extent)?;
        AccessRange::write::<f32>("y", y, extent)?.disjoint_or_same(&x)?;
        if p.columns == 0 {
            return Ok(0);
        }
        Ok(partition::count(8 * u64::from(p.rows) * u64::from(p.columns), p.rows as usize, launch.workers))
    }

    unsafe fn run(&self, launch: &NativeLaunch<'_>, part: usize, parts: usize) {
        let Ok(p) = check::constants::<roci_families::Softmax>(launch) else { return };
        let [x, y] = [launch.bindings[0], launch.bindings[1]];
        let columns = p.columns as usize;
        for row in partition::range(p.rows as usize, 1, part, parts) {
            let range = row * columns..(row + 1) * columns;
            // SAFETY: a row of this part, within the extent that `prepare` checked. If `x` is `y`,
            // no slice of `x` exists; otherwise they are disjoint.
            let y = unsafe { memory::output::<f32>(y, range.clone()) };
            if x.pointer != launch.bindings[1].pointer {
                // SAFETY: as above; nothing writes to `x`.
                y.copy_from_slice(unsafe { memory::input(x, range) });
            }
            self.level.run(Row { y, logarithm: self.logarithm });
        }
    }
}

/// One row, in place.
struct Row<'a> {
    y: &'a mut [f32],
    logarithm: bool,
}

impl Task for Row<'_> {
    type Output = ();

    #[inline(always)]
    fn run<S: Simd>(self, simd: S) {
        let max = fold_slice::<S, Max>(simd, self.y) as f32;
        if self.logarithm {
            let mut sums = [0.0; LANES];
            for chunk in self.y.chunks(LANES) {
                for (sum, &y) in sums.iter_mut().zip(chunk) {
                    *sum += f64::from(math::exp(y - max));
                }
            }
            let rest = sums.iter().sum::<f64>().ln();
            for y in self.y.iter_mut() {
                *y = (f64::from(*y) - f64::from(max) - rest) as f32;
            }
            return;
        }
        for y in self.y.iter_mut() {
            *y = math::exp(*y - max);
        }
        let scale = 1.0 / fold_slice::<S, Sum>(simd, self.y);
        for y in self.y.iter_mut() {
            *y = (f64::from(*y) * scale) as f32;
        }
    }
}
