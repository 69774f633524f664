//! Start and end times of dispatches and copies.

use std::sync::atomic::Ordering;

use roci_hsa::abi::*;

use super::arguments::put;
use super::with_runtime;
use crate::clock::SYSTEM_TICKS;
use crate::signal;

pub(crate) unsafe extern "C" fn hsa_amd_profiling_set_profiler_enabled(queue: *mut Queue, enable: c_int) -> Status {
    with_runtime(|runtime| {
        let queue = runtime.queues.get(queue.expose_provenance() as u64)?;
        queue.profiling.store(enable != 0, Ordering::Relaxed);
        Ok(())
    })
}

pub(crate) unsafe extern "C" fn hsa_amd_profiling_async_copy_enable(enable: bool) -> Status {
    with_runtime(|runtime| {
        runtime.copy_engine.profiling.store(enable, Ordering::Relaxed);
        Ok(())
    })
}

/// Start and end in system clock ticks; the signal holds them in GPU clock ticks.
fn times(signal: Signal) -> Result<[u64; 2], Status> {
    let memory = signal::memory(signal).ok_or(Status::ERROR_INVALID_SIGNAL)?;
    Ok([&memory.start_ts, &memory.end_ts].map(|time| time.load(Ordering::Acquire) * SYSTEM_TICKS))
}

pub(crate) unsafe extern "C" fn hsa_amd_profiling_get_dispatch_time(
    agent: Agent,
    signal: Signal,
    time: *mut ProfilingDispatchTime,
) -> Status {
    with_runtime(|runtime| {
        runtime.gpu(agent).ok_or(Status::ERROR_INVALID_AGENT)?;
        let [start, end] = times(signal)?;
        // SAFETY: the client passes a pointer that is valid for this write.
        unsafe { put(time, ProfilingDispatchTime { start, end }) }
    })
}

pub(crate) unsafe extern "C" fn hsa_amd_profiling_get_async_copy_time(
    signal: Signal,
    time: *mut AsyncCopyTime,
) -> Status {
    with_runtime(|_| {
        let [start, end] = times(signal)?;
        // SAFETY: the client passes a pointer that is valid for this write.
        unsafe { put(time, AsyncCopyTime { start, end }) }
    })
}

pub(crate) unsafe extern "C" fn hsa_amd_profiling_convert_tick_to_system_domain(
    agent: Agent,
    agent_tick: u64,
    system_tick: *mut u64,
) -> Status {
    with_runtime(|runtime| {
        if system_tick.is_null() {
            return Err(Status::ERROR_INVALID_ARGUMENT);
        }
        runtime.gpu(agent).ok_or(Status::ERROR_INVALID_AGENT)?;
        // SAFETY: the client passes a pointer that is valid for this write.
        unsafe { put(system_tick, agent_tick.wrapping_mul(SYSTEM_TICKS)) }
    })
}
