//! Edits the dispatches of a segment during fusion. An index of readers and writers makes each
//! lookup fast, so that fusion takes time linear in the number of dispatches.

use std::collections::BTreeSet;
use std::ops::Deref;

use crate::segment::{Dispatch, Segment, TensorId};

/// The dispatches that read and write each tensor, in order.
#[derive(Default)]
pub(crate) struct AccessIndex(Vec<TensorAccesses>);

#[derive(Clone, Default)]
struct TensorAccesses {
    reads: BTreeSet<usize>,
    writes: BTreeSet<usize>,
}

impl AccessIndex {
    /// Indexes the accesses of dispatches.
    pub(crate) fn new(steps: &[Dispatch]) -> Self {
        let mut touches = Self::default();
        steps.iter().enumerate().for_each(|(index, step)| touches.add(index, step));
        touches
    }

    fn add(&mut self, index: usize, step: &Dispatch) {
        for &(tensor_id, written) in &step.bindings {
            if tensor_id.index() >= self.0.len() {
                self.0.resize(tensor_id.index() + 1, TensorAccesses::default());
            }
            let touched = &mut self.0[tensor_id.index()];
            if written { &mut touched.writes } else { &mut touched.reads }.insert(index);
        }
    }

    fn drop(&mut self, index: usize, step: &Dispatch) {
        for (tensor_id, _) in &step.bindings {
            if let Some(touched) = self.0.get_mut(tensor_id.index()) {
                touched.reads.remove(&index);
                touched.writes.remove(&index);
            }
        }
    }

    /// The dispatches from index `from` on that read a tensor.
    pub(crate) fn readers(&self, tensor_id: TensorId, from: usize) -> impl DoubleEndedIterator<Item = usize> {
        self.0.get(tensor_id.index()).into_iter().flat_map(move |touched| touched.reads.range(from..).copied())
    }

    /// The last dispatch before index `before` that writes a tensor.
    pub(crate) fn last_writer(&self, tensor_id: TensorId, before: usize) -> Option<usize> {
        self.0.get(tensor_id.index())?.writes.range(..before).next_back().copied()
    }

    /// The dispatches that read what the dispatch `by` wrote to a tensor, up to and including the
    /// next one that writes it.
    pub(crate) fn readers_until_written(&self, tensor_id: TensorId, by: usize) -> impl Iterator<Item = usize> {
        let next = self.0.get(tensor_id.index()).and_then(|touched| touched.writes.range(by + 1..).next().copied());
        self.readers(tensor_id, by + 1).take_while(move |at| next.is_none_or(|next| *at <= next))
    }

    /// Whether a dispatch strictly between two indices writes a tensor.
    pub(crate) fn written_between(&self, tensor_id: TensorId, from: usize, to: usize) -> bool {
        // Adjacent indices have no dispatch between them; `from` may equal `to`.
        from + 1 < to
            && self.0.get(tensor_id.index()).is_some_and(|touched| touched.writes.range(from + 1..to).next().is_some())
    }
}

/// A segment whose dispatches change through this editor only, which keeps the index up to date.
pub(crate) struct SegmentEditor<'a> {
    segment: &'a mut Segment,
    touches: AccessIndex,
}

impl Deref for SegmentEditor<'_> {
    type Target = Segment;

    fn deref(&self) -> &Segment {
        self.segment
    }
}

impl<'a> SegmentEditor<'a> {
    /// Indexes the dispatches of a segment.
    pub(crate) fn new(segment: &'a mut Segment) -> Self {
        let touches = AccessIndex::new(&segment.dispatches);
        Self { segment, touches }
    }

    /// The segment, for adding tensors. The caller must not change dispatches.
    pub(crate) fn tensors(&mut self) -> &mut Segment {
        self.segment
    }

    /// Changes a dispatch.
    pub(crate) fn change(&mut self, index: usize, change: impl FnOnce(&mut Dispatch)) {
        let step = &mut self.segment.dispatches[index];
        self.touches.drop(index, step);
        change(step);
        self.touches.add(index, step);
    }

    /// Replaces a dispatch.
    pub(crate) fn set(&mut self, index: usize, step: Dispatch) {
        self.change(index, |old| *old = step);
    }

    /// Marks a dispatch as dead. Indices stay valid until [`SegmentEditor::remove_dead`].
    pub(crate) fn remove(&mut self, index: usize) {
        self.change(index, |step| step.bindings.clear());
    }

    /// Removes dead dispatches, which changes the indices of the others.
    pub(crate) fn remove_dead(&mut self) {
        self.segment.dispatches.retain(|step| !step.bindings.is_empty());
        self.touches = AccessIndex::new(&self.segment.dispatches);
    }

    /// Places a tensor in the memory of `owner`, and binds `owner` instead of it everywhere.
    pub(crate) fn alias(&mut self, tensor_id: TensorId, place: TensorId) {
        let steps: BTreeSet<usize> = match self.touches.0.get(tensor_id.index()) {
            Some(touched) => touched.reads.union(&touched.writes).copied().collect(),
            None => BTreeSet::new(),
        };
        for index in steps {
            self.change(index, |step| {
                step.bindings.iter_mut().filter(|(own, _)| *own == tensor_id).for_each(|(own, _)| *own = place);
            });
        }
        self.segment.alias(tensor_id, place);
    }

    /// The dispatches from index `from` on that read a tensor.
    pub(crate) fn readers_of(&self, tensor_id: TensorId, from: usize) -> impl DoubleEndedIterator<Item = usize> {
        self.touches.readers(tensor_id, from)
    }

    /// The last dispatch before index `before` that writes a tensor.
    pub(crate) fn last_writer(&self, tensor_id: TensorId, before: usize) -> Option<usize> {
        self.touches.last_writer(tensor_id, before)
    }

    /// Whether a dispatch strictly between two indices writes a tensor.
    pub(crate) fn written_between(&self, tensor_id: TensorId, from: usize, to: usize) -> bool {
        self.touches.written_between(tensor_id, from, to)
    }

    /// The only dispatch that reads the output of the dispatch `index`; `None` if there are more,
    /// or if the output outlives the segment.
    pub(crate) fn only_reader(&self, index: usize) -> Option<usize> {
        let result = self.dispatches[index].bindings.last()?.0;
        if !self.is_temporary(result) || self.written_between(result, index, self.dispatches.len()) {
            return None;
        }
        let mut readers = self.readers_of(result, index + 1);
        readers.next().filter(|_| readers.next().is_none())
    }
}
