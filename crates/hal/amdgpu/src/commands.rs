//! A recording translated to packets and kernel arguments, once. Replay writes them and patches the
//! addresses of slots.

#![expect(unsafe_code, reason = "writes kernel arguments to host memory")]

use std::any::Any;
use std::sync::Arc;

use roci_hal::Error;
use roci_hal::command::{Command, Dispatch, Operand, Recording};
use roci_hal::driver::{BoundRange, BufferBackend, CommandsBackend};
use roci_hal::{BufferDesc, MemoryType};
use roci_hsa::abi::KernelDispatchPacket;
use roci_hsa::runtime::Kernel;

use crate::buffer::Buffer;
use crate::device_state::DeviceState;
use crate::executable::Executable;
use crate::kernarg_ring::KERNARG_ALIGNMENT;

/// Entry points of the built-in kernels.
const FILL: usize = 0;
const COPY: usize = 1;
/// Names of the built-in kernels in the device library.
pub(crate) const BUILTIN_KERNELS: [&str; 2] = ["fill", "copy"];
/// Work-items per workgroup of a built-in kernel.
const BUILTIN_GROUP_SIZE: u64 = 256;
/// Maximum number of workgroups of a built-in kernel. Each work-item loops over its share.
const BUILTIN_MAX_GROUPS: u64 = 4096;
/// Maximum number of words of one dispatch of a built-in kernel.
const BUILTIN_MAX_WORDS: u64 = 1 << 30;

/// A recording as packets.
pub(crate) struct Commands {
    pub(crate) steps: Vec<EncodedCommand>,
    /// Per packet: its command.
    commands: Vec<u32>,
    /// Per GPU: the packets of kernels, without header and completion signal.
    packets: Vec<Vec<KernelDispatchPacket>>,
    /// Arguments of all kernels; addresses of slots are zero.
    kernargs: Vec<u8>,
    patches: Vec<Patch>,
    /// The arguments in GPU-readable memory, if there are no slots to patch.
    static_kernargs: Option<Buffer>,
    /// Keeps buffers and executables alive, and the data of updates.
    _recording: Arc<Recording>,
    data: Vec<Arc<Buffer>>,
}

impl CommandsBackend for Commands {}

/// A command of the recording as one or more packets.
pub(crate) struct EncodedCommand {
    /// Index in the recording, for reports.
    pub(crate) command: usize,
    /// Waits for all earlier packets.
    pub(crate) barrier: bool,
    pub(crate) kind: EncodedCommandKind,
}

pub(crate) enum EncodedCommandKind {
    /// The kernel packet with this index.
    Dispatch(usize),
    /// A copy by the runtime, which uses a copy engine if it can.
    EngineCopy { source: Operand, target: Operand },
}

impl EncodedCommandKind {
    /// Number of packets.
    pub(crate) fn packets(&self) -> u64 {
        match self {
            Self::Dispatch(_) => 1,
            Self::EngineCopy { .. } => 2,
        }
    }
}

/// An address argument that points into a slot.
struct Patch {
    offset_in_kernargs: usize,
    slot: usize,
    offset: u64,
}

/// GPU address of a range. Fails for another driver's buffer.
pub(crate) fn address(range: &BoundRange) -> Result<u64, Error> {
    let memory = range.buffer.downcast::<Buffer>();
    let memory = memory.ok_or_else(|| Error::invalid("a command", "a buffer of another driver"))?;
    Ok(memory.address() + range.offset)
}

impl Commands {
    pub(crate) fn new(recording: &Arc<Recording>, device: &DeviceState) -> Result<Self, Error> {
        let mut result = Self {
            steps: Vec::new(),
            commands: Vec::new(),
            packets: vec![Vec::new(); device.gpus.len()],
            kernargs: Vec::new(),
            patches: Vec::new(),
            static_kernargs: None,
            _recording: Arc::clone(recording),
            data: Vec::new(),
        };
        let mut barrier = false;
        for (index, command) in recording.commands.iter().enumerate() {
            let first = result.steps.len();
            result.lower(index, command, device)?;
            barrier |= matches!(command, Command::Barrier);
            if let Some(step) = result.steps.get_mut(first) {
                step.barrier = std::mem::take(&mut barrier);
            }
        }
        for step in &result.steps {
            result.commands.extend((0..step.kind.packets()).map(|_| step.command as u32));
        }
        if result.patches.is_empty() && !result.kernargs.is_empty() {
            result.write_static_kernargs(device)?;
        }
        Ok(result)
    }

    fn lower(&mut self, index: usize, command: &Command, device: &DeviceState) -> Result<(), Error> {
        match command {
            Command::Barrier => {}
            Command::Dispatch(dispatch) => self.dispatch(index, dispatch)?,
            Command::Fill { target, pattern } => {
                for (part, words) in word_ranges(target.length() / 4) {
                    let target = subrange(target, 4 * part, 4 * words);
                    self.builtin(index, device, FILL, &[target], [words as u32, 0, *pattern])?;
                }
            }
            Command::Copy { source, target } => self.copy(index, device, source, target)?,
            Command::Update { data, target } => {
                let size = data.len() as u64;
                let desc = BufferDesc::new(size, MemoryType::Host);
                let memory = device.allocator.allocate(&desc).ok_or_else(|| device.out_of_memory(size))?;
                // SAFETY: freshly allocated host memory with `data.len()` bytes.
                unsafe { std::ptr::copy_nonoverlapping(data.as_ptr(), memory.pointer(), data.len()) };
                let memory = Arc::new(memory);
                self.data.push(Arc::clone(&memory));
                let buffer: Arc<dyn BufferBackend> = memory;
                self.copy(index, device, &Operand::Fixed(BoundRange { buffer, offset: 0, length: size }), target)?;
            }
        }
        Ok(())
    }

    fn copy(&mut self, index: usize, device: &DeviceState, source: &Operand, target: &Operand) -> Result<(), Error> {
        if device.copy_policy.uses_engine(source, target) {
            let kind = EncodedCommandKind::EngineCopy { source: source.clone(), target: target.clone() };
            self.steps.push(EncodedCommand { command: index, barrier: false, kind });
            return Ok(());
        }
        let bytes = source.length();
        for (part, words) in word_ranges(bytes / 4) {
            let operands = [source, target].map(|operand| subrange(operand, 4 * part, 4 * words));
            self.builtin(index, device, COPY, &operands, [words as u32, 0, 0])?;
        }
        if !bytes.is_multiple_of(4) {
            // Copies the last word of the range. It may overlap the previous word; both write the
            // same bytes there.
            let operands = [source, target].map(|operand| subrange(operand, bytes - 4, 4));
            self.builtin(index, device, COPY, &operands, [1, 0, 0])?;
        }
        Ok(())
    }

    /// Adds a built-in kernel over `constants[0]` words.
    fn builtin(
        &mut self,
        command: usize,
        device: &DeviceState,
        entry: usize,
        operands: &[Operand],
        constants: [u32; 3],
    ) -> Result<(), Error> {
        let groups = u64::from(constants[0]).div_ceil(BUILTIN_GROUP_SIZE).min(BUILTIN_MAX_GROUPS) as u32;
        let bytes: Vec<u8> = constants.iter().flat_map(|word| word.to_le_bytes()).collect();
        let sizes = [[BUILTIN_GROUP_SIZE as u32, 1, 1], [groups, 1, 1]];
        self.kernel(command, &device.builtin_kernels, entry, sizes, operands, &bytes)
    }

    fn dispatch(&mut self, command: usize, dispatch: &Dispatch) -> Result<(), Error> {
        if dispatch.grid.contains(&0) {
            return Ok(());
        }
        let executable: &dyn Any = dispatch.executable.as_ref();
        let Some(kernels) = executable.downcast_ref::<Executable>() else {
            return Err(Error::invalid("a dispatch", "an executable of another driver"));
        };
        let sizes = [dispatch.entry_point.workgroup_size, dispatch.grid];
        self.kernel(command, kernels, dispatch.entry, sizes, &dispatch.bindings, &dispatch.constants)
    }

    fn kernel(
        &mut self,
        command: usize,
        kernels: &Executable,
        entry: usize,
        [block, groups]: [[u32; 3]; 2],
        operands: &[Operand],
        constants: &[u8],
    ) -> Result<(), Error> {
        let start = self.kernargs.len();
        for operand in operands {
            let value = match operand {
                Operand::Fixed(range) => address(range)?,
                Operand::Slot { slot, offset, .. } => {
                    self.patches.push(Patch { offset_in_kernargs: self.kernargs.len(), slot: *slot, offset: *offset });
                    0
                }
            };
            self.kernargs.extend(value.to_le_bytes());
        }
        self.kernargs.extend(constants);
        let expected = |kernel: Kernel| start + kernel.kernarg_size as usize;
        let end = (0..self.packets.len()).map(|gpu| expected(kernels.kernel(gpu, entry))).max().unwrap_or(0);
        self.kernargs.resize(self.kernargs.len().max(end).next_multiple_of(KERNARG_ALIGNMENT), 0);
        let mut grid = [0; 3];
        for axis in 0..3 {
            let size = groups[axis].checked_mul(block[axis]);
            grid[axis] = size.ok_or_else(|| {
                Error::invalid(
                    "a dispatch",
                    format!("{groups:?} workgroups have more than 2^32 work-items in one dimension"),
                )
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
                // Offset in the arguments; their address is added at replay.
                kernarg_address: start as u64,
                ..KernelDispatchPacket::default()
            });
        }
        let number = self.packets[0].len() - 1;
        self.steps.push(EncodedCommand { command, barrier: false, kind: EncodedCommandKind::Dispatch(number) });
        Ok(())
    }

    /// Writes the arguments of a recording without slots to a dedicated buffer, once.
    fn write_static_kernargs(&mut self, device: &DeviceState) -> Result<(), Error> {
        let size = self.kernargs.len() as u64;
        let memory = device.allocator.kernargs(size).ok_or_else(|| device.out_of_memory(size))?;
        // SAFETY: freshly allocated host memory with `kernargs.len()` bytes.
        unsafe { std::ptr::copy_nonoverlapping(self.kernargs.as_ptr(), memory.pointer(), self.kernargs.len()) };
        self.static_kernargs = Some(memory);
        Ok(())
    }

    /// Address of the arguments, if the recording has no slots.
    pub(crate) fn static_kernargs(&self) -> Option<u64> {
        self.static_kernargs.as_ref().map(Buffer::address)
    }

    /// Size in bytes of the arguments that each replay writes.
    pub(crate) fn kernarg_bytes(&self) -> usize {
        if self.static_kernargs.is_some() { 0 } else { self.kernargs.len() }
    }

    /// Writes the arguments of a replay.
    ///
    /// # Safety
    /// The pointer is valid for [`kernarg_bytes`](Self::kernarg_bytes) bytes that nothing else
    /// accesses.
    pub(crate) unsafe fn write_kernargs(&self, pointer: *mut u8, slots: &[BoundRange]) -> Result<(), Error> {
        // SAFETY: the caller guarantees enough exclusive memory.
        unsafe { std::ptr::copy_nonoverlapping(self.kernargs.as_ptr(), pointer, self.kernargs.len()) };
        for patch in &self.patches {
            let value = address(&slots[patch.slot])? + patch.offset;
            // SAFETY: patches are inside the arguments.
            unsafe { pointer.wrapping_add(patch.offset_in_kernargs).cast::<u64>().write_unaligned(value) };
        }
        Ok(())
    }

    /// The command of the batch's packet with this index; the last command for indices past the
    /// end.
    pub(crate) fn command(&self, packet: usize) -> Option<u32> {
        self.commands.get(packet).or_else(|| self.commands.last()).copied()
    }

    /// The kernel packet with this index for a GPU, with its arguments relative to `arguments`.
    pub(crate) fn packet(&self, gpu: usize, number: usize, arguments: u64) -> KernelDispatchPacket {
        let mut packet = self.packets[gpu][number];
        packet.kernarg_address += arguments;
        packet
    }
}

/// Splits words into ranges (start, count) that one dispatch can process.
fn word_ranges(words: u64) -> impl Iterator<Item = (u64, u64)> {
    (0..words.div_ceil(BUILTIN_MAX_WORDS))
        .map(move |part| (part * BUILTIN_MAX_WORDS, (words - part * BUILTIN_MAX_WORDS).min(BUILTIN_MAX_WORDS)))
}

/// Part of an operand.
fn subrange(operand: &Operand, by: u64, bytes: u64) -> Operand {
    match operand {
        Operand::Fixed(range) => {
            let buffer = Arc::clone(&range.buffer);
            Operand::Fixed(BoundRange { buffer, offset: range.offset + by, length: bytes })
        }
        Operand::Slot { slot, offset, .. } => Operand::Slot { slot: *slot, offset: offset + by, length: bytes },
    }
}
