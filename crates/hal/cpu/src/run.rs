//! One batch: prepared commands with their slots bound.

use std::ops::Range;
use std::sync::Arc;

use roci_hal::driver::BoundRange;
use roci_hal::native::NativeBinding;

use crate::commands::Commands;
use crate::footprint::Footprint;

pub(crate) struct Run {
    pub(crate) commands: Arc<Commands>,
    /// The commands' table with the slots filled in; `None` without slots.
    table: Option<Vec<NativeBinding>>,
    /// Keeps the slots' memory alive.
    _slots: Vec<BoundRange>,
    footprint: Footprint,
    /// Run the steps one at a time: a slot aliases another slot or a fixed binding, so steps that
    /// were independent at record time may conflict.
    serial: bool,
}

impl Run {
    pub(crate) fn new(commands: Arc<Commands>, slots: Vec<BoundRange>) -> Arc<Self> {
        let (footprint, among_slots) = Footprint::new(commands.slot_accesses(&slots));
        let serial = among_slots || footprint.conflicts(&commands.footprint);
        Arc::new(Self { table: commands.bind(&slots), commands, _slots: slots, footprint, serial })
    }

    pub(crate) fn table(&self) -> &[NativeBinding] {
        self.table.as_deref().unwrap_or_else(|| self.commands.table())
    }

    /// Whether the two must not run concurrently.
    pub(crate) fn conflicts(&self, other: &Self) -> bool {
        let mine = [&self.footprint, &self.commands.footprint];
        let theirs = [&other.footprint, &other.commands.footprint];
        mine.iter().any(|mine| theirs.iter().any(|theirs| mine.conflicts(theirs)))
    }

    /// Ranges of steps that may run concurrently, in order.
    pub(crate) fn segments(&self) -> impl Iterator<Item = Range<usize>> {
        let whole = self.commands.segments.iter().filter(|_| !self.serial).cloned();
        let single = (0..self.commands.steps.len()).filter(|_| self.serial).map(|index| index..index + 1);
        whole.chain(single)
    }
}
