//! A hardware queue: packets are written to memory without a call, and a thread tells of completions.
//!
//! All batches of a queue count down one signal, the epoch, in their order; the last packet of each waits for all before it.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use parking_lot::{Condvar, Mutex, MutexGuard};
use roci_hal::Error;
use roci_hal::driver::{BatchFault, BoundRange, Completion};
use roci_hsa::Runtime;
use roci_hsa::abi::{SignalAttribute, SignalCondition, Status, WaitState};
use roci_hsa::runtime::{Agent, Queue, QueueOptions, Signal};

use crate::arguments::ArgumentRing;
use crate::device::Shared;
use crate::discover::failed;
use crate::faults;
use crate::memory::Memory;
use crate::program::Program;
use crate::times::{self, Probe, Probes};
use crate::write::{Broken, EngineCopy};

/// Tells of the last fault in words.
pub(crate) type LastFault = Arc<dyn Fn() -> Option<String> + Send + Sync>;

/// Packets of a queue at most.
const PACKETS: u32 = 16_384;
/// Bytes of the ring of arguments.
const ARGUMENTS: u64 = 4 << 20;
/// Where the epoch begins: far from either end.
const FIRST_EPOCH: i64 = i64::MAX / 2;
/// How long the thread waits before it looks for errors and progress.
const LOOK: Duration = Duration::from_millis(5);
/// How long it waits for room in the ring before it looks again.
const ROOM: Duration = Duration::from_millis(1);

/// A queue with its thread.
pub(crate) struct Line {
    inner: Arc<Inner>,
}

pub(crate) struct Inner {
    pub(crate) gpu: Agent,
    /// Which of the device's GPUs it is.
    pub(crate) number: usize,
    pub(crate) epoch: Signal,
    state: Mutex<State>,
    /// There is something to wait for, or nothing any more.
    changed: Condvar,
    /// Why the queue failed.
    failure: Arc<Mutex<Option<Failure>>>,
    /// Ticks of the runtime's clock in a second.
    frequency: u64,
    opened: Instant,
    pub(crate) shared: Arc<Shared>,
}

/// What the queue's error callback was told, and what was known of it then.
struct Failure {
    status: Status,
    more: Vec<String>,
}

pub(crate) struct State {
    /// Gone when the line is closed.
    pub(crate) queue: Option<Arc<Queue>>,
    pub(crate) arguments: ArgumentRing,
    pub(crate) probes: Probes,
    /// The number of the next packet.
    pub(crate) next: u64,
    /// Batches that were written in full, oldest first.
    pub(crate) flying: VecDeque<Flight>,
    /// Batches that wait for room, the first of them perhaps written in part.
    pub(crate) waiting: VecDeque<Waiting>,
    /// Batches ever written in full.
    pub(crate) epochs: u64,
    closed: bool,
}

/// A batch on the GPU, with what must live while it runs.
pub(crate) struct Flight {
    pub(crate) batch: Waiting,
    /// Counts batches.
    pub(crate) epoch: u64,
}

/// A batch, perhaps not written in full.
pub(crate) struct Waiting {
    pub(crate) program: Arc<Program>,
    pub(crate) slots: Vec<BoundRange>,
    /// Gone once a failure was told.
    pub(crate) completion: Option<Completion>,
    /// The next step to write.
    pub(crate) step: usize,
    /// Where its arguments are, once they have a place.
    pub(crate) arguments: Option<u64>,
    /// What to give back of the ring of arguments.
    pub(crate) mark: u64,
    pub(crate) memory: Option<Memory>,
    pub(crate) copies: Vec<EngineCopy>,
    /// Its first packet; the others follow it without a gap.
    pub(crate) first: Option<u64>,
    /// One for each kernel, if somebody wants to know when commands ran.
    pub(crate) probes: Option<Vec<Probe>>,
}

impl Line {
    pub(crate) fn open(shared: &Arc<Shared>, number: usize) -> Result<Self, Error> {
        let gpu = shared.gpus[number].clone();
        let failure = Arc::new(Mutex::new(None));
        let most = gpu.queue_sizes().map_or(PACKETS, |(_, most)| most);
        let options = QueueOptions { size: PACKETS.min(most), ..QueueOptions::default() };
        let on_error = {
            let (noted, shared, gpu) = (Arc::clone(&failure), Arc::clone(shared), gpu.clone());
            // Asked here and now: later the last fault may be another queue's.
            move |status| {
                let emulated = shared.last_fault.as_ref().and_then(|last| last());
                let more = faults::claim(&gpu).into_iter().chain(emulated).collect();
                noted.lock().get_or_insert(Failure { status, more });
            }
        };
        let queue = gpu.create_queue(&options, on_error).map_err(failed)?;
        let epoch = gpu.runtime().create_signal(FIRST_EPOCH, &[], SignalAttribute::EMPTY).map_err(failed)?;
        let arguments = shared.pools.arguments(ARGUMENTS).ok_or_else(|| shared.out_of_memory(ARGUMENTS))?;
        let frequency = gpu.runtime().timestamp_frequency().map_err(failed)?;
        let inner = Arc::new(Inner {
            gpu,
            number,
            epoch,
            state: Mutex::new(State {
                queue: Some(Arc::new(queue)),
                arguments: ArgumentRing::new(arguments, ARGUMENTS),
                probes: Probes::default(),
                next: 0,
                flying: VecDeque::new(),
                waiting: VecDeque::new(),
                epochs: 0,
                closed: false,
            }),
            changed: Condvar::new(),
            failure,
            frequency,
            opened: Instant::now(),
            shared: Arc::clone(shared),
        });
        let served = Arc::clone(&inner);
        let thread = std::thread::Builder::new().name(format!("amdgpu-queue-{number}")).spawn(move || served.serve());
        thread.map_err(|error| crate::discover::unavailable("a thread for a queue", error))?;
        Ok(Self { inner })
    }

    /// Writes a batch, or lets it wait for room.
    pub(crate) fn submit(&self, program: Arc<Program>, slots: Vec<BoundRange>, completion: Completion) {
        if program.steps.is_empty() {
            return completion.finish(Ok(()));
        }
        let mut state = self.inner.state.lock();
        if state.closed {
            drop(state);
            return completion.finish(Err(BatchFault::Device("the queue is closed".into())));
        }
        let probes = completion.wants_times().then(Vec::new);
        state.waiting.push_back(Waiting {
            program,
            slots,
            completion: Some(completion),
            step: 0,
            arguments: None,
            mark: 0,
            memory: None,
            copies: Vec::new(),
            first: None,
            probes,
        });
        let broken = self.inner.write(&mut state);
        self.inner.changed.notify_one();
        drop(state);
        finish(broken);
    }

    /// Stops everything; what was under way is given up.
    pub(crate) fn close(&self) {
        self.inner.state.lock().closed = true;
        self.inner.changed.notify_one();
    }
}

impl Drop for Line {
    fn drop(&mut self) {
        self.close();
    }
}

/// Ends batches that cannot run.
fn finish(broken: Vec<Broken>) {
    for (completion, fault) in broken {
        completion.finish(Err(fault));
    }
}

impl Inner {
    /// What the thread does: waits for epochs, tells of completions, makes room for what waits.
    fn serve(&self) {
        let look = Runtime::ticks(LOOK, self.frequency);
        let mut state = self.state.lock();
        loop {
            if state.closed {
                return self.end(state);
            }
            let Some(oldest) = state.flying.front().map(|flight| flight.epoch) else {
                if state.waiting.is_empty() {
                    self.changed.wait(&mut state);
                } else {
                    // Written in part: room comes as packets are read.
                    self.changed.wait_for(&mut state, ROOM);
                    let broken = self.write(&mut state);
                    MutexGuard::unlocked(&mut state, || finish(broken));
                    self.look_for_failure(&mut state);
                }
                continue;
            };
            let target = FIRST_EPOCH - oldest as i64;
            let held = MutexGuard::unlocked(&mut state, || {
                self.epoch.wait(SignalCondition::LT, target + 1, look, WaitState::BLOCKED)
            });
            let done = (FIRST_EPOCH - held) as u64;
            let mut finished = Vec::new();
            while state.flying.front().is_some_and(|flight| flight.epoch <= done) {
                let Some(flight) = state.flying.pop_front() else { break };
                state.arguments.give_back(flight.batch.mark);
                finished.push(flight.batch);
            }
            let broken = self.write(&mut state);
            self.note_progress(&state);
            let mut probes = Vec::new();
            MutexGuard::unlocked(&mut state, || {
                for mut batch in finished {
                    let Some(completion) = batch.completion.take() else { continue };
                    if let Some(own) = batch.probes.take() {
                        completion.times(times::spans(&self.gpu, &own, &batch.copies));
                        probes.extend(own);
                    }
                    completion.finish(Ok(()));
                }
                finish(broken);
            });
            if !probes.is_empty() {
                state.probes.give_back(probes);
            }
            self.look_for_failure(&mut state);
        }
    }

    /// Gives the queue back, which stops what runs on it, and then what it used.
    fn end(&self, mut state: MutexGuard<'_, State>) {
        let queue = state.queue.take();
        let flying = std::mem::take(&mut state.flying);
        let waiting = std::mem::take(&mut state.waiting);
        drop(state);
        drop(queue);
        for batch in flying.into_iter().map(|flight| flight.batch).chain(waiting) {
            if !batch.copies.iter().all(|copy| copy.let_go(self.frequency)) {
                // The runtime may use them at any time, so that they stay for good.
                std::mem::forget((batch.copies, batch.program, batch.slots));
            }
        }
    }

    /// Says which command of the oldest batch the GPU is at.
    fn note_progress(&self, state: &State) {
        let (Some(queue), Some(flight)) = (&state.queue, state.flying.front()) else { return };
        let read = queue.read_index().load(Ordering::Relaxed);
        let packet = read.saturating_sub(flight.batch.first.unwrap_or(read)) as usize;
        if let (Some(command), Some(completion)) = (flight.batch.program.command(packet), &flight.batch.completion) {
            completion.progress(command as usize);
        }
    }

    /// Loses the device if the queue failed, or its GPU.
    fn look_for_failure(&self, state: &mut MutexGuard<'_, State>) {
        if state.closed {
            return;
        }
        let failure = self.failure.lock().take();
        let reason = match failure {
            Some(Failure { status, more }) => {
                let meaning = status.meaning().unwrap_or("HSA does not say more");
                let more = more.iter().map(|more| format!("; {more}")).collect::<String>();
                format!("{status}: {meaning}{more}")
            }
            None => match faults::unclaimed(&self.gpu, self.opened) {
                Some(fault) => fault,
                None => return,
            },
        };
        self.note_progress(state);
        let (flying, waiting) = {
            let state = &mut **state;
            (state.flying.front_mut(), state.waiting.front_mut())
        };
        // All else of it stays for the end: its copies are still the runtime's, and the queue still has its packets.
        let oldest = flying.map(|flight| &mut flight.batch).or(waiting);
        let completion = oldest.and_then(|batch| batch.completion.take());
        state.closed = true;
        if let Some(completion) = completion {
            MutexGuard::unlocked(state, || completion.finish(Err(BatchFault::Device(reason))));
        }
    }
}
