//! Virtual memory management and attributes of shared virtual memory (SVM).

use std::os::fd::{BorrowedFd, IntoRawFd};

use roci_hsa::abi::*;

use super::arguments::{array, host_address, put};
use super::memory::submit_copy;
use super::with_runtime;
use crate::agent::CPU;

pub(crate) unsafe extern "C" fn hsa_amd_vmem_address_reserve_align(
    va: *mut *mut c_void,
    size: usize,
    _address: u64,
    alignment: u64,
    _flags: u64,
) -> Status {
    with_runtime(|runtime| {
        let alignment = usize::try_from(alignment).map_err(|_| Status::ERROR_INVALID_ARGUMENT)?;
        if va.is_null() {
            return Err(Status::ERROR_INVALID_ARGUMENT);
        }
        let start = runtime.virtual_memory.reserve(size, alignment)?;
        // The requested address is a hint, which is ignored.
        // SAFETY: the client passes a pointer that is valid for this write.
        unsafe { put(va, start) }
    })
}

pub(crate) unsafe extern "C" fn hsa_amd_vmem_address_reserve(
    va: *mut *mut c_void,
    size: usize,
    address: u64,
    flags: u64,
) -> Status {
    // SAFETY: all arguments are passed on unchanged.
    unsafe { hsa_amd_vmem_address_reserve_align(va, size, address, 0, flags) }
}

pub(crate) unsafe extern "C" fn hsa_amd_vmem_address_free(va: *mut c_void, size: usize) -> Status {
    with_runtime(|runtime| {
        if va.is_null() || size == 0 {
            return Err(Status::ERROR_INVALID_ARGUMENT);
        }
        runtime.virtual_memory.free(host_address(va), size)
    })
}

pub(crate) unsafe extern "C" fn hsa_amd_vmem_handle_create(
    pool: MemoryPool,
    size: usize,
    kind: MemoryType,
    flags: u64,
    memory_handle: *mut VmemAllocHandle,
) -> Status {
    with_runtime(|runtime| {
        let pool = runtime.pool(pool).map_err(|_| Status::ERROR_INVALID_ARGUMENT)?;
        if flags != 0 || kind.name().is_none() || memory_handle.is_null() {
            return Err(Status::ERROR_INVALID_ARGUMENT);
        }
        let handle = runtime.virtual_memory.create(pool, kind, runtime.gpu(pool.agent()), size)?;
        // SAFETY: the client passes a pointer that is valid for this write.
        unsafe { put(memory_handle, VmemAllocHandle { handle }) }
    })
}

pub(crate) unsafe extern "C" fn hsa_amd_vmem_handle_release(memory_handle: VmemAllocHandle) -> Status {
    with_runtime(|runtime| runtime.virtual_memory.release(memory_handle.handle))
}

pub(crate) unsafe extern "C" fn hsa_amd_vmem_map(
    va: *mut c_void,
    size: usize,
    in_offset: usize,
    memory_handle: VmemAllocHandle,
    _flags: u64,
) -> Status {
    with_runtime(|runtime| runtime.virtual_memory.map(host_address(va), size, in_offset, memory_handle.handle))
}

pub(crate) unsafe extern "C" fn hsa_amd_vmem_unmap(va: *mut c_void, size: usize) -> Status {
    with_runtime(|runtime| runtime.virtual_memory.unmap(host_address(va), size))
}

pub(crate) unsafe extern "C" fn hsa_amd_vmem_set_access(
    va: *mut c_void,
    _size: usize,
    desc: *const MemoryAccessDesc,
    desc_cnt: usize,
) -> Status {
    with_runtime(|runtime| {
        // SAFETY: the client passes a pointer to that many elements.
        let requested = unsafe { array(desc, desc_cnt) }?;
        if requested.iter().any(|one| !runtime.has_agent(one.agent_handle)) {
            return Err(Status::ERROR_INVALID_AGENT);
        }
        let requested: Vec<_> = requested.iter().map(|one| (one.agent_handle, one.permissions)).collect();
        runtime.virtual_memory.set_access(host_address(va), &runtime.gpus(), &requested)
    })
}

pub(crate) unsafe extern "C" fn hsa_amd_vmem_get_access(
    va: *mut c_void,
    perms: *mut AccessPermission,
    agent_handle: Agent,
) -> Status {
    with_runtime(|runtime| {
        if va.is_null() || perms.is_null() {
            return Err(Status::ERROR_INVALID_ARGUMENT);
        }
        if !runtime.has_agent(agent_handle) {
            return Err(Status::ERROR_INVALID_AGENT);
        }
        let found = runtime.virtual_memory.access(host_address(va), agent_handle)?;
        // SAFETY: the client passes a pointer that is valid for this write.
        unsafe { put(perms, found) }
    })
}

pub(crate) unsafe extern "C" fn hsa_amd_vmem_retain_alloc_handle(
    memory_handle: *mut VmemAllocHandle,
    addr: *mut c_void,
) -> Status {
    with_runtime(|runtime| {
        if memory_handle.is_null() || addr.is_null() {
            return Err(Status::ERROR_INVALID_ARGUMENT);
        }
        let handle = runtime.virtual_memory.retain(host_address(addr))?;
        // SAFETY: the client passes a pointer that is valid for this write.
        unsafe { put(memory_handle, VmemAllocHandle { handle }) }
    })
}

pub(crate) unsafe extern "C" fn hsa_amd_vmem_get_alloc_properties_from_handle(
    memory_handle: VmemAllocHandle,
    pool: *mut MemoryPool,
    kind: *mut MemoryType,
) -> Status {
    with_runtime(|runtime| {
        if pool.is_null() || kind.is_null() {
            return Err(Status::ERROR_INVALID_ARGUMENT);
        }
        let (memory_pool, memory_type) = runtime.virtual_memory.properties(memory_handle.handle)?;
        // SAFETY: the client passes a pointer that is valid for this write.
        unsafe { put(pool, memory_pool.handle()) }?;
        // SAFETY: the client passes a pointer that is valid for this write.
        unsafe { put(kind, memory_type) }
    })
}

/// Exports the memfd behind the memory instead of a DMA-BUF. The client closes it.
pub(crate) unsafe extern "C" fn hsa_amd_vmem_export_shareable_handle(
    dmabuf_fd: *mut c_int,
    handle: VmemAllocHandle,
    flags: u64,
) -> Status {
    with_runtime(|runtime| {
        if dmabuf_fd.is_null() || flags != 0 {
            return Err(Status::ERROR_INVALID_ARGUMENT);
        }
        let file = runtime.virtual_memory.export(handle.handle)?;
        // SAFETY: the client passes a pointer that is valid for this write.
        unsafe { put(dmabuf_fd, file.into_raw_fd()) }
    })
}

pub(crate) unsafe extern "C" fn hsa_amd_vmem_import_shareable_handle(
    dmabuf_fd: c_int,
    handle: *mut VmemAllocHandle,
) -> Status {
    with_runtime(|runtime| {
        if handle.is_null() || dmabuf_fd < 0 {
            return Err(Status::ERROR_INVALID_ARGUMENT);
        }
        // SAFETY: the descriptor is not -1, and the client keeps it open during the call; a closed
        // descriptor fails at its first use.
        let imported = runtime.virtual_memory.import(unsafe { BorrowedFd::borrow_raw(dmabuf_fd) })?;
        // SAFETY: the client passes a pointer that is valid for this write.
        unsafe { put(handle, VmemAllocHandle { handle: imported }) }
    })
}

/// Locks host memory for agents that are to access it. The other attributes concern page migration
/// and are ignored.
pub(crate) unsafe extern "C" fn hsa_amd_svm_attributes_set(
    ptr: *mut c_void,
    size: usize,
    attribute_list: *mut SvmAttributePair,
    attribute_count: usize,
) -> Status {
    with_runtime(|runtime| {
        // SAFETY: the client passes a pointer to that many elements.
        let requested = unsafe { array(attribute_list, attribute_count) }?;
        for one in requested {
            let agent = Agent { handle: one.value };
            match one.attribute {
                SvmAttribute::AGENT_ACCESSIBLE | SvmAttribute::AGENT_ACCESSIBLE_IN_PLACE => {
                    if !runtime.has_agent(agent) {
                        return Err(Status::ERROR_INVALID_AGENT);
                    }
                    if agent != CPU {
                        runtime.memory.lock(host_address(ptr), size as u64, &[agent]).map(drop)?;
                    }
                }
                SvmAttribute::PREFETCH_LOCATION | SvmAttribute::ACCESS_QUERY => {
                    return Err(Status::ERROR_INVALID_ARGUMENT);
                }
                other if other.name().is_none() => return Err(Status::ERROR_INVALID_ARGUMENT),
                _ => {}
            }
        }
        Ok(())
    })
}

pub(crate) unsafe extern "C" fn hsa_amd_svm_attributes_get(
    ptr: *mut c_void,
    _size: usize,
    attribute_list: *mut SvmAttributePair,
    attribute_count: usize,
) -> Status {
    with_runtime(|runtime| {
        // SAFETY: the client passes a pointer to that many elements.
        let requested = unsafe { array(attribute_list, attribute_count) }?;
        for (index, one) in requested.iter().enumerate() {
            let mut result = *one;
            match one.attribute {
                SvmAttribute::GLOBAL_FLAG => result.value = u64::from(SvmModel::COARSE_GRAINED.0),
                SvmAttribute::PREFERRED_LOCATION | SvmAttribute::PREFETCH_LOCATION => result.value = CPU.handle,
                SvmAttribute::ACCESS_QUERY => {
                    let agent = Agent { handle: one.value };
                    let user =
                        runtime.memory.lookup(host_address(ptr), |_, allocation| allocation.users.contains(&agent));
                    let accessible = agent == CPU || user == Some(true);
                    result.attribute = if accessible {
                        SvmAttribute::AGENT_ACCESSIBLE_IN_PLACE
                    } else {
                        SvmAttribute::AGENT_NO_ACCESS
                    };
                }
                other if other.name().is_none() => return Err(Status::ERROR_INVALID_ARGUMENT),
                _ => result.value = 0,
            }
            // SAFETY: the client passes a mutable array of `attribute_count` elements.
            unsafe { attribute_list.wrapping_add(index).write(result) };
        }
        Ok(())
    })
}

/// Only handles the signals: all agents share one memory, so there is nothing to prefetch.
pub(crate) unsafe extern "C" fn hsa_amd_svm_prefetch_async(
    _ptr: *mut c_void,
    _size: usize,
    agent: Agent,
    num_dep_signals: u32,
    dep_signals: *const Signal,
    completion_signal: Signal,
) -> Status {
    with_runtime(|runtime| {
        if !runtime.has_agent(agent) {
            return Err(Status::ERROR_INVALID_AGENT);
        }
        // SAFETY: the client keeps the memory mapped until the completion, and passes that many
        // dependencies.
        unsafe { submit_copy(runtime, None, num_dep_signals, dep_signals, completion_signal) }
    })
}
