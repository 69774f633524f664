//! Finished command buffers: prepared once, replayed any number of times with fixed or slot
//! bindings.

use std::sync::Arc;

use crate::buffer::{Buffer, BufferRange};
use crate::command::Recording;
use crate::device::DeviceCore;
use crate::driver::CommandsBackend;
use crate::error::Error;

/// Recorded commands that can be submitted any number of times. Cheap to clone.
#[derive(Clone)]
pub struct CommandBuffer {
    pub(crate) inner: Arc<CommandBufferInner>,
}

impl std::fmt::Debug for CommandBuffer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("CommandBuffer")
            .field("label", &self.inner.recording.label)
            .field("commands", &self.commands())
            .field("slots", &self.slots())
            .finish_non_exhaustive()
    }
}

pub(crate) struct CommandBufferInner {
    pub(crate) core: Arc<DeviceCore>,
    pub(crate) recording: Arc<Recording>,
    pub(crate) prepared: Arc<dyn CommandsBackend>,
    /// Name of the last command that is not a barrier, for hang reports.
    pub(crate) last: Option<Arc<str>>,
    /// Buffers bound at record time, without duplicates.
    pub(crate) uses: Vec<Buffer>,
    /// Fixed ranges of stream-ordered buffers that were not allocated at record time. They are
    /// bound at execution, to the slots after the caller's.
    pub(crate) deferred: Vec<BufferRange>,
    /// Requirements on the caller's slots.
    pub(crate) slots: Vec<SlotRequirement>,
    /// Overlap checks that depend on slots, repeated at each replay.
    pub(crate) overlap_checks: Vec<OverlapCheck>,
}

/// What a range must fulfill to be bound to a slot.
#[derive(Clone, Copy, Default)]
pub(crate) struct SlotRequirement {
    /// Minimum length in bytes.
    pub(crate) length: u64,
}

/// A byte range that a command accesses, comparable before its memory is allocated.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct Span {
    pub(crate) base: SpanBase,
    pub(crate) offset: u64,
    pub(crate) length: u64,
}

/// The buffer or slot that contains a [`Span`].
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum SpanBase {
    /// A buffer, by its ID.
    Buffer(u64),
    /// The range that a replay binds to this slot.
    Slot(usize),
}

/// Two spans of one command that must not overlap, because at least one of them is written.
pub(crate) struct OverlapCheck {
    pub(crate) call: String,
    pub(crate) a: Span,
    pub(crate) b: Span,
    /// Whether the two may be identical.
    pub(crate) in_place: bool,
}

impl CommandBuffer {
    /// Number of commands, including barriers.
    pub fn commands(&self) -> usize {
        self.inner.recording.commands.len()
    }

    /// Number of slots that a replay must bind.
    pub fn slots(&self) -> usize {
        self.inner.slots.len()
    }
}

impl CommandBufferInner {
    /// Validates the ranges that a replay binds to the slots.
    pub(crate) fn check_slots(&self, bound: &[BufferRange]) -> Result<(), Error> {
        let call = || match &self.recording.label {
            Some(label) => format!("replay of \"{label}\""),
            None => "replay".to_owned(),
        };
        if bound.len() != self.slots.len() {
            let reason = format!("{} ranges bound, but {} slots recorded", bound.len(), self.slots.len());
            return Err(Error::invalid(call(), reason).with_hint("bind exactly one range to each recorded slot"));
        }
        let alignment = self.core.backend().info().binding_alignment;
        for (index, (range, need)) in bound.iter().zip(&self.slots).enumerate() {
            if !Arc::ptr_eq(&range.buffer().inner.core, &self.core) {
                return Err(Error::foreign(call(), format!("slot {index} is bound to a buffer of another device")));
            }
            if range.length() < need.length {
                let reason = format!("slot {index} is bound to {} bytes, but {} are used", range.length(), need.length);
                return Err(Error::invalid(call(), reason));
            }
            if !range.offset().is_multiple_of(alignment) {
                let reason = format!(
                    "slot {index} is bound at offset {}, which is not a multiple of {alignment}",
                    range.offset()
                );
                return Err(Error::invalid(call(), reason));
            }
        }
        self.overlap_checks.iter().try_for_each(|check| check.check(bound))
    }
}

impl Span {
    /// Replaces a slot with the buffer bound to it. Slots without a binding stay.
    fn resolve(self, bound: &[BufferRange]) -> Self {
        match self.base {
            SpanBase::Slot(slot) if slot < bound.len() => {
                let range = &bound[slot];
                let base = SpanBase::Buffer(range.buffer().inner.id());
                Self { base, offset: range.offset() + self.offset, length: self.length }
            }
            _ => self,
        }
    }

    fn overlaps(self, other: Self) -> bool {
        self.base == other.base
            && self.offset < other.offset.saturating_add(other.length)
            && other.offset < self.offset.saturating_add(self.length)
    }
}

impl OverlapCheck {
    pub(crate) fn check(&self, bound: &[BufferRange]) -> Result<(), Error> {
        let (a, b) = (self.a.resolve(bound), self.b.resolve(bound));
        if !a.overlaps(b) || (self.in_place && a == b) {
            return Ok(());
        }
        let reason = "a range that is written overlaps another range of the same command";
        Err(Error::invalid(self.call.clone(), reason).with_hint("bind ranges that do not overlap"))
    }

    /// Whether the result depends on what a replay binds.
    pub(crate) fn depends_on_slots(&self) -> bool {
        [self.a, self.b].iter().any(|span| matches!(span.base, SpanBase::Slot(_)))
    }
}
