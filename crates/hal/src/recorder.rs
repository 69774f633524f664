//! Recording: commands are checked as they come in, so that a finished command buffer cannot be wrong.

use std::sync::Arc;

use crate::buffer::{Buffer, BufferRange};
use crate::command::{Command, Dispatch, Operand, Recording};
use crate::command_buffer::{CommandBuffer, CommandBufferInner, Home, Pair, Place, SlotNeed};
use crate::device::Core;
use crate::error::Error;
use crate::executable::Kernel;

/// Slots behind this index stand for stream-ordered buffers until `finish` knows how many slots the caller uses.
const LATE: usize = usize::MAX / 2;
/// Slots that one command buffer may have.
const MAX_SLOTS: usize = 4096;
/// Granularity of fills and updates, which Vulkan sets.
const WORD: u64 = 4;

/// What a command works on: a range known now, or part of a slot that each replay binds.
#[derive(Clone)]
pub enum Binding {
    /// This range, in every replay.
    Fixed(BufferRange),
    /// `length` bytes from `offset` on of whatever the replay binds to the slot.
    Slot {
        /// Index into the ranges given at replay.
        slot: usize,
        /// First byte.
        offset: u64,
        /// Bytes.
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

/// Collects commands. Between two [`Recorder::barrier`]s they are independent of each other: any order is right.
pub struct Recorder {
    core: Arc<Core>,
    label: Option<String>,
    commands: Vec<Command>,
    uses: Vec<Buffer>,
    late: Vec<BufferRange>,
    slots: Vec<SlotNeed>,
    pairs: Vec<Pair>,
}

impl Recorder {
    pub(crate) fn new(core: &Arc<Core>) -> Self {
        Self {
            core: Arc::clone(core),
            label: None,
            commands: Vec::new(),
            uses: Vec::new(),
            late: Vec::new(),
            slots: Vec::new(),
            pairs: Vec::new(),
        }
    }

    /// Names the command buffer, for messages.
    pub fn label(&mut self, label: impl Into<String>) -> &mut Self {
        self.label = Some(label.into());
        self
    }

    /// Repeats a 32-bit pattern over a range.
    pub fn fill(&mut self, target: impl Into<Binding>, pattern: u32) -> Result<&mut Self, Error> {
        let target = target.into();
        check_words("fill", &target)?;
        let target = self.operand("fill", target, 1)?;
        self.commands.push(Command::Fill { target, pattern });
        Ok(self)
    }

    /// Copies bytes between ranges of equal length that do not overlap.
    pub fn copy(&mut self, source: impl Into<Binding>, target: impl Into<Binding>) -> Result<&mut Self, Error> {
        let (source, target) = (source.into(), target.into());
        let (from, to) = (source.length(), target.length());
        if from != to {
            let error = Error::invalid("copy", format!("from a range of {from} bytes to one of {to}"));
            return Err(error.hinted("give both ranges the same length"));
        }
        self.pair("copy", &source, &target, false)?;
        let source = self.operand("copy", source, 1)?;
        let target = self.operand("copy", target, 1)?;
        self.commands.push(Command::Copy { source, target });
        Ok(self)
    }

    /// Writes these bytes, captured now, at every replay.
    pub fn update(&mut self, data: &[u8], target: impl Into<Binding>) -> Result<&mut Self, Error> {
        let target = target.into();
        if data.len() as u64 != target.length() {
            let reason = format!("{} bytes into a range of {}", data.len(), target.length());
            return Err(Error::invalid("update", reason).hinted("give as many bytes as the range has"));
        }
        check_words("update", &target)?;
        let target = self.operand("update", target, 1)?;
        self.commands.push(Command::Update { data: data.into(), target });
        Ok(self)
    }

    /// Runs a kernel over a grid of workgroups. A zero in the grid is legal: nothing runs.
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
                    // In place means that one is read and the other written; two writers are never right.
                    let in_place = entry_point.in_place && access != other_access;
                    self.pair(&call, other, binding, in_place)?;
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

    /// Orders: everything recorded before completes before anything recorded after starts.
    pub fn barrier(&mut self) -> &mut Self {
        // Two in a row order nothing more than one.
        if !matches!(self.commands.last(), None | Some(Command::Barrier)) {
            self.commands.push(Command::Barrier);
        }
        self
    }

    /// Prepares the commands for replay.
    pub fn finish(self) -> Result<CommandBuffer, Error> {
        self.core.check_alive()?;
        let Self { core, label, mut commands, uses, late, slots, pairs } = self;
        let callers = slots.len();
        for operand in commands.iter_mut().flat_map(operands) {
            if let Operand::Slot { slot, .. } = operand
                && *slot >= LATE
            {
                *slot = *slot - LATE + callers;
            }
        }
        let recording = Arc::new(Recording { label, commands, slots: callers + late.len() });
        let prepared = core.backend().prepare(&recording)?;
        let mut names = recording.commands.iter().rev().filter(|command| !matches!(command, Command::Barrier));
        let last = names.next().map(|command| Arc::from(command.name()));
        let inner = CommandBufferInner { core, recording, prepared, last, uses, late, slots, pairs };
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
            return fail(format!("{} bindings given, it takes {}", bindings.len(), entry_point.bindings.len()));
        }
        if constants.len() != entry_point.constants {
            return fail(format!("{} bytes of constants given, it takes {}", constants.len(), entry_point.constants));
        }
        let limit = self.core.backend().info().capabilities().max_grid;
        if grid.iter().zip(limit).any(|(count, limit)| *count > limit) {
            return fail(format!("a grid of {grid:?} workgroups, the device takes {limit:?}"));
        }
        let most = self.core.backend().info().max_binding;
        for (index, length) in bindings.iter().map(Binding::length).enumerate() {
            if length == 0 {
                return fail(format!("binding {index} is empty"));
            }
            // Drivers bind whole words.
            if length.checked_next_multiple_of(WORD).is_none_or(|length| length > most) {
                let reason = format!("binding {index} has {length} bytes, the device takes {most}");
                return Err(Error::invalid(call, reason).hinted("bind the part of the buffer that the kernel works on"));
            }
        }
        Ok(())
    }

    /// Checks a range and notes what the replay needs for it.
    fn operand(&mut self, call: &str, binding: Binding, alignment: u64) -> Result<Operand, Error> {
        let offset = binding.offset();
        if !offset.is_multiple_of(alignment) {
            return Err(Error::invalid(
                call,
                format!("a range at offset {offset}, which is no multiple of {alignment}"),
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
                self.late.push(range);
                Ok(Operand::Slot { slot: LATE + self.late.len() - 1, offset: 0, length })
            }
            Binding::Slot { slot, offset, length } => {
                let end = offset.checked_add(length).filter(|_| slot < MAX_SLOTS).ok_or_else(|| {
                    Error::invalid(call, format!("slot {slot} with bytes {offset} to {offset}+{length} cannot exist"))
                })?;
                if slot >= self.slots.len() {
                    self.slots.resize(slot + 1, SlotNeed::default());
                }
                self.slots[slot].length = self.slots[slot].length.max(end);
                Ok(Operand::Slot { slot, offset, length })
            }
        }
    }

    /// Two ranges of one command, one of them written: checked now, and at replay if slots are involved.
    fn pair(&mut self, call: &str, a: &Binding, b: &Binding, in_place: bool) -> Result<(), Error> {
        let pair = Pair { call: call.into(), a: a.place(), b: b.place(), in_place };
        pair.check(&[])?;
        if pair.depends_on_slots() {
            self.pairs.push(pair);
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

    fn place(&self) -> Place {
        let home = match self {
            Self::Fixed(range) => Home::Buffer(range.buffer().inner.id()),
            Self::Slot { slot, .. } => Home::Slot(*slot),
        };
        Place { home, offset: self.offset(), length: self.length() }
    }
}

/// Fills and updates work on whole words.
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
