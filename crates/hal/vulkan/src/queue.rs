//! A queue: submits batches, and a thread waits for them and reports their completion.

#![expect(unsafe_code, reason = "calls Vulkan")]

use std::collections::VecDeque;
use std::ops::Range;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use ash::vk;
use parking_lot::{Condvar, Mutex, MutexGuard};
use roci_base::exit::{self, ExitGuard, ThreadExit};
use roci_hal::driver::{BatchFault, BoundRange, Completion};
use roci_hal::{DeviceKind, Error, SpinWindow};

use crate::commands::Commands;
use crate::completion_counter::CompletionCounter;
use crate::device_state::DeviceState;
use crate::encode::EncodedCommands;
use crate::error::{failed, loss, unavailable};

/// Maximum submissions in flight: amdgpu blocks submission beyond 32 per context and ring.
const MAX_IN_FLIGHT: usize = 24;
/// Duration of one wait of the thread. Process exit may have to wait for it.
const WAIT_SLICE: Duration = Duration::from_millis(500);
/// How often abandoned work, which may never end, is polled.
const ABANDONED_POLL_INTERVAL: Duration = Duration::from_millis(20);

/// A queue of the device.
pub(crate) struct Queue {
    inner: Arc<QueueInner>,
    thread_exit: ThreadExit,
    thread: Mutex<Option<JoinHandle<()>>>,
}

struct QueueInner {
    shared: Arc<DeviceState>,
    queue: vk::Queue,
    completed: CompletionCounter,
    state: Mutex<QueueState>,
    changed: Condvar,
}

#[derive(Default)]
struct QueueState {
    in_flight: VecDeque<InFlight>,
    pending: VecDeque<PendingBatch>,
    /// Number of submissions so far.
    submissions: u64,
    /// When the last completion was observed.
    last_completion: Option<Instant>,
    closed: bool,
    /// Whether work in flight was abandoned.
    abandoned: bool,
    /// Whether the thread has ended or is about to.
    ended: bool,
}

/// A batch that is not submitted yet.
struct PendingBatch {
    completion: Completion,
    encoded: Arc<EncodedCommands>,
    resources: BatchResources,
}

/// Resources that must live while a batch runs.
struct BatchResources {
    _commands: Arc<Commands>,
    _slots: Vec<BoundRange>,
}

/// A batch on the device.
struct InFlight {
    /// `None` after completion was reported, even if submitted work is still running.
    completion: Option<Completion>,
    encoded: Arc<EncodedCommands>,
    /// Submissions in flight: the count that each signals, and its chunks.
    submitted: VecDeque<(u64, Range<usize>)>,
    /// Chunks that are not submitted yet, one range per submission.
    unsubmitted: VecDeque<Range<usize>>,
    started: Instant,
    _resources: BatchResources,
}

/// Completed batches, reported outside the lock: their callbacks may submit others to this queue.
type FinishedBatches = Vec<(Completion, Result<(), BatchFault>, Option<TimedCommands>)>;
/// Command buffers with timestamps.
type TimedCommands = Arc<EncodedCommands>;

impl Queue {
    pub(crate) fn open(shared: &Arc<DeviceState>, number: u32) -> Result<Self, Error> {
        // SAFETY: the device was created with at least this many queues of the family.
        let queue = unsafe { shared.device.get_device_queue(shared.family, number) };
        let inner = Arc::new(QueueInner {
            completed: CompletionCounter::new(shared).map_err(failed("a queue"))?,
            shared: Arc::clone(shared),
            queue,
            state: Mutex::default(),
            changed: Condvar::new(),
        });
        let thread_exit = ThreadExit::default();
        let (worker, worker_exit) = (Arc::clone(&inner), thread_exit.clone());
        let thread = std::thread::Builder::new().name(format!("vulkan-queue-{number}")).spawn(move || {
            let _exit_guard = worker.serve();
            // This may be the last reference to the device.
            drop(worker);
            worker_exit.set();
        });
        let thread = thread.map_err(|error| unavailable("a thread for a queue", error))?;
        Ok(Self { inner, thread_exit, thread: Mutex::new(Some(thread)) })
    }

    /// Submits a batch, or holds it back until there is room. Its command buffers exist already,
    /// unless it binds slots for the first time or is timed ([`Commands::encoded`]).
    pub(crate) fn submit(&self, commands: Arc<Commands>, slots: Vec<BoundRange>, completion: Completion) {
        let encoded = match commands.encoded(&slots, completion.wants_timing()) {
            Ok(Some(encoded)) => encoded,
            Ok(None) => return completion.finish(Ok(())),
            // Nothing was submitted, so the device is unaffected.
            Err(error) => {
                return completion.finish(Err(BatchFault::Kernel { command: 0, reason: error.to_string() }));
            }
        };
        let resources = BatchResources { _commands: commands, _slots: slots };
        let mut state = self.inner.state.lock();
        if state.closed {
            drop(state);
            return completion.finish(Err(BatchFault::Device("the queue is closed".into())));
        }
        state.pending.push_back(PendingBatch { completion, encoded, resources });
        let was_idle = state.in_flight.is_empty();
        let finished = self.inner.submit_pending(&mut state);
        if was_idle {
            self.inner.changed.notify_all();
        }
        drop(state);
        finish_all(finished);
    }

    /// Stops accepting work and drops batches that are not submitted yet; submitted work completes.
    pub(crate) fn close(&self) {
        self.stop(false);
    }

    /// Stops accepting work, and does not expect work in flight to end.
    pub(crate) fn abandon(&self) {
        self.stop(true);
    }

    fn stop(&self, abandoned: bool) {
        let pending = {
            let mut state = self.inner.state.lock();
            state.closed = true;
            state.abandoned |= abandoned;
            let partial =
                state.in_flight.back_mut().filter(|batch| !batch.unsubmitted.is_empty()).and_then(InFlight::cancel);
            (partial, std::mem::take(&mut state.pending))
        };
        self.inner.changed.notify_all();
        drop(pending);
    }

    /// Waits for the thread, unless it is the calling thread or is blocked by work that does not
    /// end.
    pub(crate) fn join(&self, timeout: Duration) {
        let Some(thread) = self.thread.lock().take() else { return };
        let is_own = thread.thread().id() == std::thread::current().id();
        if is_own || !self.has_ended(timeout) {
            return exit::detach(self.thread_exit.clone(), thread);
        }
        // A panic of the thread was already reported by its batches.
        let _ = thread.join();
    }

    /// Whether the thread has ended or does so within `timeout`.
    fn has_ended(&self, timeout: Duration) -> bool {
        let deadline = Instant::now() + timeout;
        let mut state = self.inner.state.lock();
        while !state.ended {
            if self.inner.changed.wait_until(&mut state, deadline).timed_out() {
                return false;
            }
        }
        true
    }
}

fn finish_all(finished: FinishedBatches) {
    for (completion, result, timed) in finished {
        if let Some(times) = timed.as_ref().and_then(|encoded| encoded.times.as_ref()) {
            completion.report_timing(times.spans());
        }
        // Dropped before the waiter continues, because it may close the device.
        drop(timed);
        completion.finish(result);
    }
}

impl InFlight {
    fn new(PendingBatch { completion, encoded, resources }: PendingBatch) -> Self {
        let unsubmitted = encoded.plan.groups().into();
        let submitted = VecDeque::new();
        Self {
            completion: Some(completion),
            encoded,
            submitted,
            unsubmitted,
            started: Instant::now(),
            _resources: resources,
        }
    }

    /// Reports the command in flight. A software rasterizer compiles kernels at their first run,
    /// not at pipeline creation.
    fn progress(&self, compiles_late: bool) {
        let next = self.submitted.front().map(|(_, chunks)| chunks).or(self.unsubmitted.front());
        let (Some(completion), Some(chunks)) = (&self.completion, next) else { return };
        let command = self.encoded.plan.chunks[chunks.start].command;
        if compiles_late && self.encoded.plan.is_first_run(chunks) {
            completion.compiling(command);
        } else {
            completion.progress(command);
        }
    }

    /// Stops submitting the batch. Returns its completion, unless already reported.
    fn cancel(&mut self) -> Option<Completion> {
        self.unsubmitted.clear();
        self.completion.take()
    }
}

impl QueueInner {
    /// Submits pending work up to the limit of submissions in flight
    /// ([`CompletionCounter::submit`] calls `vkQueueSubmit`).
    fn submit_pending(&self, state: &mut QueueState) -> FinishedBatches {
        let mut finished = Vec::new();
        while !state.closed {
            let available =
                MAX_IN_FLIGHT.saturating_sub(state.in_flight.iter().map(|batch| batch.submitted.len()).sum());
            if available == 0 {
                break;
            }
            let partial = state.in_flight.pop_back_if(|batch| !batch.unsubmitted.is_empty());
            let Some(mut batch) = partial.or_else(|| state.pending.pop_front().map(InFlight::new)) else { break };
            if state.in_flight.is_empty() {
                batch.progress(self.is_software());
            }
            let chunks: Vec<_> = batch.unsubmitted.drain(..available.min(batch.unsubmitted.len())).collect();
            let buffers: Vec<_> = chunks.iter().map(|chunks| &batch.encoded.buffers[chunks.clone()]).collect();
            let (submitted, result) = self.completed.submit(self.queue, state.submissions, &buffers);
            let first_failed = chunks.get(submitted).map_or(0, |chunks| chunks.start);
            batch.submitted.extend((state.submissions + 1..).zip(chunks).take(submitted));
            state.submissions += submitted as u64;
            if let Err(result) = result {
                let command = batch.encoded.plan.chunks[first_failed].command;
                let reason = loss(result, self.shared.card.properties.vendor);
                // If nothing of the batch was submitted, the device stays usable.
                let device_usable = first_failed == 0 && result != vk::Result::ERROR_DEVICE_LOST;
                let fault =
                    if device_usable { BatchFault::Kernel { command, reason } } else { BatchFault::Device(reason) };
                state.closed |= !device_usable;
                finished.extend(batch.cancel().map(|completion| {
                    completion.progress(command);
                    (completion, Err(fault), None)
                }));
            }
            // Kept even if completion was reported, because submitted work is running.
            if !batch.submitted.is_empty() {
                state.in_flight.push_back(batch);
            }
        }
        finished
    }

    /// Whether the device runs on the CPU.
    fn is_software(&self) -> bool {
        self.shared.card.info.kind == DeviceKind::Software
    }

    /// The body of the thread: waits for the oldest submission, reports completions, and submits
    /// pending batches.
    fn serve(&self) -> ExitGuard {
        let mut state = self.state.lock();
        loop {
            let first = state.in_flight.front().and_then(|batch| batch.submitted.front().map(|group| (batch, group)));
            let Some((batch, (oldest, chunks))) = first else {
                if state.closed {
                    break;
                }
                self.changed.wait(&mut state);
                continue;
            };
            let (oldest, expected) = (*oldest, batch.encoded.plan.expected_time(chunks));
            let start = state.last_completion.map_or(batch.started, |completed| completed.max(batch.started));
            // Don't spin for a software rasterizer: it needs the CPU.
            let expected = expected.filter(|_| !self.is_software());
            let expected = expected.map(|time| SpinWindow::new(start, time));
            // With abandoned work in flight, it waits outside Vulkan, because the process may end
            // at any time.
            let timeout = if state.abandoned { Duration::ZERO } else { WAIT_SLICE };
            if state.abandoned {
                self.changed.wait_for(&mut state, ABANDONED_POLL_INTERVAL);
            }
            // Held until the next iteration: a waiter that is notified may end the process while
            // this thread still has to close the device.
            let (exit_guard, reached) = MutexGuard::unlocked(&mut state, || {
                let exit_guard = ExitGuard::new();
                let reached = self.completed.wait(oldest, timeout, expected);
                (exit_guard, reached)
            });
            let mut finished = match reached {
                Ok(reached) => self.retire(&mut state, reached),
                Err(result) => {
                    let reason = loss(result, self.shared.card.properties.vendor);
                    let fault = |completion| (completion, Err(BatchFault::Device(reason.clone())), None);
                    let finished = state.in_flight.iter_mut().filter_map(InFlight::cancel).map(fault).collect();
                    (state.closed, state.abandoned) = (true, true);
                    // A lost device runs nothing any more. After other errors the state is unknown,
                    // so the rest is kept.
                    if result == vk::Result::ERROR_DEVICE_LOST {
                        state.in_flight.clear();
                    }
                    finished
                }
            };
            finished.extend(self.submit_pending(&mut state));
            MutexGuard::unlocked(&mut state, || finish_all(finished));
            if state.closed && state.in_flight.is_empty() {
                return self.end_thread(&mut state, exit_guard);
            }
        }
        let exit_guard = MutexGuard::unlocked(&mut state, ExitGuard::new);
        self.end_thread(&mut state, exit_guard)
    }

    fn end_thread(&self, state: &mut QueueState, exit_guard: ExitGuard) -> ExitGuard {
        state.ended = true;
        self.changed.notify_all();
        exit_guard
    }

    /// Removes completed submissions.
    fn retire(&self, state: &mut QueueState, reached: u64) -> FinishedBatches {
        let now = Instant::now();
        let mut finished = Vec::new();
        while let Some(batch) = state.in_flight.front_mut() {
            while let Some((_, chunks)) = batch.submitted.pop_front_if(|(count, _)| *count <= reached) {
                let start = state.last_completion.map_or(batch.started, |completed| completed.max(batch.started));
                batch.encoded.plan.record_time(chunks, now - start);
                state.last_completion = Some(now);
            }
            if !batch.submitted.is_empty() || !batch.unsubmitted.is_empty() {
                batch.progress(self.is_software());
                break;
            }
            let Some(batch) = state.in_flight.pop_front() else { break };
            let timed = Some(batch.encoded).filter(|encoded| encoded.times.is_some());
            finished.extend(batch.completion.map(|completion| (completion, Ok(()), timed)));
        }
        finished
    }
}
