//! Latency without the driver, as a lower bound: a hand-written packet, and a wait for its signal.

#![expect(unsafe_code, reason = "packets are written to memory that the GPU reads")]

use std::error::Error;
use std::sync::atomic::{AtomicU32, Ordering};

use roci_hal::{Code, ExecutableSource};
use roci_hsa::abi::{
    DeviceType, FenceScope, KernelDispatchPacket, MemoryPoolFlag, PACKET_SIZE, PacketHeader, PacketType,
    SignalAttribute, SignalCondition, WaitState,
};
use roci_hsa::runtime::{QueueOptions, Runtime, Source};

/// Times an empty kernel on its own queue.
pub(super) fn measure(source: &ExecutableSource) -> Result<(), Box<dyn Error>> {
    let runtime = Runtime::open(Source::Table(roci_emu_hsa::table()))?;
    let agents = runtime.agents()?;
    let find = |kind| agents.iter().find(|agent| agent.device_type().ok() == Some(kind)).ok_or("no such agent");
    let (cpu, gpu) = (find(DeviceType::CPU)?, find(DeviceType::GPU)?);
    let Code::AmdGcn(code) = &source.code else { return Err("no code object".into()) };
    let executable = runtime.load(code.clone().into(), &[gpu])?;
    let kernel = executable.kernel(&format!("{}.kd", source.entry_points[0].name), gpu)?;
    let arguments = cpu.pools()?[0].allocate(4096, MemoryPoolFlag::STANDARD_FLAG)?;
    arguments.allow_access(&[gpu])?;
    let queue = gpu.create_queue(&QueueOptions { size: 64, ..QueueOptions::default() }, |_| {})?;
    let done = runtime.create_signal(0, &[], SignalAttribute::EMPTY)?;
    let packet = KernelDispatchPacket {
        setup: 1,
        workgroup_size_x: 64,
        workgroup_size_y: 1,
        workgroup_size_z: 1,
        grid_size_x: 64,
        grid_size_y: 1,
        grid_size_z: 1,
        private_segment_size: kernel.private_size,
        group_segment_size: kernel.group_size,
        kernel_object: kernel.object,
        kernarg_address: arguments.address().as_ptr().expose_provenance() as u64,
        completion_signal: done.handle(),
        ..KernelDispatchPacket::default()
    };
    let submit = || {
        done.store_relaxed(1);
        let index = queue.write_index().fetch_add(1, Ordering::Relaxed);
        let slot = queue.ring().as_ptr().wrapping_add((index % u64::from(queue.size())) as usize * PACKET_SIZE);
        let (from, to) = ((&raw const packet).cast::<u8>().wrapping_add(4), slot.wrapping_add(4));
        // SAFETY: all packets before this one have completed, so its ring slot is free.
        unsafe { std::ptr::copy_nonoverlapping(from, to, PACKET_SIZE - 4) };
        // SAFETY: the first word of a ring slot is only accessed as an atomic.
        let head = unsafe { &*slot.cast::<AtomicU32>() };
        let header = PacketHeader::new(PacketType::KERNEL_DISPATCH, true, FenceScope::SYSTEM, FenceScope::SYSTEM);
        head.store(header.with_next(1), Ordering::Release);
        queue.doorbell().store(index, Ordering::Release);
    };
    super::measure_after_idle("packet", || {
        submit();
        done.wait(SignalCondition::EQ, 0, u64::MAX, WaitState::BLOCKED);
        Ok(())
    })
}
