//! Finished command buffers: prepared once, replayed many times with fixed bindings or new ones.

use std::sync::Arc;

use crate::buffer::{Buffer, BufferRange};
use crate::command::Recording;
use crate::device::Core;
use crate::driver::CommandsBackend;
use crate::error::Error;

/// Recorded commands, ready to be submitted any number of times. Cheap to clone.
#[derive(Clone)]
pub struct CommandBuffer {
    pub(crate) inner: Arc<CommandBufferInner>,
}

pub(crate) struct CommandBufferInner {
    pub(crate) core: Arc<Core>,
    pub(crate) recording: Arc<Recording>,
    pub(crate) prepared: Arc<dyn CommandsBackend>,
    /// Name of the last command, barriers aside, for hang reports.
    pub(crate) last: Option<Arc<str>>,
    /// Buffers fixed at recording, each once.
    pub(crate) uses: Vec<Buffer>,
    /// Fixed ranges of stream-ordered buffers, whose memory is known only at execution: bound behind the caller's slots.
    pub(crate) late: Vec<BufferRange>,
    /// What each of the caller's slots must offer.
    pub(crate) slots: Vec<SlotNeed>,
    /// Pairs that must not overlap, as far as slots are involved.
    pub(crate) pairs: Vec<Pair>,
}

/// What a slot must offer.
#[derive(Clone, Copy, Default)]
pub(crate) struct SlotNeed {
    /// Bytes.
    pub(crate) length: u64,
}

/// A place that a command touches, comparable before memory is known.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct Place {
    pub(crate) home: Home,
    pub(crate) offset: u64,
    pub(crate) length: u64,
}

/// What a place is part of.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Home {
    /// A buffer, by its id.
    Buffer(u64),
    /// Whatever a replay binds to a slot.
    Slot(usize),
}

/// Two places of one command, one of them written.
pub(crate) struct Pair {
    pub(crate) call: String,
    pub(crate) a: Place,
    pub(crate) b: Place,
    /// Whether the very same range is fine.
    pub(crate) in_place: bool,
}

impl CommandBuffer {
    /// How many commands it holds, barriers included.
    pub fn commands(&self) -> usize {
        self.inner.recording.commands.len()
    }

    /// How many slots a replay must bind.
    pub fn slots(&self) -> usize {
        self.inner.slots.len()
    }
}

impl CommandBufferInner {
    /// Checks what a replay binds to the slots.
    pub(crate) fn check_slots(&self, bound: &[BufferRange]) -> Result<(), Error> {
        let call = || match &self.recording.label {
            Some(label) => format!("replay of \"{label}\""),
            None => "replay".to_owned(),
        };
        if bound.len() != self.slots.len() {
            let reason = format!("{} ranges bound, {} slots recorded", bound.len(), self.slots.len());
            return Err(Error::invalid(call(), reason).hinted("bind a range to every slot, and to no other"));
        }
        let alignment = self.core.backend().info().binding_alignment;
        for (index, (range, need)) in bound.iter().zip(&self.slots).enumerate() {
            if !Arc::ptr_eq(&range.buffer().inner.core, &self.core) {
                return Err(Error::foreign(call(), format!("slot {index} is bound to a buffer of another device")));
            }
            if range.length() < need.length {
                let reason = format!("slot {index} is bound to {} bytes, {} are used", range.length(), need.length);
                return Err(Error::invalid(call(), reason));
            }
            if !range.offset().is_multiple_of(alignment) {
                let reason =
                    format!("slot {index} is bound at offset {}, which is no multiple of {alignment}", range.offset());
                return Err(Error::invalid(call(), reason));
            }
        }
        self.pairs.iter().try_for_each(|pair| pair.check(bound))
    }
}

impl Place {
    /// The place as bytes of a buffer, once slots are bound; unbound slots stay slots.
    fn resolve(self, bound: &[BufferRange]) -> Self {
        match self.home {
            Home::Slot(slot) if slot < bound.len() => {
                let range = &bound[slot];
                let home = Home::Buffer(range.buffer().inner.id());
                Self { home, offset: range.offset() + self.offset, length: self.length }
            }
            _ => self,
        }
    }

    fn overlaps(self, other: Self) -> bool {
        self.home == other.home
            && self.offset < other.offset.saturating_add(other.length)
            && other.offset < self.offset.saturating_add(self.length)
    }
}

impl Pair {
    pub(crate) fn check(&self, bound: &[BufferRange]) -> Result<(), Error> {
        let (a, b) = (self.a.resolve(bound), self.b.resolve(bound));
        if !a.overlaps(b) || (self.in_place && a == b) {
            return Ok(());
        }
        let reason = "a range that is written overlaps another one of the same command";
        Err(Error::invalid(self.call.clone(), reason).hinted("bind ranges that lie apart"))
    }

    /// Whether a replay can change the answer.
    pub(crate) fn depends_on_slots(&self) -> bool {
        [self.a, self.b].iter().any(|place| matches!(place.home, Home::Slot(_)))
    }
}
