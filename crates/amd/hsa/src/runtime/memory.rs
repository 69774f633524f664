//! Allocations, locked host memory, copies and pointer attributes.

#![expect(unsafe_code, reason = "calls the library")]

use std::ffi::c_void;
use std::ptr::NonNull;

use super::{Agent, Error, Runtime, Signal, check};
use crate::abi::{self, PointerInfo};

/// Memory of a pool, freed on drop even if a device still uses it.
#[derive(Debug)]
pub struct Allocation {
    runtime: Runtime,
    address: NonNull<c_void>,
    size: usize,
}

// SAFETY: the address is never dereferenced, and the functions of the library are thread-safe.
unsafe impl Send for Allocation {}
// SAFETY: as above.
unsafe impl Sync for Allocation {}

impl Allocation {
    pub(super) fn new(runtime: &Runtime, address: *mut c_void, size: usize) -> Result<Self, Error> {
        let error = Error::InvalidResult { call: "hsa_amd_memory_pool_allocate", what: "no address" };
        Ok(Self { runtime: runtime.clone(), address: NonNull::new(address).ok_or(error)?, size })
    }

    /// Address for devices and, if the pool allows access, for the host.
    pub fn address(&self) -> NonNull<u8> {
        self.address.cast()
    }

    /// Requested size in bytes.
    pub fn size(&self) -> usize {
        self.size
    }

    /// Gives access to exactly these agents and the agent of the pool.
    pub fn allow_access(&self, agents: &[&Agent]) -> Result<(), Error> {
        let handles: Vec<_> = agents.iter().map(|agent| agent.handle()).collect();
        let allow = self.runtime.api().hsa_amd_agents_allow_access;
        let flags = std::ptr::null();
        // SAFETY: the length is that of the list, and the address is that of a live allocation.
        let status = unsafe { allow(handles.len() as u32, handles.as_ptr(), flags, self.address.as_ptr()) };
        check("hsa_amd_agents_allow_access", status)
    }
}

impl Drop for Allocation {
    fn drop(&mut self) {
        // An error cannot be handled here.
        // SAFETY: a live allocation of a pool, which only this `drop` frees.
        let _ = unsafe { (self.runtime.api().hsa_amd_memory_pool_free)(self.address.as_ptr()) };
    }
}

/// Locked host memory, unlocked on drop.
#[derive(Debug)]
pub struct Locked {
    runtime: Runtime,
    host: NonNull<c_void>,
    agent: NonNull<c_void>,
}

// SAFETY: as for `Allocation`.
unsafe impl Send for Locked {}
// SAFETY: as for `Allocation`.
unsafe impl Sync for Locked {}

impl Locked {
    /// Address that agents use; it may differ from the host's.
    pub fn agent_address(&self) -> NonNull<u8> {
        self.agent.cast()
    }
}

impl Drop for Locked {
    fn drop(&mut self) {
        // An error cannot be handled here.
        // SAFETY: memory that was locked at this address, which only this unlocks.
        let _ = unsafe { (self.runtime.api().hsa_amd_memory_unlock)(self.host.as_ptr()) };
    }
}

impl Runtime {
    /// Locks host memory for `agents`, or for all agents if the list is empty.
    ///
    /// # Safety
    /// The memory stays mapped until the result is dropped, and nothing else accesses it while
    /// devices write it.
    pub unsafe fn lock(&self, host: NonNull<u8>, size: usize, agents: &[&Agent]) -> Result<Locked, Error> {
        let mut handles: Vec<_> = agents.iter().map(|agent| agent.handle()).collect();
        let list = if handles.is_empty() { std::ptr::null_mut() } else { handles.as_mut_ptr() };
        let mut agent = std::ptr::null_mut();
        let lock = self.api().hsa_amd_memory_lock;
        // SAFETY: the length is that of the list; the caller guarantees the memory.
        let status = unsafe { lock(host.as_ptr().cast(), size, list, handles.len() as i32, &raw mut agent) };
        check("hsa_amd_memory_lock", status)?;
        let error = Error::InvalidResult { call: "hsa_amd_memory_lock", what: "no address" };
        Ok(Locked { runtime: self.clone(), host: host.cast(), agent: NonNull::new(agent).ok_or(error)? })
    }

    /// Attributes of an address.
    pub fn pointer_info(&self, address: u64) -> Result<PointerInfo, Error> {
        let address = std::ptr::without_provenance(address as usize);
        let mut info = PointerInfo::UNKNOWN;
        let get = self.api().hsa_amd_pointer_info;
        let (agents, list) = (std::ptr::null_mut(), std::ptr::null_mut());
        // SAFETY: any address is valid, `info` contains its size, and the list of agents may be
        // null.
        check("hsa_amd_pointer_info", unsafe { get(address, &raw mut info, None, agents, list) })?;
        Ok(info)
    }

    /// Copies synchronously.
    ///
    /// # Safety
    /// Both ranges are mapped and do not overlap, and nothing else accesses the destination.
    pub unsafe fn copy(&self, to: *mut c_void, from: *const c_void, size: usize) -> Result<(), Error> {
        // SAFETY: the caller guarantees both ranges.
        check("hsa_memory_copy", unsafe { (self.api().hsa_memory_copy)(to, from, size) })
    }

    /// Enables start and end times in the signals of asynchronous copies, for the whole process.
    pub fn set_copy_profiling(&self, enable: bool) -> Result<(), Error> {
        let set = self.api().hsa_amd_profiling_async_copy_enable;
        // SAFETY: it only takes a boolean.
        check("hsa_amd_profiling_async_copy_enable", unsafe { set(enable) })
    }

    /// Start and end of the copy that completed a signal; copy profiling must be enabled.
    pub fn copy_time(&self, completion: &Signal) -> Result<abi::AsyncCopyTime, Error> {
        let mut time = abi::AsyncCopyTime::default();
        let get = self.api().hsa_amd_profiling_get_async_copy_time;
        // SAFETY: the signal is alive, and `time` is valid for the write.
        check("hsa_amd_profiling_get_async_copy_time", unsafe { get(completion.handle(), &raw mut time) })?;
        Ok(time)
    }

    /// Starts a copy once all `dependencies` are 0, and decrements `completion` when it is done.
    /// The runtime uses a copy engine or a kernel.
    ///
    /// # Safety
    /// As for [`copy`](Self::copy), until `completion` is decremented; the agents have access to
    /// the ranges, and the signals live until then.
    pub unsafe fn async_copy(
        &self,
        (to, to_agent): (*mut c_void, &Agent),
        (from, from_agent): (*const c_void, &Agent),
        size: usize,
        dependencies: &[&Signal],
        completion: &Signal,
    ) -> Result<(), Error> {
        let dependencies: Vec<abi::Signal> = dependencies.iter().map(|signal| signal.handle()).collect();
        let list = if dependencies.is_empty() { std::ptr::null() } else { dependencies.as_ptr() };
        let (to_agent, from_agent) = (to_agent.handle(), from_agent.handle());
        let start = self.api().hsa_amd_memory_async_copy;
        let count = dependencies.len() as u32;
        // SAFETY: the count is that of the list; the caller guarantees the rest.
        let status = unsafe { start(to, to_agent, from, from_agent, size, count, list, completion.handle()) };
        check("hsa_amd_memory_async_copy", status)
    }
}
