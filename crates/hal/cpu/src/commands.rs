//! A recording prepared for replay: commands resolved to code and addresses, split into segments of
//! independent steps.

#![expect(unsafe_code, reason = "fills and copies raw memory")]

use std::any::Any;
use std::ops::Range;
use std::ptr::NonNull;
use std::sync::Arc;

use roci_hal::command::{Command, Operand, Recording};
use roci_hal::driver::BoundRange;
use roci_hal::native::{NativeBinding, NativeKernel, NativeLaunch};
use roci_hal::{Access, Error};

use crate::device::Executable;
use crate::footprint::{Footprint, MemoryAccess};

/// Maximum number of commands in a segment. Bounds the conflict check, which is quadratic.
const MAX_SEGMENT: usize = 64;
/// Bytes per part of a fill or copy: large enough to outweigh the cost of sharing, small enough to
/// balance.
const TRANSFER_PART: usize = 4 << 20;

pub(crate) struct Commands {
    /// Keeps the buffers behind `table` alive.
    _recording: Arc<Recording>,
    pub(crate) steps: Vec<ResolvedCommand>,
    /// Ranges of mutually independent steps. A segment starts when the previous one has finished.
    pub(crate) segments: Vec<Range<usize>>,
    /// Bindings of all steps; null where a slot is bound at replay.
    table: Vec<NativeBinding>,
    patches: Vec<Patch>,
    /// Footprint of the fixed bindings.
    pub(crate) footprint: Footprint,
    /// Per slot: whether any step writes it.
    slots: Vec<Access>,
    workers: usize,
}

/// A table entry that replay points into a slot.
struct Patch {
    entry: usize,
    slot: usize,
    offset: usize,
}

/// One command with its operation resolved.
pub(crate) struct ResolvedCommand {
    /// Index in the recording, for reports.
    pub(crate) command: usize,
    operation: Operation,
    bindings: Range<usize>,
    grid: [u32; 3],
    constants: Arc<[u8]>,
    /// Number of parts, or why the step cannot run; `None` if that depends on slots.
    known: Option<Result<usize, String>>,
}

enum Operation {
    Fill(u32),
    Copy,
    Update(Arc<[u8]>),
    Kernel(Arc<dyn NativeKernel>),
}

impl Commands {
    pub(crate) fn new(recording: &Arc<Recording>, workers: usize) -> Result<Self, Error> {
        let mut commands = Self {
            _recording: Arc::clone(recording),
            steps: Vec::new(),
            segments: Vec::new(),
            table: Vec::new(),
            patches: Vec::new(),
            footprint: Footprint::default(),
            slots: vec![Access::Read; recording.slots],
            workers,
        };
        let mut segment = Segment::default();
        let mut accessed = Vec::new();
        for (index, command) in recording.commands.iter().enumerate() {
            let Some(operation) = Operation::of(command)? else {
                if matches!(command, Command::Barrier) {
                    segment.close(&mut commands);
                }
                continue;
            };
            let accesses = command.accesses();
            if segment.conflicts_with(&accesses) {
                segment.close(&mut commands);
            }
            segment.add(&accesses);
            commands.add_step(index, command, operation, &accesses, &mut accessed)?;
        }
        segment.close(&mut commands);
        // Conflicts among the fixed bindings have already split the segments.
        (commands.footprint, _) = Footprint::new(accessed);
        Ok(commands)
    }

    fn add_step(
        &mut self,
        index: usize,
        command: &Command,
        operation: Operation,
        accesses: &[(&Operand, Access)],
        accessed: &mut Vec<MemoryAccess>,
    ) -> Result<(), Error> {
        let first = self.table.len();
        let patches = self.patches.len();
        for (operand, access) in accesses {
            let length = operand.length() as usize;
            let pointer = match operand {
                Operand::Fixed(range) => {
                    accessed.extend(MemoryAccess::new(range, *access));
                    address(range)?.as_ptr()
                }
                Operand::Slot { slot, offset, .. } => {
                    self.patches.push(Patch { entry: self.table.len(), slot: *slot, offset: *offset as usize });
                    if access.writes() {
                        self.slots[*slot] = *access;
                    }
                    std::ptr::null_mut()
                }
            };
            self.table.push(NativeBinding { pointer, length });
        }
        let (grid, constants) = match command {
            Command::Dispatch(dispatch) => (dispatch.grid, Arc::clone(&dispatch.constants)),
            _ => ([1, 1, 1], Arc::default()),
        };
        let bindings = first..self.table.len();
        let mut step = ResolvedCommand { command: index, operation, bindings, grid, constants, known: None };
        if self.patches.len() == patches {
            step.known = Some(step.parts(&self.table, self.workers));
        }
        self.steps.push(step);
        Ok(())
    }

    /// The table with the slots' addresses filled in; `None` without slots.
    pub(crate) fn bind(&self, slots: &[BoundRange]) -> Option<Vec<NativeBinding>> {
        if self.patches.is_empty() {
            return None;
        }
        let mut table = self.table.clone();
        for patch in &self.patches {
            // A missing address stays null with length 0: the step then faults instead of accessing
            // memory.
            let Some(start) = slots.get(patch.slot).and_then(BoundRange::host_memory) else {
                table[patch.entry].length = 0;
                continue;
            };
            table[patch.entry].pointer = start.as_ptr().wrapping_add(patch.offset);
        }
        Some(table)
    }

    /// Memory that the slots of a replay access.
    pub(crate) fn slot_accesses(&self, slots: &[BoundRange]) -> Vec<MemoryAccess> {
        slots.iter().zip(&self.slots).filter_map(|(range, access)| MemoryAccess::new(range, *access)).collect()
    }

    pub(crate) fn table(&self) -> &[NativeBinding] {
        &self.table
    }

    pub(crate) fn workers(&self) -> usize {
        self.workers
    }
}

/// The open segment: commands since the last split, with their operands.
#[derive(Default)]
struct Segment {
    operands: Vec<(Operand, Access)>,
    commands: usize,
}

impl Segment {
    /// Whether a command with these accesses must start a new segment.
    fn conflicts_with(&self, accesses: &[(&Operand, Access)]) -> bool {
        let conflicts = |operand: &Operand, access: Access| {
            self.operands.iter().any(|(earlier, earlier_access)| {
                (access.writes() || earlier_access.writes()) && overlap(operand, earlier)
            })
        };
        self.commands >= MAX_SEGMENT || accesses.iter().any(|(operand, access)| conflicts(operand, *access))
    }

    fn add(&mut self, accesses: &[(&Operand, Access)]) {
        self.operands.extend(accesses.iter().map(|(operand, access)| ((*operand).clone(), *access)));
        self.commands += 1;
    }

    fn close(&mut self, commands: &mut Commands) {
        let start = commands.segments.last().map_or(0, |segment| segment.end);
        if commands.steps.len() > start {
            commands.segments.push(start..commands.steps.len());
        }
        *self = Self::default();
    }
}

/// Whether two operands are known to overlap. Different slots may still be bound to the same
/// memory; such a replay runs its steps one at a time (see `Run`).
fn overlap(a: &Operand, b: &Operand) -> bool {
    match (a, b) {
        (Operand::Fixed(a), Operand::Fixed(b)) => {
            match (MemoryAccess::new(a, Access::ReadWrite), MemoryAccess::new(b, Access::Read)) {
                (Some(a), Some(b)) => a.conflicts(&b),
                _ => true,
            }
        }
        (
            Operand::Slot { slot: a, offset: a_start, length: a_length },
            Operand::Slot { slot: b, offset: b_start, length: b_length },
        ) => a == b && *a_start < b_start + b_length && *b_start < a_start + a_length,
        _ => false,
    }
}

fn address(range: &BoundRange) -> Result<NonNull<u8>, Error> {
    range.host_memory().ok_or_else(|| Error::invalid("recording", "a buffer of another driver"))
}

impl Operation {
    /// Returns `None` for barriers and empty dispatches.
    fn of(command: &Command) -> Result<Option<Self>, Error> {
        Ok(match command {
            Command::Fill { pattern, .. } => Some(Self::Fill(*pattern)),
            Command::Copy { .. } => Some(Self::Copy),
            Command::Update { data, .. } => Some(Self::Update(Arc::clone(data))),
            Command::Dispatch(dispatch) if dispatch.grid.contains(&0) => None,
            Command::Dispatch(dispatch) => {
                let executable: &dyn Any = dispatch.executable.as_ref();
                let kernel =
                    executable.downcast_ref::<Executable>().and_then(|Executable(kernels)| kernels.get(dispatch.entry));
                let missing = || Error::invalid("recording", "an executable of another driver");
                Some(Self::Kernel(Arc::clone(kernel.ok_or_else(missing)?)))
            }
            Command::Barrier => None,
        })
    }
}

impl ResolvedCommand {
    /// Number of parts, or why the step cannot run.
    pub(crate) fn count(&self, table: &[NativeBinding], workers: usize) -> Result<usize, String> {
        self.known.clone().unwrap_or_else(|| self.parts(table, workers))
    }

    fn parts(&self, table: &[NativeBinding], workers: usize) -> Result<usize, String> {
        let launch = self.launch(table, workers);
        match &self.operation {
            Operation::Kernel(kernel) => kernel.prepare(&launch),
            Operation::Fill(_) | Operation::Copy | Operation::Update(_) => {
                Ok(launch.bindings.last().map_or(0, |target| target.length.div_ceil(TRANSFER_PART)))
            }
        }
    }

    fn launch<'a>(&'a self, table: &'a [NativeBinding], workers: usize) -> NativeLaunch<'a> {
        NativeLaunch { grid: self.grid, bindings: &table[self.bindings.clone()], constants: &self.constants, workers }
    }

    /// Runs one part.
    ///
    /// # Safety
    /// The table holds addresses of live memory without conflicting concurrent accesses, `parts`
    /// came from `count` for this table, and each part runs once.
    pub(crate) unsafe fn run(&self, table: &[NativeBinding], workers: usize, part: usize, parts: usize) {
        let launch = self.launch(table, workers);
        let range = |length: usize| part * TRANSFER_PART..((part + 1) * TRANSFER_PART).min(length);
        match (&self.operation, launch.bindings) {
            (Operation::Kernel(kernel), _) => {
                // SAFETY: the caller upholds the kernel's conditions.
                unsafe { kernel.run(&launch, part, parts) }
            }
            (Operation::Fill(pattern), [target]) => {
                let range = range(target.length);
                // SAFETY: the part is inside the target; its start and length are multiples of
                // four, as the target's are.
                let words = unsafe { slice(target.pointer.cast::<[u8; 4]>(), range.start / 4, range.len() / 4) };
                words.fill(pattern.to_ne_bytes());
            }
            (Operation::Copy, [source, target]) => {
                let range = range(target.length);
                let (from, to) = (source.pointer.wrapping_add(range.start), target.pointer.wrapping_add(range.start));
                // SAFETY: the part is inside both ranges, and the HAL rejects overlapping ones. No
                // slices: another command of the segment may read the same source concurrently.
                unsafe { to.copy_from_nonoverlapping(from, range.len()) }
            }
            (Operation::Update(data), [target]) => {
                let range = range(target.length);
                // SAFETY: the part is inside the target, which is as long as the data.
                unsafe { slice(target.pointer, range.start, range.len()) }.copy_from_slice(&data[range]);
            }
            _ => {}
        }
    }
}

/// `count` elements starting at `first`.
///
/// # Safety
/// They are live, initialized memory without other accesses while the slice lives.
unsafe fn slice<'a, T>(start: *mut T, first: usize, count: usize) -> &'a mut [T] {
    // SAFETY: the caller guarantees that the range is inside one allocation.
    let start = unsafe { start.add(first) };
    // SAFETY: the caller guarantees live, initialized elements and exclusive access.
    unsafe { std::slice::from_raw_parts_mut(start, count) }
}
