//! Allocator of recurrent states, with checkpoints.
//!
//! A model with recurrent layers cannot continue a sequence from its KV pages alone: it needs the
//! state after their last token. Each running sequence owns a slot with its state. A slot whose
//! state is that at the end of a published page can be kept as the page's checkpoint. Sequences
//! with this prefix start from it: they read the checkpoint and write a slot of their own, so that
//! no state is ever copied. When free slots run out, the least recently used checkpoint that no
//! sequence is about to read is evicted.

use crate::StateSlots;

/// The recurrent state of a running sequence.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SequenceState {
    /// The slot that it owns.
    own: u32,
    /// The checkpoint that its next chunk reads instead.
    checkpoint: Option<u32>,
    /// The slot that the next chunk writes instead; it replaces `own` if the chunk is kept.
    next: Option<u32>,
}

impl SequenceState {
    /// The slots of its next chunk.
    pub(crate) fn slots(&self, evaluated: usize) -> StateSlots {
        let read = self.checkpoint.or((evaluated > 0).then_some(self.own));
        StateSlots { read, write: self.next.unwrap_or(self.own) }
    }
}

/// A slot that holds the state at the end of a page.
#[derive(Debug)]
struct Checkpoint {
    page: u32,
    /// Sequences that read it with their next chunk.
    readers: u32,
    /// Logical time of the last use.
    last_used: u64,
}

/// The slots of one device.
#[derive(Debug)]
pub(crate) struct Slots {
    free: Vec<u32>,
    /// By slot.
    checkpoints: Vec<Option<Checkpoint>>,
    /// Logical clock.
    now: u64,
}

impl Slots {
    pub(crate) fn new(count: usize) -> Self {
        let count = u32::try_from(count).unwrap_or(u32::MAX);
        // Popped from the end: low slot numbers are allocated first.
        Self { free: (0..count).rev().collect(), checkpoints: (0..count).map(|_| None).collect(), now: 0 }
    }

    /// Whether the model has recurrent states at all.
    pub(crate) fn are_used(&self) -> bool {
        !self.checkpoints.is_empty()
    }

    /// The slot with the state at the end of a page.
    pub(crate) fn checkpoint_of(&self, page: u32) -> Option<u32> {
        let of_page = |checkpoint: &Option<Checkpoint>| checkpoint.as_ref().is_some_and(|one| one.page == page);
        self.checkpoints.iter().position(of_page).map(|slot| slot as u32)
    }

    /// A state for a sequence that starts from a checkpoint, or from the beginning. `None` if all
    /// slots are in use.
    pub(crate) fn start(&mut self, checkpoint: Option<u32>) -> Option<SequenceState> {
        // Before the allocation, which may evict a checkpoint without readers.
        checkpoint.iter().for_each(|&slot| self.add_reader(slot));
        let own = self.allocate();
        if own.is_none() {
            checkpoint.iter().for_each(|&slot| self.remove_reader(slot));
        }
        Some(SequenceState { own: own?, checkpoint, next: None })
    }

    /// Keeps the state before the next chunk, so that its tokens can be rejected. Returns `false`
    /// if all slots are in use.
    pub(crate) fn speculate(&mut self, state: &mut SequenceState) -> bool {
        // A chunk that reads a checkpoint writes to another slot in any case.
        if state.checkpoint.is_none() && state.next.is_none() {
            state.next = self.allocate();
        }
        state.checkpoint.is_some() || state.next.is_some()
    }

    /// Records that tokens of the last chunk were rejected: the state is that before the chunk.
    pub(crate) fn reject(&mut self, state: &mut SequenceState) {
        self.free.extend(state.next.take());
    }

    /// Notes that a chunk of the sequence was evaluated.
    pub(crate) fn advance(&mut self, state: &mut SequenceState) {
        if let Some(next) = state.next.take() {
            self.free.push(std::mem::replace(&mut state.own, next));
        }
        state.checkpoint.take().into_iter().for_each(|slot| self.remove_reader(slot));
    }

    /// Keeps the state of a sequence as the checkpoint of the page that it ends with, if a slot is
    /// left for the sequence to go on with.
    pub(crate) fn save(&mut self, state: &mut SequenceState, page: u32) {
        if self.checkpoint_of(page).is_some() || state.checkpoint.is_some() {
            return;
        }
        let Some(next) = self.allocate() else { return };
        let slot = std::mem::replace(&mut state.own, next);
        self.checkpoints[slot as usize] = Some(Checkpoint { page, readers: 0, last_used: 0 });
        self.add_reader(slot);
        state.checkpoint = Some(slot);
    }

    /// Ends the use of a sequence's state.
    pub(crate) fn release(&mut self, mut state: SequenceState) {
        self.reject(&mut state);
        self.advance(&mut state);
        self.free.push(state.own);
    }

    /// Drops the checkpoint of a page whose content is evicted.
    pub(crate) fn page_evicted(&mut self, page: u32) {
        if let Some(slot) = self.checkpoint_of(page) {
            self.drop_checkpoint(slot);
        }
    }

    /// Slots that hold checkpoints.
    #[cfg(test)]
    pub(crate) fn saved(&self) -> usize {
        self.checkpoints.iter().flatten().count()
    }

    fn allocate(&mut self) -> Option<u32> {
        if self.free.is_empty() {
            let unread = |(slot, one): (usize, &Option<Checkpoint>)| {
                one.as_ref().filter(|one| one.readers == 0).map(|one| (one.last_used, slot as u32))
            };
            let (_, oldest) = self.checkpoints.iter().enumerate().filter_map(unread).min()?;
            self.drop_checkpoint(oldest);
        }
        self.free.pop()
    }

    fn drop_checkpoint(&mut self, slot: u32) {
        let checkpoint = self.checkpoints[slot as usize].take();
        debug_assert!(checkpoint.is_some_and(|one| one.readers == 0), "a sequence reads slot {slot}");
        self.free.push(slot);
    }

    fn add_reader(&mut self, slot: u32) {
        self.now += 1;
        if let Some(checkpoint) = &mut self.checkpoints[slot as usize] {
            checkpoint.readers += 1;
            checkpoint.last_used = self.now;
        }
    }

    fn remove_reader(&mut self, slot: u32) {
        if let Some(checkpoint) = &mut self.checkpoints[slot as usize] {
            checkpoint.readers -= 1;
        }
    }
}

#[cfg(test)]
mod tests;
