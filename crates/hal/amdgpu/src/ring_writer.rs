//! The ring writer: places a batch's packets and kernel arguments in the memory of an HSA queue and
//! rings the doorbell.
//!
//! Makes no library call except for engine copies, profiling signals, and arguments that exceed the
//! kernarg ring.

#![expect(unsafe_code, reason = "writes packets to memory that the GPU reads")]

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use roci_hal::Error;
use roci_hal::driver::BoundRange;
use roci_hsa::abi::{
    self, BarrierPacket, FenceScope, KernelDispatchPacket, PACKET_SIZE, PacketHeader, PacketType, SignalAttribute,
};
use roci_hsa::runtime::{Agent, Queue as HsaQueue, Signal};

use crate::buffer::{Buffer, MemoryLocation};
use crate::commands::{Commands, EncodedCommandKind, address};
use crate::device_state::DeviceState;
use crate::engine_copy::EngineCopy;
use crate::error::failed;
use crate::kernarg_ring::KernargRing;
use crate::timing::{ProfilingSignal, ProfilingSignals};

/// Packets that must be free in addition to a step's own, for a packet that ends the batch.
const END_PACKETS: u64 = 1;

/// Writes batches to one HSA queue.
pub(crate) struct RingWriter {
    /// `None` once the queue is closed.
    queue: Option<Arc<HsaQueue>>,
    gpu: Agent,
    /// Index of the GPU in the logical device.
    gpu_index: usize,
    /// Decremented by the last packet of each batch.
    epoch: abi::Signal,
    /// Index of the next packet.
    next_packet: u64,
    kernargs: KernargRing,
    profiling: ProfilingSignals,
    device: Arc<DeviceState>,
}

/// A batch, how far it is written, and what must live until it has ended.
pub(crate) struct RingBatch {
    commands: Arc<Commands>,
    slots: Vec<BoundRange>,
    /// Next step to write.
    next_step: usize,
    /// Address of the kernel arguments, once they are placed.
    kernargs: Option<u64>,
    /// Position to release the kernarg ring to when the batch has ended.
    kernarg_mark: u64,
    /// Holds arguments that do not fit in the ring.
    kernarg_buffer: Option<Buffer>,
    pub(crate) engine_copies: Vec<EngineCopy>,
    /// Index of its first packet. The others follow contiguously.
    first_packet: Option<u64>,
    /// One signal per kernel, if timing is requested.
    pub(crate) signals: Option<Vec<ProfilingSignal>>,
}

impl RingBatch {
    pub(crate) fn new(commands: Arc<Commands>, slots: Vec<BoundRange>, timed: bool) -> Self {
        Self {
            commands,
            slots,
            next_step: 0,
            kernargs: None,
            kernarg_mark: 0,
            kernarg_buffer: None,
            engine_copies: Vec::new(),
            first_packet: None,
            signals: timed.then(Vec::new),
        }
    }

    /// Whether any of its packets has been written.
    pub(crate) fn is_started(&self) -> bool {
        self.first_packet.is_some()
    }

    /// The command of the next step to write.
    pub(crate) fn next_command(&self) -> usize {
        self.commands.steps[self.next_step].command
    }

    /// The command that the GPU executes, given the queue's read index.
    pub(crate) fn current_command(&self, read_index: u64) -> Option<u32> {
        self.commands.command(read_index.saturating_sub(self.first_packet.unwrap_or(read_index)) as usize)
    }

    /// Drops the batch after the queue was destroyed. Copies in flight are released first; what the
    /// runtime may still use is leaked.
    pub(crate) fn abandon(self, ticks_per_second: u64) {
        if !self.engine_copies.iter().all(|copy| copy.release(ticks_per_second)) {
            std::mem::forget((self.engine_copies, self.commands, self.slots));
        }
    }
}

impl RingWriter {
    pub(crate) fn new(
        queue: HsaQueue,
        gpu: Agent,
        gpu_index: usize,
        epoch: abi::Signal,
        kernargs: KernargRing,
        device: &Arc<DeviceState>,
    ) -> Self {
        Self {
            queue: Some(Arc::new(queue)),
            gpu,
            gpu_index,
            epoch,
            next_packet: 0,
            kernargs,
            profiling: ProfilingSignals::default(),
            device: Arc::clone(device),
        }
    }

    /// Index of the next packet that the GPU will read; `None` once the queue is closed.
    pub(crate) fn read_index(&self) -> Option<u64> {
        self.queue.as_ref().map(|queue| queue.read_index().load(Ordering::Relaxed))
    }

    /// Removes the queue. Dropping it stops what runs on it.
    pub(crate) fn take_queue(&mut self) -> Option<Arc<HsaQueue>> {
        self.queue.take()
    }

    /// Releases the kernel arguments of a completed batch.
    pub(crate) fn release(&mut self, batch: &RingBatch) {
        self.kernargs.release(batch.kernarg_mark);
    }

    /// Releases the kernel arguments of the latest batch, of which no packet was written.
    pub(crate) fn undo(&mut self, batch: &RingBatch) {
        if batch.kernarg_mark != 0 {
            self.kernargs.undo_latest(batch.kernarg_mark);
        }
    }

    /// Recycles the signals of completed batches.
    pub(crate) fn recycle(&mut self, signals: Vec<ProfilingSignal>) {
        self.profiling.recycle(signals);
    }

    /// Writes the remaining steps of a batch as far as there is room. Returns whether the batch is
    /// complete.
    pub(crate) fn write(&mut self, batch: &mut RingBatch) -> Result<bool, Error> {
        let Some(queue) = self.queue.clone() else { return Ok(false) };
        if batch.signals.is_some() {
            self.profiling.enable(&queue, &self.gpu).map_err(failed)?;
        }
        let Some(kernargs) = self.place_kernargs(batch)? else { return Ok(false) };
        let commands = Arc::clone(&batch.commands);
        let last = commands.steps.len() - 1;
        let begin = self.next_packet;
        while batch.next_step <= last {
            let step = &commands.steps[batch.next_step];
            let room = u64::from(queue.size()) - (self.next_packet - queue.read_index().load(Ordering::Acquire));
            if room < step.kind.packets() + END_PACKETS {
                break;
            }
            let is_last = batch.next_step == last;
            match &step.kind {
                EncodedCommandKind::Dispatch(index) => {
                    let packet = commands.packet(self.gpu_index, *index, kernargs);
                    self.write_dispatch(&queue, batch, packet, (step.command, step.barrier, is_last))?;
                }
                EncodedCommandKind::EngineCopy { source, target } => {
                    let (source, target) = (source.resolve(&batch.slots), target.resolve(&batch.slots));
                    let first = self.next_packet;
                    let [start, done] = self.write_engine_copy(&queue, &source, &target, is_last)?;
                    batch.first_packet.get_or_insert(first);
                    batch.engine_copies.push(EngineCopy { command: step.command as u32, start, done });
                }
            }
            batch.next_step += 1;
        }
        if self.next_packet > begin {
            queue.write_index().store(self.next_packet, Ordering::Release);
            queue.doorbell().store(self.next_packet - 1, Ordering::Release);
        }
        Ok(batch.next_step > last)
    }

    /// Writes the packet of a kernel.
    fn write_dispatch(
        &mut self,
        queue: &HsaQueue,
        batch: &mut RingBatch,
        mut packet: KernelDispatchPacket,
        (command, barrier, is_last): (usize, bool, bool),
    ) -> Result<(), Error> {
        if let Some(signals) = &mut batch.signals {
            let signal = self.profiling.acquire(&self.gpu, command).map_err(failed)?;
            packet.completion_signal = signal.signal().handle();
            signals.push(signal);
        } else if is_last {
            packet.completion_signal = self.epoch;
        }
        // The first packet acquires the host's writes, and the last releases the GPU's writes to
        // the host.
        let acquire = if batch.first_packet.is_none() { FenceScope::SYSTEM } else { FenceScope::AGENT };
        let release = if is_last { FenceScope::SYSTEM } else { FenceScope::AGENT };
        let ends_batch = is_last && batch.signals.is_none();
        let header = PacketHeader::new(PacketType::KERNEL_DISPATCH, barrier || ends_batch, acquire, release);
        batch.first_packet.get_or_insert(self.next_packet);
        write_packet(queue, &mut self.next_packet, &packet, header.with_next(3));
        if is_last && batch.signals.is_some() {
            // The kernel's completion signal measures it, so a separate packet ends the batch.
            let end = BarrierPacket { completion_signal: self.epoch, ..BarrierPacket::default() };
            write_packet(queue, &mut self.next_packet, &end, barrier_header());
        }
        Ok(())
    }

    /// Address of the batch's kernel arguments. Returns `None` if they must wait for room in the
    /// ring.
    fn place_kernargs(&mut self, batch: &mut RingBatch) -> Result<Option<u64>, Error> {
        if let Some(address) = batch.kernargs.or_else(|| batch.commands.static_kernargs()) {
            return Ok(Some(address));
        }
        let bytes = batch.commands.kernarg_bytes();
        let pointer = if self.kernargs.can_hold(bytes) {
            let Some((pointer, mark)) = self.kernargs.allocate(bytes) else { return Ok(None) };
            batch.kernarg_mark = mark;
            pointer
        } else {
            let size = bytes as u64;
            let buffer = self.device.allocator.kernargs(size).ok_or_else(|| self.device.out_of_memory(size))?;
            batch.kernarg_buffer.insert(buffer).pointer()
        };
        // SAFETY: the pointer is to `bytes` bytes that are reserved for this batch.
        unsafe { batch.commands.write_kernargs(pointer, &batch.slots) }?;
        let address = pointer.expose_provenance() as u64;
        batch.kernargs = Some(address);
        Ok(Some(address))
    }

    /// Queues a copy in the runtime and writes two packets: the first starts the copy when all
    /// earlier packets are complete, the second waits for it.
    fn write_engine_copy(
        &mut self,
        queue: &HsaQueue,
        source: &BoundRange,
        target: &BoundRange,
        is_last: bool,
    ) -> Result<[Signal; 2], Error> {
        let runtime = self.gpu.runtime();
        let signal = || runtime.create_signal(1, &[], SignalAttribute::EMPTY).map_err(failed);
        let (start, done) = (signal()?, signal()?);
        let pointer = |range: &BoundRange| Ok::<_, Error>(address(range)? as usize);
        let owner = |range: &BoundRange| {
            let location = range.buffer.downcast::<Buffer>().map_or(MemoryLocation::Gpu, Buffer::location);
            self.device.allocator.owner(location)
        };
        let to = (std::ptr::with_exposed_provenance_mut(pointer(target)?), owner(target));
        let from = (std::ptr::with_exposed_provenance(pointer(source)?), owner(source));
        let bytes = source.length as usize;
        // SAFETY: the HAL has validated both ranges and keeps the buffers alive; the batch keeps
        // the signals.
        let copy = unsafe { runtime.async_copy(to, from, bytes, &[&start], &done) };
        copy.map_err(failed)?;
        let before = BarrierPacket { completion_signal: start.handle(), ..BarrierPacket::default() };
        write_packet(queue, &mut self.next_packet, &before, barrier_header());
        let mut after = BarrierPacket::default();
        after.dep_signal[0] = done.handle();
        if is_last {
            after.completion_signal = self.epoch;
        }
        write_packet(queue, &mut self.next_packet, &after, barrier_header());
        Ok([start, done])
    }
}

/// Header of a packet that waits for all earlier packets and makes their writes visible
/// system-wide.
fn barrier_header() -> u32 {
    PacketHeader::new(PacketType::BARRIER_AND, true, FenceScope::SYSTEM, FenceScope::SYSTEM).with_next(0)
}

/// A packet of the Architected Queuing Language (AQL).
trait AqlPacket {}
impl AqlPacket for KernelDispatchPacket {}
impl AqlPacket for BarrierPacket {}

/// Writes a packet at index `next` and increments it. The first word is written last, because it
/// makes the packet valid.
fn write_packet<P: AqlPacket>(queue: &HsaQueue, next: &mut u64, packet: &P, header: u32) {
    let offset = (*next & u64::from(queue.size() - 1)) as usize * PACKET_SIZE;
    let slot = queue.ring().as_ptr().wrapping_add(offset);
    let body = (&raw const *packet).cast::<u8>().wrapping_add(4);
    // SAFETY: the slot is inside the ring and the GPU has read its previous packet; packets have
    // `PACKET_SIZE` bytes.
    unsafe { std::ptr::copy_nonoverlapping(body, slot.wrapping_add(4), PACKET_SIZE - 4) };
    // SAFETY: the first word of a slot is aligned and only accessed atomically.
    let first_word = unsafe { AtomicU32::from_ptr(slot.cast()) };
    first_word.store(header, Ordering::Release);
    *next += 1;
}
