//! A recording made ready to be enqueued: kernels with their arguments set, and what slots change in them.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use parking_lot::Mutex;
use roci_hal::Error;
use roci_hal::command::{Command, Dispatch, Operand, Recording};
use roci_hal::driver::{BoundRange, CommandsBackend};

use crate::cl::{Event, Kernel, Mem, Order, Queue};
use crate::error::Failed;
use crate::executable::Kernels;
use crate::memory::Memory;

/// A batch that took no longer goes without events in between the next time: nobody would see it stand still for long, and the
/// events would take longer than its kernels do.
const SHORT: Duration = Duration::from_millis(250);

/// Commands in OpenCL's terms.
pub(crate) struct Program {
    /// Keeps buffers and code alive.
    recording: Arc<Recording>,
    steps: Mutex<Vec<Step>>,
    is_empty: bool,
    /// The first command that is a dispatch.
    first_dispatch: Option<usize>,
    is_serial: bool,
    /// Whether it has ended once, so that its kernels are compiled.
    ran: AtomicBool,
    /// Nanoseconds of the last run; zero before there was one.
    took: AtomicU64,
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
    /// Arguments that slots fill in at replay.
    patches: Vec<Patch>,
}

struct Patch {
    argument: u32,
    operand: Operand,
}

/// What a batch on the device needs until it ends.
#[derive(Default)]
pub(crate) struct Enqueued {
    /// In order: an event, with the first command that is under way until it is complete.
    pub(crate) events: Vec<(usize, Event)>,
    /// Whether each of the first events is one command's.
    pub(crate) commands: usize,
    /// Whether commands were enqueued of whose end no event will tell: they must be taken for running for ever.
    pub(crate) adrift: bool,
    /// Events that join others.
    joins: Vec<Event>,
}

/// Where a batch goes, and what is wanted of it.
#[derive(Clone, Copy)]
pub(crate) struct Target<'a> {
    pub(crate) queue: &'a Queue,
    pub(crate) out_of_order: bool,
    /// Whether each command shall have an event, since somebody wants to know when it ran.
    pub(crate) timed: bool,
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
        // Behind a barrier a queue that keeps no order needs events, which cost more than a few commands side by side gain.
        let stretches = 1 + steps.iter().filter(|step| step.barrier).count();
        let is_serial = steps.len() < 2 * stretches;
        let first_dispatch = steps.iter().find(|step| step.launch.is_some()).map(|step| step.command);
        Ok(Self {
            recording: Arc::clone(recording),
            is_empty: steps.is_empty(),
            first_dispatch,
            is_serial,
            steps: Mutex::new(steps),
            ran: AtomicBool::new(false),
            took: AtomicU64::new(0),
        })
    }

    /// Whether there is nothing to do.
    pub(crate) fn is_empty(&self) -> bool {
        self.is_empty
    }

    /// The first command whose kernel the driver may yet have to compile.
    pub(crate) fn compiles_first(&self) -> Option<usize> {
        self.first_dispatch.filter(|command| self.may_compile(*command))
    }

    /// Notes that it has ended.
    pub(crate) fn note_run(&self) {
        self.ran.store(true, Ordering::Relaxed);
    }

    /// Whether the driver may yet have to compile the kernel of a command. Some compile when a kernel is enqueued or runs, and PoCL anew for
    /// another size of grid: whether the kernel ran elsewhere says nothing, only whether this command did.
    pub(crate) fn may_compile(&self, command: usize) -> bool {
        !self.ran.load(Ordering::Relaxed) && matches!(self.recording.commands.get(command), Some(Command::Dispatch(_)))
    }

    /// Whether most commands wait for the one before them, so that a queue which keeps order suits it best.
    pub(crate) fn is_serial(&self) -> bool {
        self.is_serial
    }

    /// Learns how long a run took.
    pub(crate) fn learn(&self, took: Duration) {
        self.took.store((took.as_nanos() as u64).max(1), Ordering::Relaxed);
    }

    /// How long it takes, if it is known to end soon.
    pub(crate) fn short(&self) -> Option<Duration> {
        let took = Duration::from_nanos(self.took.load(Ordering::Relaxed));
        (!took.is_zero() && took <= SHORT).then_some(took)
    }

    /// Enqueues all commands.
    ///
    /// In a queue that keeps no order each has an event, and those behind a barrier wait for the events before it. In one
    /// that keeps order only the last has one, unless it is not known yet that the batch ends soon: until then it must be
    /// seen which command is under way.
    ///
    /// What was enqueued before a failure is in `enqueued` all the same.
    pub(crate) fn enqueue(
        &self,
        target: Target<'_>,
        slots: &[BoundRange],
        enqueued: &mut Enqueued,
    ) -> Result<(), (usize, Failed)> {
        if target.out_of_order {
            return self.enqueue_by_events(target.queue, slots, enqueued);
        }
        let each = target.timed || self.short().is_none();
        let mut steps = self.steps.lock();
        let last = steps.len().saturating_sub(1);
        // The first command since the last event.
        let mut first = None;
        for (index, step) in steps.iter_mut().enumerate() {
            let order = Order { after: None, noted: each || index == last };
            let from = first.unwrap_or(step.command);
            match self.start(target.queue, step, slots, order) {
                Ok(Some(event)) => {
                    enqueued.events.push((from, event));
                    first = None;
                }
                Ok(None) => first = Some(from),
                Err(error) => {
                    // What went before has no event yet, and must be seen to end.
                    if first.is_some() {
                        match target.queue.join(&[]) {
                            Ok(event) => enqueued.events.push((from, event)),
                            Err(_) => enqueued.adrift = true,
                        }
                    }
                    return Err((step.command, error));
                }
            }
        }
        enqueued.commands = if each { enqueued.events.len() } else { 0 };
        Ok(())
    }

    fn enqueue_by_events(
        &self,
        queue: &Queue,
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
            if step.barrier {
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
            let after = before.as_ref().map(|before| match before {
                Before::Command(index) => &enqueued.events[*index].1,
                Before::Join(index) => &enqueued.joins[*index],
            });
            let command = step.command;
            let event = self.start(queue, step, slots, Order { after, noted: true });
            enqueued.events.extend(event.map_err(|error| (command, error))?.map(|event| (command, event)));
            enqueued.commands = enqueued.events.len();
        }
        // One event must be the last of all.
        if enqueued.events.len() - first > 1 {
            let segment: Vec<_> = enqueued.events[first..].iter().map(|(_, event)| event).collect();
            let last = enqueued.events.last().map_or(0, |(command, _)| *command);
            let join = queue.join(&segment).map_err(|error| (last, error))?;
            enqueued.events.push((last, join));
        }
        Ok(())
    }

    /// Enqueues one command.
    #[expect(unsafe_code, reason = "lets OpenCL read bytes of the recording")]
    fn start(
        &self,
        queue: &Queue,
        step: &mut Step,
        slots: &[BoundRange],
        order: Order<'_>,
    ) -> Result<Option<Event>, Failed> {
        match &self.recording.commands[step.command] {
            Command::Fill { target, pattern } => {
                let range = target.resolve(slots);
                queue.fill((mem(&range)?, range.offset, range.length), *pattern, order)
            }
            Command::Copy { source, target } => {
                let (from, to) = (source.resolve(slots), target.resolve(slots));
                queue.copy((mem(&from)?, from.offset), (mem(&to)?, to.offset), from.length, order)
            }
            Command::Update { data, target } => {
                let range = target.resolve(slots);
                let length = range.length.min(data.len() as u64);
                // SAFETY: so many bytes of the recording, which lives until the batch has ended.
                unsafe { queue.write(data.as_ptr(), (mem(&range)?, range.offset, length), order) }
            }
            Command::Dispatch(_) | Command::Barrier => {
                let none = Failed { call: "a dispatch", code: cl3::error_codes::CL_INVALID_KERNEL };
                let launch = step.launch.as_mut().ok_or(none)?;
                for patch in &launch.patches {
                    let range = patch.operand.resolve(slots);
                    set(&mut launch.kernel, patch.argument, &range)?;
                }
                queue.run(&launch.kernel, launch.global, launch.local, order)
            }
        }
    }
}

enum Before {
    Command(usize),
    Join(usize),
}

impl Launch {
    fn new(dispatch: &Dispatch) -> Result<Self, Failed> {
        let foreign = Failed { call: "a kernel of another driver", code: cl3::error_codes::CL_INVALID_KERNEL };
        let executable: &dyn std::any::Any = dispatch.executable.as_ref();
        let kernels = executable.downcast_ref::<Kernels>().ok_or(foreign)?;
        let mut kernel = kernels.kernel(dispatch.entry)?;
        let mut patches = Vec::new();
        for (argument, operand) in (0u32..).zip(&dispatch.bindings) {
            match operand {
                Operand::Fixed(range) => set(&mut kernel, argument, range)?,
                Operand::Slot { .. } => patches.push(Patch { argument, operand: operand.clone() }),
            }
        }
        if !dispatch.constants.is_empty() {
            kernel.set_bytes(dispatch.bindings.len() as u32, &dispatch.constants)?;
        }
        let local = dispatch.entry_point.workgroup_size.map(|size| size as usize);
        let global = std::array::from_fn(|axis| dispatch.grid[axis] as usize * local[axis]);
        Ok(Self { kernel, global, local, patches })
    }
}

/// Sets a range of memory as an argument.
fn set(kernel: &mut Kernel, argument: u32, range: &BoundRange) -> Result<(), Failed> {
    memory(range)?.with_range(range.offset, range.length, |mem| kernel.set_memory(argument, mem))
}

/// The memory object behind a range.
fn mem(range: &BoundRange) -> Result<&Mem, Failed> {
    memory(range).map(Memory::mem)
}

fn memory(range: &BoundRange) -> Result<&Memory, Failed> {
    let foreign = Failed { call: "memory of another driver", code: cl3::error_codes::CL_INVALID_MEM_OBJECT };
    range.buffer.downcast::<Memory>().ok_or(foreign)
}
