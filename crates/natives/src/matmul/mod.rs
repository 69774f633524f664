//! `matmul_*`: blocks of the result for the threads, tiles in registers within a block.

mod block;
pub(super) mod packed;
mod plan;
pub(super) mod tile;

use std::marker::PhantomData;

use roci_hal::native::{NativeKernel, NativeLaunch};

use self::block::{Accumulate, Block, Multiply};
pub(super) use self::packed::MatmulPacked;
pub use self::packed::pack_columns;
use self::plan::Plan;
use super::check;
use super::simd::Level;
use crate::params;

/// `C[b] = A[b] * B[b]` with elements of `E`, summed in f32.
///
/// Every element of the result is summed in the same order whatever the number of parts.
pub(super) struct Matmul<E> {
    level: Level,
    element: PhantomData<E>,
}

impl<E> Matmul<E> {
    pub(super) fn new(level: Level) -> Self {
        Self { level, element: PhantomData }
    }
}

// SAFETY: `prepare` holds all three matrices against their bindings and rejects results that overlap each other or an
// input; the blocks of a plan tile the result, each block belongs to one part, and `Multiply` keeps to its block.
unsafe impl<E: Accumulate> NativeKernel for Matmul<E> {
    fn accesses(&self) -> &[roci_hal::Access] {
        check::last_written(3)
    }

    fn prepare(&self, launch: &NativeLaunch<'_>) -> Result<usize, String> {
        let p: params::Matmul = check::constants(launch)?;
        plan::check::<E>(&p, launch)?;
        Ok(Plan::new(&p, launch.workers).parts(launch.workers))
    }

    unsafe fn run(&self, launch: &NativeLaunch<'_>, part: usize, parts: usize) {
        let Ok(p) = check::constants::<params::Matmul>(launch) else { return };
        let [a, b, c] = [0, 1, 2].map(|i| launch.bindings[i].pointer.cast::<E>());
        let plan = Plan::new(&p, launch.workers);
        for area in plan.areas(part, parts) {
            let (batch, row, column) = (area.batch, area.rows.start, area.columns.start);
            let block = Block {
                rows: area.rows.len(),
                columns: area.columns.len(),
                depth: p.k as usize,
                a: a.cast_const().wrapping_add(batch * p.batch_a as usize + row * p.lda as usize),
                a_stride: p.lda as usize,
                b: b.cast_const().wrapping_add(batch * p.batch_b as usize + column),
                b_stride: p.ldb as usize,
                c: c.wrapping_add(batch * p.batch_c as usize + row * p.ldc as usize + column),
                c_stride: p.ldc as usize,
                few_rows: plan.few_rows(),
            };
            // The library picks its own instructions, so it stands in for our kernel at the CPU's best level alone.
            //
            // SAFETY: the area lies in the matrices, which `plan::check` held against the bindings; the caller vouches
            // for the bindings.
            if self.level == Level::best() && unsafe { E::by_library(&block) } {
                continue;
            }
            // SAFETY: as above.
            self.level.run(unsafe { Multiply::new(block, self.level) });
        }
    }
}
