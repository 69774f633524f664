//! Batches written into the ring of a queue: packets, arguments, doorbell. No call is made but for copy engines.

#![expect(unsafe_code, reason = "packets are written to memory that the GPU reads")]

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use roci_hal::Error;
use roci_hal::driver::{BatchFault, BoundRange, Completion};
use roci_hsa::Runtime;
use roci_hsa::abi::{
    self, BarrierPacket, FenceScope, KernelDispatchPacket, PACKET_SIZE, PacketHeader, PacketType, SignalAttribute,
    SignalCondition, WaitState,
};
use roci_hsa::runtime::{Queue, Signal};

use crate::discover::failed;
use crate::memory::{Home, Memory};
use crate::program::{Work, address};
use crate::queue::{Flight, Inner, State, Waiting};

/// Packets that must be free besides a step's own: one may have to end the batch.
const END: u64 = 1;

/// How long a copy that was let go may take to end.
const LET_GO: Duration = Duration::from_secs(1);

/// A copy that the runtime makes.
pub(crate) struct EngineCopy {
    pub(crate) command: u32,
    /// Zero lets it begin.
    before: Signal,
    /// Zero tells that it has ended.
    pub(crate) done: Signal,
}

impl EngineCopy {
    /// Lets a copy end that nothing will let begin any more, since it cannot be taken back: until then its signals and
    /// buffers must live. Whether it has ended.
    pub(crate) fn let_go(&self, ticks_per_second: u64) -> bool {
        self.before.store(0);
        let ticks = Runtime::ticks(LET_GO, ticks_per_second);
        self.done.wait(SignalCondition::LT, 1, ticks, WaitState::BLOCKED) < 1
    }
}

/// A batch that cannot be written, and why.
pub(crate) type Broken = (Completion, BatchFault);

impl Inner {
    /// Writes what waits as far as there is room; batches that cannot be written at all.
    pub(crate) fn write(&self, state: &mut State) -> Vec<Broken> {
        let mut broken = Vec::new();
        while let Some(mut waiting) = state.waiting.pop_front() {
            match self.write_one(state, &mut waiting) {
                Ok(true) => {
                    state.epochs += 1;
                    state.flying.push_back(Flight { epoch: state.epochs, batch: waiting });
                }
                Ok(false) => {
                    state.waiting.push_front(waiting);
                    break;
                }
                // Nothing of it runs: the queue goes on without it.
                Err(error) if waiting.first.is_none() => {
                    if waiting.mark != 0 {
                        state.arguments.untake(waiting.mark);
                    }
                    let command = waiting.program.steps[waiting.step].command;
                    let fault = BatchFault::Kernel { command, reason: error.to_string() };
                    broken.extend(waiting.completion.map(|completion| (completion, fault)));
                }
                Err(error) => {
                    // The GPU may run what was written until the device is closed, and copies end when they will.
                    std::mem::forget((waiting.program, waiting.slots, waiting.memory, waiting.copies, waiting.probes));
                    let fault = BatchFault::Device(error.to_string());
                    broken.extend(waiting.completion.map(|completion| (completion, fault)));
                }
            }
        }
        broken
    }

    /// Writes the rest of a batch; whether all of it.
    fn write_one(&self, state: &mut State, waiting: &mut Waiting) -> Result<bool, Error> {
        let Some(queue) = state.queue.clone() else { return Ok(false) };
        if waiting.probes.is_some() {
            state.probes.switch_on(&queue, &self.gpu).map_err(failed)?;
        }
        let Some(arguments) = self.place_arguments(state, waiting)? else { return Ok(false) };
        let program = Arc::clone(&waiting.program);
        let last = program.steps.len() - 1;
        let begun = state.next;
        while waiting.step <= last {
            let step = &program.steps[waiting.step];
            let room = u64::from(queue.size()) - (state.next - queue.read_index().load(Ordering::Acquire));
            if room < step.work.packets() + END {
                break;
            }
            let ends = waiting.step == last;
            match &step.work {
                Work::Kernel(number) => {
                    let packet = program.packet(self.number, *number, arguments);
                    self.kernel(&queue, state, waiting, packet, (step.command, step.barrier, ends))?;
                }
                Work::Engine { source, target } => {
                    let (source, target) = (source.resolve(&waiting.slots), target.resolve(&waiting.slots));
                    let ends = ends.then(|| self.epoch.handle());
                    let first = state.next;
                    let [before, done] = self.engine(&queue, &mut state.next, &source, &target, ends)?;
                    waiting.first.get_or_insert(first);
                    waiting.copies.push(EngineCopy { command: step.command as u32, before, done });
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

    /// Writes the packet of a kernel.
    fn kernel(
        &self,
        queue: &Queue,
        state: &mut State,
        waiting: &mut Waiting,
        mut packet: KernelDispatchPacket,
        (command, barrier, ends): (usize, bool, bool),
    ) -> Result<(), Error> {
        if let Some(probes) = &mut waiting.probes {
            let probe = state.probes.kernel(&self.gpu, command).map_err(failed)?;
            packet.completion_signal = probe.signal().handle();
            probes.push(probe);
        } else if ends {
            packet.completion_signal = self.epoch.handle();
        }
        // The host's writes are seen by the first, and the last is seen by the host.
        let acquire = if waiting.first.is_none() { FenceScope::SYSTEM } else { FenceScope::AGENT };
        let release = if ends { FenceScope::SYSTEM } else { FenceScope::AGENT };
        let ends_here = ends && waiting.probes.is_none();
        let header = PacketHeader::new(PacketType::KERNEL_DISPATCH, barrier || ends_here, acquire, release);
        waiting.first.get_or_insert(state.next);
        put(queue, &mut state.next, &packet, header.with_next(3));
        if ends && waiting.probes.is_some() {
            // Its signal is its own, so that another packet ends the batch.
            let end = BarrierPacket { completion_signal: self.epoch.handle(), ..BarrierPacket::default() };
            put(queue, &mut state.next, &end, barrier_header());
        }
        Ok(())
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
        ends: Option<abi::Signal>,
    ) -> Result<[Signal; 2], Error> {
        let runtime = self.gpu.runtime();
        let signal = || runtime.create_signal(1, &[], SignalAttribute::EMPTY).map_err(failed);
        let (before, done) = (signal()?, signal()?);
        let place = |range: &BoundRange| Ok::<_, Error>(address(range)? as usize);
        let owner = |range: &BoundRange| {
            self.shared.pools.owner(range.buffer.downcast::<Memory>().map_or(Home::Gpu, Memory::home))
        };
        let to = (std::ptr::with_exposed_provenance_mut(place(target)?), owner(target));
        let from = (std::ptr::with_exposed_provenance(place(source)?), owner(source));
        let bytes = source.length as usize;
        // SAFETY: the HAL has checked both ranges and keeps the buffers; the signals live as long as the batch.
        let copy = unsafe { runtime.async_copy(to, from, bytes, &[&before], &done) };
        copy.map_err(failed)?;
        let first = BarrierPacket { completion_signal: before.handle(), ..BarrierPacket::default() };
        put(queue, next, &first, barrier_header());
        let mut after = BarrierPacket::default();
        after.dep_signal[0] = done.handle();
        if let Some(epoch) = ends {
            after.completion_signal = epoch;
        }
        put(queue, next, &after, barrier_header());
        Ok([before, done])
    }
}

/// The head of a packet that waits for all before it, and lets everybody see what they wrote.
fn barrier_header() -> u32 {
    PacketHeader::new(PacketType::BARRIER_AND, true, FenceScope::SYSTEM, FenceScope::SYSTEM).with_next(0)
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
