//! Vector computations without modifiers: the fast path.

use crate::engine::{Machine, rows};
use crate::program::micro_op::{CompareOp, MapOp, MaskOp, MicroOp, NO_MASK, RowSpace, VectorSources};
use crate::row::{LANES, Row, Rows};

impl Machine<'_> {
    /// Broadcasts the scalar sources to temporary rows.
    #[inline(always)]
    pub(super) fn splat(&self, sources: &VectorSources) {
        if sources.splats != 0 {
            self.splat_scalars(sources);
        }
    }

    #[inline(always)]
    fn splat_scalars(&self, sources: &VectorSources) {
        for source in 0..3 {
            if sources.splats >> source & 1 == 1 {
                let code = sources.scalars[source];
                self.worker.rows[2 * source].splat(self.scalar_word(code, 0));
                if sources.splats >> (source + 4) & 1 == 1 {
                    self.worker.rows[2 * source + 1].splat(self.scalar_word(code, 1));
                }
            }
        }
    }

    /// Source rows in a half.
    #[inline(always)]
    pub(super) fn rows(&self, sources: &VectorSources, half: usize) -> [Rows<'_>; 3] {
        let bases = &self.bases[half];
        // SAFETY: lowering checked every row of the operand's kind against its space: the kernel's
        // registers, the program's constants, the worker's temporary rows.
        let rows = |source: usize| unsafe {
            Rows::new(bases[sources.spaces[source] as usize].wrapping_add(usize::from(sources.rows[source])))
        };
        [rows(0), rows(1), rows(2)]
    }

    #[inline(always)]
    pub(super) fn destination(&self, half: usize, dst: u16) -> Rows<'_> {
        // SAFETY: lowering checked the destination against the kernel's registers.
        unsafe { Rows::new(self.bases[half][RowSpace::Registers as usize].wrapping_add(usize::from(dst))) }
    }

    /// Temporary rows for results before they are merged.
    #[inline(always)]
    pub(super) fn results(&self) -> Rows<'_> {
        // SAFETY: there are sixteen, and no result has more.
        unsafe { Rows::new(&raw const self.worker.rows[rows::RESULTS]) }
    }

    /// Merges results in the active lanes.
    #[inline(always)]
    pub(super) fn merge(&self, half: usize, dst: u16, count: usize, exec: u32) {
        for row in 0..count {
            let result = &self.worker.rows[rows::RESULTS + row];
            blend(self.wave.row(half, usize::from(dst) + row), result, exec);
        }
    }

    #[inline(always)]
    pub(super) fn map(&mut self, uop: &MapOp) {
        self.map_halves(uop, 0..self.wave.halves);
    }

    /// Executes different functions in the two halves.
    pub(super) fn by_halves(&mut self, uops: &[MicroOp; 2]) {
        // Order does not matter: no lane of one half is a source of the other.
        for (half, uop) in uops.iter().enumerate() {
            match uop {
                MicroOp::Map(uop) => self.map_halves(uop, half..half + 1),
                MicroOp::Slow(uop) => self.slow_halves(uop, half..half + 1),
                _ => {}
            }
        }
    }

    #[inline(always)]
    fn map_halves(&mut self, uop: &MapOp, halves: std::ops::Range<usize>) {
        self.splat(&uop.sources);
        let function = if uop.modes & self.wave.special_modes == 0 { uop.function } else { uop.special_mode };
        for half in halves {
            let exec = self.wave.exec(half);
            let [a, b, c] = self.rows(&uop.sources, half);
            if exec == !0 {
                // SAFETY: the operands have the rows of their kinds, and the host supports the
                // function's level.
                unsafe { function(self.wave.mode, self.destination(half, uop.dst), a, b, c) };
            } else if exec != 0 {
                self.keep_parts(half, uop.dst, usize::from(uop.results));
                // SAFETY: as above.
                unsafe { function(self.wave.mode, self.results(), a, b, c) };
                self.merge(half, uop.dst, usize::from(uop.results), exec);
            }
        }
    }

    /// Results of many rows may be halves of registers whose other half is preserved. Such
    /// functions need the old value in their output.
    #[inline(always)]
    pub(super) fn keep_parts(&self, half: usize, dst: u16, count: usize) {
        if count > 2 {
            for row in 0..count {
                let old = self.wave.row(half, usize::from(dst) + row).array();
                self.worker.rows[rows::RESULTS + row].assign(&old);
            }
        }
    }

    #[inline(always)]
    pub(super) fn compare(&mut self, uop: &CompareOp) {
        self.splat(&uop.sources);
        let function = if uop.modes & self.wave.special_modes == 0 { uop.function } else { uop.special_mode };
        let mut masks = [0; 2];
        for half in 0..self.wave.halves {
            let [a, b, _] = self.rows(&uop.sources, half);
            // SAFETY: the operands have the rows of their kinds, and the host supports the
            // function's level.
            masks[half] = unsafe { function(self.wave.mode, a, b) } & self.wave.exec(half);
        }
        self.set_masks(uop.dst, masks);
    }

    /// Writes a lane mask: one SGPR in wave32, two in wave64.
    #[inline(always)]
    pub(super) fn set_masks(&mut self, dst: u8, masks: [u32; 2]) {
        let halves = self.wave.halves;
        self.wave.scalars[usize::from(dst)..][..halves].copy_from_slice(&masks[..halves]);
    }

    #[inline(always)]
    pub(super) fn mask(&mut self, uop: &MaskOp) {
        self.splat(&uop.sources);
        let function = if uop.modes & self.wave.special_modes == 0 { uop.function } else { uop.special_mode };
        let mut masks = [0; 2];
        for half in 0..self.wave.halves {
            let exec = self.wave.exec(half);
            let [a, b, c] = self.rows(&uop.sources, half);
            let mask = if uop.mask == NO_MASK { 0 } else { self.wave.scalars[usize::from(uop.mask) + half] };
            if exec == !0 {
                let out = self.destination(half, uop.dst);
                // SAFETY: the operands have the rows of their kinds, and the host supports the
                // function's level.
                masks[half] = unsafe { function(self.wave.mode, out, a, b, c, mask) };
            } else if exec != 0 {
                // SAFETY: as above.
                masks[half] = unsafe { function(self.wave.mode, self.results(), a, b, c, mask) } & exec;
                self.merge(half, uop.dst, usize::from(uop.results), exec);
            }
        }
        self.set_masks(uop.dst_mask, masks);
    }

    /// Executes a pair. Each may read what the other writes, so the first result is held back.
    pub(super) fn dual(&mut self, [first, second]: &[MicroOp; 2]) {
        let Some(dst) = first.result_row() else { return };
        let before = self.register(dst);
        self.single(first);
        let after = self.register(dst);
        self.set_register(dst, &before);
        self.single(second);
        self.set_register(dst, &after);
    }

    fn register(&self, register: u16) -> [[u32; LANES]; 2] {
        std::array::from_fn(|half| self.wave.row(half % self.wave.halves, usize::from(register)).array())
    }

    fn set_register(&self, register: u16, values: &[[u32; LANES]; 2]) {
        for half in 0..self.wave.halves {
            self.wave.row(half, usize::from(register)).assign(&values[half]);
        }
    }

    fn single(&mut self, uop: &MicroOp) {
        match uop {
            MicroOp::Map(uop) => self.map(uop),
            MicroOp::Mask(uop) => self.mask(uop),
            MicroOp::Slow(uop) => self.slow(uop),
            _ => {}
        }
    }
}

/// Copies the lanes of `from` that are set in the mask.
#[inline(always)]
pub(super) fn blend(to: &Row, from: &Row, mask: u32) {
    to.assign_masked(mask, &from.array());
}
