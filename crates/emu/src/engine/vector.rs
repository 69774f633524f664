//! Vector computations without modifiers: the engine's fast path.

use crate::engine::{Machine, rows};
use crate::program::step::{CompareStep, MapStep, MaskStep, NO_MASK, Sources, Space, Step};
use crate::row::{LANES, Row, Rows};

impl Machine<'_> {
    /// Spreads the scalars among the sources over the lanes of scratch rows.
    #[inline(always)]
    pub(super) fn splat(&self, sources: &Sources) {
        if sources.splats != 0 {
            self.splat_scalars(sources);
        }
    }

    #[inline(always)]
    fn splat_scalars(&self, sources: &Sources) {
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

    /// The rows of the sources in a half.
    #[inline(always)]
    pub(super) fn rows(&self, sources: &Sources, half: usize) -> [Rows<'_>; 3] {
        let bases = &self.bases[half];
        // SAFETY: lowering checked every row of the operand's kind against its space: the registers of the kernel, the
        // program's constants, the worker's rows.
        let rows = |source: usize| unsafe {
            Rows::new(bases[sources.spaces[source] as usize].wrapping_add(usize::from(sources.rows[source])))
        };
        [rows(0), rows(1), rows(2)]
    }

    /// The rows of a destination in a half.
    #[inline(always)]
    pub(super) fn destination(&self, half: usize, dst: u16) -> Rows<'_> {
        // SAFETY: lowering checked the destination's rows against the registers of the kernel.
        unsafe { Rows::new(self.bases[half][Space::Registers as usize].wrapping_add(usize::from(dst))) }
    }

    /// The worker's rows for results that are not merged yet.
    #[inline(always)]
    pub(super) fn results(&self) -> Rows<'_> {
        // SAFETY: there are sixteen, and no result has more.
        unsafe { Rows::new(&raw const self.worker.rows[rows::RESULTS]) }
    }

    /// Takes results over in the lanes that are on.
    #[inline(always)]
    pub(super) fn merge(&self, half: usize, dst: u16, count: usize, exec: u32) {
        for row in 0..count {
            let result = &self.worker.rows[rows::RESULTS + row];
            blend(self.wave.row(half, usize::from(dst) + row), result, exec);
        }
    }

    #[inline(always)]
    pub(super) fn map(&mut self, step: &MapStep) {
        self.map_halves(step, 0..self.wave.halves);
    }

    /// A computation that differs between the halves.
    pub(super) fn by_halves(&mut self, steps: &[Step; 2]) {
        // Both read before either writes: no lane of one half is a source of the other.
        for (half, step) in steps.iter().enumerate() {
            match step {
                Step::Map(step) => self.map_halves(step, half..half + 1),
                Step::Slow(step) => self.slow_halves(step, half..half + 1),
                _ => {}
            }
        }
    }

    #[inline(always)]
    fn map_halves(&mut self, step: &MapStep, halves: std::ops::Range<usize>) {
        self.splat(&step.sources);
        let function = if step.modes & self.wave.special_modes == 0 { step.function } else { step.moded };
        for half in halves {
            let exec = self.wave.exec(half);
            let [a, b, c] = self.rows(&step.sources, half);
            if exec == !0 {
                // SAFETY: the operands have the rows of their kinds; the function is of this machine's level.
                unsafe { function(self.wave.mode, self.destination(half, step.dst), a, b, c) };
            } else if exec != 0 {
                self.keep_parts(half, step.dst, usize::from(step.results));
                // SAFETY: the same.
                unsafe { function(self.wave.mode, self.results(), a, b, c) };
                self.merge(half, step.dst, usize::from(step.results), exec);
            }
        }
    }

    /// Results of many rows may be parts of registers, of which the rest stays: functions find it where they store.
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
    pub(super) fn compare(&mut self, step: &CompareStep) {
        self.splat(&step.sources);
        let function = if step.modes & self.wave.special_modes == 0 { step.function } else { step.moded };
        let mut masks = [0; 2];
        for half in 0..self.wave.halves {
            let [a, b, _] = self.rows(&step.sources, half);
            // SAFETY: the operands have the rows of their kinds; the function is of this machine's level.
            masks[half] = unsafe { function(self.wave.mode, a, b) } & self.wave.exec(half);
        }
        self.set_masks(step.dst, masks);
    }

    /// Writes a mask: one register of a wave of 32 lanes, two of one of 64.
    #[inline(always)]
    pub(super) fn set_masks(&mut self, dst: u8, masks: [u32; 2]) {
        let halves = self.wave.halves;
        self.wave.scalars[usize::from(dst)..][..halves].copy_from_slice(&masks[..halves]);
    }

    #[inline(always)]
    pub(super) fn mask(&mut self, step: &MaskStep) {
        self.splat(&step.sources);
        let function = if step.modes & self.wave.special_modes == 0 { step.function } else { step.moded };
        let mut masks = [0; 2];
        for half in 0..self.wave.halves {
            let exec = self.wave.exec(half);
            let [a, b, c] = self.rows(&step.sources, half);
            let mask = if step.mask == NO_MASK { 0 } else { self.wave.scalars[usize::from(step.mask) + half] };
            if exec == !0 {
                let out = self.destination(half, step.dst);
                // SAFETY: the operands have the rows of their kinds; the function is of this machine's level.
                masks[half] = unsafe { function(self.wave.mode, out, a, b, c, mask) };
            } else if exec != 0 {
                // SAFETY: the same.
                masks[half] = unsafe { function(self.wave.mode, self.results(), a, b, c, mask) } & exec;
                self.merge(half, step.dst, usize::from(step.results), exec);
            }
        }
        self.set_masks(step.dst_mask, masks);
    }

    /// Two computations, each of which reads what the other writes: the result of the first is put aside meanwhile.
    pub(super) fn dual(&mut self, [first, second]: &[Step; 2]) {
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

    fn single(&mut self, step: &Step) {
        match step {
            Step::Map(step) => self.map(step),
            Step::Mask(step) => self.mask(step),
            Step::Slow(step) => self.slow(step),
            _ => {}
        }
    }
}

/// Takes over the lanes of `from` whose bit is set.
#[inline(always)]
pub(super) fn blend(to: &Row, from: &Row, mask: u32) {
    to.assign_masked(mask, &from.array());
}
