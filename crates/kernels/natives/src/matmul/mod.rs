//! `matmul_*`: blocks of the result for the threads, register tiles within a block.

mod grid;
pub(super) mod packed;

use std::marker::PhantomData;

use roci_hal::native::{NativeKernel, NativeLaunch};

use self::grid::Grid;
use super::check;
use crate::KernelFactory;
use half::f16;
use roci_simd::Level;
use roci_simd::gemm::{Block, GemmElement};
use std::sync::Arc;

/// The kernels of this file, by name.
pub(crate) const KERNELS: &[(&str, KernelFactory)] = &[
    ("matmul_f32", |level| Arc::new(Matmul::<f32>::new(level))),
    ("matmul_f16", |level| Arc::new(Matmul::<f16>::new(level))),
    ("matmul_large_f32", |level| Arc::new(Matmul::<f32>::new(level))),
    ("matmul_large_f16", |level| Arc::new(Matmul::<f16>::new(level))),
    ("matmul_coopmat_f16", |level| Arc::new(Matmul::<f16>::new(level))),
];

/// `C[b] = A[b] * B[b]` with elements of type `E`, accumulated in f32.
///
/// The order in which an element is summed does not depend on the number of parts.
pub(super) struct Matmul<E> {
    level: Level,
    element: PhantomData<E>,
}

impl<E> Matmul<E> {
    pub(super) fn new(level: Level) -> Self {
        Self { level, element: PhantomData }
    }
}

// SAFETY: `prepare` checks all three matrices against their bindings and rejects results that
// overlap each other or an input; the blocks of a grid tile the result, each block belongs to one
// part, and `multiply` stays within its block.
unsafe impl<E: GemmElement> NativeKernel for Matmul<E> {
    fn accesses(&self) -> &[roci_hal::Access] {
        check::last_written(3)
    }

    fn prepare(&self, launch: &NativeLaunch<'_>) -> Result<usize, String> {
        let p: roci_families::Matmul = check::constants(launch)?;
        grid::check::<E>(&p, launch)?;
        Ok(Grid::new(&p, launch.workers).parts(launch.workers))
    }

    unsafe fn run(&self, launch: &NativeLaunch<'_>, part: usize, parts: usize) {
        let Ok(p) = check::constants::<roci_families::Matmul>(launch) else { return };
        let [a, b, c] = [0, 1, 2].map(|i| launch.bindings[i].pointer.cast::<E>());
        let grid = Grid::new(&p, launch.workers);
        for region in grid.regions(part, parts) {
            let (batch, row, column) = (region.batch, region.rows.start, region.columns.start);
            let block = Block {
                rows: region.rows.len(),
                columns: region.columns.len(),
                depth: p.k as usize,
                a: a.cast_const().wrapping_add(batch * p.batch_a as usize + row * p.lda as usize),
                a_stride: p.lda as usize,
                b: b.cast_const().wrapping_add(batch * p.batch_b as usize + column),
                b_stride: p.ldb as usize,
                c: c.wrapping_add(batch * p.batch_c as usize + row * p.ldc as usize + column),
                c_stride: p.ldc as usize,
                few_rows: grid.few_rows(),
            };
            // SAFETY: the region is within the matrices, which `grid::check` checked against the
            // bindings; the caller guarantees the bindings.
            unsafe { E::multiply(self.level, block) };
        }
    }
}
