//! A submission from the call to its end: held back by its waits, handed to the driver, finished once.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use crate::buffer::{BufferInner, BufferRange};
use crate::command_buffer::CommandBufferInner;
use crate::device::Core;
use crate::driver::Batch;
use crate::error::{Error, InFlight, LossReason};
use crate::profile::{Operation, Profile, Record, Span, joined};
use crate::semaphore::Point;
use crate::sync::{Mutex, MutexGuard, lock};

/// Work on the host, run when the waits are over or when the driver has finished.
pub(crate) type HostWork = Box<dyn FnOnce() -> Result<(), Error> + Send>;

/// What a submission does once it may start.
pub(crate) enum Work {
    /// Nothing but signalling.
    Nothing,
    /// Something quick on the host.
    Host(HostWork),
    /// Commands on the device, then perhaps something on the host.
    Commands { commands: Arc<CommandBufferInner>, slots: Vec<BufferRange>, then: Option<HostWork> },
}

pub(crate) struct Submission {
    pub(crate) id: u64,
    core: Arc<Core>,
    queue: usize,
    label: Option<String>,
    /// How long one command may be in flight.
    pub(crate) limit: Duration,
    profile: Option<Profile>,
    /// Waits not yet satisfied, plus one while the submission is being set up.
    holds: AtomicUsize,
    /// See [`Progress`].
    progress: AtomicUsize,
    state: Mutex<State>,
}

/// How far a submission is, in one word: 0 before the driver starts, then twice the index of the command in flight plus one, plus one while
/// the driver compiles it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Progress(usize);

impl Progress {
    fn new(command: usize, compiling: bool) -> Self {
        Self(2 * (command + 1) + usize::from(compiling))
    }

    /// The command in flight plus one, 0 before the start.
    pub(crate) fn command(self) -> usize {
        self.0 / 2
    }

    pub(crate) fn is_compiling(self) -> bool {
        self.0 % 2 == 1
    }
}

struct State {
    work: Option<Work>,
    /// Present while something runs on the device.
    running: Option<Arc<CommandBufferInner>>,
    then: Option<HostWork>,
    uses: Vec<Arc<BufferInner>>,
    signals: Vec<Point>,
    failure: Option<Error>,
    finished: bool,
}

/// Parameters of a submission that every kind of work shares.
pub(crate) struct Header {
    pub(crate) queue: usize,
    pub(crate) label: Option<String>,
    pub(crate) limit: Duration,
    pub(crate) waits: Vec<Point>,
    pub(crate) signals: Vec<Point>,
    pub(crate) profile: Option<Profile>,
}

impl Submission {
    /// Starts the work as soon as its waits allow, which may be at once.
    pub(crate) fn launch(core: &Arc<Core>, header: Header, work: Work) {
        let submission = Arc::new(Self {
            id: core.next_submission(),
            core: Arc::clone(core),
            queue: header.queue,
            label: header.label,
            limit: header.limit,
            profile: header.profile,
            holds: AtomicUsize::new(header.waits.len() + 1),
            progress: AtomicUsize::new(0),
            state: Mutex::new(State {
                work: Some(work),
                running: None,
                then: None,
                uses: Vec::new(),
                signals: header.signals,
                failure: None,
                finished: false,
            }),
        });
        core.track(&submission);
        // A device lost just now has failed what it tracked, and may have missed this one.
        if let Err(cause) = core.check_alive() {
            submission.finish(Err(cause));
        }
        for wait in header.waits {
            let held = Arc::clone(&submission);
            wait.semaphore.watch(wait.value, Box::new(move |answer| held.release(answer)));
        }
        submission.release(Ok(()));
    }

    fn release(self: &Arc<Self>, answer: Result<(), Error>) {
        if let Err(cause) = answer {
            self.lock().failure.get_or_insert(cause);
        }
        if self.holds.fetch_sub(1, Ordering::AcqRel) == 1 {
            self.start();
        }
    }

    fn start(self: &Arc<Self>) {
        let (work, failure) = {
            let mut state = self.lock();
            (state.work.take(), state.failure.take())
        };
        let alive = failure.map_or_else(|| self.core.check_alive(), Err);
        match (alive, work) {
            (Err(cause), _) => self.finish(Err(cause)),
            (Ok(()), None | Some(Work::Nothing)) => self.finish(Ok(())),
            (Ok(()), Some(Work::Host(work))) => self.finish(work()),
            (Ok(()), Some(Work::Commands { commands, slots, then })) => {
                if let Err(cause) = self.hand_over(commands, &slots, then) {
                    self.finish(Err(cause));
                }
            }
        }
    }

    /// Gives the commands to the driver with every binding resolved and every buffer marked as in use.
    fn hand_over(
        self: &Arc<Self>,
        commands: Arc<CommandBufferInner>,
        slots: &[BufferRange],
        then: Option<HostWork>,
    ) -> Result<(), Error> {
        let buffers = commands.uses.iter().chain(slots.iter().map(BufferRange::buffer)).map(|buffer| &buffer.inner);
        for buffer in buffers {
            drop(buffer.begin_use()?);
            self.lock().uses.push(Arc::clone(buffer));
        }
        let slots = slots.iter().chain(&commands.late).map(BufferRange::bound).collect::<Result<Vec<_>, _>>()?;
        let prepared = Arc::clone(&commands.prepared);
        {
            let mut state = self.lock();
            // The device may have been lost, and this submission failed with it, since `start` looked.
            if state.finished {
                let uses = std::mem::take(&mut state.uses);
                drop(state);
                uses.iter().for_each(|buffer| buffer.end_use());
                return Ok(());
            }
            state.then = then;
            state.running = Some(commands);
        }
        self.core.watch_for_hang(self);
        let completion = Completion { submission: Some(Arc::clone(self)) };
        self.core.backend().submit(self.queue, Batch { commands: prepared, slots, completion });
        Ok(())
    }

    /// Ends it, once: later ends (a hung kernel that returns after all) change nothing.
    pub(crate) fn finish(self: &Arc<Self>, result: Result<(), Error>) {
        // The work, if it never started, goes too, and with it the buffers it holds: the semaphores may outlive it.
        let (signals, uses, then, running, _work) = {
            let mut state = self.lock();
            if std::mem::replace(&mut state.finished, true) {
                return;
            }
            let signals = std::mem::take(&mut state.signals);
            (signals, std::mem::take(&mut state.uses), state.then.take(), state.running.take(), state.work.take())
        };
        for buffer in uses {
            buffer.end_use();
        }
        self.core.untrack(self);
        let result = result.and_then(|()| then.map_or(Ok(()), |then| then()));
        if let (Ok(()), Some(running)) = (&result, running) {
            self.core.finished_last(self.queue, &running);
        }
        for signal in &signals {
            signal.settle(&result);
        }
    }

    /// What a hang report says of it; `None` when nothing of it is on the device.
    pub(crate) fn in_flight(&self) -> Option<InFlight> {
        let state = self.lock();
        let commands = &state.running.as_ref()?.recording.commands;
        let compiling = self.progress().is_compiling();
        let progress = self.progress().command();
        let name = |index: usize| commands.get(index).map(|command| command.name().to_owned());
        let last_here = (1..progress).rev().find_map(|index| name(index - 1).filter(|name| name != "barrier"));
        Some(InFlight {
            queue: Some(self.queue),
            label: self.label.clone().or_else(|| state.running.as_ref()?.recording.label.clone()),
            kernel: if progress == 0 { Some("not started".into()) } else { name(progress - 1) },
            compiling,
            last_finished: last_here.or_else(|| self.core.last_finished(self.queue)),
        })
    }

    pub(crate) fn progress(&self) -> Progress {
        Progress(self.progress.load(Ordering::Relaxed))
    }

    pub(crate) fn is_finished(&self) -> bool {
        self.lock().finished
    }

    /// Adds what the driver tells to the profile that was asked for.
    fn note_times(&self, spans: Vec<Span>) {
        let Some(profile) = &self.profile else { return };
        let Some(running) = self.lock().running.clone() else { return };
        let recording = &running.recording;
        let label: Option<Arc<str>> = self.label.as_deref().or(recording.label.as_deref()).map(Arc::from);
        let record = |span: Span| {
            let command = recording.commands.get(span.command)?;
            Some(Record {
                operation: Operation::of(command)?,
                name: command.name().into(),
                command: span.command,
                label: label.clone(),
                queue: self.queue,
                start: span.start,
                end: span.end.max(span.start),
            })
        };
        profile.add(joined(spans).into_iter().filter_map(record).collect());
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        lock(&self.state)
    }
}

/// The driver's duty to say how a batch ended. Dropping it unfinished fails the submission.
pub struct Completion {
    submission: Option<Arc<Submission>>,
}

/// How a batch failed.
#[derive(Clone, Debug)]
pub enum BatchFault {
    /// One kernel failed; the device goes on.
    Kernel {
        /// Index of the command in the recording.
        command: usize,
        /// What it did.
        reason: String,
    },
    /// The device is lost.
    Device(String),
}

impl Completion {
    /// Says which command is in flight now, by its index in the recording. Cheap enough to call for each.
    pub fn progress(&self, command: usize) {
        self.note(Progress::new(command, false));
    }

    /// Says that the driver compiles the kernel of this command before it runs, or may: a driver that compiles a kernel when it is first
    /// dispatched says so until the kernel runs. The time counts against the limit of compilation, not against that of commands.
    pub fn compiling(&self, command: usize) {
        self.note(Progress::new(command, true));
    }

    fn note(&self, progress: Progress) {
        if let Some(submission) = &self.submission {
            submission.progress.store(progress.0, Ordering::Relaxed);
        }
    }

    /// Whether the submission was given up (the device was lost); the driver should stop executing it.
    pub fn is_abandoned(&self) -> bool {
        self.submission.as_ref().is_none_or(|submission| submission.is_finished())
    }

    /// Whether somebody wants to know when its commands ran; never on a device that cannot tell.
    pub fn wants_times(&self) -> bool {
        self.submission.as_ref().is_some_and(|submission| submission.profile.is_some())
    }

    /// Tells when commands ran, in any order; to be called before the end, with all that is known.
    pub fn times(&self, spans: Vec<Span>) {
        if let Some(submission) = &self.submission {
            submission.note_times(spans);
        }
    }

    /// Ends the batch.
    pub fn finish(mut self, result: Result<(), BatchFault>) {
        let Some(submission) = self.submission.take() else { return };
        match result {
            Ok(()) => submission.finish(Ok(())),
            Err(BatchFault::Kernel { command, reason }) => {
                let (label, kernel) = {
                    let state = submission.lock();
                    let commands = state.running.as_ref().map(|running| &running.recording.commands);
                    let kernel =
                        commands.and_then(|commands| commands.get(command)).map(|command| command.name().to_owned());
                    (submission.label.clone(), kernel.unwrap_or_else(|| "a command".into()))
                };
                let device = submission.core.name().to_owned();
                submission.finish(Err(Error::Kernel { device, label, kernel, reason }));
            }
            Err(BatchFault::Device(fault)) => {
                let work = submission.in_flight().unwrap_or_default();
                submission.core.lose(LossReason::Fault(fault), work);
            }
        }
    }
}

impl Drop for Completion {
    fn drop(&mut self) {
        if let Some(submission) = self.submission.take() {
            let reason = "the driver dropped the submission without finishing it";
            let error = Error::invalid(format!("submission to {}", submission.core.name()), reason);
            submission
                .finish(Err(error.hinted("report this as a fault of the driver; the device may be opened again")));
        }
    }
}
