//! Memory and signals that are shared between processes.

use roci_hsa::abi::*;

use super::arguments::{agents, host_address, put};
use super::with_runtime;
use crate::signal::is_live;

pub(crate) unsafe extern "C" fn hsa_amd_ipc_memory_create(
    ptr: *mut c_void,
    len: usize,
    handle: *mut IpcMemory,
) -> Status {
    with_runtime(|runtime| {
        if ptr.is_null() || handle.is_null() {
            return Err(Status::ERROR_INVALID_ARGUMENT);
        }
        let exported = runtime.memory.export(host_address(ptr), len as u64)?;
        // SAFETY: the client passes a pointer that is valid for this write.
        unsafe { put(handle, exported) }
    })
}

pub(crate) unsafe extern "C" fn hsa_amd_ipc_memory_attach(
    handle: *const IpcMemory,
    len: usize,
    num_agents: u32,
    mapping_agents: *const Agent,
    mapped_ptr: *mut *mut c_void,
) -> Status {
    with_runtime(|runtime| {
        if handle.is_null() || mapped_ptr.is_null() || num_agents > 0 && mapping_agents.is_null() {
            return Err(Status::ERROR_INVALID_ARGUMENT);
        }
        // SAFETY: the client passes a pointer to that many elements.
        let agents = unsafe { agents(runtime, mapping_agents, num_agents as usize) }?;
        // SAFETY: not null, so the client passes a pointer to a handle.
        let handle = unsafe { handle.read_unaligned() };
        let imported = runtime.memory.import(&handle, len as u64, agents)?;
        // SAFETY: the client passes a pointer that is valid for this write.
        unsafe { put(mapped_ptr, imported) }
    })
}

pub(crate) unsafe extern "C" fn hsa_amd_ipc_memory_detach(mapped_ptr: *mut c_void) -> Status {
    with_runtime(|runtime| {
        if mapped_ptr.is_null() {
            return Err(Status::ERROR_INVALID_ARGUMENT);
        }
        runtime.memory.detach(host_address(mapped_ptr))
    })
}

/// Only signals that were created with the IPC attribute can be exported.
pub(crate) unsafe extern "C" fn hsa_amd_ipc_signal_create(signal: Signal, handle: *mut IpcSignal) -> Status {
    with_runtime(|runtime| {
        if handle.is_null() {
            return Err(Status::ERROR_INVALID_ARGUMENT);
        }
        if !is_live(signal) {
            return Err(Status::ERROR_INVALID_SIGNAL);
        }
        let exported = runtime.signals.export(signal)?;
        // SAFETY: the client passes a pointer that is valid for this write.
        unsafe { put(handle, exported) }
    })
}

pub(crate) unsafe extern "C" fn hsa_amd_ipc_signal_attach(handle: *const IpcSignal, signal: *mut Signal) -> Status {
    with_runtime(|runtime| {
        if handle.is_null() || signal.is_null() {
            return Err(Status::ERROR_INVALID_ARGUMENT);
        }
        // SAFETY: not null, so the client passes a pointer to a handle.
        let handle = unsafe { handle.read_unaligned() };
        let imported = runtime.signals.import(&handle)?;
        // SAFETY: the client passes a pointer that is valid for this write.
        unsafe { put(signal, imported) }
    })
}
