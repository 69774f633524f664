//! `matvec_*`: one dot product for each row.

use std::marker::PhantomData;

use roci_hal::native::{NativeKernel, NativeLaunch};

use super::check::{self, AccessRange, Extent};
use super::{memory, partition};
use crate::KernelFactory;
use half::f16;
use roci_simd::{Element, Level, Simd, Task};
use std::sync::Arc;

/// The kernels of this file, by name.
pub(crate) const KERNELS: &[(&str, KernelFactory)] = &[
    ("matvec_f32", |level| Arc::new(Matvec::<f32>::new(level))),
    ("matvec_f16", |level| Arc::new(Matvec::<f16>::new(level))),
];

/// Independent vector sums, which hide the latency of additions.
const SUMS: usize = 4;
/// Rows at a time: each element of `x` is read once for all of them.
const ROWS: usize = 4;

/// `y = A * x`, with `A` of element type `E` and f32 vectors.
pub(super) struct Matvec<E> {
    level: Level,
    element: PhantomData<E>,
}

impl<E> Matvec<E> {
    pub(super) fn new(level: Level) -> Self {
        Self { level, element: PhantomData }
    }
}

// SAFETY: `prepare` checks the three arrays against their bindings and rejects an overlapping
// output; parts are disjoint ranges of rows.
unsafe impl<E: Element> NativeKernel for Matvec<E> {
    fn accesses(&self) -> &[roci_hal::Access] {
        check::last_written(3)
    }

    fn prepare(&self, launch: &NativeLaunch<'_>) -> Result<usize, String> {
        let p: roci_families::Matvec = check::constants(launch)?;
        let [a, x, y] = check::bindings(launch)?;
        if p.m == 0 {
            return Ok(0);
        }
        let a = AccessRange::read::<E>("a", a, Extent::of(&[(p.m, p.lda), (p.k, 1)]))?;
        let x = AccessRange::read::<f32>("x", x, Extent::of(&[(p.k, 1)]))?;
        let y = AccessRange::write::<f32>("y", y, Extent::of(&[(p.m, 1)]))?;
        y.disjoint_from(&a)?;
        y.disjoint_from(&x)?;
        let bytes = u64::from(p.m) * u64::from(p.k) * size_of::<E>() as u64;
        Ok(partition::count(bytes, (p.m as usize).div_ceil(ROWS), launch.workers))
    }

    unsafe fn run(&self, launch: &NativeLaunch<'_>, part: usize, parts: usize) {
        let Ok(p) = check::constants::<roci_families::Matvec>(launch) else { return };
        let [a, x, y] = [launch.bindings[0], launch.bindings[1], launch.bindings[2]];
        let (k, lda) = (p.k as usize, p.lda as usize);
        // Parts are whole groups of rows, so the order in which a row is summed does not depend on
        // them.
        let range = partition::range(p.m as usize, ROWS, part, parts);
        // SAFETY: `x` is read only; its extent was checked.
        let x = unsafe { memory::input::<f32>(x, 0..k) };
        // SAFETY: this part's own outputs.
        let y = unsafe { memory::output::<f32>(y, range.clone()) };
        for (first, y) in range.step_by(ROWS).zip(y.chunks_mut(ROWS)) {
            // SAFETY: rows within the extent that `prepare` checked; `a` is read only.
            let row = |i: usize| unsafe { memory::input::<E>(a, (first + i) * lda..(first + i) * lda + k) };
            match *y {
                [ref mut p, ref mut q, ref mut r, ref mut s] => {
                    [*p, *q, *r, *s] = self.level.run(Dots { rows: [row(0), row(1), row(2), row(3)], x });
                }
                _ => {
                    for (i, y) in y.iter_mut().enumerate() {
                        [*y] = self.level.run(Dots { rows: [row(i)], x });
                    }
                }
            }
        }
    }
}

/// Dot products of some rows with `x`, all of the same length.
struct Dots<'a, E, const R: usize> {
    rows: [&'a [E]; R],
    x: &'a [f32],
}

impl<E: Element, const R: usize> Task for Dots<'_, E, R> {
    type Output = [f32; R];

    #[inline(always)]
    fn run<S: Simd>(self, simd: S) -> [f32; R] {
        let step = SUMS * S::LANES;
        let count = self.x.len();
        let whole = count / step * step;
        let mut sums = [[simd.splat(0.0); SUMS]; R];
        let mut i = 0;
        while i < whole {
            for v in 0..SUMS {
                let at = i + v * S::LANES;
                // SAFETY: a whole vector before `whole`, which is at most the length of `x`.
                let x = unsafe { simd.load(self.x.as_ptr().wrapping_add(at)) };
                for (sums, row) in sums.iter_mut().zip(self.rows) {
                    // SAFETY: as above; rows are as long as `x`.
                    let a = unsafe { E::load(simd, row.as_ptr().wrapping_add(at)) };
                    sums[v] = simd.mul_add(a, x, sums[v]);
                }
            }
            i += step;
        }
        while i < count {
            let remaining = S::LANES.min(count - i);
            // SAFETY: `left` elements remain.
            let x = unsafe { f32::load_first(simd, self.x.as_ptr().wrapping_add(i), remaining) };
            for (sums, row) in sums.iter_mut().zip(self.rows) {
                // SAFETY: as above; rows are as long as `x`.
                let a = unsafe { E::load_first(simd, row.as_ptr().wrapping_add(i), remaining) };
                sums[0] = simd.mul_add(a, x, sums[0]);
            }
            i += remaining;
        }
        let mut dots = [0.0; R];
        for (dot, [p, q, r, s]) in dots.iter_mut().zip(sums) {
            *dot = simd.sum(simd.add(simd.add(p, q), simd.add(r, s)));
        }
        dots
    }
}
