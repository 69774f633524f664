//! A recording made ready to run: commands resolved to code and addresses, split where they depend on each other.

#![expect(unsafe_code, reason = "fills and copies raw memory")]

use std::any::Any;
use std::ops::Range;
use std::ptr::NonNull;
use std::sync::Arc;

use roci_hal::command::{Command, Operand, Recording};
use roci_hal::driver::BoundRange;
use roci_hal::native::{NativeBinding, NativeKernel, NativeLaunch};
use roci_hal::{Access, Error};

use crate::device::Kernels;
use crate::touch::{Footprint, Touch};

/// Commands of one segment at most: bounds the search for conflicts, which compares each with all before it.
const MAX_SEGMENT: usize = 64;
/// Bytes of one part of a fill or copy: large enough that sharing pays, small enough to balance.
const TRANSFER_PART: usize = 4 << 20;

pub(crate) struct Program {
    /// Keeps the buffers behind `table` alive.
    _recording: Arc<Recording>,
    pub(crate) steps: Vec<Step>,
    /// Steps that are independent of each other; a segment starts when the one before has ended.
    pub(crate) segments: Vec<Range<usize>>,
    /// Addresses of all steps, those of slots still empty.
    table: Vec<NativeBinding>,
    patches: Vec<Patch>,
    /// Memory known at recording.
    pub(crate) footprint: Footprint,
    /// By slot: how it is used.
    slots: Vec<Access>,
    workers: usize,
}

/// A table entry that is part of a slot.
struct Patch {
    entry: usize,
    slot: usize,
    offset: usize,
}

/// One command.
pub(crate) struct Step {
    /// Index in the recording, for reports.
    pub(crate) command: usize,
    work: Work,
    bindings: Range<usize>,
    grid: [u32; 3],
    constants: Arc<[u8]>,
    /// Parts, or why it cannot run, where nothing of that depends on slots.
    known: Option<Result<usize, String>>,
}

enum Work {
    Fill(u32),
    Copy,
    Update(Arc<[u8]>),
    Kernel(Arc<dyn NativeKernel>),
}

impl Program {
    pub(crate) fn new(recording: &Arc<Recording>, workers: usize) -> Result<Self, Error> {
        let mut program = Self {
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
        let mut touches = Vec::new();
        for (index, command) in recording.commands.iter().enumerate() {
            let Some(work) = Work::of(command)? else {
                if matches!(command, Command::Barrier) {
                    segment.close(&mut program);
                }
                continue;
            };
            let accesses = command.accesses();
            if segment.refuses(&accesses) {
                segment.close(&mut program);
            }
            segment.add(&accesses);
            program.add_step(index, command, work, &accesses, &mut touches)?;
        }
        segment.close(&mut program);
        // Conflicts among them have split the segments above.
        (program.footprint, _) = Footprint::new(touches);
        Ok(program)
    }

    fn add_step(
        &mut self,
        index: usize,
        command: &Command,
        work: Work,
        accesses: &[(&Operand, Access)],
        touches: &mut Vec<Touch>,
    ) -> Result<(), Error> {
        let first = self.table.len();
        let patches = self.patches.len();
        for (operand, access) in accesses {
            let length = operand.length() as usize;
            let pointer = match operand {
                Operand::Fixed(range) => {
                    touches.extend(Touch::new(range, *access));
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
        let mut step = Step { command: index, work, bindings, grid, constants, known: None };
        if self.patches.len() == patches {
            step.known = Some(step.parts(&self.table, self.workers));
        }
        self.steps.push(step);
        Ok(())
    }

    /// The table with the slots' addresses, or the program's own where there are no slots.
    pub(crate) fn bind(&self, slots: &[BoundRange]) -> Option<Vec<NativeBinding>> {
        if self.patches.is_empty() {
            return None;
        }
        let mut table = self.table.clone();
        for patch in &self.patches {
            // An address that is missing stays null with length 0: the step then faults instead of touching memory.
            let Some(start) = slots.get(patch.slot).and_then(BoundRange::host_memory) else {
                table[patch.entry].length = 0;
                continue;
            };
            table[patch.entry].pointer = start.as_ptr().wrapping_add(patch.offset);
        }
        Some(table)
    }

    /// What the slots of a replay touch.
    pub(crate) fn slot_touches(&self, slots: &[BoundRange]) -> Vec<Touch> {
        slots.iter().zip(&self.slots).filter_map(|(range, access)| Touch::new(range, *access)).collect()
    }

    pub(crate) fn table(&self) -> &[NativeBinding] {
        &self.table
    }

    pub(crate) fn workers(&self) -> usize {
        self.workers
    }
}

/// The commands since the last split, and what they touch.
#[derive(Default)]
struct Segment {
    operands: Vec<(Operand, Access)>,
    commands: usize,
}

impl Segment {
    fn refuses(&self, accesses: &[(&Operand, Access)]) -> bool {
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

    fn close(&mut self, program: &mut Program) {
        let start = program.segments.last().map_or(0, |segment| segment.end);
        if program.steps.len() > start {
            program.segments.push(start..program.steps.len());
        }
        *self = Self::default();
    }
}

/// Whether two operands surely touch a common byte. Different slots may still be bound to the same memory; a replay
/// that does so runs its steps one by one (see `Run`).
fn overlap(a: &Operand, b: &Operand) -> bool {
    match (a, b) {
        (Operand::Fixed(a), Operand::Fixed(b)) => match (Touch::new(a, Access::ReadWrite), Touch::new(b, Access::Read))
        {
            (Some(a), Some(b)) => a.conflicts(&b),
            _ => true,
        },
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

impl Work {
    /// `None` for commands that do nothing.
    fn of(command: &Command) -> Result<Option<Self>, Error> {
        Ok(match command {
            Command::Fill { pattern, .. } => Some(Self::Fill(*pattern)),
            Command::Copy { .. } => Some(Self::Copy),
            Command::Update { data, .. } => Some(Self::Update(Arc::clone(data))),
            Command::Dispatch(dispatch) if dispatch.grid.contains(&0) => None,
            Command::Dispatch(dispatch) => {
                let executable: &dyn Any = dispatch.executable.as_ref();
                let kernel =
                    executable.downcast_ref::<Kernels>().and_then(|Kernels(kernels)| kernels.get(dispatch.entry));
                let missing = || Error::invalid("recording", "an executable of another driver");
                Some(Self::Kernel(Arc::clone(kernel.ok_or_else(missing)?)))
            }
            Command::Barrier => None,
        })
    }
}

impl Step {
    /// Into how many parts it falls, or why it cannot run.
    pub(crate) fn count(&self, table: &[NativeBinding], workers: usize) -> Result<usize, String> {
        self.known.clone().unwrap_or_else(|| self.parts(table, workers))
    }

    fn parts(&self, table: &[NativeBinding], workers: usize) -> Result<usize, String> {
        let launch = self.launch(table, workers);
        match &self.work {
            Work::Kernel(kernel) => kernel.prepare(&launch),
            Work::Fill(_) | Work::Copy | Work::Update(_) => {
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
    /// The table holds addresses of live memory that nothing else touches in conflict, `count` gave `parts` for it, and
    /// each part is run once.
    pub(crate) unsafe fn run(&self, table: &[NativeBinding], workers: usize, part: usize, parts: usize) {
        let launch = self.launch(table, workers);
        let range = |length: usize| part * TRANSFER_PART..((part + 1) * TRANSFER_PART).min(length);
        match (&self.work, launch.bindings) {
            (Work::Kernel(kernel), _) => {
                // SAFETY: the caller's promises are the kernel's conditions.
                unsafe { kernel.run(&launch, part, parts) }
            }
            (Work::Fill(pattern), [target]) => {
                let range = range(target.length);
                // SAFETY: the part lies inside the target, whose length and offset are multiples of four, as parts are.
                let words = unsafe { slice(target.pointer.cast::<[u8; 4]>(), range.start / 4, range.len() / 4) };
                words.fill(pattern.to_ne_bytes());
            }
            (Work::Copy, [source, target]) => {
                let range = range(target.length);
                let (from, to) = (source.pointer.wrapping_add(range.start), target.pointer.wrapping_add(range.start));
                // SAFETY: the part lies inside both, and the HAL has refused ranges that overlap. Not by slices: another
                // command of the segment may read the same source at the same time.
                unsafe { to.copy_from_nonoverlapping(from, range.len()) }
            }
            (Work::Update(data), [target]) => {
                let range = range(target.length);
                // SAFETY: the part lies inside the target, which is as long as the data.
                unsafe { slice(target.pointer, range.start, range.len()) }.copy_from_slice(&data[range]);
            }
            _ => {}
        }
    }
}

/// `count` elements from `first` on.
///
/// # Safety
/// They are live, initialised memory that nothing else touches while the slice lives.
unsafe fn slice<'a, T>(start: *mut T, first: usize, count: usize) -> &'a mut [T] {
    // SAFETY: the caller says that the range is inside one allocation.
    let start = unsafe { start.add(first) };
    // SAFETY: the caller says that the elements are live, initialised and ours alone.
    unsafe { std::slice::from_raw_parts_mut(start, count) }
}
