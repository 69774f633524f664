//! A recording prepared for replay: kernels with their arguments set, and the arguments that come
//! from slots.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use parking_lot::Mutex;
use roci_hal::Error;
use roci_hal::command::{Command, Dispatch, Operand, Recording};
use roci_hal::driver::{BoundRange, CommandsBackend};

use crate::buffer::Buffer;
use crate::cl::{CommandQueue, EnqueueOptions, Event, Kernel, Mem};
use crate::error::ClError;
use crate::executable::Executable;

/// A batch whose last run took no longer is enqueued without intermediate events: it is too short
/// to look stalled, and the events would take longer than its kernels.
const SHORT_BATCH: Duration = Duration::from_millis(250);

/// A recording as OpenCL commands.
pub(crate) struct Commands {
    /// Keeps buffers and code alive.
    recording: Arc<Recording>,
    steps: Mutex<Vec<CommandStep>>,
    is_empty: bool,
    /// Index of the first dispatch.
    first_dispatch: Option<usize>,
    is_serial: bool,
    /// Whether it has completed once, so that its kernels are compiled.
    ran: AtomicBool,
    /// Duration of the last run in nanoseconds; zero before the first.
    took: AtomicU64,
}

impl CommandsBackend for Commands {}

/// One command of the recording, other than a barrier.
struct CommandStep {
    /// Index in the recording.
    command: usize,
    /// Whether it waits for all commands before it.
    barrier: bool,
    /// Present for dispatches.
    kernel: Option<PreparedKernel>,
}

/// A kernel whose arguments are set, except those from slots. No other dispatch uses it.
struct PreparedKernel {
    kernel: Kernel,
    global: [usize; 3],
    local: [usize; 3],
    /// Arguments filled from slots at replay.
    patches: Vec<Patch>,
}

struct Patch {
    argument: u32,
    operand: Operand,
}

/// State that a batch on the device needs until it completes.
#[derive(Default)]
pub(crate) struct Enqueued {
    /// In order: each event, with the index of the first command that is in flight until it
    /// completes.
    pub(crate) events: Vec<(usize, Event)>,
    /// Number of leading events that each belong to one command.
    pub(crate) commands: usize,
    /// Whether commands were enqueued that no event covers: they must be assumed to run forever.
    pub(crate) has_untracked: bool,
    /// Markers that join other events.
    joins: Vec<Event>,
}

/// Target queue of a batch, and whether it is timed.
#[derive(Clone, Copy)]
pub(crate) struct EnqueueTarget<'a> {
    pub(crate) queue: &'a CommandQueue,
    pub(crate) out_of_order: bool,
    /// Whether each command gets an event, because timing was requested.
    pub(crate) timed: bool,
}

impl Commands {
    /// Creates the kernels of a recording and sets their arguments. [`Commands::enqueue`] enqueues
    /// them.
    pub(crate) fn new(recording: &Arc<Recording>) -> Result<Self, Error> {
        let mut steps = Vec::new();
        let mut barrier = false;
        for (index, command) in recording.commands.iter().enumerate() {
            let kernel = match command {
                Command::Barrier => {
                    barrier = !steps.is_empty();
                    continue;
                }
                Command::Dispatch(dispatch) if dispatch.grid.contains(&0) => continue,
                Command::Dispatch(dispatch) => Some(PreparedKernel::new(dispatch).map_err(|error| {
                    let call = format!("dispatch of \"{}\"", dispatch.entry_point.name);
                    Error::invalid(call, error.to_string())
                })?),
                _ => None,
            };
            // OpenCL has no empty transfers.
            if command.accesses().iter().any(|(operand, _)| operand.length() == 0) && kernel.is_none() {
                continue;
            }
            steps.push(CommandStep { command: index, barrier: std::mem::take(&mut barrier), kernel });
        }
        // An out-of-order queue needs events at barriers, which cost more than running a few
        // commands concurrently saves.
        let segments = 1 + steps.iter().filter(|step| step.barrier).count();
        let is_serial = steps.len() < 2 * segments;
        let first_dispatch = steps.iter().find(|step| step.kernel.is_some()).map(|step| step.command);
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

    /// Whether there are no commands.
    pub(crate) fn is_empty(&self) -> bool {
        self.is_empty
    }

    /// Index of the first dispatch, if the driver may still have to compile its kernel.
    pub(crate) fn compiles_first(&self) -> Option<usize> {
        self.first_dispatch.filter(|command| self.may_compile(*command))
    }

    /// Records that a run has completed.
    pub(crate) fn mark_compiled(&self) {
        self.ran.store(true, Ordering::Relaxed);
    }

    /// Whether the driver may still have to compile the kernel of a command. Some drivers compile
    /// when a kernel is enqueued or first runs, and PoCL recompiles for each grid size. Only a run
    /// of this very command therefore counts, not a run of its kernel elsewhere.
    pub(crate) fn may_compile(&self, command: usize) -> bool {
        !self.ran.load(Ordering::Relaxed) && matches!(self.recording.commands.get(command), Some(Command::Dispatch(_)))
    }

    /// Whether most commands depend on the previous one, so that an in-order queue suits best.
    pub(crate) fn is_serial(&self) -> bool {
        self.is_serial
    }

    /// Records the duration of a run.
    pub(crate) fn record_time(&self, took: Duration) {
        self.took.store((took.as_nanos() as u64).max(1), Ordering::Relaxed);
    }

    /// Duration of the last run, if it is known and short.
    pub(crate) fn known_short_time(&self) -> Option<Duration> {
        let took = Duration::from_nanos(self.took.load(Ordering::Relaxed));
        (!took.is_zero() && took <= SHORT_BATCH).then_some(took)
    }

    /// Enqueues all commands.
    ///
    /// In an out-of-order queue each command has an event, and those after a barrier wait for the
    /// events before it. In an in-order queue only the last command has one, unless the batch is
    /// not known to be short: then events show which command is in flight.
    ///
    /// After a failure, `enqueued` holds what was enqueued before it.
    pub(crate) fn enqueue(
        &self,
        target: EnqueueTarget<'_>,
        slots: &[BoundRange],
        enqueued: &mut Enqueued,
    ) -> Result<(), (usize, ClError)> {
        if target.out_of_order {
            return self.enqueue_by_events(target.queue, slots, enqueued);
        }
        let each = target.timed || self.known_short_time().is_none();
        let mut steps = self.steps.lock();
        let last = steps.len().saturating_sub(1);
        // The first command since the last event.
        let mut first = None;
        for (index, step) in steps.iter_mut().enumerate() {
            let order = EnqueueOptions { after: None, has_event: each || index == last };
            let from = first.unwrap_or(step.command);
            match self.enqueue_step(target.queue, step, slots, order) {
                Ok(Some(event)) => {
                    enqueued.events.push((from, event));
                    first = None;
                }
                Ok(None) => first = Some(from),
                Err(error) => {
                    // The commands before have no event yet, and their completion must be
                    // observable.
                    if first.is_some() {
                        match target.queue.join(&[]) {
                            Ok(event) => enqueued.events.push((from, event)),
                            Err(_) => enqueued.has_untracked = true,
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
        queue: &CommandQueue,
        slots: &[BoundRange],
        enqueued: &mut Enqueued,
    ) -> Result<(), (usize, ClError)> {
        let mut steps = self.steps.lock();
        // Index of the first event of the current segment.
        let mut first = 0;
        // The event that represents all previous segments.
        let mut before: Option<Dependency> = None;
        for step in steps.iter_mut() {
            let at = |error| (step.command, error);
            if step.barrier {
                let segment: Vec<_> = enqueued.events[first..].iter().map(|(_, event)| event).collect();
                before = Some(match segment.len() {
                    1 => Dependency::Command(first),
                    _ => {
                        let join = queue.join(&segment).map_err(at)?;
                        enqueued.joins.push(join);
                        Dependency::Join(enqueued.joins.len() - 1)
                    }
                });
                first = enqueued.events.len();
            }
            let after = before.as_ref().map(|before| match before {
                Dependency::Command(index) => &enqueued.events[*index].1,
                Dependency::Join(index) => &enqueued.joins[*index],
            });
            let command = step.command;
            let event = self.enqueue_step(queue, step, slots, EnqueueOptions { after, has_event: true });
            enqueued.events.extend(event.map_err(|error| (command, error))?.map(|event| (command, event)));
            enqueued.commands = enqueued.events.len();
        }
        // One event must complete after all others.
        if enqueued.events.len() - first > 1 {
            let segment: Vec<_> = enqueued.events[first..].iter().map(|(_, event)| event).collect();
            let last = enqueued.events.last().map_or(0, |(command, _)| *command);
            let join = queue.join(&segment).map_err(|error| (last, error))?;
            enqueued.events.push((last, join));
        }
        Ok(())
    }

    /// Enqueues one command. [`CommandQueue::dispatch`] enqueues a kernel.
    #[expect(unsafe_code, reason = "lets OpenCL read bytes of the recording")]
    fn enqueue_step(
        &self,
        queue: &CommandQueue,
        step: &mut CommandStep,
        slots: &[BoundRange],
        order: EnqueueOptions<'_>,
    ) -> Result<Option<Event>, ClError> {
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
                // SAFETY: `length` bytes of the recording, which lives until the batch has ended.
                unsafe { queue.write(data.as_ptr(), (mem(&range)?, range.offset, length), order) }
            }
            Command::Dispatch(_) | Command::Barrier => {
                let none = ClError { call: "a dispatch", code: cl3::error_codes::CL_INVALID_KERNEL };
                let kernel = step.kernel.as_mut().ok_or(none)?;
                for patch in &kernel.patches {
                    let range = patch.operand.resolve(slots);
                    set_buffer_argument(&mut kernel.kernel, patch.argument, &range)?;
                }
                queue.dispatch(&kernel.kernel, kernel.global, kernel.local, order)
            }
        }
    }
}

enum Dependency {
    Command(usize),
    Join(usize),
}

impl PreparedKernel {
    fn new(dispatch: &Dispatch) -> Result<Self, ClError> {
        let foreign = ClError { call: "a kernel of another driver", code: cl3::error_codes::CL_INVALID_KERNEL };
        let executable: &dyn std::any::Any = dispatch.executable.as_ref();
        let kernels = executable.downcast_ref::<Executable>().ok_or(foreign)?;
        let mut kernel = kernels.kernel(dispatch.entry)?;
        let mut patches = Vec::new();
        for (argument, operand) in (0u32..).zip(&dispatch.bindings) {
            match operand {
                Operand::Fixed(range) => set_buffer_argument(&mut kernel, argument, range)?,
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

fn set_buffer_argument(kernel: &mut Kernel, argument: u32, range: &BoundRange) -> Result<(), ClError> {
    buffer_of(range)?.with_range(range.offset, range.length, |mem| kernel.set_memory(argument, mem))
}

/// The memory object behind a range.
fn mem(range: &BoundRange) -> Result<&Mem, ClError> {
    buffer_of(range).map(Buffer::mem)
}

fn buffer_of(range: &BoundRange) -> Result<&Buffer, ClError> {
    let foreign = ClError { call: "memory of another driver", code: cl3::error_codes::CL_INVALID_MEM_OBJECT };
    range.buffer.downcast::<Buffer>().ok_or(foreign)
}
