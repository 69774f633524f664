//! A hardware queue: packets are written to memory without a call, and a thread tells of completions.
//!
//! All batches of a queue count down one signal, the epoch, in their order; the last packet of each waits for all before it.

#![expect(unsafe_code, reason = "packets are written to memory that the GPU reads")]

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use parking_lot::{Condvar, Mutex, MutexGuard};
use roci_hal::Error;
use roci_hal::driver::{BatchFault, BoundRange, Completion};
use roci_hsa::abi::{
    BarrierPacket, FenceScope, KernelDispatchPacket, PACKET_SIZE, PacketHeader, PacketType, SignalAttribute,
    SignalCondition, Status, WaitState,
};
use roci_hsa::runtime::{Agent, Queue, QueueOptions, Signal};

use crate::arguments::ArgumentRing;
use crate::device::Shared;
use crate::discover::failed;
use crate::memory::Memory;
use crate::program::{Program, Work, address};

/// Tells of the last fault in words.
pub(crate) type LastFault = Arc<dyn Fn() -> Option<String> + Send + Sync>;

/// Packets of a queue.
const PACKETS: u32 = 16_384;
/// Bytes of the ring of arguments.
const ARGUMENTS: u64 = 4 << 20;
/// Where the epoch begins: far from either end.
const FIRST_EPOCH: i64 = i64::MAX / 2;
/// How long the thread waits before it looks for errors and progress, in seconds.
const LOOK: f64 = 0.005;

/// A queue with its thread.
pub(crate) struct Line {
    inner: Arc<Inner>,
}

struct Inner {
    gpu: Agent,
    /// Which of the device's GPUs it is.
    number: usize,
    epoch: Signal,
    state: Mutex<State>,
    /// There is something to wait for, or nothing any more.
    changed: Condvar,
    /// Why the queue failed.
    failure: Arc<Mutex<Option<Status>>>,
    last_fault: Option<LastFault>,
    /// Ticks of [`LOOK`].
    look: u64,
    shared: Arc<Shared>,
}

struct State {
    /// Gone when the line is closed.
    queue: Option<Arc<Queue>>,
    arguments: ArgumentRing,
    /// The number of the next packet.
    next: u64,
    /// Batches that were written in full, oldest first.
    flying: VecDeque<Flight>,
    /// Batches that wait for room, the first of them perhaps written in part.
    waiting: VecDeque<Waiting>,
    /// Batches ever written in full.
    epochs: u64,
    closed: bool,
}

/// A batch on the GPU.
struct Flight {
    completion: Completion,
    /// Counts batches.
    epoch: u64,
    /// Its first packet, and the command of each.
    first: u64,
    commands: Vec<u32>,
    /// What to give back of the arguments.
    mark: u64,
    _keep: Keep,
}

/// What must live while a batch runs.
struct Keep {
    _program: Arc<Program>,
    _slots: Vec<BoundRange>,
    _memory: Option<Memory>,
    _signals: Vec<Signal>,
}

/// A batch that is not written in full.
struct Waiting {
    program: Arc<Program>,
    slots: Vec<BoundRange>,
    completion: Completion,
    /// The next step to write.
    step: usize,
    /// Where its arguments are, once they have a place.
    arguments: Option<u64>,
    mark: u64,
    memory: Option<Memory>,
    signals: Vec<Signal>,
    first: Option<u64>,
    commands: Vec<u32>,
}

impl Line {
    pub(crate) fn open(shared: &Arc<Shared>, number: usize, last_fault: Option<LastFault>) -> Result<Self, Error> {
        let gpu = shared.gpus[number].clone();
        let failure = Arc::new(Mutex::new(None));
        let noted = Arc::clone(&failure);
        let options = QueueOptions { size: PACKETS, ..QueueOptions::default() };
        let on_error = move |status| {
            noted.lock().get_or_insert(status);
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
                next: 0,
                flying: VecDeque::new(),
                waiting: VecDeque::new(),
                epochs: 0,
                closed: false,
            }),
            changed: Condvar::new(),
            failure,
            last_fault,
            look: (frequency as f64 * LOOK) as u64,
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
        state.waiting.push_back(Waiting {
            program,
            slots,
            completion,
            step: 0,
            arguments: None,
            mark: 0,
            memory: None,
            signals: Vec::new(),
            first: None,
            commands: Vec::new(),
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

/// Ends batches that cannot run.
fn finish(broken: Vec<(Completion, String)>) {
    for (completion, reason) in broken {
        completion.finish(Err(BatchFault::Device(reason)));
    }
}

impl Inner {
    /// What the thread does: waits for epochs, tells of completions, makes room for what waits.
    fn serve(&self) {
        let mut state = self.state.lock();
        loop {
            if state.closed {
                return Self::end(state);
            }
            let Some(oldest) = state.flying.front().map(|flight| flight.epoch) else {
                if state.waiting.is_empty() {
                    self.changed.wait(&mut state);
                } else {
                    // Written in part: room comes as packets are read.
                    self.changed.wait_for(&mut state, std::time::Duration::from_millis(1));
                    let broken = self.write(&mut state);
                    MutexGuard::unlocked(&mut state, || finish(broken));
                    self.look_for_failure(&mut state);
                }
                continue;
            };
            let target = FIRST_EPOCH - oldest as i64;
            let held = MutexGuard::unlocked(&mut state, || {
                self.epoch.wait(SignalCondition::LT, target + 1, self.look, WaitState::BLOCKED)
            });
            let done = (FIRST_EPOCH - held) as u64;
            let mut finished = Vec::new();
            while state.flying.front().is_some_and(|flight| flight.epoch <= done) {
                let Some(flight) = state.flying.pop_front() else { break };
                state.arguments.give_back(flight.mark);
                finished.push(flight);
            }
            let broken = self.write(&mut state);
            self.note_progress(&state);
            MutexGuard::unlocked(&mut state, || {
                for flight in finished {
                    flight.completion.finish(Ok(()));
                }
                finish(broken);
            });
            self.look_for_failure(&mut state);
        }
    }

    /// Gives the queue back, which stops what runs on it, and then what it used.
    fn end(mut state: MutexGuard<'_, State>) {
        let queue = state.queue.take();
        let flying = std::mem::take(&mut state.flying);
        let waiting = std::mem::take(&mut state.waiting);
        drop(state);
        drop(queue);
        drop(flying);
        drop(waiting);
    }

    /// Says which command of the oldest batch the GPU is at.
    fn note_progress(&self, state: &State) {
        let (Some(queue), Some(flight)) = (&state.queue, state.flying.front()) else { return };
        let read = queue.read_index().load(Ordering::Relaxed);
        let packet = read.saturating_sub(flight.first) as usize;
        if let Some(command) = flight.commands.get(packet.min(flight.commands.len().saturating_sub(1))) {
            flight.completion.progress(*command as usize);
        }
    }

    /// Loses the device if the queue failed.
    fn look_for_failure(&self, state: &mut MutexGuard<'_, State>) {
        let Some(status) = *self.failure.lock() else { return };
        if state.closed {
            return;
        }
        self.note_progress(state);
        let mut reason = format!("{status}: {}", status.meaning().unwrap_or("HSA does not say more"));
        if let Some(more) = self.last_fault.as_ref().and_then(|last| last()) {
            reason = format!("{reason}; {more}");
        }
        let completion = match state.flying.pop_front() {
            Some(flight) => Some(flight.completion),
            None => state.waiting.pop_front().map(|waiting| waiting.completion),
        };
        state.closed = true;
        if let Some(completion) = completion {
            MutexGuard::unlocked(state, || completion.finish(Err(BatchFault::Device(reason))));
        }
    }

    /// Writes what waits as far as there is room; batches that cannot be written at all.
    fn write(&self, state: &mut State) -> Vec<(Completion, String)> {
        let mut broken = Vec::new();
        while let Some(mut waiting) = state.waiting.pop_front() {
            match self.write_one(state, &mut waiting) {
                Ok(true) => {
                    state.epochs += 1;
                    state.flying.push_back(Flight {
                        epoch: state.epochs,
                        first: waiting.first.unwrap_or(state.next),
                        commands: waiting.commands,
                        mark: waiting.mark,
                        completion: waiting.completion,
                        _keep: Keep {
                            _program: waiting.program,
                            _slots: waiting.slots,
                            _memory: waiting.memory,
                            _signals: waiting.signals,
                        },
                    });
                }
                Ok(false) => {
                    state.waiting.push_front(waiting);
                    break;
                }
                Err(error) => broken.push((waiting.completion, error.to_string())),
            }
        }
        broken
    }

    /// Writes the rest of a batch; whether all of it.
    fn write_one(&self, state: &mut State, waiting: &mut Waiting) -> Result<bool, Error> {
        let Some(queue) = state.queue.clone() else { return Ok(false) };
        let Some(arguments) = self.place_arguments(state, waiting)? else { return Ok(false) };
        let last = waiting.program.steps.len() - 1;
        let begun = state.next;
        while waiting.step <= last {
            let step = &waiting.program.steps[waiting.step];
            let room = u64::from(PACKETS) - (state.next - queue.read_index().load(Ordering::Acquire));
            // One more for the packet that ends a batch.
            if room < step.work.packets() + 1 {
                break;
            }
            let is_first = waiting.first.is_none();
            waiting.first.get_or_insert(state.next);
            for _ in 0..step.work.packets() {
                waiting.commands.push(step.command as u32);
            }
            match &step.work {
                Work::Kernel(number) => {
                    let mut packet = waiting.program.packet(self.number, *number, arguments);
                    let ends = waiting.step == last;
                    if ends {
                        packet.completion_signal = self.epoch.handle();
                    }
                    // The host's writes are seen by the first, and the last is seen by the host.
                    let acquire = if is_first { FenceScope::SYSTEM } else { FenceScope::AGENT };
                    let release = if ends { FenceScope::SYSTEM } else { FenceScope::AGENT };
                    let header = PacketHeader::new(PacketType::KERNEL_DISPATCH, step.barrier || ends, acquire, release);
                    put(&queue, &mut state.next, &packet, header.with_next(3));
                }
                Work::Engine { source, target } => {
                    let (source, target) = (source.resolve(&waiting.slots), target.resolve(&waiting.slots));
                    let ends = (waiting.step == last).then(|| self.epoch.handle());
                    let signals = self.engine(&queue, &mut state.next, &source, &target, ends)?;
                    waiting.signals.extend(signals);
                }
            }
            waiting.step += 1;
        }
        if state.next > begun {
            queue.write_index().store(state.next, Ordering::Release);
            queue.doorbell().store(state.next - 1, Ordering::Release);
        }
        Ok(waiting.step > last)
    }

    /// Where the arguments of a batch are; `None` if they have to wait for room.
    fn place_arguments(&self, state: &mut State, waiting: &mut Waiting) -> Result<Option<u64>, Error> {
        if let Some(place) = waiting.arguments.or_else(|| waiting.program.written()) {
            return Ok(Some(place));
        }
        let bytes = waiting.program.argument_bytes();
        let place = if state.arguments.can_hold(bytes) {
            let Some((place, mark)) = state.arguments.take(bytes) else { return Ok(None) };
            waiting.mark = mark;
            place
        } else {
            let size = bytes as u64;
            let memory = self.shared.pools.arguments(size).ok_or_else(|| self.shared.out_of_memory(size))?;
            waiting.memory.insert(memory).pointer()
        };
        // SAFETY: so many bytes that only this batch has.
        unsafe { waiting.program.write_arguments(place, &waiting.slots) }?;
        let place = place.expose_provenance() as u64;
        waiting.arguments = Some(place);
        Ok(Some(place))
    }

    /// A copy by the runtime between two packets: the first tells that all before is complete, the second waits for it.
    fn engine(
        &self,
        queue: &Queue,
        next: &mut u64,
        source: &BoundRange,
        target: &BoundRange,
        ends: Option<roci_hsa::abi::Signal>,
    ) -> Result<[Signal; 2], Error> {
        let runtime = self.gpu.runtime();
        let signal = || runtime.create_signal(1, &[], SignalAttribute::EMPTY).map_err(failed);
        let (before, done) = (signal()?, signal()?);
        let place = |range: &BoundRange| Ok::<_, Error>(address(range)? as usize);
        let to = std::ptr::with_exposed_provenance_mut(place(target)?);
        let from = std::ptr::with_exposed_provenance(place(source)?);
        let bytes = source.length as usize;
        // SAFETY: the HAL has checked both ranges and keeps the buffers; the signals live as long as the batch.
        let copy = unsafe { runtime.async_copy((to, &self.gpu), (from, &self.gpu), bytes, &[&before], &done) };
        copy.map_err(failed)?;
        let scope = FenceScope::SYSTEM;
        let header = PacketHeader::new(PacketType::BARRIER_AND, true, scope, scope).with_next(0);
        put(queue, next, &BarrierPacket { completion_signal: before.handle(), ..BarrierPacket::default() }, header);
        let mut after = BarrierPacket::default();
        after.dep_signal[0] = done.handle();
        if let Some(epoch) = ends {
            after.completion_signal = epoch;
        }
        put(queue, next, &after, header);
        Ok([before, done])
    }
}

/// A packet of the architected queuing language.
trait Packet {}
impl Packet for KernelDispatchPacket {}
impl Packet for BarrierPacket {}

/// Writes the packet of a number, its first word last: that makes it valid.
fn put<P: Packet>(queue: &Queue, next: &mut u64, packet: &P, head: u32) {
    let slot = (*next & u64::from(queue.size() - 1)) as usize * PACKET_SIZE;
    let place = queue.ring().as_ptr().wrapping_add(slot);
    let body = (&raw const *packet).cast::<u8>().wrapping_add(4);
    // SAFETY: the place of a packet that the GPU has read; packets have this size.
    unsafe { std::ptr::copy_nonoverlapping(body, place.wrapping_add(4), PACKET_SIZE - 4) };
    // SAFETY: the same place; its first word is only used as an atomic.
    let first = unsafe { AtomicU32::from_ptr(place.cast()) };
    first.store(head, Ordering::Release);
    *next += 1;
}
