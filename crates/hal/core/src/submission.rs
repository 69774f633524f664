//! Life cycle of a submission: held until its waits are satisfied, submitted to the driver,
//! finished once.
//!
//! [`Submission::launch`] registers the waits. Each that is satisfied calls `release`, on the
//! thread that signals it; the last one calls `start`. Commands go to the driver in
//! `submit_to_driver` ([`DeviceBackend::submit`](crate::driver::DeviceBackend::submit)). The driver
//! finishes the [`Completion`], which signals the semaphores.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use crate::buffer::{BufferInner, BufferRange};
use crate::command_buffer::CommandBufferInner;
use crate::device::DeviceCore;
use crate::driver::Batch;
use crate::error::{DeviceLossReason, Error, InFlight};
use crate::profile::{CommandKind, CommandRecord, CommandTiming, Profile, merge_timings};
use crate::semaphore::Point;
use roci_base::sync::{Mutex, MutexGuard, lock};

/// Host work that runs after the waits or after the driver has finished.
pub(crate) type HostCallback = Box<dyn FnOnce() -> Result<(), Error> + Send>;

pub(crate) enum SubmissionWork {
    /// Only signals.
    Nothing,
    /// A short callback on the host.
    Host(HostCallback),
    /// Commands on the device, then optionally a callback on the host.
    Commands { commands: Arc<CommandBufferInner>, slots: Vec<BufferRange>, then: Option<HostCallback> },
}

pub(crate) struct Submission {
    pub(crate) id: u64,
    core: Arc<DeviceCore>,
    queue: usize,
    label: Option<String>,
    /// Maximum time that one command may be in flight.
    pub(crate) limit: Duration,
    profile: Option<Profile>,
    /// Number of unsatisfied waits, plus one during setup.
    holds: AtomicUsize,
    /// See [`Progress`].
    progress: AtomicUsize,
    state: Mutex<SubmissionState>,
}

/// Progress in one word: 0 before the driver starts, then `2 * (index of the command in flight +
/// 1)`, plus 1 while the driver compiles that command's kernel.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Progress(usize);

impl Progress {
    fn new(command: usize, compiling: bool) -> Self {
        Self(2 * (command + 1) + usize::from(compiling))
    }

    /// Index of the command in flight plus one; 0 before the start.
    pub(crate) fn command(self) -> usize {
        self.0 / 2
    }

    pub(crate) fn is_compiling(self) -> bool {
        self.0 % 2 == 1
    }
}

struct SubmissionState {
    work: Option<SubmissionWork>,
    /// Present while commands are on the device.
    running: Option<Arc<CommandBufferInner>>,
    then: Option<HostCallback>,
    uses: Vec<Arc<BufferInner>>,
    signals: Vec<Point>,
    failure: Option<Error>,
    finished: bool,
}

/// Parameters of a submission, common to all kinds of work.
pub(crate) struct SubmissionParams {
    pub(crate) queue: usize,
    pub(crate) label: Option<String>,
    pub(crate) limit: Duration,
    pub(crate) waits: Vec<Point>,
    pub(crate) signals: Vec<Point>,
    pub(crate) profile: Option<Profile>,
}

impl Submission {
    /// Starts the work once its waits are satisfied, possibly immediately.
    pub(crate) fn launch(core: &Arc<DeviceCore>, params: SubmissionParams, work: SubmissionWork) {
        let submission = Arc::new(Self {
            id: core.next_submission(),
            core: Arc::clone(core),
            queue: params.queue,
            label: params.label,
            limit: params.limit,
            profile: params.profile,
            holds: AtomicUsize::new(params.waits.len() + 1),
            progress: AtomicUsize::new(0),
            state: Mutex::new(SubmissionState {
                work: Some(work),
                running: None,
                then: None,
                uses: Vec::new(),
                signals: params.signals,
                failure: None,
                finished: false,
            }),
        });
        core.track(&submission);
        // A concurrent device loss may have failed the tracked submissions before this one was
        // added.
        if let Err(cause) = core.check_alive() {
            submission.finish(Err(cause));
        }
        for wait in params.waits {
            let owner = Arc::clone(&submission);
            wait.semaphore.watch(wait.value, Box::new(move |answer| owner.release(answer)));
        }
        submission.release(Ok(()));
    }

    /// Removes one hold. The last one starts the work.
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
            (Ok(()), None | Some(SubmissionWork::Nothing)) => self.finish(Ok(())),
            (Ok(()), Some(SubmissionWork::Host(work))) => self.finish(work()),
            (Ok(()), Some(SubmissionWork::Commands { commands, slots, then })) => {
                if let Err(cause) = self.submit_to_driver(commands, &slots, then) {
                    self.finish(Err(cause));
                }
            }
        }
    }

    /// Submits the commands to the driver, with bindings resolved and buffers marked as in use.
    fn submit_to_driver(
        self: &Arc<Self>,
        commands: Arc<CommandBufferInner>,
        slots: &[BufferRange],
        then: Option<HostCallback>,
    ) -> Result<(), Error> {
        let buffers = commands.uses.iter().chain(slots.iter().map(BufferRange::buffer)).map(|buffer| &buffer.inner);
        for buffer in buffers {
            drop(buffer.begin_use()?);
            self.lock().uses.push(Arc::clone(buffer));
        }
        let slots = slots.iter().chain(&commands.deferred).map(BufferRange::bound).collect::<Result<Vec<_>, _>>()?;
        let prepared = Arc::clone(&commands.prepared);
        {
            let mut state = self.lock();
            // A device loss since the check in `start` may have finished this submission.
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

    /// Finishes the submission once. Later calls (a hung kernel that returns after all) have no
    /// effect.
    pub(crate) fn finish(self: &Arc<Self>, result: Result<(), Error>) {
        // Work that never started is dropped too, with the buffers it holds: semaphores may outlive
        // it.
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
            self.core.set_last_finished(self.queue, &running);
        }
        for signal in &signals {
            signal.complete(&result);
        }
    }

    /// Description for hang reports; `None` if it is not on the device.
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

    /// Adds timings reported by the driver to the requested profile.
    fn record_timing(&self, spans: Vec<CommandTiming>) {
        let Some(profile) = &self.profile else { return };
        let Some(running) = self.lock().running.clone() else { return };
        let recording = &running.recording;
        let label: Option<Arc<str>> = self.label.as_deref().or(recording.label.as_deref()).map(Arc::from);
        let record = |span: CommandTiming| {
            let command = recording.commands.get(span.command)?;
            Some(CommandRecord {
                kind: CommandKind::of(command)?,
                name: command.name().into(),
                command: span.command,
                label: label.clone(),
                queue: self.queue,
                start: span.start,
                end: span.end.max(span.start),
            })
        };
        profile.add(merge_timings(spans).into_iter().filter_map(record).collect());
    }

    fn lock(&self) -> MutexGuard<'_, SubmissionState> {
        lock(&self.state)
    }
}

/// Completion of a batch, to be finished by the driver. Dropping it unfinished fails the
/// submission.
pub struct Completion {
    submission: Option<Arc<Submission>>,
}

impl std::fmt::Debug for Completion {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Completion").field("is_finished", &self.submission.is_none()).finish_non_exhaustive()
    }
}

/// Failure of a batch.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum BatchFault {
    /// One command failed; the device stays usable.
    Kernel {
        /// Index of the command in the recording.
        command: usize,
        /// How it failed.
        reason: String,
    },
    /// The device is lost for this reason.
    Device(String),
}

impl Completion {
    /// Reports the command in flight, by its index in the recording. Cheap enough to call for every
    /// command.
    pub fn progress(&self, command: usize) {
        self.set_progress(Progress::new(command, false));
    }

    /// Reports that the driver is, or may be, compiling the kernel of this command. Drivers that
    /// compile at the first dispatch report this until the kernel runs. The time counts against the
    /// compile timeout instead of the command timeout.
    pub fn compiling(&self, command: usize) {
        self.set_progress(Progress::new(command, true));
    }

    fn set_progress(&self, progress: Progress) {
        if let Some(submission) = &self.submission {
            submission.progress.store(progress.0, Ordering::Relaxed);
        }
    }

    /// Whether the submission was abandoned because the device was lost. The driver should stop
    /// executing it.
    pub fn is_abandoned(&self) -> bool {
        self.submission.as_ref().is_none_or(|submission| submission.is_finished())
    }

    /// Whether the submission requests timing. Never true on devices without profiling support.
    pub fn wants_timing(&self) -> bool {
        self.submission.as_ref().is_some_and(|submission| submission.profile.is_some())
    }

    /// Reports all available timings, in any order. Must be called before `finish`.
    pub fn report_timing(&self, spans: Vec<CommandTiming>) {
        if let Some(submission) = &self.submission {
            submission.record_timing(spans);
        }
    }

    /// Ends the batch: signals its semaphores, or reports the failure.
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
                let in_flight = submission.in_flight().unwrap_or_default();
                submission.core.lose(DeviceLossReason::Fault(fault), in_flight);
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
                .finish(Err(error.with_hint("report this as a bug of the driver; the device can be opened again")));
        }
    }
}
