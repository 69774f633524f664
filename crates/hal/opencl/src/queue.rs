//! Batches in flight: a thread enqueues them, polls OpenCL events for their completion, and reports
//! the command in flight.
//!
//! Nothing is released while the device may still use it: work of a lost device is kept, with its
//! thread, until it ends or the process does.

#[cfg(test)]
mod tests;

use std::collections::VecDeque;
use std::ops::RangeInclusive;
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use parking_lot::{Condvar, Mutex, MutexGuard};
use roci_base::exit::{self, ExitGuard, ThreadExit};
use roci_hal::driver::{BatchFault, BoundRange, Completion};
use roci_hal::profile::{Clock, CommandTiming};
use roci_hal::{Deadline, Error, SpinWindow};

use crate::cl::{CommandQueue, CommandStatus, Context, DeviceId, Event};
use crate::commands::{Commands, EnqueueTarget, Enqueued};
use crate::error::{ClError, unavailable};
use crate::timeout;

/// Poll interval for the command in flight and the batch's completion. Drivers call back late
/// (NVIDIA a millisecond after the end), so the interval is a fraction of the batch's run time so
/// far. A batch of known run time is not polled until its expected end is near.
const POLL_INTERVAL: RangeInclusive<Duration> = Duration::from_micros(20)..=Duration::from_millis(5);
/// Divisor of the run time so far that gives the interval.
const POLL_FRACTION: u32 = 32;
/// Maximum interval if the driver does not call back.
const MAX_POLL_INTERVAL_WITHOUT_CALLBACK: Duration = Duration::from_micros(200);
/// Interval for abandoned work.
const CLOSED_POLL_INTERVAL: Duration = Duration::from_millis(50);
/// Timeout for reading the device's clock.
const CLOCK_TIMEOUT: Duration = Duration::from_secs(1);

/// A queue of the logical device.
pub(crate) struct Queue {
    inner: Arc<QueueInner>,
}

struct QueueInner {
    /// For commands that run in order. The device needs no events for it, and drivers start the
    /// next command immediately; a command that waits for an event started 0.1 ms later.
    serial: QueuePair,
    /// For commands that may overlap, if the device supports out-of-order queues.
    parallel: Option<QueuePair>,
    /// For reading the device's clock: a no-op enqueued here waits for no other work. Created for
    /// the first profile; `None` if that failed.
    clock: OnceLock<Option<CommandQueue>>,
    context: Arc<Context>,
    device: DeviceId,
    /// Whether the device runs on the CPU. Waits then do not spin, because the device needs the
    /// CPU.
    is_software: bool,
    state: Mutex<QueueState>,
    changed: Condvar,
}

/// A queue, and its profiling counterpart, which is created for the first timed batch.
struct QueuePair {
    plain: CommandQueue,
    profiled: OnceLock<CommandQueue>,
    out_of_order: bool,
}

#[derive(Default)]
struct QueueState {
    pending: VecDeque<PendingBatch>,
    /// Work may have completed since the thread last checked.
    woken: bool,
    closed: bool,
}

/// A batch that is not yet enqueued.
struct PendingBatch {
    commands: Arc<Commands>,
    slots: Vec<BoundRange>,
    completion: Completion,
}

/// A batch on the device.
struct InFlight {
    /// `None` after completion was reported.
    completion: Option<Completion>,
    enqueued: Enqueued,
    /// Index of the first event that was not complete.
    next: usize,
    /// Whether the driver calls back on completion.
    has_callback: bool,
    /// The error, until it is reported.
    error: Option<BatchError>,
    /// The device's clock, if timing was requested.
    clock: Option<Clock>,
    /// When it was enqueued.
    since: Instant,
    /// Whether its run time is recorded. It runs after all other such batches, so its time starts
    /// at their end.
    records_time: bool,
    /// Whether the driver compiles kernels at their first run, as CPU drivers do.
    compiles_on_first_run: bool,
    commands: Arc<Commands>,
    _slots: Vec<BoundRange>,
}

/// A failed command.
enum BatchError {
    /// It was not enqueued; the device is unaffected.
    Rejected(usize, ClError),
    /// It failed, and the device is lost.
    Failed(usize, ClError),
}

impl Queue {
    pub(crate) fn open(
        context: &Arc<Context>,
        device: DeviceId,
        out_of_order: bool,
        is_software: bool,
    ) -> Result<Self, Error> {
        let pair = |out_of_order| {
            let plain = context.queue(device, out_of_order, false).map_err(|error| error.unavailable("a queue"))?;
            Ok::<_, Error>(QueuePair { plain, profiled: OnceLock::new(), out_of_order })
        };
        let inner = Arc::new(QueueInner {
            serial: pair(false)?,
            parallel: out_of_order.then(|| pair(true)).transpose()?,
            clock: OnceLock::new(),
            context: Arc::clone(context),
            device,
            is_software,
            state: Mutex::default(),
            changed: Condvar::new(),
        });
        let thread_exit = ThreadExit::default();
        let (served, exiting) = (Arc::clone(&inner), thread_exit.clone());
        let thread = std::thread::Builder::new().name("opencl-queue".into()).spawn(move || {
            served.serve();
            let _busy = ExitGuard::new();
            // This may be the last reference to the queue.
            drop(served);
            exiting.set();
        });
        let thread = thread.map_err(|error| {
            unavailable("a thread for a queue", error, "end other processes, or raise the thread limit (`ulimit -u`)")
        })?;
        exit::detach(thread_exit, thread);
        Ok(Self { inner })
    }

    /// Hands a batch to the thread, which enqueues it in [`QueueInner::serve`].
    pub(crate) fn submit(&self, commands: Arc<Commands>, slots: Vec<BoundRange>, completion: Completion) {
        if commands.is_empty() {
            return completion.finish(Ok(()));
        }
        let mut state = self.inner.state.lock();
        if state.closed {
            drop(state);
            return completion.finish(Err(BatchFault::Device("the queue is closed".into())));
        }
        state.pending.push_back(PendingBatch { commands, slots, completion });
        drop(state);
        self.inner.changed.notify_one();
    }

    /// Accepts no more batches; batches in flight run to their end.
    pub(crate) fn close(&self) {
        self.inner.state.lock().closed = true;
        self.inner.changed.notify_one();
    }
}

impl QueueInner {
    /// The body of the queue's thread.
    fn serve(self: &Arc<Self>) {
        let mut in_flight: Vec<InFlight> = Vec::new();
        // When a batch last started or ended.
        let mut since = Instant::now();
        // When a batch with a recorded run time last ended.
        let mut ended = since;
        let mut state = self.state.lock();
        loop {
            let pending = std::mem::take(&mut state.pending);
            state.woken = false;
            let closed = state.closed;
            MutexGuard::unlocked(&mut state, || {
                let _busy = ExitGuard::new();
                if closed {
                    // The HAL has abandoned it and notified its waiters.
                    drop(pending);
                } else if !pending.is_empty() {
                    for pending in pending {
                        // Enqueueing may block on compilation, during which work in flight is not
                        // observed.
                        if let Some(oldest) = in_flight.first().filter(|_| pending.commands.compiles_first().is_some())
                        {
                            oldest.report_stalled();
                        }
                        in_flight.push(self.enqueue_batch(pending, in_flight.is_empty()));
                    }
                    since = Instant::now();
                }
                let before = in_flight.len();
                let mut oldest = true;
                in_flight.retain_mut(|batch| {
                    let is_running = batch.advance(oldest, ended);
                    if !is_running && batch.records_time {
                        ended = Instant::now();
                    }
                    oldest &= !is_running;
                    is_running
                });
                if in_flight.len() < before {
                    since = Instant::now();
                }
            });
            if !state.pending.is_empty() || state.woken {
                continue;
            }
            if state.closed && in_flight.is_empty() {
                return;
            }
            if in_flight.is_empty() {
                if !state.closed {
                    self.changed.wait(&mut state);
                }
                continue;
            }
            let expected = in_flight.first().and_then(|batch| batch.expected(ended));
            let soon = expected.map(|expected| expected.time_to_sleep());
            let fraction =
                soon.unwrap_or(since.elapsed() / POLL_FRACTION).clamp(*POLL_INTERVAL.start(), *POLL_INTERVAL.end());
            let interval = match (state.closed, in_flight.iter().all(|batch| batch.has_callback)) {
                (true, _) => CLOSED_POLL_INTERVAL,
                (false, true) => fraction,
                (false, false) => fraction.min(MAX_POLL_INTERVAL_WITHOUT_CALLBACK),
            };
            let is_near = expected.is_some_and(|expected| expected.is_open());
            if is_near && !self.is_software && !state.closed {
                // A sleeping thread would wake up too late.
                MutexGuard::unlocked(&mut state, SpinWindow::spin);
            } else {
                self.changed.wait_for(&mut state, interval);
            }
        }
    }

    /// Enqueues a batch by [`Commands::enqueue`]. `alone` says that no other batch is in flight.
    fn enqueue_batch(self: &Arc<Self>, pending: PendingBatch, alone: bool) -> InFlight {
        let PendingBatch { commands, slots, completion } = pending;
        let mut enqueued = Enqueued::default();
        let pair = self.parallel.as_ref().filter(|_| !commands.is_serial()).unwrap_or(&self.serial);
        let (queue, clock) = self.queue_for(pair, &completion);
        let target = EnqueueTarget { queue, out_of_order: pair.out_of_order, timed: clock.is_some() };
        let (since, records_time) = (Instant::now(), !pair.out_of_order && !completion.wants_timing());
        if alone && let Some(command) = commands.compiles_first() {
            completion.compiling(command);
        }
        let answer = commands.enqueue(target, &slots, &mut enqueued);
        // Reported before the driver may start: in RustICL 22.3 a status query can block until the
        // command ends.
        if alone && let Some((command, _)) = enqueued.events.first() {
            report_progress(&completion, *command, self.is_software && commands.may_compile(*command));
        }
        let last = enqueued.events.last().map_or(0, |(command, _)| *command);
        let wrong = answer.and_then(|()| queue.flush().map_err(|error| (last, error))).err();
        let error = wrong.map(|(command, error)| {
            // The completion of untracked commands is unobservable, so a rejection would never be
            // reported.
            if error.is_rejection() && !enqueued.has_untracked {
                BatchError::Rejected(command, error)
            } else {
                BatchError::Failed(command, error)
            }
        });
        let has_callback = enqueued.events.last().is_some_and(|(_, event)| {
            let own = Arc::clone(self);
            event.on_completion(Box::new(move || own.wake())).is_ok()
        });
        InFlight {
            completion: Some(completion),
            enqueued,
            next: 0,
            has_callback,
            error,
            clock,
            since,
            records_time,
            compiles_on_first_run: self.is_software,
            commands,
            _slots: slots,
        }
    }

    /// The queue for a batch, and the clock if timing was requested. Without a clock, the batch is
    /// not timed.
    fn queue_for<'a>(&self, pair: &'a QueuePair, completion: &Completion) -> (&'a CommandQueue, Option<Clock>) {
        if !completion.wants_timing() {
            return (&pair.plain, None);
        }
        if pair.profiled.get().is_none()
            && let Ok(queue) = self.context.queue(self.device, pair.out_of_order, true)
        {
            let _ = pair.profiled.set(queue);
        }
        let Some(queue) = pair.profiled.get() else { return (&pair.plain, None) };
        let idle = self.clock.get_or_init(|| self.context.queue(self.device, false, true).ok());
        (queue, idle.as_ref().and_then(clock))
    }

    /// Wakes the thread to check for completed work.
    fn wake(&self) {
        self.state.lock().woken = true;
        self.changed.notify_one();
    }
}

/// The clock of an idle queue's device. A no-op gives the device time at which it was enqueued, and
/// the host brackets the call. The shortest of several samples is used.
fn clock(queue: &CommandQueue) -> Option<Clock> {
    let mut best: Option<(Duration, Instant, u64)> = None;
    for _ in 0..3 {
        let before = Instant::now();
        let event = queue.join(&[]).ok()?;
        let window = before.elapsed();
        queue.flush().ok()?;
        timeout::wait(&event, Deadline::after(CLOCK_TIMEOUT)).ok()?;
        let [enqueued, ..] = event.times().ok()?;
        if best.is_none_or(|(shortest, ..)| window < shortest) {
            best = Some((window, before + window / 2, enqueued));
        }
    }
    let (_, instant, ticks) = best?;
    Clock::read(1.0, || Some(ticks + instant.elapsed().as_nanos() as u64))
}

/// Reports the command in flight, and whether the driver compiles its kernel.
fn report_progress(completion: &Completion, command: usize, compiles: bool) {
    if compiles {
        completion.compiling(command);
    } else {
        completion.progress(command);
    }
}

impl InFlight {
    /// Updates the state and reports completion. Returns whether the batch must be kept. `ended` is
    /// when the previous batch with a recorded run time ended.
    fn advance(&mut self, oldest: bool, ended: Instant) -> bool {
        let running = self.is_running(oldest);
        match self.error.take() {
            // The device continues; the error is reported once the commands enqueued before have
            // ended.
            Some(BatchError::Rejected(command, error)) if running => {
                self.error = Some(BatchError::Rejected(command, error))
            }
            Some(BatchError::Rejected(command, error)) => {
                self.finish(Err(BatchFault::Kernel { command, reason: error.to_string() }));
            }
            // Reported immediately; the remaining commands run to their end.
            Some(BatchError::Failed(command, error)) => {
                self.completion.iter().for_each(|completion| completion.progress(command));
                self.finish(Err(BatchFault::Device(error.to_string())));
            }
            None if running => {}
            None => {
                self.commands.mark_compiled();
                if self.records_time {
                    self.commands.record_time(self.since.max(ended).elapsed());
                }
                self.report_timing();
                self.finish(Ok(()));
            }
        }
        running
    }

    /// Whether any of its commands is queued or running; records the first failure. A batch behind
    /// another in its queue has not started unless the driver reports so.
    fn is_running(&mut self, oldest: bool) -> bool {
        while let Some((command, event)) = self.enqueued.events.get(self.next) {
            let may_compile = self.commands.may_compile(*command);
            // RustICL answers only after it has compiled.
            if may_compile && oldest {
                self.completion.iter().for_each(|completion| completion.compiling(*command));
            }
            match event.status() {
                Ok(CommandStatus::Complete) => {}
                Ok(status) => {
                    if oldest || status == CommandStatus::Running {
                        let compiles = may_compile && self.compiles_on_first_run && status != CommandStatus::Running;
                        self.completion.iter().for_each(|completion| report_progress(completion, *command, compiles));
                    }
                    return true;
                }
                Err(error) if !matches!(self.error, Some(BatchError::Failed(..))) => {
                    self.error = Some(BatchError::Failed(*command, error));
                }
                Err(_) => {}
            }
            self.next += 1;
        }
        self.enqueued.has_untracked
    }

    /// Reports that work in flight may stall because the driver compiles another kernel.
    fn report_stalled(&self) {
        if let (Some(completion), Some((command, _))) = (&self.completion, self.enqueued.events.get(self.next)) {
            completion.compiling(*command);
        }
    }

    /// The time window in which the batch is expected to end. `None` if unknown or long past.
    fn expected(&self, ended: Instant) -> Option<SpinWindow> {
        let (took, began) = (self.commands.known_short_time()?, self.since.max(ended));
        (self.records_time && began.elapsed() < 2 * took).then(|| SpinWindow::new(began, took))
    }

    /// Reports when commands ran, if timing was requested.
    fn report_timing(&self) {
        let (Some(completion), Some(clock)) = (&self.completion, &self.clock) else { return };
        let commands = self.enqueued.events.iter().take(self.enqueued.commands);
        let span = |(command, event): &(usize, Event)| {
            let [_, start, end] = event.times().ok()?;
            Some(CommandTiming { command: *command, start: clock.instant(start), end: clock.instant(end) })
        };
        completion.report_timing(commands.filter_map(span).collect());
    }

    fn finish(&mut self, result: Result<(), BatchFault>) {
        self.completion.take().into_iter().for_each(|completion| completion.finish(result.clone()));
    }
}
