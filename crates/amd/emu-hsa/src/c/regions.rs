//! Allocation from regions, migration, fills, user data and deallocation callbacks.

use roci_hsa::abi::*;

use super::arguments::{host_address, host_pointer, put};
use super::with_runtime;
use crate::agent::CPU;
use crate::memory::Notifier;
use crate::runtime::Runtime;

/// All GPUs can access host memory that is allocated from a region.
pub(crate) unsafe extern "C" fn hsa_memory_allocate(region: Region, size: usize, ptr: *mut *mut c_void) -> Status {
    with_runtime(|runtime| {
        if size == 0 || ptr.is_null() {
            return Err(Status::ERROR_INVALID_ARGUMENT);
        }
        let pool = runtime.pool(MemoryPool { handle: region.handle }).map_err(|_| Status::ERROR_INVALID_REGION)?;
        let allocated = runtime.memory.allocate(pool, size)?;
        if pool.agent() == CPU {
            let all: Vec<Agent> = runtime.gpus().iter().map(|gpu| gpu.agent).collect();
            runtime.memory.allow_access(allocated, &all)?;
        }
        // SAFETY: the client passes a pointer that is valid for this write.
        unsafe { put(ptr, allocated) }
    })
}

pub(crate) unsafe extern "C" fn hsa_memory_free(ptr: *mut c_void) -> Status {
    with_runtime(|runtime| if ptr.is_null() { Ok(()) } else { free(runtime, host_address(ptr)) })
}

/// Frees an allocation and calls its deallocation callbacks.
pub(super) fn free(runtime: &Runtime, address: u64) -> Result<(), Status> {
    runtime.memory.free(address, |notifiers| {
        for one in notifiers {
            let pointer = std::ptr::with_exposed_provenance_mut(one.address as usize);
            // SAFETY: the client passes the callback to be called with this data.
            unsafe { (one.function)(pointer, one.data) };
        }
    })
}

/// Only checks its arguments: all agents share one memory.
pub(crate) unsafe extern "C" fn hsa_memory_assign_agent(
    ptr: *mut c_void,
    agent: Agent,
    access: AccessPermission,
) -> Status {
    with_runtime(|runtime| {
        if ptr.is_null() || access.name().is_none() || access == AccessPermission::NONE {
            return Err(Status::ERROR_INVALID_ARGUMENT);
        }
        if runtime.has_agent(agent) { Ok(()) } else { Err(Status::ERROR_INVALID_AGENT) }
    })
}

/// Memory cannot migrate, as in AMD's runtime.
pub(crate) unsafe extern "C" fn hsa_amd_memory_pool_can_migrate(
    src_memory_pool: MemoryPool,
    dst_memory_pool: MemoryPool,
    result: *mut bool,
) -> Status {
    with_runtime(|runtime| {
        if result.is_null() {
            return Err(Status::ERROR_INVALID_ARGUMENT);
        }
        runtime.pool(src_memory_pool)?;
        runtime.pool(dst_memory_pool)?;
        // SAFETY: the client passes a pointer that is valid for this write.
        unsafe { put(result, false) }?;
        Err(Status::ERROR_OUT_OF_RESOURCES)
    })
}

pub(crate) unsafe extern "C" fn hsa_amd_memory_migrate(
    ptr: *const c_void,
    memory_pool: MemoryPool,
    flags: u32,
) -> Status {
    with_runtime(|runtime| {
        if ptr.is_null() || flags != 0 {
            return Err(Status::ERROR_INVALID_ARGUMENT);
        }
        runtime.pool(memory_pool)?;
        Err(Status::ERROR_OUT_OF_RESOURCES)
    })
}

pub(crate) unsafe extern "C" fn hsa_amd_memory_fill(ptr: *mut c_void, value: u32, count: usize) -> Status {
    with_runtime(|runtime| {
        let words = host_pointer(ptr).cast::<u32>();
        if ptr.is_null() || !words.is_aligned() {
            return Err(Status::ERROR_INVALID_ARGUMENT);
        }
        if count == 0 {
            return Ok(());
        }
        let bytes = (count as u64).checked_mul(4).ok_or(Status::ERROR_INVALID_ALLOCATION)?;
        if !runtime.contains_range(host_address(ptr), bytes) {
            return Err(Status::ERROR_INVALID_ALLOCATION);
        }
        for index in 0..count {
            // SAFETY: `contains_range` found the range allocated, locked or mapped; the client
            // guarantees that it is writable.
            unsafe { words.wrapping_add(index).write_volatile(value) };
        }
        Ok(())
    })
}

pub(crate) unsafe extern "C" fn hsa_amd_pointer_info_set_userdata(ptr: *const c_void, userdata: *mut c_void) -> Status {
    with_runtime(|runtime| {
        if ptr.is_null() {
            return Err(Status::ERROR_INVALID_ARGUMENT);
        }
        runtime.memory.set_user_data(host_address(ptr), userdata.expose_provenance() as u64)
    })
}

pub(crate) unsafe extern "C" fn hsa_amd_register_deallocation_callback(
    ptr: *mut c_void,
    callback: Option<DeallocationCallback>,
    user_data: *mut c_void,
) -> Status {
    with_runtime(|runtime| {
        let function = callback.filter(|_| !ptr.is_null()).ok_or(Status::ERROR_INVALID_ARGUMENT)?;
        runtime.memory.add_notifier(Notifier { address: host_address(ptr), function, data: user_data })
    })
}

pub(crate) unsafe extern "C" fn hsa_amd_deregister_deallocation_callback(
    ptr: *mut c_void,
    callback: Option<DeallocationCallback>,
) -> Status {
    with_runtime(|runtime| {
        let function = callback.filter(|_| !ptr.is_null()).ok_or(Status::ERROR_INVALID_ARGUMENT)?;
        runtime.memory.remove_notifier(host_address(ptr), function)
    })
}
