//! Memory pools.

#![expect(unsafe_code, reason = "calls the library")]

use super::attribute::{self, Value};
use super::{Agent, Allocation, Error, Runtime, check};
use crate::abi::{
    self, AgentMemoryPoolInfo, LinkInfo, MemoryPoolAccess, MemoryPoolFlag, MemoryPoolGlobalFlag, MemoryPoolInfo,
    Segment,
};

/// Memory of an agent from which to allocate.
#[derive(Clone, Debug)]
pub struct Pool {
    runtime: Runtime,
    handle: abi::MemoryPool,
}

impl Pool {
    pub(super) fn new(runtime: &Runtime, handle: abi::MemoryPool) -> Self {
        Self { runtime: runtime.clone(), handle }
    }

    /// Its name in the C API.
    pub fn handle(&self) -> abi::MemoryPool {
        self.handle
    }

    /// An attribute, read as `V`; [`MemoryPoolInfo`] says of which type each is.
    pub fn get<V: Value>(&self, attribute: MemoryPoolInfo) -> Result<V, Error> {
        attribute::get("hsa_amd_memory_pool_get_info", |value| {
            // SAFETY: the room is larger than every answer.
            unsafe { (self.runtime.api().hsa_amd_memory_pool_get_info)(self.handle, attribute, value) }
        })
    }

    /// What its memory is for.
    pub fn segment(&self) -> Result<Segment, Error> {
        self.get(MemoryPoolInfo::SEGMENT)
    }

    /// What its memory promises, if it is in the global segment.
    pub fn flags(&self) -> Result<MemoryPoolGlobalFlag, Error> {
        self.get(MemoryPoolInfo::GLOBAL_FLAGS)
    }

    /// Its bytes.
    pub fn size(&self) -> Result<usize, Error> {
        self.get(MemoryPoolInfo::SIZE)
    }

    /// Whether memory can be allocated from it.
    pub fn is_allocatable(&self) -> Result<bool, Error> {
        self.get(MemoryPoolInfo::RUNTIME_ALLOC_ALLOWED)
    }

    /// Sizes are rounded up to multiples of it.
    pub fn granule(&self) -> Result<usize, Error> {
        self.get(MemoryPoolInfo::RUNTIME_ALLOC_GRANULE)
    }

    /// The granule that wastes least; older libraries do not know it.
    pub fn recommended_granule(&self) -> Result<usize, Error> {
        self.get(MemoryPoolInfo::RUNTIME_ALLOC_REC_GRANULE)
    }

    /// Alignment of allocations.
    pub fn alignment(&self) -> Result<usize, Error> {
        self.get(MemoryPoolInfo::RUNTIME_ALLOC_ALIGNMENT)
    }

    /// The most bytes of one allocation.
    pub fn max_allocation(&self) -> Result<usize, Error> {
        self.get(MemoryPoolInfo::ALLOC_MAX_SIZE)
    }

    /// Whether every agent can use its memory.
    pub fn is_accessible_by_all(&self) -> Result<bool, Error> {
        self.get(MemoryPoolInfo::ACCESSIBLE_BY_ALL)
    }

    /// Whether `agent` can use its memory.
    pub fn access(&self, agent: &Agent) -> Result<MemoryPoolAccess, Error> {
        self.agent_get(agent, AgentMemoryPoolInfo::ACCESS)
    }

    /// The links between `agent` and its memory, nearest first.
    pub fn links(&self, agent: &Agent) -> Result<Vec<LinkInfo>, Error> {
        let hops: u32 = self.agent_get(agent, AgentMemoryPoolInfo::NUM_LINK_HOPS)?;
        if hops == 0 {
            return Ok(Vec::new());
        }
        let mut links = vec![LinkInfo::default(); hops as usize];
        let ask = self.runtime.api().hsa_amd_agent_memory_pool_get_info;
        // SAFETY: there is room for as many links as the library said, of which every bit pattern is good.
        let status =
            unsafe { ask(agent.handle(), self.handle, AgentMemoryPoolInfo::LINK_INFO, links.as_mut_ptr().cast()) };
        check("hsa_amd_agent_memory_pool_get_info", status)?;
        Ok(links)
    }

    fn agent_get<V: Value>(&self, agent: &Agent, attribute: AgentMemoryPoolInfo) -> Result<V, Error> {
        let ask = self.runtime.api().hsa_amd_agent_memory_pool_get_info;
        attribute::get("hsa_amd_agent_memory_pool_get_info", |value| {
            // SAFETY: numbers, which fit the room.
            unsafe { ask(agent.handle(), self.handle, attribute, value) }
        })
    }

    /// Allocates memory, which goes back when the result is dropped. Other agents than the pool's own need
    /// [`Allocation::allow_access`].
    pub fn allocate(&self, size: usize, flags: MemoryPoolFlag) -> Result<Allocation, Error> {
        let mut address = std::ptr::null_mut();
        let allocate = self.runtime.api().hsa_amd_memory_pool_allocate;
        // SAFETY: the answer has its place.
        check("hsa_amd_memory_pool_allocate", unsafe { allocate(self.handle, size, flags, &raw mut address) })?;
        Allocation::new(&self.runtime, address, size)
    }
}
