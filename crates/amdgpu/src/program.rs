//! A recording made into packets and arguments, once: replaying it writes them and patches addresses of slots.

#![expect(unsafe_code, reason = "arguments are written to memory of the host")]

use std::any::Any;
use std::sync::Arc;

use roci_hal::Error;
use roci_hal::command::{Command, Dispatch, Operand, Recording};
use roci_hal::driver::{BoundRange, BufferBackend, CommandsBackend};
use roci_hal::{BufferDesc, MemoryType};
use roci_hsa::abi::KernelDispatchPacket;
use roci_hsa::runtime::Kernel;

use crate::arguments::BLOCK;
use crate::device::Shared;
use crate::executable::Kernels;
use crate::memory::Memory;

/// Entry points of the driver's own kernels.
const FILL: usize = 0;
const COPY: usize = 1;
/// Their names in the device library.
pub(crate) const OWN_KERNELS: [&str; 2] = ["fill", "copy"];
/// Work-items of a group of theirs.
const OWN_GROUP: u64 = 256;
/// Groups at most: each work-item goes on where there is more to do.
const OWN_GROUPS: u64 = 4096;
/// Words of one of their dispatches at most.
const OWN_WORDS: u64 = 1 << 30;

/// Commands as packets.
pub(crate) struct Program {
    pub(crate) steps: Vec<Step>,
    /// By packet: the command that it is of.
    commands: Vec<u32>,
    /// By GPU: the packets of kernels, without header and completion signal.
    packets: Vec<Vec<KernelDispatchPacket>>,
    /// The arguments of all kernels, addresses of slots still empty.
    arguments: Vec<u8>,
    patches: Vec<Patch>,
    /// The arguments where the GPU finds them, if nothing in them changes.
    written: Option<Memory>,
    /// Keeps buffers and executables alive, and the data of updates.
    _recording: Arc<Recording>,
    data: Vec<Arc<Memory>>,
}

impl CommandsBackend for Program {}

/// One or more packets.
pub(crate) struct Step {
    /// Index in the recording, for reports.
    pub(crate) command: usize,
    /// Everything before must be complete.
    pub(crate) barrier: bool,
    pub(crate) work: Work,
}

pub(crate) enum Work {
    /// The packet of this number.
    Kernel(usize),
    /// A copy that the runtime makes, by a copy engine if it can.
    Engine { source: Operand, target: Operand },
}

impl Work {
    /// How many packets it takes.
    pub(crate) fn packets(&self) -> u64 {
        match self {
            Self::Kernel(_) => 1,
            Self::Engine { .. } => 2,
        }
    }
}

/// An argument that is part of a slot.
struct Patch {
    place: usize,
    slot: usize,
    offset: u64,
}

/// An address of a buffer of this driver.
pub(crate) fn address(range: &BoundRange) -> Result<u64, Error> {
    let memory = range.buffer.downcast::<Memory>();
    let memory = memory.ok_or_else(|| Error::invalid("a command", "a buffer of another driver"))?;
    Ok(memory.address() + range.offset)
}

impl Program {
    pub(crate) fn new(recording: &Arc<Recording>, device: &Shared) -> Result<Self, Error> {
        let mut program = Self {
            steps: Vec::new(),
            commands: Vec::new(),
            packets: vec![Vec::new(); device.gpus.len()],
            arguments: Vec::new(),
            patches: Vec::new(),
            written: None,
            _recording: Arc::clone(recording),
            data: Vec::new(),
        };
        let mut barrier = false;
        for (index, command) in recording.commands.iter().enumerate() {
            let first = program.steps.len();
            program.lower(index, command, device)?;
            barrier |= matches!(command, Command::Barrier);
            if let Some(step) = program.steps.get_mut(first) {
                step.barrier = std::mem::take(&mut barrier);
            }
        }
        for step in &program.steps {
            program.commands.extend((0..step.work.packets()).map(|_| step.command as u32));
        }
        if program.patches.is_empty() && !program.arguments.is_empty() {
            program.write_once(device)?;
        }
        Ok(program)
    }

    fn lower(&mut self, index: usize, command: &Command, device: &Shared) -> Result<(), Error> {
        match command {
            Command::Barrier => {}
            Command::Dispatch(dispatch) => self.dispatch(index, dispatch)?,
            Command::Fill { target, pattern } => {
                for (part, words) in parts(target.length() / 4) {
                    let target = moved(target, 4 * part, 4 * words);
                    self.own(index, device, FILL, &[target], [words as u32, 0, *pattern])?;
                }
            }
            Command::Copy { source, target } => self.copy(index, device, source, target)?,
            Command::Update { data, target } => {
                let size = data.len() as u64;
                let desc = BufferDesc { size, memory: MemoryType::Host, label: None };
                let memory = device.pools.allocate(&desc).ok_or_else(|| device.out_of_memory(size))?;
                // SAFETY: fresh memory of the host, as long as the data.
                unsafe { std::ptr::copy_nonoverlapping(data.as_ptr(), memory.pointer(), data.len()) };
                let memory = Arc::new(memory);
                self.data.push(Arc::clone(&memory));
                let buffer: Arc<dyn BufferBackend> = memory;
                self.copy(index, device, &Operand::Fixed(BoundRange { buffer, offset: 0, length: size }), target)?;
            }
        }
        Ok(())
    }

    fn copy(&mut self, index: usize, device: &Shared, source: &Operand, target: &Operand) -> Result<(), Error> {
        if device.copies.by_engine(source, target) {
            let work = Work::Engine { source: source.clone(), target: target.clone() };
            self.steps.push(Step { command: index, barrier: false, work });
            return Ok(());
        }
        let bytes = source.length();
        for (part, words) in parts(bytes / 4) {
            let operands = [source, target].map(|operand| moved(operand, 4 * part, 4 * words));
            self.own(index, device, COPY, &operands, [words as u32, 0, 0])?;
        }
        if !bytes.is_multiple_of(4) {
            // The last word again, from where it ends: bytes that two write, both write alike.
            let operands = [source, target].map(|operand| moved(operand, bytes - 4, 4));
            self.own(index, device, COPY, &operands, [1, 0, 0])?;
        }
        Ok(())
    }

    /// A kernel of the driver's own over so many words.
    fn own(
        &mut self,
        command: usize,
        device: &Shared,
        entry: usize,
        operands: &[Operand],
        constants: [u32; 3],
    ) -> Result<(), Error> {
        let groups = u64::from(constants[0]).div_ceil(OWN_GROUP).min(OWN_GROUPS) as u32;
        let bytes: Vec<u8> = constants.iter().flat_map(|word| word.to_le_bytes()).collect();
        let sizes = [[OWN_GROUP as u32, 1, 1], [groups, 1, 1]];
        self.kernel(command, &device.own, entry, sizes, operands, &bytes)
    }

    fn dispatch(&mut self, command: usize, dispatch: &Dispatch) -> Result<(), Error> {
        if dispatch.grid.contains(&0) {
            return Ok(());
        }
        let executable: &dyn Any = dispatch.executable.as_ref();
        let Some(kernels) = executable.downcast_ref::<Kernels>() else {
            return Err(Error::invalid("a dispatch", "an executable of another driver"));
        };
        let sizes = [dispatch.entry_point.workgroup_size, dispatch.grid];
        self.kernel(command, kernels, dispatch.entry, sizes, &dispatch.bindings, &dispatch.constants)
    }

    fn kernel(
        &mut self,
        command: usize,
        kernels: &Kernels,
        entry: usize,
        [block, groups]: [[u32; 3]; 2],
        operands: &[Operand],
        constants: &[u8],
    ) -> Result<(), Error> {
        let place = self.arguments.len();
        for operand in operands {
            let value = match operand {
                Operand::Fixed(range) => address(range)?,
                Operand::Slot { slot, offset, .. } => {
                    self.patches.push(Patch { place: self.arguments.len(), slot: *slot, offset: *offset });
                    0
                }
            };
            self.arguments.extend(value.to_le_bytes());
        }
        self.arguments.extend(constants);
        let wanted = |kernel: Kernel| place + kernel.kernarg_size as usize;
        let end = (0..self.packets.len()).map(|gpu| wanted(kernels.kernel(gpu, entry))).max().unwrap_or(0);
        self.arguments.resize(self.arguments.len().max(end).next_multiple_of(BLOCK), 0);
        let mut grid = [0; 3];
        for axis in 0..3 {
            let size = groups[axis].checked_mul(block[axis]);
            grid[axis] = size.ok_or_else(|| {
                Error::invalid("a dispatch", format!("{groups:?} groups are more work-items than can be counted"))
            })?;
        }
        for (gpu, packets) in self.packets.iter_mut().enumerate() {
            let kernel = kernels.kernel(gpu, entry);
            packets.push(KernelDispatchPacket {
                workgroup_size_x: block[0] as u16,
                workgroup_size_y: block[1] as u16,
                workgroup_size_z: block[2] as u16,
                grid_size_x: grid[0],
                grid_size_y: grid[1],
                grid_size_z: grid[2],
                private_segment_size: kernel.private_size,
                group_segment_size: kernel.group_size,
                kernel_object: kernel.object,
                // From the start of the arguments; the rest is added when they have a place.
                kernarg_address: place as u64,
                ..KernelDispatchPacket::default()
            });
        }
        let number = self.packets[0].len() - 1;
        self.steps.push(Step { command, barrier: false, work: Work::Kernel(number) });
        Ok(())
    }

    /// Gives arguments that never change their place for good.
    fn write_once(&mut self, device: &Shared) -> Result<(), Error> {
        let size = self.arguments.len() as u64;
        let memory = device.pools.arguments(size).ok_or_else(|| device.out_of_memory(size))?;
        // SAFETY: fresh memory of the host, as long as the arguments.
        unsafe { std::ptr::copy_nonoverlapping(self.arguments.as_ptr(), memory.pointer(), self.arguments.len()) };
        self.written = Some(memory);
        Ok(())
    }

    /// Where the arguments are, if they never change.
    pub(crate) fn written(&self) -> Option<u64> {
        self.written.as_ref().map(Memory::address)
    }

    /// Bytes of arguments that a replay has to write.
    pub(crate) fn argument_bytes(&self) -> usize {
        if self.written.is_some() { 0 } else { self.arguments.len() }
    }

    /// Writes the arguments for a replay.
    ///
    /// # Safety
    /// The place has room for [`argument_bytes`](Self::argument_bytes), and no one uses it.
    pub(crate) unsafe fn write_arguments(&self, place: *mut u8, slots: &[BoundRange]) -> Result<(), Error> {
        // SAFETY: the caller's promise.
        unsafe { std::ptr::copy_nonoverlapping(self.arguments.as_ptr(), place, self.arguments.len()) };
        for patch in &self.patches {
            let value = address(&slots[patch.slot])? + patch.offset;
            // SAFETY: inside the arguments.
            unsafe { place.wrapping_add(patch.place).cast::<u64>().write_unaligned(value) };
        }
        Ok(())
    }

    /// The command of a packet, counted from the first; of the last one for those behind.
    pub(crate) fn command(&self, packet: usize) -> Option<u32> {
        self.commands.get(packet).or_else(|| self.commands.last()).copied()
    }

    /// The packet of a number on a GPU, with the arguments at an address.
    pub(crate) fn packet(&self, gpu: usize, number: usize, arguments: u64) -> KernelDispatchPacket {
        let mut packet = self.packets[gpu][number];
        packet.kernarg_address += arguments;
        packet
    }
}

/// Stretches of words that one dispatch handles: where each begins, and how many.
fn parts(words: u64) -> impl Iterator<Item = (u64, u64)> {
    (0..words.div_ceil(OWN_WORDS)).map(move |part| (part * OWN_WORDS, (words - part * OWN_WORDS).min(OWN_WORDS)))
}

/// A part of an operand.
fn moved(operand: &Operand, by: u64, bytes: u64) -> Operand {
    match operand {
        Operand::Fixed(range) => {
            let buffer = Arc::clone(&range.buffer);
            Operand::Fixed(BoundRange { buffer, offset: range.offset + by, length: bytes })
        }
        Operand::Slot { slot, offset, .. } => Operand::Slot { slot: *slot, offset: offset + by, length: bytes },
    }
}
