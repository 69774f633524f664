//! Agents and their caches, ISAs, regions and memory pools. `topology` has the attributes.

use std::ffi::{CString, c_void};
use std::sync::atomic::Ordering;
use std::sync::{Arc, OnceLock};

use roci_emu::Chip;
use roci_hsa::abi::{
    Agent, AgentCallback, AgentInfo, AgentMemoryPoolInfo, Cache, CacheCallback, CacheInfo, CoherencyType, Extension,
    Isa, IsaCallback, MemoryPool, MemoryPoolCallback, MemoryPoolInfo, Region, RegionCallback, RegionInfo, Status,
};

use super::arguments::{for_each, gpu_or_cpu, put, put_attribute};
use super::with_runtime;
use crate::agent::CPU;
use crate::chips::properties;
use crate::clock;
use crate::gpu::Gpu;
use crate::pool::Pool;
use crate::topology::{self, AttributeValue};

pub(crate) unsafe extern "C" fn hsa_iterate_agents(callback: Option<AgentCallback>, data: *mut c_void) -> Status {
    with_runtime(|runtime| {
        let callback = callback.ok_or(Status::ERROR_INVALID_ARGUMENT)?;
        let gpus = runtime.gpus();
        // SAFETY: the client passes the callback to be called with this data.
        for_each([CPU].into_iter().chain(gpus.iter().map(|gpu| gpu.agent)), |agent| unsafe { callback(agent, data) })
    })
}

pub(crate) unsafe extern "C" fn hsa_agent_get_info(agent: Agent, attribute: AgentInfo, value: *mut c_void) -> Status {
    with_runtime(|runtime| {
        let found = match gpu_or_cpu(runtime, agent)? {
            None => topology::cpu_info(attribute),
            Some(gpu) => topology::gpu_info(&gpu, clock::system(), attribute),
        };
        // SAFETY: the client's buffer has the size of this attribute.
        unsafe { put_attribute(value, found) }
    })
}

pub(crate) unsafe extern "C" fn hsa_agent_extension_supported(
    extension: Extension,
    agent: Agent,
    _version_major: u16,
    _version_minor: u16,
    result: *mut bool,
) -> Status {
    with_runtime(|runtime| {
        if extension.name().is_none() {
            return Err(Status::ERROR_INVALID_ARGUMENT);
        }
        gpu_or_cpu(runtime, agent)?;
        // All extensions belong to the system; images are not emulated.
        // SAFETY: the client passes a pointer that is valid for this write.
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
    // No extension is supported, so there is no minor version to write.
    // SAFETY: the same pointer with the same requirements.
    unsafe { hsa_agent_extension_supported(extension, agent, 0, 0, result) }
}

/// Stores the type for `hsa_amd_coherency_get_type`; all memory is coherent anyway.
pub(crate) unsafe extern "C" fn hsa_amd_coherency_set_type(agent: Agent, kind: CoherencyType) -> Status {
    with_runtime(|runtime| {
        let gpu = gpu_or_cpu(runtime, agent)?;
        if kind.name().is_none() {
            return Err(Status::ERROR_INVALID_ARGUMENT);
        }
        gpu.ok_or(Status::ERROR_INVALID_AGENT)?.coherency.store(kind.0, Ordering::Relaxed);
        Ok(())
    })
}

pub(crate) unsafe extern "C" fn hsa_amd_coherency_get_type(agent: Agent, kind: *mut CoherencyType) -> Status {
    with_runtime(|runtime| {
        let gpu = gpu_or_cpu(runtime, agent)?;
        if kind.is_null() {
            return Err(Status::ERROR_INVALID_ARGUMENT);
        }
        let gpu = gpu.ok_or(Status::ERROR_INVALID_AGENT)?;
        // SAFETY: the client passes a pointer that is valid for this write.
        unsafe { put(kind, CoherencyType(gpu.coherency.load(Ordering::Relaxed))) }
    })
}

/// Image limits, which are attributes of agents too.
pub(crate) unsafe extern "C" fn hsa_amd_image_get_info_max_dim(
    agent: Agent,
    attribute: AgentInfo,
    value: *mut c_void,
) -> Status {
    let checked = with_runtime(|runtime| {
        if value.is_null() || !attribute.name().is_some_and(|name| name.starts_with("HSA_EXT_AGENT_INFO_IMAGE_")) {
            return Err(Status::ERROR_INVALID_ARGUMENT);
        }
        gpu_or_cpu(runtime, agent).map(drop)
    });
    if checked != Status::SUCCESS {
        return checked;
    }
    // SAFETY: all arguments are passed on unchanged.
    unsafe { hsa_agent_get_info(agent, attribute, value) }
}

/// A cache and its name for C.
struct NamedCache {
    name: CString,
    cache: topology::Cache,
}

/// Caches of a chip, or of the CPU if `None`.
fn caches(chip: Option<Chip>) -> &'static [NamedCache] {
    static CACHES: [OnceLock<Vec<NamedCache>>; 1 + Chip::ALL.len()] = [const { OnceLock::new() }; 1 + Chip::ALL.len()];
    CACHES[chip.map_or(0, |chip| 1 + chip as usize)].get_or_init(|| {
        let (owner, caches) = match chip {
            None => (topology::host().name.as_str(), topology::host().caches.clone()),
            Some(chip) => {
                let sizes = (1..).zip(properties(chip).caches).filter(|(_, size)| *size > 0);
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
    with_runtime(|runtime| {
        let callback = callback.ok_or(Status::ERROR_INVALID_ARGUMENT)?;
        let count = caches(gpu_or_cpu(runtime, agent)?.map(|gpu| gpu.chip)).len() as u64;
        // SAFETY: the client passes the callback to be called with this data.
        for_each((0..count).map(|index| Cache { handle: agent.handle << 8 | index }), |cache| unsafe {
            callback(cache, data)
        })
    })
}

pub(crate) unsafe extern "C" fn hsa_cache_get_info(cache: Cache, attribute: CacheInfo, value: *mut c_void) -> Status {
    with_runtime(|runtime| {
        let owner =
            gpu_or_cpu(runtime, Agent { handle: cache.handle >> 8 }).map_err(|_| Status::ERROR_INVALID_CACHE)?;
        let all = caches(owner.map(|gpu| gpu.chip));
        let found = all.get((cache.handle & 0xff) as usize).ok_or(Status::ERROR_INVALID_CACHE)?;
        let found = match attribute {
            CacheInfo::NAME_LENGTH => Some((found.name.as_bytes().len() as u32).into()),
            // The header documents a string; AMD's runtime writes a pointer to one, and clients
            // expect that.
            CacheInfo::NAME => Some(AttributeValue::address(&found.name)),
            CacheInfo::LEVEL => Some(found.cache.level.into()),
            CacheInfo::SIZE => Some(found.cache.size.into()),
            _ => None,
        };
        // SAFETY: the client's buffer has the size of this attribute.
        unsafe { put_attribute(value, found) }
    })
}

pub(crate) unsafe extern "C" fn hsa_agent_iterate_isas(
    agent: Agent,
    callback: Option<IsaCallback>,
    data: *mut c_void,
) -> Status {
    with_runtime(|runtime| {
        let callback = callback.ok_or(Status::ERROR_INVALID_ARGUMENT)?;
        // Runtimes of 2025 list the generic ISA too, but HIP 5 rejects a GPU with two ISAs. Loaders
        // of generic code do not need the entry.
        let specific = |gpu: Arc<Gpu>| topology::isas(gpu.chip).first().copied();
        let isas: Vec<Isa> = gpu_or_cpu(runtime, agent)?.and_then(specific).into_iter().collect();
        // SAFETY: the client passes the callback to be called with this data.
        for_each(isas, |isa| unsafe { callback(isa, data) })
    })
}

pub(crate) unsafe extern "C" fn hsa_agent_iterate_regions(
    agent: Agent,
    callback: Option<RegionCallback>,
    data: *mut c_void,
) -> Status {
    with_runtime(|runtime| {
        let callback = callback.ok_or(Status::ERROR_INVALID_ARGUMENT)?;
        let mut pools = Pool::of_agent(agent);
        if gpu_or_cpu(runtime, agent)?.is_some() {
            // In the core interface, all agents share the regions of the host.
            pools.extend(Pool::of_agent(CPU));
        }
        let regions = pools.into_iter().map(|pool| Region { handle: pool.handle().handle });
        // SAFETY: the client passes the callback to be called with this data.
        for_each(regions, |region| unsafe { callback(region, data) })
    })
}

pub(crate) unsafe extern "C" fn hsa_region_get_info(
    region: Region,
    attribute: RegionInfo,
    value: *mut c_void,
) -> Status {
    with_runtime(|runtime| {
        let pool = MemoryPool { handle: region.handle };
        let pool = runtime.pool(pool).map_err(|_| Status::ERROR_INVALID_REGION)?;
        let gpu = runtime.gpu(pool.agent());
        // SAFETY: the client's buffer has the size of this attribute.
        unsafe { put_attribute(value, topology::region_info(pool, gpu.as_deref(), attribute)) }
    })
}

pub(crate) unsafe extern "C" fn hsa_amd_agent_iterate_memory_pools(
    agent: Agent,
    callback: Option<MemoryPoolCallback>,
    data: *mut c_void,
) -> Status {
    with_runtime(|runtime| {
        let callback = callback.ok_or(Status::ERROR_INVALID_ARGUMENT)?;
        gpu_or_cpu(runtime, agent)?;
        // SAFETY: the client passes the callback to be called with this data.
        for_each(Pool::of_agent(agent), |pool| unsafe { callback(pool.handle(), data) })
    })
}

pub(crate) unsafe extern "C" fn hsa_amd_memory_pool_get_info(
    memory_pool: MemoryPool,
    attribute: MemoryPoolInfo,
    value: *mut c_void,
) -> Status {
    with_runtime(|runtime| {
        let pool = runtime.pool(memory_pool).map_err(|_| Status::ERROR_INVALID_MEMORY_POOL)?;
        let gpu = runtime.gpu(pool.agent());
        // SAFETY: the client's buffer has the size of this attribute.
        unsafe { put_attribute(value, topology::pool_info(pool, gpu.as_deref(), attribute)) }
    })
}

pub(crate) unsafe extern "C" fn hsa_amd_agent_memory_pool_get_info(
    agent: Agent,
    memory_pool: MemoryPool,
    attribute: AgentMemoryPoolInfo,
    value: *mut c_void,
) -> Status {
    with_runtime(|runtime| {
        gpu_or_cpu(runtime, agent)?;
        let pool = runtime.pool(memory_pool).map_err(|_| Status::ERROR_INVALID_MEMORY_POOL)?;
        // SAFETY: the client's buffer has the size of this attribute.
        unsafe { put_attribute(value, topology::agent_pool_info(agent, pool, attribute)) }
    })
}
