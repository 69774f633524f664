//! The packet processor: takes packets from a queue in their order and does what they say.

#![expect(unsafe_code, reason = "packets are memory that clients and kernels write")]

use std::hint::spin_loop;
use std::sync::atomic::{AtomicU32, Ordering, fence};
use std::time::{Duration, Instant};

use roci_emu::{Dispatch, DispatchError, Error, Fault, FaultReport};
use roci_hsa::abi::{
    BarrierPacket, BarrierValuePacket, KernelDispatchPacket, MemoryFaultReason, PacketHeader, PacketType, Pm4IbPacket,
    QueueType, Signal, Status, VendorFormat,
};

use crate::events::{Events, say};
use crate::gpu::Gpu;
use crate::pm4::Machine;
use crate::queue::{Queue, is_zero};
use crate::rest::Rest;
use crate::{signal, wake};

/// How long to look for the next packet before resting.
const SPIN: Duration = Duration::from_micros(100);

/// Why a packet ends its queue.
pub(crate) struct Failure {
    pub(crate) status: Status,
    pub(crate) text: String,
    /// The address of a memory fault, and whether it was a write.
    pub(crate) fault: Option<(u64, bool)>,
}

impl Failure {
    pub(crate) fn new(status: Status, text: impl Into<String>) -> Self {
        Self { status, text: text.into(), fault: None }
    }
}

/// Serves a queue until it is stopped or fails.
pub(crate) fn serve(queue: &Queue, mut rest: Rest, events: &Events, clock: impl Fn() -> u64) {
    let Some(gpu) = &queue.gpu else { return };
    rest.begin();
    let mut next = 0;
    while let Some(header) = wait(queue, &mut rest, next) {
        if let Err(failure) = process(queue, gpu, next, header, &clock) {
            // A kernel that was stopped because its queue ends is no failure.
            if !queue.stop.load(Ordering::SeqCst) {
                fail(queue, gpu, events, &failure);
            }
            return;
        }
        next += 1;
    }
}

/// Waits for a packet to become valid: its header; `None` if the queue ends.
fn wait(queue: &Queue, rest: &mut Rest, index: u64) -> Option<PacketHeader> {
    let head: &AtomicU32 = queue.head(index);
    let valid = || {
        let header = PacketHeader(head.load(Ordering::Acquire) as u16);
        (header.packet_type() != PacketType::INVALID).then_some(header)
    };
    let start = Instant::now();
    loop {
        if queue.stop.load(Ordering::Relaxed) {
            return None;
        }
        for _ in 0..64 {
            if let Some(header) = valid() {
                return Some(header);
            }
            spin_loop();
        }
        if start.elapsed() < SPIN {
            std::thread::yield_now();
            continue;
        }
        rest.take(queue, index, start, || valid().is_some() || queue.stop.load(Ordering::SeqCst));
    }
}

/// Does what a packet says, gives its place back and completes its signal.
fn process(
    queue: &Queue,
    gpu: &Gpu,
    index: u64,
    header: PacketHeader,
    clock: &impl Fn() -> u64,
) -> Result<(), Failure> {
    let address = queue.packet(index);
    let start = clock();
    let done = match header.packet_type() {
        PacketType::KERNEL_DISPATCH => {
            // SAFETY: the packet is valid, so its writer has left it to us.
            let packet = unsafe { address.cast::<KernelDispatchPacket>().read() };
            run(queue, gpu, index, &packet)?;
            packet.completion_signal
        }
        kind @ (PacketType::BARRIER_AND | PacketType::BARRIER_OR) => {
            // SAFETY: the same.
            let packet = unsafe { address.cast::<BarrierPacket>().read() };
            let any = kind == PacketType::BARRIER_OR;
            let real = || packet.dep_signal.iter().copied().filter(|signal| !signal.is_null());
            let ready = || real().next().is_none() || if any { real().any(is_zero) } else { real().all(is_zero) };
            until(queue, ready)?;
            packet.completion_signal
        }
        PacketType::VENDOR_SPECIFIC => vendor(queue, gpu, index, clock)?,
        kind => {
            let text = format!("packet {index} is a {kind}, which a GPU does not take");
            return Err(Failure::new(Status::ERROR_INVALID_PACKET_FORMAT, text));
        }
    };
    fence(Ordering::SeqCst);
    if let Some(signal) = signal::of(done).filter(|_| queue.timed.load(Ordering::Relaxed)) {
        signal.start_ts.store(start, Ordering::Relaxed);
        signal.end_ts.store(clock(), Ordering::Relaxed);
    }
    // The place is free before anyone learns of the completion.
    queue.head(index).store(PacketType::INVALID.0.into(), Ordering::Release);
    queue.amd().read_dispatch_id.store(index + 1, Ordering::Release);
    signal::complete(done);
    Ok(())
}

/// A packet of AMD's own.
fn vendor(queue: &Queue, gpu: &Gpu, index: u64, clock: &impl Fn() -> u64) -> Result<Signal, Failure> {
    // SAFETY: the packet is valid, so its writer has left it to us.
    let packet = unsafe { queue.packet(index).cast::<BarrierValuePacket>().read() };
    match packet.format {
        VendorFormat::BARRIER_VALUE => {
            until(queue, || packet.cond.holds(signal::load(packet.signal) & packet.mask, packet.value))?;
            Ok(packet.completion_signal)
        }
        VendorFormat::PM4_IB => {
            // SAFETY: the same.
            let packet = unsafe { queue.packet(index).cast::<Pm4IbPacket>().read() };
            let until = |ready: &dyn Fn() -> bool| until(queue, ready);
            let machine = Machine { memory: gpu.emulator.memory(), clock, until: &until };
            machine.jump(&packet.ib_jump_command)?;
            Ok(packet.completion_signal)
        }
        other => {
            let text = format!("packet {index} is one of AMD's of format {}, which is not emulated", other.0);
            Err(Failure::new(Status::ERROR_INVALID_PACKET_FORMAT, text))
        }
    }
}

/// Waits for signals, or for the end of the queue.
fn until(queue: &Queue, ready: impl Fn() -> bool) -> Result<(), Failure> {
    let stopped = || queue.stop.load(Ordering::Relaxed);
    match wake::wait_until(None, false, || if ready() { Some(true) } else { stopped().then_some(false) }) {
        Some(true) => Ok(()),
        _ => Err(Failure::new(Status::ERROR, "stopped")),
    }
}

/// Runs a kernel to its end.
fn run(queue: &Queue, gpu: &Gpu, index: u64, packet: &KernelDispatchPacket) -> Result<(), Failure> {
    let dimensions = usize::from(packet.setup & 3);
    if dimensions == 0 {
        let text = format!("packet {index} dispatches a grid without dimensions");
        return Err(Failure::new(Status::ERROR_INVALID_PACKET_FORMAT, text));
    }
    let Some(kernel) = gpu.kernel(packet.kernel_object) else {
        let text = format!("packet {index}: {:#x} is no kernel that is loaded", packet.kernel_object);
        return Err(Failure::new(Status::ERROR_INVALID_CODE_OBJECT, text));
    };
    let used = |values: [u32; 3]| std::array::from_fn(|axis| if axis < dimensions { values[axis] } else { 1 });
    let block = [packet.workgroup_size_x, packet.workgroup_size_y, packet.workgroup_size_z].map(u32::from);
    let dispatch = Dispatch {
        grid: used([packet.grid_size_x, packet.grid_size_y, packet.grid_size_z]),
        block: used(block),
        kernarg: packet.kernarg_address,
        packet: queue.packet(index).addr() as u64,
        queue: queue.address(),
        id: index,
        lds: packet.group_segment_size,
        private: packet.private_segment_size,
        cooperative: queue.amd().hsa_queue.queue_type == QueueType::COOPERATIVE,
    };
    fence(Ordering::SeqCst);
    match gpu.emulator.run(&kernel, &dispatch, &queue.stop) {
        Ok(_) => Ok(()),
        Err(Error::Dispatch(DispatchError::Fault(report))) => Err(faulted(&report)),
        Err(error) => {
            let status = match &error {
                Error::Dispatch(_) => Status::ERROR_OUT_OF_RESOURCES,
                _ if packet.group_segment_size > roci_emu::MAX_LDS => Status::ERROR_INVALID_ALLOCATION,
                _ if dispatch.block.iter().map(|size| u64::from(*size)).product::<u64>() == 0 => {
                    Status::ERROR_INVALID_ARGUMENT
                }
                _ if block.iter().map(|size| u64::from(*size)).product::<u64>()
                    > u64::from(roci_emu::MAX_WORKGROUP) =>
                {
                    Status::ERROR_INCOMPATIBLE_ARGUMENTS
                }
                _ => Status::ERROR_OUT_OF_RESOURCES,
            };
            Err(Failure::new(status, format!("kernel {}: {error}", kernel.name())))
        }
    }
}

/// What the hardware would report of a fault.
fn faulted(report: &FaultReport) -> Failure {
    let (status, fault) = match report.fault {
        Fault::Memory { address, write, .. } => (Status::ERROR_MEMORY_FAULT, Some((address, write))),
        Fault::OutsideCode { address } => (Status::ERROR_MEMORY_FAULT, Some((address, false))),
        Fault::Scratch { .. } | Fault::Misaligned { .. } => (Status::ERROR_MEMORY_APERTURE_VIOLATION, None),
        Fault::Trap { .. } | Fault::Check(_) => (Status::ERROR_EXCEPTION, None),
        _ => (Status::ERROR_ILLEGAL_INSTRUCTION, None),
    };
    Failure { status, text: report.to_string(), fault }
}

/// Tells of a failure. As with a real GPU, a process that no one asked to be told for ends.
fn fail(queue: &Queue, gpu: &Gpu, events: &Events, failure: &Failure) {
    events.note(gpu.agent, &failure.text);
    let known = failure.fault.is_some_and(|(address, write)| {
        // Only what may be read is there; a write to it is what was refused.
        let there = write && gpu.emulator.memory().allows(address..address.saturating_add(1), false);
        let reason = if there { MemoryFaultReason::READ_ONLY } else { MemoryFaultReason::PAGE_NOT_PRESENT };
        events.memory_fault(gpu.agent, address, reason)
    });
    match queue.on_error.function {
        Some(function) => {
            let place = std::ptr::with_exposed_provenance_mut(queue.address() as usize);
            // SAFETY: the client gave function and data to be called so.
            unsafe { function(failure.status, place, queue.on_error.data) };
        }
        None if !known => {
            say("no one is told of errors of this queue: the process ends");
            std::process::abort();
        }
        None => {}
    }
}
