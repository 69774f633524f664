//! One batch: a program with its slots bound.

use std::ops::Range;
use std::sync::Arc;

use roci_hal::driver::BoundRange;
use roci_hal::native::NativeBinding;

use crate::program::Program;
use crate::touch::Footprint;

pub(crate) struct Run {
    pub(crate) program: Arc<Program>,
    /// The program's table with the slots filled in.
    table: Option<Vec<NativeBinding>>,
    /// Keeps the slots' memory alive.
    _slots: Vec<BoundRange>,
    footprint: Footprint,
    /// Slots are bound to memory that other slots or fixed bindings also use, so that steps which looked independent at
    /// recording may not be.
    serial: bool,
}

impl Run {
    pub(crate) fn new(program: Arc<Program>, slots: Vec<BoundRange>) -> Arc<Self> {
        let (footprint, among_slots) = Footprint::new(program.slot_touches(&slots));
        let serial = among_slots || footprint.conflicts(&program.footprint);
        Arc::new(Self { table: program.bind(&slots), program, _slots: slots, footprint, serial })
    }

    pub(crate) fn table(&self) -> &[NativeBinding] {
        self.table.as_deref().unwrap_or_else(|| self.program.table())
    }

    /// Whether the two may not run at once.
    pub(crate) fn conflicts(&self, other: &Self) -> bool {
        let mine = [&self.footprint, &self.program.footprint];
        let theirs = [&other.footprint, &other.program.footprint];
        mine.iter().any(|mine| theirs.iter().any(|theirs| mine.conflicts(theirs)))
    }

    /// Ranges of steps that may run at once, in order.
    pub(crate) fn segments(&self) -> impl Iterator<Item = Range<usize>> {
        let whole = self.program.segments.iter().filter(|_| !self.serial).cloned();
        let single = (0..self.program.steps.len()).filter(|_| self.serial).map(|index| index..index + 1);
        whole.chain(single)
    }
}
