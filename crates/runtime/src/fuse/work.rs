//! The steps of a segment while they are joined: who reads and who writes a tensor is found without a look at all steps, so
//! that the time is that of the joins, and not that of the steps times the steps.

use std::collections::BTreeSet;
use std::ops::Deref;

use crate::segment::{Segment, Slot, Step};

/// By tensor: the steps that read it and those that write it, in order.
#[derive(Default)]
pub(crate) struct Touches(Vec<Touched>);

#[derive(Clone, Default)]
struct Touched {
    reads: BTreeSet<usize>,
    writes: BTreeSet<usize>,
}

impl Touches {
    /// Those of steps.
    pub(crate) fn new(steps: &[Step]) -> Self {
        let mut touches = Self::default();
        steps.iter().enumerate().for_each(|(index, step)| touches.add(index, step));
        touches
    }

    fn add(&mut self, index: usize, step: &Step) {
        for &(slot, written) in &step.bindings {
            if slot.index() >= self.0.len() {
                self.0.resize(slot.index() + 1, Touched::default());
            }
            let touched = &mut self.0[slot.index()];
            if written { &mut touched.writes } else { &mut touched.reads }.insert(index);
        }
    }

    fn drop(&mut self, index: usize, step: &Step) {
        for (slot, _) in &step.bindings {
            if let Some(touched) = self.0.get_mut(slot.index()) {
                touched.reads.remove(&index);
                touched.writes.remove(&index);
            }
        }
    }

    /// The steps that read a tensor, from a place on.
    pub(crate) fn readers(&self, slot: Slot, from: usize) -> impl DoubleEndedIterator<Item = usize> {
        self.0.get(slot.index()).into_iter().flat_map(move |touched| touched.reads.range(from..).copied())
    }

    /// The last step before a place that writes a tensor.
    pub(crate) fn maker(&self, slot: Slot, before: usize) -> Option<usize> {
        self.0.get(slot.index())?.writes.range(..before).next_back().copied()
    }

    /// The steps that read what a step wrote of a tensor, up to the next that writes it.
    pub(crate) fn readers_until_written(&self, slot: Slot, by: usize) -> impl Iterator<Item = usize> {
        let next = self.0.get(slot.index()).and_then(|touched| touched.writes.range(by + 1..).next().copied());
        self.readers(slot, by + 1).take_while(move |at| next.is_none_or(|next| *at <= next))
    }

    /// Whether a step between two places writes a tensor.
    pub(crate) fn written_between(&self, slot: Slot, from: usize, to: usize) -> bool {
        // Nothing stands between neighbours, nor between a step and itself.
        from + 1 < to
            && self.0.get(slot.index()).is_some_and(|touched| touched.writes.range(from + 1..to).next().is_some())
    }
}

/// A segment whose steps change through this alone.
pub(crate) struct Work<'a> {
    segment: &'a mut Segment,
    touches: Touches,
}

impl Deref for Work<'_> {
    type Target = Segment;

    fn deref(&self) -> &Segment {
        self.segment
    }
}

impl<'a> Work<'a> {
    /// On the steps of a segment.
    pub(crate) fn new(segment: &'a mut Segment) -> Self {
        let touches = Touches::new(&segment.steps);
        Self { segment, touches }
    }

    /// The segment, for whoever leaves its steps as they are.
    pub(crate) fn tensors(&mut self) -> &mut Segment {
        self.segment
    }

    /// Changes a step.
    pub(crate) fn change(&mut self, index: usize, change: impl FnOnce(&mut Step)) {
        let step = &mut self.segment.steps[index];
        self.touches.drop(index, step);
        change(step);
        self.touches.add(index, step);
    }

    /// Puts a step in the place of another.
    pub(crate) fn set(&mut self, index: usize, step: Step) {
        self.change(index, |old| *old = step);
    }

    /// Marks a step as done by another; it stays in its place until [`Work::sweep`].
    pub(crate) fn remove(&mut self, index: usize) {
        self.change(index, |step| step.bindings.clear());
    }

    /// Drops steps that others do, after which the rest have other places.
    pub(crate) fn sweep(&mut self) {
        self.segment.steps.retain(|step| !step.bindings.is_empty());
        self.touches = Touches::new(&self.segment.steps);
    }

    /// Lets a tensor lie in the place of another.
    pub(crate) fn alias(&mut self, slot: Slot, place: Slot) {
        let steps: BTreeSet<usize> = match self.touches.0.get(slot.index()) {
            Some(touched) => touched.reads.union(&touched.writes).copied().collect(),
            None => BTreeSet::new(),
        };
        for index in steps {
            self.change(index, |step| {
                step.bindings.iter_mut().filter(|(own, _)| *own == slot).for_each(|(own, _)| *own = place);
            });
        }
        self.segment.alias(slot, place);
    }

    /// The steps that read a tensor, from a place on.
    pub(crate) fn readers_of(&self, slot: Slot, from: usize) -> impl DoubleEndedIterator<Item = usize> {
        self.touches.readers(slot, from)
    }

    /// The last step before a place that writes a tensor.
    pub(crate) fn maker(&self, slot: Slot, before: usize) -> Option<usize> {
        self.touches.maker(slot, before)
    }

    /// Whether a step between two places writes a tensor.
    pub(crate) fn written_between(&self, slot: Slot, from: usize, to: usize) -> bool {
        self.touches.written_between(slot, from, to)
    }

    /// The one step that reads what a step makes, if nobody else wants it.
    pub(crate) fn only_reader(&self, index: usize) -> Option<usize> {
        let made = self.steps[index].bindings.last()?.0;
        if !self.is_temporary(made) || self.written_between(made, index, self.steps.len()) {
            return None;
        }
        let mut readers = self.readers_of(made, index + 1);
        readers.next().filter(|_| readers.next().is_none())
    }
}
