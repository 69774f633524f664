//! Allocating, locking and copying memory.

use roci_emu::ALIAS;
use roci_hsa::abi::*;

use super::{array, put, with};
use crate::clock;
use crate::copies::Lines;
use crate::runtime::Runtime;

/// The address of a pointer. What GPUs know by another address than the host is meant by either.
pub(super) fn address<T>(pointer: *const T) -> u64 {
    pointer.expose_provenance() as u64 & !ALIAS
}

/// A pointer of the host to what a pointer of either means.
pub(super) fn host<T>(pointer: *const T) -> *mut T {
    std::ptr::with_exposed_provenance_mut(address(pointer) as usize)
}

pub(crate) unsafe extern "C" fn hsa_amd_memory_pool_allocate(
    memory_pool: MemoryPool,
    size: usize,
    _flags: MemoryPoolFlag,
    ptr: *mut *mut c_void,
) -> Status {
    with(|runtime| {
        if ptr.is_null() || size == 0 {
            return Err(Status::ERROR_INVALID_ARGUMENT);
        }
        let made = runtime.memory.allocate(runtime.pool(memory_pool)?, size)?;
        // SAFETY: the specification says so.
        unsafe { put(ptr, made) }
    })
}

pub(crate) unsafe extern "C" fn hsa_amd_memory_pool_free(ptr: *mut c_void) -> Status {
    with(|runtime| if ptr.is_null() { Ok(()) } else { super::regions::free(runtime, address(ptr)) })
}

/// Agents that C gives, all of which there must be.
///
/// # Safety
/// The pointer is good for so many.
pub(super) unsafe fn agents<'a>(runtime: &Runtime, start: *const Agent, count: usize) -> Result<&'a [Agent], Status> {
    // SAFETY: the caller's promise.
    let agents = unsafe { array(start, count) }?;
    if agents.iter().all(|agent| runtime.knows(*agent)) { Ok(agents) } else { Err(Status::ERROR_INVALID_AGENT) }
}

pub(crate) unsafe extern "C" fn hsa_amd_agents_allow_access(
    num_agents: u32,
    agents: *const Agent,
    flags: *const u32,
    ptr: *const c_void,
) -> Status {
    with(|runtime| {
        if num_agents == 0 || agents.is_null() || !flags.is_null() || ptr.is_null() {
            return Err(Status::ERROR_INVALID_ARGUMENT);
        }
        // SAFETY: the specification says so.
        let agents = unsafe { self::agents(runtime, agents, num_agents as usize) }?;
        runtime.memory.grant(address(ptr), agents)
    })
}

pub(crate) unsafe extern "C" fn hsa_amd_memory_lock(
    host_ptr: *mut c_void,
    size: usize,
    agents: *mut Agent,
    num_agent: c_int,
    agent_ptr: *mut *mut c_void,
) -> Status {
    with(|runtime| {
        let count = usize::try_from(num_agent).map_err(|_| Status::ERROR_INVALID_ARGUMENT)?;
        if agent_ptr.is_null() || (count == 0) != agents.is_null() {
            return Err(Status::ERROR_INVALID_ARGUMENT);
        }
        if host_ptr.is_null() || size == 0 {
            return Err(Status::ERROR_INVALID_ARGUMENT);
        }
        // SAFETY: the specification says so.
        let agents = unsafe { self::agents(runtime, agents, count) }?;
        let seen = runtime.memory.lock(address(host_ptr), size as u64, agents)?;
        // SAFETY: the specification says so.
        unsafe { put(agent_ptr, seen) }
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
    let right = with(|runtime| {
        if flags != MemoryPoolFlag::EMPTY {
            return Err(Status::ERROR_INVALID_ARGUMENT);
        }
        let host = runtime.pool(pool)?.agent() == crate::runtime::CPU;
        if host { Ok(()) } else { Err(Status::ERROR_INVALID_MEMORY_POOL) }
    });
    if right != Status::SUCCESS {
        return right;
    }
    // SAFETY: the same promises.
    unsafe { hsa_amd_memory_lock(host_ptr, size, agents, num_agent, agent_ptr) }
}

pub(crate) unsafe extern "C" fn hsa_amd_memory_unlock(host_ptr: *mut c_void) -> Status {
    // As with the real runtime, what was never locked need not be unlocked.
    with(|runtime| runtime.memory.unlock(address(host_ptr)).or(Ok(())))
}

/// An older way to lock memory for all agents.
pub(crate) unsafe extern "C" fn hsa_memory_register(ptr: *mut c_void, size: usize) -> Status {
    with(|runtime| {
        if ptr.is_null() {
            return Ok(());
        }
        runtime.memory.lock(address(ptr), size as u64, &[]).map(drop)
    })
}

pub(crate) unsafe extern "C" fn hsa_memory_deregister(ptr: *mut c_void, _size: usize) -> Status {
    // What was never registered need not be deregistered.
    with(|runtime| runtime.memory.unlock(address(ptr)).or(Ok(())))
}

pub(crate) unsafe extern "C" fn hsa_amd_pointer_info(
    ptr: *const c_void,
    info: *mut PointerInfo,
    alloc: Option<Allocate>,
    num_agents_accessible: *mut u32,
    accessible: *mut *mut Agent,
) -> Status {
    with(|runtime| {
        if ptr.is_null() || info.is_null() {
            return Err(Status::ERROR_INVALID_ARGUMENT);
        }
        // SAFETY: the specification says so; the size comes first.
        let size = unsafe { info.cast::<u32>().read() };
        if size == 0 {
            return Err(Status::ERROR_INVALID_ARGUMENT);
        }
        let found = runtime.memory.at(address(ptr), |start, allocation| {
            let seen = if allocation.kind == PointerType::LOCKED { start | ALIAS } else { start };
            let facts = PointerInfo {
                size,
                pointer_type: allocation.kind,
                agent_base_address: std::ptr::with_exposed_provenance_mut(seen as usize),
                host_base_address: std::ptr::with_exposed_provenance_mut(start as usize),
                size_in_bytes: allocation.size as usize,
                user_data: std::ptr::with_exposed_provenance_mut(allocation.user_data as usize),
                agent_owner: allocation.owner,
                global_flags: allocation.flags,
                registered: 0,
            };
            let mut users = vec![crate::runtime::CPU];
            users.extend(&allocation.users);
            (facts, users)
        });
        let found = found.or_else(|| {
            let (start, bytes, owner, gpus) = runtime.virtual_memory.at(address(ptr))?;
            let base = std::ptr::with_exposed_provenance_mut::<c_void>(start as usize);
            let facts = PointerInfo {
                size,
                pointer_type: PointerType::HSA_VMEM,
                agent_base_address: base,
                host_base_address: base,
                size_in_bytes: bytes as usize,
                agent_owner: owner.unwrap_or(crate::runtime::CPU),
                ..PointerInfo::UNKNOWN
            };
            Some((facts, gpus))
        });
        let (facts, users) = found.unwrap_or((PointerInfo { size, ..PointerInfo::UNKNOWN }, Vec::new()));
        let bytes = (size as usize).min(size_of::<PointerInfo>());
        // SAFETY: the client says how many bytes its struct has.
        unsafe { std::ptr::copy_nonoverlapping((&raw const facts).cast::<u8>(), info.cast::<u8>(), bytes) };
        if let (Some(alloc), false, false) = (alloc, num_agents_accessible.is_null(), accessible.is_null()) {
            // SAFETY: the client's allocator, called as it wants to be.
            let list = unsafe { alloc(size_of_val(users.as_slice())) }.cast::<Agent>();
            if list.is_null() {
                return Err(Status::ERROR_OUT_OF_RESOURCES);
            }
            // SAFETY: the client has just allocated so much.
            unsafe { std::ptr::copy_nonoverlapping(users.as_ptr(), list, users.len()) };
            // SAFETY: the specification says so.
            unsafe { put(num_agents_accessible, users.len() as u32) }?;
            // SAFETY: the specification says so.
            unsafe { put(accessible, list) }?;
        }
        Ok(())
    })
}

pub(crate) unsafe extern "C" fn hsa_memory_copy(dst: *mut c_void, src: *const c_void, size: usize) -> Status {
    with(|_| {
        if dst.is_null() || src.is_null() {
            return Err(Status::ERROR_INVALID_ARGUMENT);
        }
        // SAFETY: the specification says that both are so large; they may overlap for all we know.
        unsafe { std::ptr::copy(host(src).cast::<u8>(), host(dst).cast::<u8>(), size) };
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
    with(|runtime| {
        if dst.is_null() || src.is_null() {
            return Err(Status::ERROR_INVALID_ARGUMENT);
        }
        if !runtime.knows(dst_agent) || !runtime.knows(src_agent) {
            return Err(Status::ERROR_INVALID_AGENT);
        }
        let lines = (size > 0).then(|| Lines::plain(address(dst), address(src), size));
        // SAFETY: the specification says so.
        unsafe { copy(runtime, lines, num_dep_signals, dep_signals, completion_signal) }
    })
}

/// There is one thread for all engines.
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
        return with(|_| Err(Status::ERROR_INVALID_ARGUMENT));
    }
    // SAFETY: the same promises.
    unsafe {
        hsa_amd_memory_async_copy(dst, dst_agent, src, src_agent, size, num_dep_signals, dep_signals, completion_signal)
    }
}

/// Which engines are free for a copy: all that a GPU has, a bit each.
pub(crate) unsafe extern "C" fn hsa_amd_memory_copy_engine_status(
    dst_agent: Agent,
    src_agent: Agent,
    engine_ids_mask: *mut u32,
) -> Status {
    with(|runtime| {
        if !runtime.knows(dst_agent) || !runtime.knows(src_agent) {
            return Err(Status::ERROR_INVALID_AGENT);
        }
        let gpu = runtime.gpu(src_agent).or_else(|| runtime.gpu(dst_agent)).ok_or(Status::ERROR_INVALID_AGENT)?;
        let engines = crate::topology::properties(gpu.chip).sdma_engines;
        // SAFETY: the specification says so.
        unsafe { put(engine_ids_mask, (1_u32 << engines) - 1) }?;
        if engines == 0 { Err(Status::ERROR_OUT_OF_RESOURCES) } else { Ok(()) }
    })
}

/// Lets lines be copied.
///
/// # Safety
/// As for [`Copies::add`](crate::copies::Copies::add); `deps` is good for `count` signals.
pub(crate) unsafe fn copy(
    runtime: &Runtime,
    lines: Option<Lines>,
    count: u32,
    deps: *const Signal,
    done: Signal,
) -> Result<(), Status> {
    if (count == 0) != deps.is_null() {
        return Err(Status::ERROR_INVALID_ARGUMENT);
    }
    if done.is_null() {
        return Err(Status::ERROR_INVALID_SIGNAL);
    }
    // SAFETY: the caller's promise.
    let after = unsafe { array(deps, count as usize) }?;
    // SAFETY: the caller's promise.
    let added = unsafe { runtime.copies.add(lines, after, done, clock::gpu) };
    if added { Ok(()) } else { Err(Status::ERROR_OUT_OF_RESOURCES) }
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
    with(|runtime| {
        let pointers = [dst_offset.is_null(), src_offset.is_null(), range.is_null(), dst.is_null(), src.is_null()];
        if pointers.contains(&true) || dir == CopyDirection::HOST_TO_HOST {
            return Err(Status::ERROR_INVALID_ARGUMENT);
        }
        runtime.gpu(copy_agent).ok_or(Status::ERROR_INVALID_AGENT)?;
        // SAFETY: the specification says so.
        let dst = unsafe { dst.read() };
        // SAFETY: the specification says so.
        let src = unsafe { src.read() };
        // SAFETY: the specification says so.
        let to = unsafe { dst_offset.read() };
        // SAFETY: the specification says so.
        let from = unsafe { src_offset.read() };
        // SAFETY: the specification says so.
        let range = unsafe { range.read() };
        let place = |memory: &PitchedPtr, at: Dim3| {
            address(memory.base)
                + u64::from(at.x)
                + u64::from(at.y) * memory.pitch as u64
                + u64::from(at.z) * memory.slice as u64
        };
        let lines = Lines {
            to: place(&dst, to),
            from: place(&src, from),
            bytes: range.x as usize,
            counts: [range.y, range.z].map(u64::from),
            to_steps: [dst.pitch, dst.slice].map(|step| step as u64),
            from_steps: [src.pitch, src.slice].map(|step| step as u64),
        };
        // SAFETY: the specification says so.
        unsafe { copy(runtime, Some(lines), num_dep_signals, dep_signals, completion_signal) }
    })
}
