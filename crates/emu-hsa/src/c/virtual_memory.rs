//! Reserved addresses, and attributes of shared virtual memory.

use std::os::fd::{BorrowedFd, IntoRawFd};

use roci_hsa::abi::*;

use super::memory::{address, copy};
use super::{array, put, with};
use crate::runtime::CPU;

pub(crate) unsafe extern "C" fn hsa_amd_vmem_address_reserve_align(
    va: *mut *mut c_void,
    size: usize,
    _address: u64,
    alignment: u64,
    _flags: u64,
) -> Status {
    with(|runtime| {
        let alignment = usize::try_from(alignment).map_err(|_| Status::ERROR_INVALID_ARGUMENT)?;
        if va.is_null() {
            return Err(Status::ERROR_INVALID_ARGUMENT);
        }
        let start = runtime.virtual_memory.reserve(size, alignment)?;
        // SAFETY: the specification says so. The wanted address is a hint, which nothing follows here.
        unsafe { put(va, start) }
    })
}

pub(crate) unsafe extern "C" fn hsa_amd_vmem_address_reserve(
    va: *mut *mut c_void,
    size: usize,
    address: u64,
    flags: u64,
) -> Status {
    // SAFETY: the same promises.
    unsafe { hsa_amd_vmem_address_reserve_align(va, size, address, 0, flags) }
}

pub(crate) unsafe extern "C" fn hsa_amd_vmem_address_free(va: *mut c_void, size: usize) -> Status {
    with(|runtime| {
        if va.is_null() || size == 0 {
            return Err(Status::ERROR_INVALID_ARGUMENT);
        }
        runtime.virtual_memory.free(address(va), size)
    })
}

pub(crate) unsafe extern "C" fn hsa_amd_vmem_handle_create(
    pool: MemoryPool,
    size: usize,
    kind: MemoryType,
    flags: u64,
    memory_handle: *mut VmemAllocHandle,
) -> Status {
    with(|runtime| {
        let pool = runtime.pool(pool).map_err(|_| Status::ERROR_INVALID_ARGUMENT)?;
        if flags != 0 || kind.name().is_none() || memory_handle.is_null() {
            return Err(Status::ERROR_INVALID_ARGUMENT);
        }
        let handle = runtime.virtual_memory.create(pool, kind, runtime.gpu(pool.agent()), size)?;
        // SAFETY: the specification says so.
        unsafe { put(memory_handle, VmemAllocHandle { handle }) }
    })
}

pub(crate) unsafe extern "C" fn hsa_amd_vmem_handle_release(memory_handle: VmemAllocHandle) -> Status {
    with(|runtime| runtime.virtual_memory.release(memory_handle.handle))
}

pub(crate) unsafe extern "C" fn hsa_amd_vmem_map(
    va: *mut c_void,
    size: usize,
    in_offset: usize,
    memory_handle: VmemAllocHandle,
    _flags: u64,
) -> Status {
    with(|runtime| runtime.virtual_memory.map(address(va), size, in_offset, memory_handle.handle))
}

pub(crate) unsafe extern "C" fn hsa_amd_vmem_unmap(va: *mut c_void, size: usize) -> Status {
    with(|runtime| runtime.virtual_memory.unmap(address(va), size))
}

pub(crate) unsafe extern "C" fn hsa_amd_vmem_set_access(
    va: *mut c_void,
    _size: usize,
    desc: *const MemoryAccessDesc,
    desc_cnt: usize,
) -> Status {
    with(|runtime| {
        // SAFETY: the specification says so.
        let wanted = unsafe { array(desc, desc_cnt) }?;
        if wanted.iter().any(|one| !runtime.knows(one.agent_handle)) {
            return Err(Status::ERROR_INVALID_AGENT);
        }
        let wanted: Vec<_> = wanted.iter().map(|one| (one.agent_handle, one.permissions)).collect();
        runtime.virtual_memory.set_access(address(va), &runtime.gpus(), &wanted)
    })
}

pub(crate) unsafe extern "C" fn hsa_amd_vmem_get_access(
    va: *mut c_void,
    perms: *mut AccessPermission,
    agent_handle: Agent,
) -> Status {
    with(|runtime| {
        if va.is_null() || perms.is_null() {
            return Err(Status::ERROR_INVALID_ARGUMENT);
        }
        if !runtime.knows(agent_handle) {
            return Err(Status::ERROR_INVALID_AGENT);
        }
        let found = runtime.virtual_memory.access(address(va), agent_handle)?;
        // SAFETY: the specification says so.
        unsafe { put(perms, found) }
    })
}

pub(crate) unsafe extern "C" fn hsa_amd_vmem_retain_alloc_handle(
    memory_handle: *mut VmemAllocHandle,
    addr: *mut c_void,
) -> Status {
    with(|runtime| {
        if memory_handle.is_null() || addr.is_null() {
            return Err(Status::ERROR_INVALID_ARGUMENT);
        }
        let handle = runtime.virtual_memory.retain(address(addr))?;
        // SAFETY: the specification says so.
        unsafe { put(memory_handle, VmemAllocHandle { handle }) }
    })
}

pub(crate) unsafe extern "C" fn hsa_amd_vmem_get_alloc_properties_from_handle(
    memory_handle: VmemAllocHandle,
    pool: *mut MemoryPool,
    kind: *mut MemoryType,
) -> Status {
    with(|runtime| {
        if pool.is_null() || kind.is_null() {
            return Err(Status::ERROR_INVALID_ARGUMENT);
        }
        let (from, as_kind) = runtime.virtual_memory.properties(memory_handle.handle)?;
        // SAFETY: the specification says so.
        unsafe { put(pool, from.handle()) }?;
        // SAFETY: the specification says so.
        unsafe { put(kind, as_kind) }
    })
}

/// The file is memory's own here, where a driver would make one for it; it is the client's to close.
pub(crate) unsafe extern "C" fn hsa_amd_vmem_export_shareable_handle(
    dmabuf_fd: *mut c_int,
    handle: VmemAllocHandle,
    flags: u64,
) -> Status {
    with(|runtime| {
        if dmabuf_fd.is_null() || flags != 0 {
            return Err(Status::ERROR_INVALID_ARGUMENT);
        }
        let file = runtime.virtual_memory.export(handle.handle)?;
        // SAFETY: the specification says so.
        unsafe { put(dmabuf_fd, file.into_raw_fd()) }
    })
}

pub(crate) unsafe extern "C" fn hsa_amd_vmem_import_shareable_handle(
    dmabuf_fd: c_int,
    handle: *mut VmemAllocHandle,
) -> Status {
    with(|runtime| {
        if handle.is_null() || dmabuf_fd < 0 {
            return Err(Status::ERROR_INVALID_ARGUMENT);
        }
        // SAFETY: a number that is not -1; the client keeps its file open during the call, and one that is not open is
        // noticed at the first use.
        let made = runtime.virtual_memory.import(unsafe { BorrowedFd::borrow_raw(dmabuf_fd) })?;
        // SAFETY: the specification says so.
        unsafe { put(handle, VmemAllocHandle { handle: made }) }
    })
}

/// Host memory that an agent is to reach is locked for it; what else is asked for only moves pages, and none move here.
pub(crate) unsafe extern "C" fn hsa_amd_svm_attributes_set(
    ptr: *mut c_void,
    size: usize,
    attribute_list: *mut SvmAttributePair,
    attribute_count: usize,
) -> Status {
    with(|runtime| {
        // SAFETY: the specification says so.
        let wanted = unsafe { array(attribute_list, attribute_count) }?;
        for one in wanted {
            let agent = Agent { handle: one.value };
            match one.attribute {
                SvmAttribute::AGENT_ACCESSIBLE | SvmAttribute::AGENT_ACCESSIBLE_IN_PLACE => {
                    if !runtime.knows(agent) {
                        return Err(Status::ERROR_INVALID_AGENT);
                    }
                    if agent != CPU {
                        runtime.memory.lock(address(ptr), size as u64, &[agent]).map(drop)?;
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
    with(|runtime| {
        // SAFETY: the specification says so.
        let asked = unsafe { array(attribute_list, attribute_count) }?;
        for (index, one) in asked.iter().enumerate() {
            let mut answer = *one;
            match one.attribute {
                SvmAttribute::GLOBAL_FLAG => answer.value = u64::from(SvmModel::COARSE_GRAINED.0),
                SvmAttribute::PREFERRED_LOCATION | SvmAttribute::PREFETCH_LOCATION => answer.value = CPU.handle,
                SvmAttribute::ACCESS_QUERY => {
                    let agent = Agent { handle: one.value };
                    let user = runtime.memory.at(address(ptr), |_, allocation| allocation.users.contains(&agent));
                    let may = agent == CPU || user == Some(true);
                    answer.attribute =
                        if may { SvmAttribute::AGENT_ACCESSIBLE_IN_PLACE } else { SvmAttribute::AGENT_NO_ACCESS };
                }
                other if other.name().is_none() => return Err(Status::ERROR_INVALID_ARGUMENT),
                _ => answer.value = 0,
            }
            // SAFETY: the specification says so.
            unsafe { attribute_list.wrapping_add(index).write(answer) };
        }
        Ok(())
    })
}

/// There is one memory, so that nothing moves: only its signals count.
pub(crate) unsafe extern "C" fn hsa_amd_svm_prefetch_async(
    _ptr: *mut c_void,
    _size: usize,
    agent: Agent,
    num_dep_signals: u32,
    dep_signals: *const Signal,
    completion_signal: Signal,
) -> Status {
    with(|runtime| {
        if !runtime.knows(agent) {
            return Err(Status::ERROR_INVALID_AGENT);
        }
        // SAFETY: the specification says so.
        unsafe { copy(runtime, None, num_dep_signals, dep_signals, completion_signal) }
    })
}
