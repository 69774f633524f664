//! A hardware queue with a thread that reports completions and failures.
//!
//! All batches of a queue decrement one signal, the epoch, in order: the last packet of a batch
//! waits for all earlier ones.

use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::{Condvar, Mutex, MutexGuard};
use roci_hal::Error;
use roci_hal::driver::{BatchFault, BoundRange, Completion};
use roci_hsa::Runtime;
use roci_hsa::abi::{SignalAttribute, SignalCondition, Status, WaitState};
use roci_hsa::runtime::{Agent, QueueOptions, Signal};

use crate::commands::Commands;
use crate::device_state::DeviceState;
use crate::error::{failed, unavailable};
use crate::faults;
use crate::in_flight::{FailedBatch, InFlight, QueuedBatch};
use crate::kernarg_ring::KernargRing;
use crate::ring_writer::{RingBatch, RingWriter};
use crate::timing;

/// Maximum number of packets of a queue.
const MAX_PACKETS: u32 = 16_384;
/// Size of the kernarg ring in bytes.
const KERNARG_BYTES: u64 = 4 << 20;
/// Initial value of the epoch signal: far from overflow in both directions.
const INITIAL_EPOCH: i64 = i64::MAX / 2;
/// How long the thread waits for an epoch before it checks for errors and progress.
const CHECK_INTERVAL: Duration = Duration::from_millis(5);
/// How long it waits for room in the ring before it checks again.
const ROOM_POLL_INTERVAL: Duration = Duration::from_millis(1);

/// A queue with its thread.
pub(crate) struct Queue {
    inner: Arc<QueueInner>,
}

struct QueueInner {
    gpu: Agent,
    epoch: Signal,
    state: Mutex<QueueState>,
    /// Signaled on submission and close.
    changed: Condvar,
    /// Set by the queue's error callback.
    failure: Arc<Mutex<Option<QueueFailure>>>,
    ticks_per_second: u64,
    opened: Instant,
}

/// Error reported for a queue, with details collected at that time.
struct QueueFailure {
    status: Status,
    details: Vec<String>,
}

struct QueueState {
    writer: RingWriter,
    in_flight: InFlight,
    closed: bool,
}

impl QueueState {
    fn write_pending(&mut self) -> Vec<FailedBatch> {
        self.in_flight.write_pending(&mut self.writer)
    }
}

impl Queue {
    pub(crate) fn open(device: &Arc<DeviceState>, gpu_index: usize) -> Result<Self, Error> {
        let gpu = device.gpus[gpu_index].clone();
        let failure = Arc::new(Mutex::new(None));
        let limit = gpu.queue_sizes().map_or(MAX_PACKETS, |(_, limit)| limit);
        let options = QueueOptions { size: MAX_PACKETS.min(limit), ..QueueOptions::default() };
        let on_error = {
            let (failure, device, gpu) = (Arc::clone(&failure), Arc::clone(device), gpu.clone());
            // Collects details immediately: the last fault may later be that of another queue.
            move |status| {
                let emulated = device.last_fault.as_ref().and_then(|last_fault| last_fault());
                let details = faults::claim(&gpu).into_iter().chain(emulated).collect();
                failure.lock().get_or_insert(QueueFailure { status, details });
            }
        };
        let queue = gpu.create_queue(&options, on_error).map_err(failed)?;
        let epoch = gpu.runtime().create_signal(INITIAL_EPOCH, &[], SignalAttribute::EMPTY).map_err(failed)?;
        let kernargs = device.allocator.kernargs(KERNARG_BYTES).ok_or_else(|| device.out_of_memory(KERNARG_BYTES))?;
        let kernargs = KernargRing::new(kernargs, KERNARG_BYTES);
        let ticks_per_second = gpu.runtime().timestamp_frequency().map_err(failed)?;
        let writer = RingWriter::new(queue, gpu.clone(), gpu_index, epoch.handle(), kernargs, device);
        let inner = Arc::new(QueueInner {
            gpu,
            epoch,
            state: Mutex::new(QueueState { writer, in_flight: InFlight::default(), closed: false }),
            changed: Condvar::new(),
            failure,
            ticks_per_second,
            opened: Instant::now(),
        });
        let own = Arc::clone(&inner);
        let thread = std::thread::Builder::new().name(format!("amdgpu-queue-{gpu_index}")).spawn(move || own.run());
        thread.map_err(|error| unavailable("a thread for a queue", error))?;
        Ok(Self { inner })
    }

    /// Writes a batch, or queues it until there is room.
    pub(crate) fn submit(&self, commands: Arc<Commands>, slots: Vec<BoundRange>, completion: Completion) {
        if commands.steps.is_empty() {
            return completion.finish(Ok(()));
        }
        let mut state = self.inner.state.lock();
        if state.closed {
            drop(state);
            return completion.finish(Err(BatchFault::Device("the queue is closed".into())));
        }
        let packets = RingBatch::new(commands, slots, completion.wants_timing());
        state.in_flight.push(QueuedBatch { packets, completion: Some(completion) });
        let failed = state.write_pending();
        self.inner.changed.notify_one();
        drop(state);
        fail_all(failed);
    }

    /// Stops the queue and abandons work in flight.
    pub(crate) fn close(&self) {
        self.inner.state.lock().closed = true;
        self.inner.changed.notify_one();
    }
}

impl Drop for Queue {
    fn drop(&mut self) {
        self.close();
    }
}

/// Finishes batches that could not be written. Called without locks, since completions may submit
/// more work.
fn fail_all(failed: Vec<FailedBatch>) {
    for (completion, fault) in failed {
        completion.finish(Err(fault));
    }
}

impl QueueInner {
    /// The thread: waits for epochs, reports completions, and writes pending batches when there is
    /// room.
    fn run(&self) {
        let check_interval = Runtime::ticks(CHECK_INTERVAL, self.ticks_per_second);
        let mut state = self.state.lock();
        loop {
            if state.closed {
                return self.shut_down(state);
            }
            let Some(oldest) = state.in_flight.oldest_epoch() else {
                if state.in_flight.has_pending() {
                    // A partially written batch: there is room once the GPU has read packets.
                    self.changed.wait_for(&mut state, ROOM_POLL_INTERVAL);
                    let failed = state.write_pending();
                    MutexGuard::unlocked(&mut state, || fail_all(failed));
                    self.check_for_failure(&mut state);
                } else {
                    self.changed.wait(&mut state);
                }
                continue;
            };
            let target = INITIAL_EPOCH - oldest as i64;
            let value = MutexGuard::unlocked(&mut state, || {
                self.epoch.wait(SignalCondition::LT, target + 1, check_interval, WaitState::BLOCKED)
            });
            let reached = (INITIAL_EPOCH - value) as u64;
            let completed = {
                let state = &mut *state;
                state.in_flight.retire(reached, &mut state.writer)
            };
            let failed = state.write_pending();
            state.in_flight.report_progress(&state.writer);
            let mut signals = Vec::new();
            MutexGuard::unlocked(&mut state, || {
                for mut batch in completed {
                    let Some(completion) = batch.completion.take() else { continue };
                    if let Some(own) = batch.packets.signals.take() {
                        completion.report_timing(timing::timings(&self.gpu, &own, &batch.packets.engine_copies));
                        signals.extend(own);
                    }
                    completion.finish(Ok(()));
                }
                fail_all(failed);
            });
            if !signals.is_empty() {
                state.writer.recycle(signals);
            }
            self.check_for_failure(&mut state);
        }
    }

    /// Destroys the HSA queue, which stops what runs on it, then drops the batches.
    fn shut_down(&self, mut state: MutexGuard<'_, QueueState>) {
        let queue = state.writer.take_queue();
        let batches = state.in_flight.take_all();
        drop(state);
        drop(queue);
        for batch in batches {
            batch.packets.abandon(self.ticks_per_second);
        }
    }

    /// Loses the device if the queue or its GPU failed.
    fn check_for_failure(&self, state: &mut MutexGuard<'_, QueueState>) {
        if state.closed {
            return;
        }
        let failure = self.failure.lock().take();
        let reason = match failure {
            Some(QueueFailure { status, details }) => {
                let meaning = status.meaning().unwrap_or("HSA gives no description");
                let details = details.iter().map(|detail| format!("; {detail}")).collect::<String>();
                format!("{status}: {meaning}{details}")
            }
            None => match faults::unclaimed(&self.gpu, self.opened) {
                Some(fault) => fault,
                None => return,
            },
        };
        state.in_flight.report_progress(&state.writer);
        let completion = state.in_flight.take_oldest_completion();
        state.closed = true;
        if let Some(completion) = completion {
            MutexGuard::unlocked(state, || completion.finish(Err(BatchFault::Device(reason))));
        }
    }
}
