//! Allocation, locking and copies of memory.

use roci_emu::ALIAS;
use roci_hsa::abi::*;

use super::arguments::{self, array, host_address, host_pointer, put};
use super::{regions, with_runtime};
use crate::agent::CPU;
use crate::chips::properties;
use crate::clock;
use crate::copy_engine::CopyRegion;
use crate::runtime::Runtime;

pub(crate) unsafe extern "C" fn hsa_amd_memory_pool_allocate(
    memory_pool: MemoryPool,
    size: usize,
    _flags: MemoryPoolFlag,
    ptr: *mut *mut c_void,
) -> Status {
    with_runtime(|runtime| {
        if ptr.is_null() || size == 0 {
            return Err(Status::ERROR_INVALID_ARGUMENT);
        }
        let allocated = runtime.memory.allocate(runtime.pool(memory_pool)?, size)?;
        // SAFETY: the client passes a pointer that is valid for this write.
        unsafe { put(ptr, allocated) }
    })
}

pub(crate) unsafe extern "C" fn hsa_amd_memory_pool_free(ptr: *mut c_void) -> Status {
    with_runtime(|runtime| if ptr.is_null() { Ok(()) } else { regions::free(runtime, host_address(ptr)) })
}

pub(crate) unsafe extern "C" fn hsa_amd_agents_allow_access(
    num_agents: u32,
    agents: *const Agent,
    flags: *const u32,
    ptr: *const c_void,
) -> Status {
    with_runtime(|runtime| {
        if num_agents == 0 || agents.is_null() || !flags.is_null() || ptr.is_null() {
            return Err(Status::ERROR_INVALID_ARGUMENT);
        }
        // SAFETY: the client passes a pointer to that many elements.
        let agents = unsafe { arguments::agents(runtime, agents, num_agents as usize) }?;
        runtime.memory.allow_access(host_address(ptr), agents)
    })
}

pub(crate) unsafe extern "C" fn hsa_amd_memory_lock(
    host_ptr: *mut c_void,
    size: usize,
    agents: *mut Agent,
    num_agent: c_int,
    agent_ptr: *mut *mut c_void,
) -> Status {
    with_runtime(|runtime| {
        let count = usize::try_from(num_agent).map_err(|_| Status::ERROR_INVALID_ARGUMENT)?;
        if agent_ptr.is_null() || (count == 0) != agents.is_null() {
            return Err(Status::ERROR_INVALID_ARGUMENT);
        }
        if host_ptr.is_null() || size == 0 {
            return Err(Status::ERROR_INVALID_ARGUMENT);
        }
        // SAFETY: the client passes a pointer to that many elements.
        let agents = unsafe { arguments::agents(runtime, agents, count) }?;
        let device_address = runtime.memory.lock(host_address(host_ptr), size as u64, agents)?;
        // SAFETY: the client passes a pointer that is valid for this write.
        unsafe { put(agent_ptr, device_address) }
    })
}

pub(crate) unsafe extern "C" fn hsa_amd_memory_lock_to_pool(
    host_ptr: *mut c_void,
    size: usize,
    agents: *mut Agent,
    num_agent: c_int,
    pool: MemoryPool,
    flags: MemoryPoolFlag,
    agent_ptr: *mut *mut c_void,
) -> Status {
    let checked = with_runtime(|runtime| {
        if flags != MemoryPoolFlag::EMPTY {
            return Err(Status::ERROR_INVALID_ARGUMENT);
        }
        if runtime.pool(pool)?.agent() == CPU { Ok(()) } else { Err(Status::ERROR_INVALID_MEMORY_POOL) }
    });
    if checked != Status::SUCCESS {
        return checked;
    }
    // SAFETY: all arguments are passed on unchanged.
    unsafe { hsa_amd_memory_lock(host_ptr, size, agents, num_agent, agent_ptr) }
}

pub(crate) unsafe extern "C" fn hsa_amd_memory_unlock(host_ptr: *mut c_void) -> Status {
    // As in AMD's runtime, unlocking memory that is not locked succeeds.
    with_runtime(|runtime| runtime.memory.unlock(host_address(host_ptr)).or(Ok(())))
}

/// Older form, which locks memory for all agents.
pub(crate) unsafe extern "C" fn hsa_memory_register(ptr: *mut c_void, size: usize) -> Status {
    with_runtime(|runtime| {
        if ptr.is_null() {
            return Ok(());
        }
        runtime.memory.lock(host_address(ptr), size as u64, &[]).map(drop)
    })
}

pub(crate) unsafe extern "C" fn hsa_memory_deregister(ptr: *mut c_void, _size: usize) -> Status {
    // Deregistering memory that is not registered succeeds.
    with_runtime(|runtime| runtime.memory.unlock(host_address(ptr)).or(Ok(())))
}

pub(crate) unsafe extern "C" fn hsa_amd_pointer_info(
    ptr: *const c_void,
    info: *mut PointerInfo,
    alloc: Option<Allocate>,
    num_agents_accessible: *mut u32,
    accessible: *mut *mut Agent,
) -> Status {
    with_runtime(|runtime| {
        if ptr.is_null() || info.is_null() {
            return Err(Status::ERROR_INVALID_ARGUMENT);
        }
        // SAFETY: not null, so the client passes a struct, whose first field is its size.
        let size = unsafe { info.cast::<u32>().read() };
        if size == 0 {
            return Err(Status::ERROR_INVALID_ARGUMENT);
        }
        let found = runtime.memory.lookup(host_address(ptr), |start, allocation| {
            let device = if allocation.kind == PointerType::LOCKED { start | ALIAS } else { start };
            let info = PointerInfo {
                size,
                pointer_type: allocation.kind,
                agent_base_address: std::ptr::with_exposed_provenance_mut(device as usize),
                host_base_address: std::ptr::with_exposed_provenance_mut(start as usize),
                size_in_bytes: allocation.size as usize,
                user_data: std::ptr::with_exposed_provenance_mut(allocation.user_data as usize),
                agent_owner: allocation.owner,
                global_flags: allocation.flags,
                registered: 0,
            };
            let mut users = vec![CPU];
            users.extend(&allocation.users);
            (info, users)
        });
        let found = found.or_else(|| {
            let (start, bytes, owner, gpus) = runtime.virtual_memory.lookup(host_address(ptr))?;
            let base = std::ptr::with_exposed_provenance_mut::<c_void>(start as usize);
            let info = PointerInfo {
                size,
                pointer_type: PointerType::HSA_VMEM,
                agent_base_address: base,
                host_base_address: base,
                size_in_bytes: bytes as usize,
                agent_owner: owner.unwrap_or(CPU),
                ..PointerInfo::UNKNOWN
            };
            Some((info, gpus))
        });
        let (result, users) = found.unwrap_or((PointerInfo { size, ..PointerInfo::UNKNOWN }, Vec::new()));
        let bytes = (size as usize).min(size_of::<PointerInfo>());
        // SAFETY: the client's struct has `size` bytes, and `bytes` is at most that.
        unsafe { std::ptr::copy_nonoverlapping((&raw const result).cast::<u8>(), info.cast::<u8>(), bytes) };
        if let (Some(alloc), false, false) = (alloc, num_agents_accessible.is_null(), accessible.is_null()) {
            // SAFETY: the client passes a function that may be called with any size.
            let list = unsafe { alloc(size_of_val(users.as_slice())) }.cast::<Agent>();
            if list.is_null() {
                return Err(Status::ERROR_OUT_OF_RESOURCES);
            }
            // SAFETY: the client's allocator returned a block of this size.
            unsafe { std::ptr::copy_nonoverlapping(users.as_ptr(), list, users.len()) };
            // SAFETY: the client passes a pointer that is valid for this write.
            unsafe { put(num_agents_accessible, users.len() as u32) }?;
            // SAFETY: the client passes a pointer that is valid for this write.
            unsafe { put(accessible, list) }?;
        }
        Ok(())
    })
}

pub(crate) unsafe extern "C" fn hsa_memory_copy(dst: *mut c_void, src: *const c_void, size: usize) -> Status {
    with_runtime(|_| {
        if dst.is_null() || src.is_null() {
            return Err(Status::ERROR_INVALID_ARGUMENT);
        }
        // SAFETY: the client passes pointers to `size` bytes each; `copy` allows them to overlap.
        unsafe { std::ptr::copy(host_pointer(src).cast::<u8>(), host_pointer(dst).cast::<u8>(), size) };
        Ok(())
    })
}

pub(crate) unsafe extern "C" fn hsa_amd_memory_async_copy(
    dst: *mut c_void,
    dst_agent: Agent,
    src: *const c_void,
    src_agent: Agent,
    size: usize,
    num_dep_signals: u32,
    dep_signals: *const Signal,
    completion_signal: Signal,
) -> Status {
    with_runtime(|runtime| {
        if dst.is_null() || src.is_null() {
            return Err(Status::ERROR_INVALID_ARGUMENT);
        }
        if !runtime.has_agent(dst_agent) || !runtime.has_agent(src_agent) {
            return Err(Status::ERROR_INVALID_AGENT);
        }
        let region = (size > 0).then(|| CopyRegion::linear(host_address(dst), host_address(src), size));
        // SAFETY: the client keeps the memory mapped until the completion, and passes that many
        // dependencies.
        unsafe { submit_copy(runtime, region, num_dep_signals, dep_signals, completion_signal) }
    })
}

/// One thread runs the copies of all engines, so the engine is only checked.
pub(crate) unsafe extern "C" fn hsa_amd_memory_async_copy_on_engine(
    dst: *mut c_void,
    dst_agent: Agent,
    src: *const c_void,
    src_agent: Agent,
    size: usize,
    num_dep_signals: u32,
    dep_signals: *const Signal,
    completion_signal: Signal,
    engine_id: u32,
    _force_copy_on_sdma: bool,
) -> Status {
    if !engine_id.is_power_of_two() {
        return with_runtime(|_| Err(Status::ERROR_INVALID_ARGUMENT));
    }
    // SAFETY: all arguments are passed on unchanged.
    unsafe {
        hsa_amd_memory_async_copy(dst, dst_agent, src, src_agent, size, num_dep_signals, dep_signals, completion_signal)
    }
}

/// Bit mask of the free copy engines, which are always all that the GPU has.
pub(crate) unsafe extern "C" fn hsa_amd_memory_copy_engine_status(
    dst_agent: Agent,
    src_agent: Agent,
    engine_ids_mask: *mut u32,
) -> Status {
    with_runtime(|runtime| {
        if !runtime.has_agent(dst_agent) || !runtime.has_agent(src_agent) {
            return Err(Status::ERROR_INVALID_AGENT);
        }
        let gpu = runtime.gpu(src_agent).or_else(|| runtime.gpu(dst_agent)).ok_or(Status::ERROR_INVALID_AGENT)?;
        let engines = properties(gpu.chip).sdma_engines;
        // SAFETY: the client passes a pointer that is valid for this write.
        unsafe { put(engine_ids_mask, (1_u32 << engines) - 1) }?;
        if engines == 0 { Err(Status::ERROR_OUT_OF_RESOURCES) } else { Ok(()) }
    })
}

/// Submits a copy, or with `None` only its completion.
///
/// # Safety
/// As for [`CopyEngine::submit`](crate::copy_engine::CopyEngine::submit); `dependencies` is null or
/// valid for `count` signals.
pub(super) unsafe fn submit_copy(
    runtime: &Runtime,
    region: Option<CopyRegion>,
    count: u32,
    dependencies: *const Signal,
    completion: Signal,
) -> Result<(), Status> {
    if (count == 0) != dependencies.is_null() {
        return Err(Status::ERROR_INVALID_ARGUMENT);
    }
    if completion.is_null() {
        return Err(Status::ERROR_INVALID_SIGNAL);
    }
    // SAFETY: the caller upholds the same contract.
    let dependencies = unsafe { array(dependencies, count as usize) }?;
    // SAFETY: the caller upholds the same contract.
    let submitted = unsafe { runtime.copy_engine.submit(region, dependencies, completion, clock::gpu) };
    if submitted { Ok(()) } else { Err(Status::ERROR_OUT_OF_RESOURCES) }
}

pub(crate) unsafe extern "C" fn hsa_amd_memory_async_copy_rect(
    dst: *const PitchedPtr,
    dst_offset: *const Dim3,
    src: *const PitchedPtr,
    src_offset: *const Dim3,
    range: *const Dim3,
    copy_agent: Agent,
    dir: CopyDirection,
    num_dep_signals: u32,
    dep_signals: *const Signal,
    completion_signal: Signal,
) -> Status {
    with_runtime(|runtime| {
        let pointers = [dst_offset.is_null(), src_offset.is_null(), range.is_null(), dst.is_null(), src.is_null()];
        if pointers.contains(&true) || dir == CopyDirection::HOST_TO_HOST {
            return Err(Status::ERROR_INVALID_ARGUMENT);
        }
        runtime.gpu(copy_agent).ok_or(Status::ERROR_INVALID_AGENT)?;
        // SAFETY: not null, so the client passes a valid pointer.
        let dst = unsafe { dst.read() };
        // SAFETY: not null, so the client passes a valid pointer.
        let src = unsafe { src.read() };
        // SAFETY: not null, so the client passes a valid pointer.
        let dst_offset = unsafe { dst_offset.read() };
        // SAFETY: not null, so the client passes a valid pointer.
        let src_offset = unsafe { src_offset.read() };
        // SAFETY: not null, so the client passes a valid pointer.
        let range = unsafe { range.read() };
        let start = |memory: &PitchedPtr, offset: Dim3| {
            host_address(memory.base)
                + u64::from(offset.x)
                + u64::from(offset.y) * memory.pitch as u64
                + u64::from(offset.z) * memory.slice as u64
        };
        let region = CopyRegion {
            destination: start(&dst, dst_offset),
            source: start(&src, src_offset),
            row_bytes: range.x as usize,
            counts: [range.y, range.z].map(u64::from),
            destination_pitches: [dst.pitch, dst.slice].map(|pitch| pitch as u64),
            source_pitches: [src.pitch, src.slice].map(|pitch| pitch as u64),
        };
        // SAFETY: the client keeps the memory mapped until the completion, and passes that many
        // dependencies.
        unsafe { submit_copy(runtime, Some(region), num_dep_signals, dep_signals, completion_signal) }
    })
}
