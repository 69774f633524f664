//! Memory by regions, filling it, and what clients attach to it.

use roci_hsa::abi::*;

use super::memory::{address, host};
use super::{put, with};
use crate::memory::Notifier;
use crate::runtime::{CPU, Runtime};

/// Memory of the host that is allocated so belongs to all.
pub(crate) unsafe extern "C" fn hsa_memory_allocate(region: Region, size: usize, ptr: *mut *mut c_void) -> Status {
    with(|runtime| {
        if size == 0 || ptr.is_null() {
            return Err(Status::ERROR_INVALID_ARGUMENT);
        }
        let pool = runtime.pool(MemoryPool { handle: region.handle }).map_err(|_| Status::ERROR_INVALID_REGION)?;
        let made = runtime.memory.allocate(pool, size)?;
        if pool.agent() == CPU {
            let all: Vec<Agent> = runtime.gpus().iter().map(|gpu| gpu.agent).collect();
            runtime.memory.grant(made, &all)?;
        }
        // SAFETY: the specification says so.
        unsafe { put(ptr, made) }
    })
}

pub(crate) unsafe extern "C" fn hsa_memory_free(ptr: *mut c_void) -> Status {
    with(|runtime| if ptr.is_null() { Ok(()) } else { free(runtime, address(ptr)) })
}

/// Frees an allocation, and tells those who want to know.
pub(super) fn free(runtime: &Runtime, address: u64) -> Result<(), Status> {
    runtime.memory.free(address, |notifiers| {
        for one in notifiers {
            let place = std::ptr::with_exposed_provenance_mut(one.address as usize);
            // SAFETY: the client gave both to be called so.
            unsafe { (one.function)(place, one.data) };
        }
    })
}

/// There is one memory for all: nothing is moved.
pub(crate) unsafe extern "C" fn hsa_memory_assign_agent(
    ptr: *mut c_void,
    agent: Agent,
    access: AccessPermission,
) -> Status {
    with(|runtime| {
        if ptr.is_null() || access.name().is_none() || access == AccessPermission::NONE {
            return Err(Status::ERROR_INVALID_ARGUMENT);
        }
        if runtime.knows(agent) { Ok(()) } else { Err(Status::ERROR_INVALID_AGENT) }
    })
}

/// Memory stays in its pool, as with the real runtime.
pub(crate) unsafe extern "C" fn hsa_amd_memory_pool_can_migrate(
    src_memory_pool: MemoryPool,
    dst_memory_pool: MemoryPool,
    result: *mut bool,
) -> Status {
    with(|runtime| {
        if result.is_null() {
            return Err(Status::ERROR_INVALID_ARGUMENT);
        }
        runtime.pool(src_memory_pool)?;
        runtime.pool(dst_memory_pool)?;
        // SAFETY: the specification says so.
        unsafe { put(result, false) }?;
        Err(Status::ERROR_OUT_OF_RESOURCES)
    })
}

pub(crate) unsafe extern "C" fn hsa_amd_memory_migrate(
    ptr: *const c_void,
    memory_pool: MemoryPool,
    flags: u32,
) -> Status {
    with(|runtime| {
        if ptr.is_null() || flags != 0 {
            return Err(Status::ERROR_INVALID_ARGUMENT);
        }
        runtime.pool(memory_pool)?;
        Err(Status::ERROR_OUT_OF_RESOURCES)
    })
}

pub(crate) unsafe extern "C" fn hsa_amd_memory_fill(ptr: *mut c_void, value: u32, count: usize) -> Status {
    with(|runtime| {
        let words = host(ptr).cast::<u32>();
        if ptr.is_null() || !words.is_aligned() {
            return Err(Status::ERROR_INVALID_ARGUMENT);
        }
        if count == 0 {
            return Ok(());
        }
        let bytes = (count as u64).checked_mul(4).ok_or(Status::ERROR_INVALID_ALLOCATION)?;
        if !runtime.holds(address(ptr), bytes) {
            return Err(Status::ERROR_INVALID_ALLOCATION);
        }
        for index in 0..count {
            // SAFETY: inside memory that is allocated, locked or mapped; the client says that it may be written.
            unsafe { words.wrapping_add(index).write_volatile(value) };
        }
        Ok(())
    })
}

pub(crate) unsafe extern "C" fn hsa_amd_pointer_info_set_userdata(ptr: *const c_void, userdata: *mut c_void) -> Status {
    with(|runtime| {
        if ptr.is_null() {
            return Err(Status::ERROR_INVALID_ARGUMENT);
        }
        runtime.memory.set_user_data(address(ptr), userdata.expose_provenance() as u64)
    })
}

pub(crate) unsafe extern "C" fn hsa_amd_register_deallocation_callback(
    ptr: *mut c_void,
    callback: Option<DeallocationCallback>,
    user_data: *mut c_void,
) -> Status {
    with(|runtime| {
        let function = callback.filter(|_| !ptr.is_null()).ok_or(Status::ERROR_INVALID_ARGUMENT)?;
        runtime.memory.notify(Notifier { address: address(ptr), function, data: user_data })
    })
}

pub(crate) unsafe extern "C" fn hsa_amd_deregister_deallocation_callback(
    ptr: *mut c_void,
    callback: Option<DeallocationCallback>,
) -> Status {
    with(|runtime| {
        let function = callback.filter(|_| !ptr.is_null()).ok_or(Status::ERROR_INVALID_ARGUMENT)?;
        runtime.memory.forget(address(ptr), function)
    })
}
