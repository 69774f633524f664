//! The packet processor: executes the packets of a queue in order.

#![expect(unsafe_code, reason = "clients and kernels write packets to memory")]

use std::hint::spin_loop;
use std::sync::atomic::{AtomicU32, Ordering, fence};
use std::time::{Duration, Instant};

use roci_emu::{Dispatch, DispatchError, Error, Fault, FaultReport};
use roci_hsa::abi::{
    BarrierPacket, BarrierValuePacket, KernelDispatchPacket, MemoryFaultReason, PacketHeader, PacketType, Pm4IbPacket,
    QueueType, Signal, Status, VendorFormat,
};

use crate::events::{Events, log};
use crate::gpu::Gpu;
use crate::idle::Idle;
use crate::packet_error::PacketError;
use crate::pm4::Pm4;
use crate::queue::Queue;
use crate::signal::{self, is_zero};
use crate::wake;

/// How long to spin for the next packet before sleeping.
const SPIN: Duration = Duration::from_micros(100);

/// Serves a queue until it is stopped or a packet fails.
pub(crate) fn serve(queue: &Queue, mut idle: Idle, events: &Events, clock: impl Fn() -> u64) {
    let Some(gpu) = &queue.gpu else { return };
    idle.prepare_thread();
    let mut next = 0;
    while let Some(header) = next_header(queue, &mut idle, next) {
        if let Err(error) = process(queue, gpu, next, header, &clock) {
            // A kernel that was stopped with its queue has not failed.
            if !queue.stop.load(Ordering::SeqCst) {
                report(queue, gpu, events, &error);
            }
            return;
        }
        next += 1;
    }
}

/// Waits until a packet is valid and returns its header; `None` if the queue stops.
fn next_header(queue: &Queue, idle: &mut Idle, index: u64) -> Option<PacketHeader> {
    let word: &AtomicU32 = queue.header_word(index);
    let valid = || {
        let header = PacketHeader(word.load(Ordering::Acquire) as u16);
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
        idle.sleep(queue, index, start, || valid().is_some() || queue.stop.load(Ordering::SeqCst));
    }
}

/// Executes a packet, frees its slot and completes its signal.
fn process(
    queue: &Queue,
    gpu: &Gpu,
    index: u64,
    header: PacketHeader,
    clock: &impl Fn() -> u64,
) -> Result<(), PacketError> {
    let address = queue.packet(index);
    let start = clock();
    let completion = match header.packet_type() {
        PacketType::KERNEL_DISPATCH => {
            // SAFETY: a valid header passes the packet to the packet processor; clients no longer
            // write it.
            let packet = unsafe { address.cast::<KernelDispatchPacket>().read() };
            dispatch(queue, gpu, index, &packet)?;
            packet.completion_signal
        }
        kind @ (PacketType::BARRIER_AND | PacketType::BARRIER_OR) => {
            // SAFETY: as above.
            let packet = unsafe { address.cast::<BarrierPacket>().read() };
            let any = kind == PacketType::BARRIER_OR;
            let dependencies = || packet.dep_signal.iter().copied().filter(|signal| !signal.is_null());
            let ready = || {
                dependencies().next().is_none()
                    || if any { dependencies().any(is_zero) } else { dependencies().all(is_zero) }
            };
            wait_until(queue, ready)?;
            packet.completion_signal
        }
        PacketType::VENDOR_SPECIFIC => vendor(queue, gpu, index, clock)?,
        kind => {
            let message = format!("packet {index} has type {kind}, which GPU queues do not support");
            return Err(PacketError::new(Status::ERROR_INVALID_PACKET_FORMAT, message));
        }
    };
    fence(Ordering::SeqCst);
    if let Some(signal) = signal::memory(completion).filter(|_| queue.profiling.load(Ordering::Relaxed)) {
        signal.start_ts.store(start, Ordering::Relaxed);
        signal.end_ts.store(clock(), Ordering::Relaxed);
    }
    // The slot is free before the completion is visible.
    queue.header_word(index).store(PacketType::INVALID.0.into(), Ordering::Release);
    queue.amd().read_dispatch_id.store(index + 1, Ordering::Release);
    signal::complete(completion);
    Ok(())
}

/// Executes a vendor packet and returns its completion signal.
fn vendor(queue: &Queue, gpu: &Gpu, index: u64, clock: &impl Fn() -> u64) -> Result<Signal, PacketError> {
    // SAFETY: a valid header passes the packet to the packet processor; clients no longer write it.
    let packet = unsafe { queue.packet(index).cast::<BarrierValuePacket>().read() };
    match packet.format {
        VendorFormat::BARRIER_VALUE => {
            wait_until(queue, || packet.cond.holds(signal::load(packet.signal) & packet.mask, packet.value))?;
            Ok(packet.completion_signal)
        }
        VendorFormat::PM4_IB => {
            // SAFETY: as above.
            let packet = unsafe { queue.packet(index).cast::<Pm4IbPacket>().read() };
            let wait_until = |ready: &dyn Fn() -> bool| wait_until(queue, ready);
            let pm4 = Pm4 { memory: gpu.emulator.memory(), clock, wait_until: &wait_until };
            pm4.execute(&packet.ib_jump_command)?;
            Ok(packet.completion_signal)
        }
        other => {
            let message = format!("packet {index} is a vendor packet of format {}, which is not emulated", other.0);
            Err(PacketError::new(Status::ERROR_INVALID_PACKET_FORMAT, message))
        }
    }
}

/// Waits until `ready` holds; an error if the queue stops before.
fn wait_until(queue: &Queue, ready: impl Fn() -> bool) -> Result<(), PacketError> {
    let stopped = || queue.stop.load(Ordering::Relaxed);
    match wake::wait_until(None, false, || if ready() { Some(true) } else { stopped().then_some(false) }) {
        Some(true) => Ok(()),
        _ => Err(PacketError::new(Status::ERROR, "stopped")),
    }
}

/// Runs a kernel to completion.
fn dispatch(queue: &Queue, gpu: &Gpu, index: u64, packet: &KernelDispatchPacket) -> Result<(), PacketError> {
    let dimensions = usize::from(packet.setup & 3);
    if dimensions == 0 {
        let message = format!("packet {index} dispatches a grid with 0 dimensions");
        return Err(PacketError::new(Status::ERROR_INVALID_PACKET_FORMAT, message));
    }
    let Some(kernel) = gpu.kernel(packet.kernel_object) else {
        let message = format!("packet {index}: no kernel is loaded at {:#x}", packet.kernel_object);
        return Err(PacketError::new(Status::ERROR_INVALID_CODE_OBJECT, message));
    };
    let in_use = |values: [u32; 3]| std::array::from_fn(|axis| if axis < dimensions { values[axis] } else { 1 });
    let block = [packet.workgroup_size_x, packet.workgroup_size_y, packet.workgroup_size_z].map(u32::from);
    let dispatch = Dispatch {
        grid: in_use([packet.grid_size_x, packet.grid_size_y, packet.grid_size_z]),
        block: in_use(block),
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
        Err(Error::Dispatch(DispatchError::Fault(report))) => Err(fault_error(&report)),
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
            Err(PacketError::new(status, format!("kernel {}: {error}", kernel.name())))
        }
    }
}

/// Maps a fault to the status that a real GPU reports for it.
fn fault_error(report: &FaultReport) -> PacketError {
    let (status, fault) = match report.fault {
        Fault::Memory { address, write, .. } => (Status::ERROR_MEMORY_FAULT, Some((address, write))),
        Fault::OutsideCode { address } => (Status::ERROR_MEMORY_FAULT, Some((address, false))),
        Fault::Scratch { .. } | Fault::Misaligned { .. } => (Status::ERROR_MEMORY_APERTURE_VIOLATION, None),
        Fault::Trap { .. } | Fault::Check(_) => (Status::ERROR_EXCEPTION, None),
        _ => (Status::ERROR_ILLEGAL_INSTRUCTION, None),
    };
    PacketError { status, message: report.to_string(), fault }
}

/// Reports an error to the system event handlers and the error callback of the queue. As with a
/// real GPU, an error that neither handles aborts the process.
fn report(queue: &Queue, gpu: &Gpu, events: &Events, error: &PacketError) {
    events.record(gpu.agent, &error.message);
    let handled = error.fault.is_some_and(|(address, write)| {
        // A failed write to readable memory is a write to read-only memory.
        let readable = write && gpu.emulator.memory().allows(address..address.saturating_add(1), false);
        let reason = if readable { MemoryFaultReason::READ_ONLY } else { MemoryFaultReason::PAGE_NOT_PRESENT };
        events.memory_fault(gpu.agent, address, reason)
    });
    match queue.on_error.function {
        Some(function) => {
            let pointer = std::ptr::with_exposed_provenance_mut(queue.address() as usize);
            // SAFETY: the client registered the function to be called with this data.
            unsafe { function(error.status, pointer, queue.on_error.data) };
        }
        None if !handled => {
            log("the queue has no error callback: aborting the process");
            std::process::abort();
        }
        None => {}
    }
}
