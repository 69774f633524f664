//! A recording made ready to be enqueued: kernels with their arguments set, and what slots change in them.

use std::sync::Arc;

use parking_lot::Mutex;
use roci_hal::Error;
use roci_hal::command::{Command, Dispatch, Operand, Recording};
use roci_hal::driver::{BoundRange, CommandsBackend};

use crate::cl::{Event, Kernel, Mem, Queue};
use crate::error::Failed;
use crate::executable::Kernels;
use crate::memory::Memory;

/// Commands in OpenCL's terms.
pub(crate) struct Program {
    /// Keeps buffers and code alive.
    recording: Arc<Recording>,
    steps: Mutex<Vec<Step>>,
    is_empty: bool,
    is_serial: bool,
}

impl CommandsBackend for Program {}

/// One command.
struct Step {
    /// Index in the recording.
    command: usize,
    /// Everything above it comes first.
    barrier: bool,
    /// Present for a dispatch.
    launch: Option<Launch>,
}

/// A kernel whose arguments are set, but for those of slots. No other dispatch uses it.
struct Launch {
    kernel: Kernel,
    global: [usize; 3],
    local: [usize; 3],
    /// Arguments that are parts of slots.
    patches: Vec<Patch>,
    /// Parts of buffers among the fixed arguments.
    _parts: Vec<Part>,
}

struct Patch {
    argument: u32,
    operand: Operand,
}

/// Part of a buffer, with where it is.
pub(crate) struct Part {
    buffer: usize,
    offset: u64,
    length: u64,
    mem: Mem,
}

/// What a batch on the device needs until it ends.
#[derive(Default)]
pub(crate) struct Enqueued {
    /// By command, in order: its event. Behind them perhaps one that joins the last.
    pub(crate) events: Vec<(usize, Event)>,
    /// How many of the events are commands'.
    pub(crate) commands: usize,
    /// Events that join others.
    joins: Vec<Event>,
    /// Parts of slots.
    parts: Vec<Part>,
}

impl Program {
    pub(crate) fn new(recording: &Arc<Recording>) -> Result<Self, Error> {
        let mut steps = Vec::new();
        let mut barrier = false;
        for (index, command) in recording.commands.iter().enumerate() {
            let launch = match command {
                Command::Barrier => {
                    barrier = !steps.is_empty();
                    continue;
                }
                Command::Dispatch(dispatch) if dispatch.grid.contains(&0) => continue,
                Command::Dispatch(dispatch) => Some(Launch::new(dispatch).map_err(|error| {
                    let call = format!("dispatch of \"{}\"", dispatch.entry_point.name);
                    Error::invalid(call, error.to_string())
                })?),
                _ => None,
            };
            // OpenCL has no empty commands.
            if command.accesses().iter().any(|(operand, _)| operand.length() == 0) && launch.is_none() {
                continue;
            }
            steps.push(Step { command: index, barrier: std::mem::take(&mut barrier), launch });
        }
        let is_serial = steps.iter().skip(1).all(|step| step.barrier);
        let (recording, is_empty) = (Arc::clone(recording), steps.is_empty());
        Ok(Self { recording, is_empty, is_serial, steps: Mutex::new(steps) })
    }

    /// Whether there is nothing to do.
    pub(crate) fn is_empty(&self) -> bool {
        self.is_empty
    }

    /// Whether each command waits for the one before it.
    pub(crate) fn is_serial(&self) -> bool {
        self.is_serial
    }

    /// Enqueues all commands. In a queue that keeps no order, those behind a barrier wait for the events before it.
    ///
    /// What was enqueued before a failure is in `enqueued` all the same.
    pub(crate) fn enqueue(
        &self,
        queue: &Queue,
        out_of_order: bool,
        slots: &[BoundRange],
        enqueued: &mut Enqueued,
    ) -> Result<(), (usize, Failed)> {
        let mut steps = self.steps.lock();
        // The first event of the segment at hand.
        let mut first = 0;
        // The event that stands for the segments before.
        let mut before: Option<Before> = None;
        for step in steps.iter_mut() {
            let at = |error| (step.command, error);
            if step.barrier && out_of_order {
                let segment: Vec<_> = enqueued.events[first..].iter().map(|(_, event)| event).collect();
                before = Some(match segment.len() {
                    1 => Before::Command(first),
                    _ => {
                        let join = queue.join(&segment).map_err(at)?;
                        enqueued.joins.push(join);
                        Before::Join(enqueued.joins.len() - 1)
                    }
                });
                first = enqueued.events.len();
            }
            let wait = before.as_ref().map(|before| match before {
                Before::Command(index) => &enqueued.events[*index].1,
                Before::Join(index) => &enqueued.joins[*index],
            });
            let waits: Vec<&Event> = wait.into_iter().collect();
            let command = &self.recording.commands[step.command];
            let event = start(queue, command, step.launch.as_mut(), slots, &mut enqueued.parts, &waits).map_err(at)?;
            enqueued.events.push((step.command, event));
            enqueued.commands = enqueued.events.len();
        }
        // One event must be the last of all.
        if out_of_order && enqueued.events.len() - first > 1 {
            let segment: Vec<_> = enqueued.events[first..].iter().map(|(_, event)| event).collect();
            let last = enqueued.events.last().map_or(0, |(command, _)| *command);
            let join = queue.join(&segment).map_err(|error| (last, error))?;
            enqueued.events.push((last, join));
        }
        Ok(())
    }
}

enum Before {
    Command(usize),
    Join(usize),
}

/// Enqueues one command.
#[expect(unsafe_code, reason = "lets OpenCL read bytes of the recording")]
fn start(
    queue: &Queue,
    command: &Command,
    launch: Option<&mut Launch>,
    slots: &[BoundRange],
    parts: &mut Vec<Part>,
    waits: &[&Event],
) -> Result<Event, Failed> {
    match command {
        Command::Fill { target, pattern } => {
            let range = target.resolve(slots);
            queue.fill((mem(&range)?, range.offset, range.length), *pattern, waits)
        }
        Command::Copy { source, target } => {
            let (from, to) = (source.resolve(slots), target.resolve(slots));
            queue.copy((mem(&from)?, from.offset), (mem(&to)?, to.offset), from.length, waits)
        }
        Command::Update { data, target } => {
            let range = target.resolve(slots);
            let length = range.length.min(data.len() as u64);
            // SAFETY: so many bytes of the recording, which lives until the batch has ended.
            unsafe { queue.write(data.as_ptr(), (mem(&range)?, range.offset, length), waits) }
        }
        Command::Dispatch(_) | Command::Barrier => {
            let launch = launch.ok_or(Failed { call: "a dispatch", code: cl3::error_codes::CL_INVALID_KERNEL })?;
            for patch in &launch.patches {
                let range = patch.operand.resolve(slots);
                set(&mut launch.kernel, patch.argument, &range, parts)?;
            }
            queue.run(&launch.kernel, launch.global, launch.local, waits)
        }
    }
}

impl Launch {
    fn new(dispatch: &Dispatch) -> Result<Self, Failed> {
        let foreign = Failed { call: "a kernel of another driver", code: cl3::error_codes::CL_INVALID_KERNEL };
        let executable: &dyn std::any::Any = dispatch.executable.as_ref();
        let kernels = executable.downcast_ref::<Kernels>().ok_or(foreign)?;
        let mut kernel = kernels.kernel(dispatch.entry)?;
        let (mut patches, mut parts) = (Vec::new(), Vec::new());
        for (argument, operand) in (0u32..).zip(&dispatch.bindings) {
            match operand {
                Operand::Fixed(range) => set(&mut kernel, argument, range, &mut parts)?,
                Operand::Slot { .. } => patches.push(Patch { argument, operand: operand.clone() }),
            }
        }
        if !dispatch.constants.is_empty() {
            kernel.set_bytes(dispatch.bindings.len() as u32, &dispatch.constants)?;
        }
        let local = dispatch.entry_point.workgroup_size.map(|size| size as usize);
        let global = std::array::from_fn(|axis| dispatch.grid[axis] as usize * local[axis]);
        Ok(Self { kernel, global, local, patches, _parts: parts })
    }
}

/// Sets memory as an argument: the whole buffer, or a part of it. Equal parts are one, since a kernel may write one
/// argument and read another that is the same range.
fn set(kernel: &mut Kernel, argument: u32, range: &BoundRange, parts: &mut Vec<Part>) -> Result<(), Failed> {
    let whole = mem(range)?;
    if range.offset == 0 {
        return kernel.set_memory(argument, whole);
    }
    let buffer = std::ptr::from_ref(whole).addr();
    let same = |part: &Part| part.buffer == buffer && (part.offset, part.length) == (range.offset, range.length);
    let index = match parts.iter().position(same) {
        Some(index) => index,
        None => {
            let mem = whole.part(range.offset, range.length)?;
            parts.push(Part { buffer, offset: range.offset, length: range.length, mem });
            parts.len() - 1
        }
    };
    kernel.set_memory(argument, &parts[index].mem)
}

/// The buffer of OpenCL behind a range.
fn mem(range: &BoundRange) -> Result<&Mem, Failed> {
    let memory = range.buffer.downcast::<Memory>();
    memory
        .map(Memory::mem)
        .ok_or(Failed { call: "memory of another driver", code: cl3::error_codes::CL_INVALID_MEM_OBJECT })
}
