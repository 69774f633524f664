//! Recording. Each command is validated when it is recorded, so a finished command buffer is valid.

use std::sync::Arc;

use crate::buffer::{Buffer, BufferRange};
use crate::command::{Command, Dispatch, Operand, Recording};
use crate::command_buffer::{CommandBuffer, CommandBufferInner, OverlapCheck, SlotRequirement, Span, SpanBase};
use crate::device::DeviceCore;
use crate::error::Error;
use crate::executable::Kernel;

/// First index of the temporary slots of stream-ordered buffers. `finish` renumbers them to follow
/// the caller's slots.
const DEFERRED: usize = usize::MAX / 2;
/// Maximum number of slots of a command buffer.
const MAX_SLOTS: usize = 4096;
/// Granularity of fills and updates in bytes, required by Vulkan.
const WORD: u64 = 4;

/// An operand of a command: a fixed range, or part of a slot that each replay binds.
#[derive(Clone, Debug)]
pub enum Binding {
    /// The same range in every replay.
    Fixed(BufferRange),
    /// `length` bytes at `offset` in the range that the replay binds to the slot.
    Slot {
        /// Index of the slot.
        slot: usize,
        /// Offset of the first byte.
        offset: u64,
        /// Length in bytes.
        length: u64,
    },
}

impl Binding {
    /// The first `length` bytes of a slot.
    pub fn slot(slot: usize, length: u64) -> Self {
        Self::Slot { slot, offset: 0, length }
    }
}

impl From<&Buffer> for Binding {
    fn from(buffer: &Buffer) -> Self {
        Self::Fixed(buffer.whole())
    }
}

impl From<&BufferRange> for Binding {
    fn from(range: &BufferRange) -> Self {
        Self::Fixed(range.clone())
    }
}

impl From<BufferRange> for Binding {
    fn from(range: BufferRange) -> Self {
        Self::Fixed(range)
    }
}

/// Records commands. Commands between two [`Recorder::barrier`]s are independent and may run in any
/// order.
pub struct Recorder {
    core: Arc<DeviceCore>,
    label: Option<String>,
    commands: Vec<Command>,
    uses: Vec<Buffer>,
    deferred: Vec<BufferRange>,
    slots: Vec<SlotRequirement>,
    overlap_checks: Vec<OverlapCheck>,
}

impl std::fmt::Debug for Recorder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Recorder")
            .field("label", &self.label)
            .field("commands", &self.commands.len())
            .finish_non_exhaustive()
    }
}

impl Recorder {
    pub(crate) fn new(core: &Arc<DeviceCore>) -> Self {
        Self {
            core: Arc::clone(core),
            label: None,
            commands: Vec::new(),
            uses: Vec::new(),
            deferred: Vec::new(),
            slots: Vec::new(),
            overlap_checks: Vec::new(),
        }
    }

    /// Sets the label of the command buffer, for messages.
    pub fn label(&mut self, label: impl Into<String>) -> &mut Self {
        self.label = Some(label.into());
        self
    }

    /// Fills a range with a repeated 32-bit pattern.
    pub fn fill(&mut self, target: impl Into<Binding>, pattern: u32) -> Result<&mut Self, Error> {
        let target = target.into();
        check_words("fill", &target)?;
        let target = self.operand("fill", target, 1)?;
        self.commands.push(Command::Fill { target, pattern });
        Ok(self)
    }

    /// Copies between two ranges of equal length that do not overlap.
    pub fn copy(&mut self, source: impl Into<Binding>, target: impl Into<Binding>) -> Result<&mut Self, Error> {
        let (source, target) = (source.into(), target.into());
        let (from, to) = (source.length(), target.length());
        if from != to {
            let error = Error::invalid("copy", format!("the source has {from} bytes, the target {to}"));
            return Err(error.with_hint("pass ranges of the same length"));
        }
        self.check_overlap("copy", &source, &target, false)?;
        let source = self.operand("copy", source, 1)?;
        let target = self.operand("copy", target, 1)?;
        self.commands.push(Command::Copy { source, target });
        Ok(self)
    }

    /// Writes bytes that are captured now, at every replay.
    pub fn update(&mut self, data: &[u8], target: impl Into<Binding>) -> Result<&mut Self, Error> {
        let target = target.into();
        if data.len() as u64 != target.length() {
            let reason = format!("{} bytes for a range of {} bytes", data.len(), target.length());
            return Err(Error::invalid("update", reason).with_hint("pass as many bytes as the range has"));
        }
        check_words("update", &target)?;
        let target = self.operand("update", target, 1)?;
        self.commands.push(Command::Update { data: data.into(), target });
        Ok(self)
    }

    /// Records a dispatch of a kernel over a grid of workgroups. A grid with a zero is valid:
    /// nothing runs.
    pub fn dispatch(
        &mut self,
        kernel: &Kernel,
        grid: [u32; 3],
        bindings: &[Binding],
        constants: &[u8],
    ) -> Result<&mut Self, Error> {
        let executable = &kernel.executable.inner;
        let entry_point = &executable.entry_points[kernel.index];
        let call = format!("dispatch of \"{}\"", entry_point.name);
        self.check_dispatch(&call, kernel, grid, bindings, constants)?;
        for (index, (binding, access)) in bindings.iter().zip(&entry_point.bindings).enumerate() {
            for (other, other_access) in bindings[..index].iter().zip(&entry_point.bindings) {
                if access.writes() || other_access.writes() {
                    // In-place use is one read and one written binding. Two written bindings must
                    // never overlap.
                    let in_place = entry_point.in_place && access != other_access;
                    self.check_overlap(&call, other, binding, in_place)?;
                }
            }
        }
        let alignment = self.core.backend().info().binding_alignment;
        let bindings = bindings
            .iter()
            .map(|binding| self.operand(&call, binding.clone(), alignment))
            .collect::<Result<Vec<_>, _>>()?;
        self.commands.push(Command::Dispatch(Dispatch {
            executable: Arc::clone(&executable.backend),
            entry: kernel.index,
            entry_point: Arc::clone(entry_point),
            grid,
            bindings,
            constants: constants.into(),
        }));
        Ok(self)
    }

    /// Records a barrier: all earlier commands complete before any later command starts.
    pub fn barrier(&mut self) -> &mut Self {
        // Leading and repeated barriers have no effect.
        if !matches!(self.commands.last(), None | Some(Command::Barrier)) {
            self.commands.push(Command::Barrier);
        }
        self
    }

    /// Has the driver translate the commands for replay
    /// ([`DeviceBackend::prepare`](crate::driver::DeviceBackend::prepare)).
    pub fn finish(self) -> Result<CommandBuffer, Error> {
        self.core.check_alive()?;
        let Self { core, label, mut commands, uses, deferred, slots, overlap_checks } = self;
        let caller_slots = slots.len();
        for operand in commands.iter_mut().flat_map(operands) {
            if let Operand::Slot { slot, .. } = operand
                && *slot >= DEFERRED
            {
                *slot = *slot - DEFERRED + caller_slots;
            }
        }
        let recording = Arc::new(Recording { label, commands, slots: caller_slots + deferred.len() });
        let prepared = core.backend().prepare(&recording)?;
        let mut names = recording.commands.iter().rev().filter(|command| !matches!(command, Command::Barrier));
        let last = names.next().map(|command| Arc::from(command.name()));
        let inner = CommandBufferInner { core, recording, prepared, last, uses, deferred, slots, overlap_checks };
        Ok(CommandBuffer { inner: Arc::new(inner) })
    }

    fn check_dispatch(
        &self,
        call: &str,
        kernel: &Kernel,
        grid: [u32; 3],
        bindings: &[Binding],
        constants: &[u8],
    ) -> Result<(), Error> {
        let entry_point = kernel.entry_point();
        let fail = |reason: String| Err(Error::invalid(call, reason));
        if !Arc::ptr_eq(&kernel.executable.inner.core, &self.core) {
            return Err(Error::foreign(call, "the kernel was loaded on another device"));
        }
        if bindings.len() != entry_point.bindings.len() {
            return fail(format!("{} bindings given, the kernel takes {}", bindings.len(), entry_point.bindings.len()));
        }
        if constants.len() != entry_point.constants {
            return fail(format!(
                "{} bytes of constants given, the kernel takes {}",
                constants.len(),
                entry_point.constants
            ));
        }
        let limit = self.core.backend().info().capabilities().max_grid;
        if grid.iter().zip(limit).any(|(count, limit)| *count > limit) {
            return fail(format!("the grid of {grid:?} workgroups exceeds the device's limit of {limit:?}"));
        }
        let limit = self.core.backend().info().max_binding;
        for (index, length) in bindings.iter().map(Binding::length).enumerate() {
            if length == 0 {
                return fail(format!("binding {index} is empty"));
            }
            // Drivers round bindings up to whole words.
            if length.checked_next_multiple_of(WORD).is_none_or(|length| length > limit) {
                let reason = format!("binding {index} has {length} bytes, the device supports {limit}");
                return Err(
                    Error::invalid(call, reason).with_hint("bind only the part of the buffer that the kernel uses")
                );
            }
        }
        Ok(())
    }

    /// Validates a binding and adds its requirements on buffers and slots.
    fn operand(&mut self, call: &str, binding: Binding, alignment: u64) -> Result<Operand, Error> {
        let offset = binding.offset();
        if !offset.is_multiple_of(alignment) {
            return Err(Error::invalid(
                call,
                format!("a range has offset {offset}, which is not a multiple of {alignment}"),
            ));
        }
        match binding {
            Binding::Fixed(range) => {
                let buffer = range.buffer();
                if !Arc::ptr_eq(&buffer.inner.core, &self.core) {
                    return Err(Error::foreign(call, "the buffer belongs to another device"));
                }
                if !self.uses.iter().any(|used| Arc::ptr_eq(&used.inner, &buffer.inner)) {
                    self.uses.push(buffer.clone());
                }
                if buffer.inner.is_ready() {
                    return Ok(Operand::Fixed(range.bound()?));
                }
                let length = range.length();
                self.deferred.push(range);
                Ok(Operand::Slot { slot: DEFERRED + self.deferred.len() - 1, offset: 0, length })
            }
            Binding::Slot { slot, offset, length } => {
                let end = offset.checked_add(length).filter(|_| slot < MAX_SLOTS).ok_or_else(|| {
                    Error::invalid(
                        call,
                        format!("slot {slot} with bytes {offset} to {offset}+{length} is out of range"),
                    )
                })?;
                if slot >= self.slots.len() {
                    self.slots.resize(slot + 1, SlotRequirement::default());
                }
                self.slots[slot].length = self.slots[slot].length.max(end);
                Ok(Operand::Slot { slot, offset, length })
            }
        }
    }

    /// Checks that two ranges of a command do not overlap: now, and again at replay if slots are
    /// involved.
    fn check_overlap(&mut self, call: &str, a: &Binding, b: &Binding, in_place: bool) -> Result<(), Error> {
        let check = OverlapCheck { call: call.into(), a: a.span(), b: b.span(), in_place };
        check.check(&[])?;
        if check.depends_on_slots() {
            self.overlap_checks.push(check);
        }
        Ok(())
    }
}

impl Binding {
    fn length(&self) -> u64 {
        match self {
            Self::Fixed(range) => range.length(),
            Self::Slot { length, .. } => *length,
        }
    }

    fn offset(&self) -> u64 {
        match self {
            Self::Fixed(range) => range.offset(),
            Self::Slot { offset, .. } => *offset,
        }
    }

    fn span(&self) -> Span {
        let base = match self {
            Self::Fixed(range) => SpanBase::Buffer(range.buffer().inner.id()),
            Self::Slot { slot, .. } => SpanBase::Slot(*slot),
        };
        Span { base, offset: self.offset(), length: self.length() }
    }
}

/// Checks that offset and length of a fill or update are whole words.
fn check_words(call: &str, target: &Binding) -> Result<(), Error> {
    let (offset, length) = (target.offset(), target.length());
    if offset.is_multiple_of(WORD) && length.is_multiple_of(WORD) {
        return Ok(());
    }
    Err(Error::invalid(call, format!("offset {offset} and length {length} must be multiples of {WORD}")))
}

fn operands(command: &mut Command) -> Vec<&mut Operand> {
    match command {
        Command::Fill { target, .. } | Command::Update { target, .. } => vec![target],
        Command::Copy { source, target } => vec![source, target],
        Command::Dispatch(dispatch) => dispatch.bindings.iter_mut().collect(),
        Command::Barrier => Vec::new(),
    }
}
