//! Memory and signals for other processes.

use roci_hsa::abi::*;

use super::memory::{address, agents};
use super::{put, with};

pub(crate) unsafe extern "C" fn hsa_amd_ipc_memory_create(
    ptr: *mut c_void,
    len: usize,
    handle: *mut IpcMemory,
) -> Status {
    with(|runtime| {
        if ptr.is_null() || handle.is_null() {
            return Err(Status::ERROR_INVALID_ARGUMENT);
        }
        let made = runtime.memory.export(address(ptr), len as u64)?;
        // SAFETY: the specification says so.
        unsafe { put(handle, made) }
    })
}

pub(crate) unsafe extern "C" fn hsa_amd_ipc_memory_attach(
    handle: *const IpcMemory,
    len: usize,
    num_agents: u32,
    mapping_agents: *const Agent,
    mapped_ptr: *mut *mut c_void,
) -> Status {
    with(|runtime| {
        if handle.is_null() || mapped_ptr.is_null() || num_agents > 0 && mapping_agents.is_null() {
            return Err(Status::ERROR_INVALID_ARGUMENT);
        }
        // SAFETY: the specification says so.
        let agents = unsafe { agents(runtime, mapping_agents, num_agents as usize) }?;
        // SAFETY: it is not null, so it is the client's handle.
        let handle = unsafe { handle.read_unaligned() };
        let made = runtime.memory.import(&handle, len as u64, agents)?;
        // SAFETY: the specification says so.
        unsafe { put(mapped_ptr, made) }
    })
}

pub(crate) unsafe extern "C" fn hsa_amd_ipc_memory_detach(mapped_ptr: *mut c_void) -> Status {
    with(|runtime| {
        if mapped_ptr.is_null() {
            return Err(Status::ERROR_INVALID_ARGUMENT);
        }
        runtime.memory.detach(address(mapped_ptr))
    })
}

/// Only signals that were made for it can be shared.
pub(crate) unsafe extern "C" fn hsa_amd_ipc_signal_create(signal: Signal, handle: *mut IpcSignal) -> Status {
    with(|runtime| {
        if handle.is_null() {
            return Err(Status::ERROR_INVALID_ARGUMENT);
        }
        if !crate::signal::is_live(signal) {
            return Err(Status::ERROR_INVALID_SIGNAL);
        }
        let made = runtime.signals.export(signal)?;
        // SAFETY: the specification says so.
        unsafe { put(handle, made) }
    })
}

pub(crate) unsafe extern "C" fn hsa_amd_ipc_signal_attach(handle: *const IpcSignal, signal: *mut Signal) -> Status {
    with(|runtime| {
        if handle.is_null() || signal.is_null() {
            return Err(Status::ERROR_INVALID_ARGUMENT);
        }
        // SAFETY: it is not null, so it is the client's handle.
        let handle = unsafe { handle.read_unaligned() };
        let made = runtime.signals.import(&runtime.memory, &handle)?;
        // SAFETY: the specification says so.
        unsafe { put(signal, made) }
    })
}
