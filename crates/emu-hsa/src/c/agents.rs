//! Agents, and what belongs to them: caches, instruction sets, regions and pools of memory. What they answer is in `topology`.

use std::ffi::{CString, c_void};
use std::sync::atomic::Ordering;
use std::sync::{Arc, OnceLock};

use roci_emu::Chip;
use roci_hsa::abi::{
    Agent, AgentCallback, AgentInfo, AgentMemoryPoolInfo, Cache, CacheCallback, CacheInfo, CoherencyType, Extension,
    Isa, IsaCallback, MemoryPool, MemoryPoolCallback, MemoryPoolInfo, Region, RegionCallback, RegionInfo, Status,
};

use super::{put, with};
use crate::clock;
use crate::gpu::Gpu;
use crate::pool::Pool;
use crate::runtime::{CPU, Runtime};
use crate::topology::{self, Answer};

/// Writes an answer to where C wants it; that there is none means that the attribute is none.
///
/// # Safety
/// The pointer is null, which is an error, or good for all bytes of the answer.
pub(crate) unsafe fn answer(to: *mut c_void, answer: Option<Answer>) -> Result<(), Status> {
    let answer = answer.filter(|_| !to.is_null()).ok_or(Status::ERROR_INVALID_ARGUMENT)?;
    let bytes = answer.bytes();
    // SAFETY: the caller's promise.
    unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), to.cast::<u8>(), bytes.len()) };
    Ok(())
}

/// Calls a function of C for each, until it has enough.
pub(crate) fn each<T>(all: impl IntoIterator<Item = T>, callback: impl Fn(T) -> Status) -> Result<(), Status> {
    for one in all {
        let status = callback(one);
        if status != Status::SUCCESS {
            return Err(status);
        }
    }
    Ok(())
}

/// The GPU of an agent, or none for the CPU.
pub(crate) fn known(runtime: &Runtime, agent: Agent) -> Result<Option<Arc<Gpu>>, Status> {
    if agent == CPU {
        return Ok(None);
    }
    runtime.gpu(agent).map(Some).ok_or(Status::ERROR_INVALID_AGENT)
}

pub(crate) unsafe extern "C" fn hsa_iterate_agents(callback: Option<AgentCallback>, data: *mut c_void) -> Status {
    with(|runtime| {
        let callback = callback.ok_or(Status::ERROR_INVALID_ARGUMENT)?;
        let gpus = runtime.gpus();
        // SAFETY: the client gave both to be called so.
        each([CPU].into_iter().chain(gpus.iter().map(|gpu| gpu.agent)), |agent| unsafe { callback(agent, data) })
    })
}

pub(crate) unsafe extern "C" fn hsa_agent_get_info(agent: Agent, attribute: AgentInfo, value: *mut c_void) -> Status {
    with(|runtime| {
        let found = match known(runtime, agent)? {
            None => topology::cpu(attribute),
            Some(gpu) => topology::gpu(&gpu, clock::system(), attribute),
        };
        // SAFETY: the client's pointer is good for what the attribute answers.
        unsafe { answer(value, found) }
    })
}

pub(crate) unsafe extern "C" fn hsa_agent_extension_supported(
    extension: Extension,
    agent: Agent,
    _version_major: u16,
    _version_minor: u16,
    result: *mut bool,
) -> Status {
    with(|runtime| {
        if extension.name().is_none() {
            return Err(Status::ERROR_INVALID_ARGUMENT);
        }
        known(runtime, agent)?;
        // All there are are the system's: agents have none of their own, images least of all.
        // SAFETY: the client's pointer is good for the answer.
        unsafe { put(result, false) }
    })
}

pub(crate) unsafe extern "C" fn hsa_agent_major_extension_supported(
    extension: Extension,
    agent: Agent,
    _version_major: u16,
    _version_minor: *mut u16,
    result: *mut bool,
) -> Status {
    // SAFETY: the same promises. Where nothing is supported there is no version to tell.
    unsafe { hsa_agent_extension_supported(extension, agent, 0, 0, result) }
}

/// All memory is coherent, whatever is asked; what was asked is remembered.
pub(crate) unsafe extern "C" fn hsa_amd_coherency_set_type(agent: Agent, kind: CoherencyType) -> Status {
    with(|runtime| {
        let gpu = known(runtime, agent)?;
        if kind.name().is_none() {
            return Err(Status::ERROR_INVALID_ARGUMENT);
        }
        gpu.ok_or(Status::ERROR_INVALID_AGENT)?.coherency.store(kind.0, Ordering::Relaxed);
        Ok(())
    })
}

pub(crate) unsafe extern "C" fn hsa_amd_coherency_get_type(agent: Agent, kind: *mut CoherencyType) -> Status {
    with(|runtime| {
        let gpu = known(runtime, agent)?;
        if kind.is_null() {
            return Err(Status::ERROR_INVALID_ARGUMENT);
        }
        let gpu = gpu.ok_or(Status::ERROR_INVALID_AGENT)?;
        // SAFETY: the client's pointer is good for the answer.
        unsafe { put(kind, CoherencyType(gpu.coherency.load(Ordering::Relaxed))) }
    })
}

/// The limits of images, as attributes of agents give them too.
pub(crate) unsafe extern "C" fn hsa_amd_image_get_info_max_dim(
    agent: Agent,
    attribute: AgentInfo,
    value: *mut c_void,
) -> Status {
    let asked = with(|runtime| {
        if value.is_null() || !attribute.name().is_some_and(|name| name.starts_with("HSA_EXT_AGENT_INFO_IMAGE_")) {
            return Err(Status::ERROR_INVALID_ARGUMENT);
        }
        known(runtime, agent).map(drop)
    });
    if asked != Status::SUCCESS {
        return asked;
    }
    // SAFETY: the same promises.
    unsafe { hsa_agent_get_info(agent, attribute, value) }
}

/// A cache with the name that C is given.
struct NamedCache {
    name: CString,
    cache: topology::Cache,
}

/// Caches of an agent: of the CPU, or of a chip, of which all cards have the same.
fn caches(chip: Option<Chip>) -> &'static [NamedCache] {
    static CACHES: [OnceLock<Vec<NamedCache>>; 1 + Chip::ALL.len()] = [const { OnceLock::new() }; 1 + Chip::ALL.len()];
    CACHES[chip.map_or(0, |chip| 1 + chip as usize)].get_or_init(|| {
        let (owner, caches) = match chip {
            None => (topology::host().name.as_str(), topology::host().caches.clone()),
            Some(chip) => {
                let sizes = (1..).zip(topology::properties(chip).caches).filter(|(_, size)| *size > 0);
                (chip.name(), sizes.map(|(level, size)| topology::Cache { level, size }).collect())
            }
        };
        let name = |level| CString::new(format!("{owner} L{level}")).unwrap_or_default();
        caches.into_iter().map(|cache| NamedCache { name: name(cache.level), cache }).collect()
    })
}

pub(crate) unsafe extern "C" fn hsa_agent_iterate_caches(
    agent: Agent,
    callback: Option<CacheCallback>,
    data: *mut c_void,
) -> Status {
    with(|runtime| {
        let callback = callback.ok_or(Status::ERROR_INVALID_ARGUMENT)?;
        let count = caches(known(runtime, agent)?.map(|gpu| gpu.chip)).len() as u64;
        // SAFETY: the client gave both to be called so.
        each((0..count).map(|index| Cache { handle: agent.handle << 8 | index }), |cache| unsafe {
            callback(cache, data)
        })
    })
}

pub(crate) unsafe extern "C" fn hsa_cache_get_info(cache: Cache, attribute: CacheInfo, value: *mut c_void) -> Status {
    with(|runtime| {
        let owner = known(runtime, Agent { handle: cache.handle >> 8 }).map_err(|_| Status::ERROR_INVALID_CACHE)?;
        let all = caches(owner.map(|gpu| gpu.chip));
        let found = all.get((cache.handle & 0xff) as usize).ok_or(Status::ERROR_INVALID_CACHE)?;
        let found = match attribute {
            CacheInfo::NAME_LENGTH => Some((found.name.as_bytes().len() as u32).into()),
            // The header promises text; the real runtime writes the address of text, for which its clients have room.
            CacheInfo::NAME => Some(Answer::address(&found.name)),
            CacheInfo::LEVEL => Some(found.cache.level.into()),
            CacheInfo::SIZE => Some(found.cache.size.into()),
            _ => None,
        };
        // SAFETY: the client's pointer is good for what the attribute answers.
        unsafe { answer(value, found) }
    })
}

pub(crate) unsafe extern "C" fn hsa_agent_iterate_isas(
    agent: Agent,
    callback: Option<IsaCallback>,
    data: *mut c_void,
) -> Status {
    with(|runtime| {
        let callback = callback.ok_or(Status::ERROR_INVALID_ARGUMENT)?;
        // Runtimes of 2025 list the generic one too. HIP 5 refuses a GPU with two, and those who load generic code know which
        // chips it is for: the own one alone serves both.
        let own = |gpu: Arc<Gpu>| topology::isas(gpu.chip).first().copied();
        let isas: Vec<Isa> = known(runtime, agent)?.and_then(own).into_iter().collect();
        // SAFETY: the client gave both to be called so.
        each(isas, |isa| unsafe { callback(isa, data) })
    })
}

pub(crate) unsafe extern "C" fn hsa_agent_iterate_regions(
    agent: Agent,
    callback: Option<RegionCallback>,
    data: *mut c_void,
) -> Status {
    with(|runtime| {
        let callback = callback.ok_or(Status::ERROR_INVALID_ARGUMENT)?;
        let mut pools = Pool::of_agent(agent);
        if known(runtime, agent)?.is_some() {
            // Under this interface, the host's memory belongs to all.
            pools.extend(Pool::of_agent(CPU));
        }
        let regions = pools.into_iter().map(|pool| Region { handle: pool.handle().handle });
        // SAFETY: the client gave both to be called so.
        each(regions, |region| unsafe { callback(region, data) })
    })
}

pub(crate) unsafe extern "C" fn hsa_region_get_info(
    region: Region,
    attribute: RegionInfo,
    value: *mut c_void,
) -> Status {
    with(|runtime| {
        let pool = MemoryPool { handle: region.handle };
        let pool = runtime.pool(pool).map_err(|_| Status::ERROR_INVALID_REGION)?;
        let gpu = runtime.gpu(pool.agent());
        // SAFETY: the client's pointer is good for what the attribute answers.
        unsafe { answer(value, topology::region(pool, gpu.as_deref(), attribute)) }
    })
}

pub(crate) unsafe extern "C" fn hsa_amd_agent_iterate_memory_pools(
    agent: Agent,
    callback: Option<MemoryPoolCallback>,
    data: *mut c_void,
) -> Status {
    with(|runtime| {
        let callback = callback.ok_or(Status::ERROR_INVALID_ARGUMENT)?;
        known(runtime, agent)?;
        // SAFETY: the client gave both to be called so.
        each(Pool::of_agent(agent), |pool| unsafe { callback(pool.handle(), data) })
    })
}

pub(crate) unsafe extern "C" fn hsa_amd_memory_pool_get_info(
    memory_pool: MemoryPool,
    attribute: MemoryPoolInfo,
    value: *mut c_void,
) -> Status {
    with(|runtime| {
        let pool = runtime.pool(memory_pool).map_err(|_| Status::ERROR_INVALID_MEMORY_POOL)?;
        let gpu = runtime.gpu(pool.agent());
        // SAFETY: the client's pointer is good for what the attribute answers.
        unsafe { answer(value, topology::pool(pool, gpu.as_deref(), attribute)) }
    })
}

pub(crate) unsafe extern "C" fn hsa_amd_agent_memory_pool_get_info(
    agent: Agent,
    memory_pool: MemoryPool,
    attribute: AgentMemoryPoolInfo,
    value: *mut c_void,
) -> Status {
    with(|runtime| {
        known(runtime, agent)?;
        let pool = runtime.pool(memory_pool).map_err(|_| Status::ERROR_INVALID_MEMORY_POOL)?;
        // SAFETY: the client's pointer is good for what the attribute answers.
        unsafe { answer(value, topology::between(agent, pool, attribute)) }
    })
}
