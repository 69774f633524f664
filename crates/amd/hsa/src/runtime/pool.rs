//! Memory pools.

#![expect(unsafe_code, reason = "calls the library")]

use super::attribute::{self, Value};
use super::{Agent, Allocation, Error, Runtime, check};
use crate::abi::{
    self, AgentMemoryPoolInfo, LinkInfo, MemoryPoolAccess, MemoryPoolFlag, MemoryPoolGlobalFlag, MemoryPoolInfo,
    Segment,
};

/// Memory pool of an agent.
#[derive(Clone, Debug)]
pub struct Pool {
    runtime: Runtime,
    handle: abi::MemoryPool,
}

impl Pool {
    pub(super) fn new(runtime: &Runtime, handle: abi::MemoryPool) -> Self {
        Self { runtime: runtime.clone(), handle }
    }

    /// Handle in the C API.
    pub fn handle(&self) -> abi::MemoryPool {
        self.handle
    }

    /// Attribute as `V`; [`MemoryPoolInfo`] documents the type of each.
    pub fn get<V: Value>(&self, attribute: MemoryPoolInfo) -> Result<V, Error> {
        attribute::get("hsa_amd_memory_pool_get_info", |value| {
            // SAFETY: the buffer is larger than every attribute.
            unsafe { (self.runtime.api().hsa_amd_memory_pool_get_info)(self.handle, attribute, value) }
        })
    }

    /// Segment: global, group, private, …
    pub fn segment(&self) -> Result<Segment, Error> {
        self.get(MemoryPoolInfo::SEGMENT)
    }

    /// Granularity and kernarg flags of a pool of the global segment.
    pub fn flags(&self) -> Result<MemoryPoolGlobalFlag, Error> {
        self.get(MemoryPoolInfo::GLOBAL_FLAGS)
    }

    /// Size in bytes.
    pub fn size(&self) -> Result<usize, Error> {
        self.get(MemoryPoolInfo::SIZE)
    }

    /// Whether memory can be allocated from it.
    pub fn is_allocatable(&self) -> Result<bool, Error> {
        self.get(MemoryPoolInfo::RUNTIME_ALLOC_ALLOWED)
    }

    /// Allocation granule in bytes.
    pub fn granule(&self) -> Result<usize, Error> {
        self.get(MemoryPoolInfo::RUNTIME_ALLOC_GRANULE)
    }

    /// Recommended allocation granule in bytes; older libraries lack it.
    pub fn recommended_granule(&self) -> Result<usize, Error> {
        self.get(MemoryPoolInfo::RUNTIME_ALLOC_REC_GRANULE)
    }

    /// Alignment of allocations in bytes.
    pub fn alignment(&self) -> Result<usize, Error> {
        self.get(MemoryPoolInfo::RUNTIME_ALLOC_ALIGNMENT)
    }

    /// Maximum bytes of one allocation.
    pub fn max_allocation(&self) -> Result<usize, Error> {
        self.get(MemoryPoolInfo::ALLOC_MAX_SIZE)
    }

    /// Whether every agent has access.
    pub fn is_accessible_by_all(&self) -> Result<bool, Error> {
        self.get(MemoryPoolInfo::ACCESSIBLE_BY_ALL)
    }

    /// Whether `agent` has or can get access.
    pub fn access(&self, agent: &Agent) -> Result<MemoryPoolAccess, Error> {
        self.agent_get(agent, AgentMemoryPoolInfo::ACCESS)
    }

    /// Links between `agent` and the pool, nearest first.
    pub fn links(&self, agent: &Agent) -> Result<Vec<LinkInfo>, Error> {
        let hops: u32 = self.agent_get(agent, AgentMemoryPoolInfo::NUM_LINK_HOPS)?;
        if hops == 0 {
            return Ok(Vec::new());
        }
        let mut links = vec![LinkInfo::default(); hops as usize];
        let get = self.runtime.api().hsa_amd_agent_memory_pool_get_info;
        // SAFETY: the vector has as many elements as the library reported, and every bit pattern is
        // a valid `LinkInfo`.
        let status =
            unsafe { get(agent.handle(), self.handle, AgentMemoryPoolInfo::LINK_INFO, links.as_mut_ptr().cast()) };
        check("hsa_amd_agent_memory_pool_get_info", status)?;
        Ok(links)
    }

    fn agent_get<V: Value>(&self, agent: &Agent, attribute: AgentMemoryPoolInfo) -> Result<V, Error> {
        let get = self.runtime.api().hsa_amd_agent_memory_pool_get_info;
        attribute::get("hsa_amd_agent_memory_pool_get_info", |value| {
            // SAFETY: callers only query numbers, which fit the buffer.
            unsafe { get(agent.handle(), self.handle, attribute, value) }
        })
    }

    /// Allocates memory, which is freed when the result is dropped. Agents other than that of the
    /// pool need [`Allocation::allow_access`].
    pub fn allocate(&self, size: usize, flags: MemoryPoolFlag) -> Result<Allocation, Error> {
        let mut address = std::ptr::null_mut();
        let allocate = self.runtime.api().hsa_amd_memory_pool_allocate;
        // SAFETY: `address` is valid for the write.
        check("hsa_amd_memory_pool_allocate", unsafe { allocate(self.handle, size, flags, &raw mut address) })?;
        Allocation::new(&self.runtime, address, size)
    }
}
