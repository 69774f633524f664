//! One batch: a program with its slots bound.

use std::ops::Range;
use std::sync::Arc;

use roci_hal::driver::BoundRange;
use roci_hal::native::NativeBinding;

use crate::program::Program;
use crate::touch::{Touch, conflict};

pub(crate) struct Run {
    pub(crate) program: Arc<Program>,
    /// The program's table with the slots filled in.
    table: Option<Vec<NativeBinding>>,
    /// Keeps the slots' memory alive.
    _slots: Vec<BoundRange>,
    touches: Vec<Touch>,
    /// Slots are bound to memory that other slots or fixed bindings also use, so that steps which looked independent at
    /// recording may not be.
    serial: bool,
}

impl Run {
    pub(crate) fn new(program: Arc<Program>, slots: Vec<BoundRange>) -> Arc<Self> {
        let touches = program.slot_touches(&slots);
        let among_slots = touches.iter().enumerate().any(|(index, touch)| conflict(&[*touch], &touches[..index]));
        let serial = among_slots || conflict(&touches, &program.touches);
        Arc::new(Self { table: program.bind(&slots), program, _slots: slots, touches, serial })
    }

    pub(crate) fn table(&self) -> &[NativeBinding] {
        self.table.as_deref().unwrap_or_else(|| self.program.table())
    }

    /// Whether the two may not run at once.
    pub(crate) fn conflicts(&self, other: &Self) -> bool {
        let mine = [&self.touches, &self.program.touches];
        let theirs = [&other.touches, &other.program.touches];
        mine.iter().any(|mine| theirs.iter().any(|theirs| conflict(mine, theirs)))
    }

    /// Ranges of steps that may run at once, in order.
    pub(crate) fn segments(&self) -> impl Iterator<Item = Range<usize>> {
        let whole = self.program.segments.iter().filter(|_| !self.serial).cloned();
        let single = (0..self.program.steps.len()).filter(|_| self.serial).map(|index| index..index + 1);
        whole.chain(single)
    }
}
