//! Memory that was allocated or locked, copies, and what a pointer points to.

#![expect(unsafe_code, reason = "calls the library")]

use std::ffi::c_void;
use std::ptr::NonNull;

use super::{Agent, Error, Runtime, Signal, check};
use crate::abi::{self, PointerInfo};

/// Memory of a pool. It is freed when this is dropped, whether or not a device still uses it.
#[derive(Debug)]
pub struct Allocation {
    runtime: Runtime,
    address: NonNull<c_void>,
    size: usize,
}

// SAFETY: this owns an address and never dereferences it; the library's functions may be called from every thread.
unsafe impl Send for Allocation {}
// SAFETY: as above.
unsafe impl Sync for Allocation {}

impl Allocation {
    pub(super) fn new(runtime: &Runtime, address: *mut c_void, size: usize) -> Result<Self, Error> {
        let what = Error::Answer { call: "hsa_amd_memory_pool_allocate", what: "no address" };
        Ok(Self { runtime: runtime.clone(), address: NonNull::new(address).ok_or(what)?, size })
    }

    /// Where it is, for devices and, if the pool allows, for the host.
    pub fn address(&self) -> NonNull<u8> {
        self.address.cast()
    }

    /// The bytes that were asked for.
    pub fn size(&self) -> usize {
        self.size
    }

    /// Lets exactly these agents use it, besides the pool's own.
    pub fn allow_access(&self, agents: &[&Agent]) -> Result<(), Error> {
        let handles: Vec<_> = agents.iter().map(|agent| agent.handle()).collect();
        let allow = self.runtime.api().hsa_amd_agents_allow_access;
        let flags = std::ptr::null();
        // SAFETY: the list has the length that is passed, and this memory is an allocation.
        let status = unsafe { allow(handles.len() as u32, handles.as_ptr(), flags, self.address.as_ptr()) };
        check("hsa_amd_agents_allow_access", status)
    }
}

impl Drop for Allocation {
    fn drop(&mut self) {
        // SAFETY: it was allocated from a pool and is freed once. An error leaves nothing to be done.
        let _ = unsafe { (self.runtime.api().hsa_amd_memory_pool_free)(self.address.as_ptr()) };
    }
}

/// Host memory that agents can use until this is dropped.
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
    /// Where agents find it.
    pub fn agent_address(&self) -> NonNull<u8> {
        self.agent.cast()
    }
}

impl Drop for Locked {
    fn drop(&mut self) {
        // SAFETY: it was locked at this address and is unlocked once. An error leaves nothing to be done.
        let _ = unsafe { (self.runtime.api().hsa_amd_memory_unlock)(self.host.as_ptr()) };
    }
}

impl Runtime {
    /// Makes host memory usable for `agents`; for all of them, if the list is empty.
    ///
    /// # Safety
    /// The memory stays allocated until the result is dropped, and nothing else uses what devices write.
    pub unsafe fn lock(&self, host: NonNull<u8>, size: usize, agents: &[&Agent]) -> Result<Locked, Error> {
        let mut handles: Vec<_> = agents.iter().map(|agent| agent.handle()).collect();
        let list = if handles.is_empty() { std::ptr::null_mut() } else { handles.as_mut_ptr() };
        let mut agent = std::ptr::null_mut();
        let lock = self.api().hsa_amd_memory_lock;
        // SAFETY: the list has the length that is passed; the caller promises the memory.
        let status = unsafe { lock(host.as_ptr().cast(), size, list, handles.len() as i32, &raw mut agent) };
        check("hsa_amd_memory_lock", status)?;
        let answer = Error::Answer { call: "hsa_amd_memory_lock", what: "no address" };
        Ok(Locked { runtime: self.clone(), host: host.cast(), agent: NonNull::new(agent).ok_or(answer)? })
    }

    /// What is known about an address.
    pub fn pointer_info(&self, address: u64) -> Result<PointerInfo, Error> {
        let address = std::ptr::without_provenance(address as usize);
        let mut info = PointerInfo::UNKNOWN;
        let ask = self.api().hsa_amd_pointer_info;
        let (agents, list) = (std::ptr::null_mut(), std::ptr::null_mut());
        // SAFETY: any address may be asked for; `info` says how large it is; no list of agents is wanted.
        check("hsa_amd_pointer_info", unsafe { ask(address, &raw mut info, None, agents, list) })?;
        Ok(info)
    }

    /// Copies, and returns when that is done.
    ///
    /// # Safety
    /// Both ranges are allocated and do not overlap, and nothing else uses what is written.
    pub unsafe fn copy(&self, to: *mut c_void, from: *const c_void, size: usize) -> Result<(), Error> {
        // SAFETY: the caller promises the ranges.
        check("hsa_memory_copy", unsafe { (self.api().hsa_memory_copy)(to, from, size) })
    }

    /// Whether asynchronous copies write their times to their signals, those of the whole process.
    pub fn set_copy_profiling(&self, enable: bool) -> Result<(), Error> {
        let set = self.api().hsa_amd_profiling_async_copy_enable;
        // SAFETY: it takes a truth value and nothing else.
        check("hsa_amd_profiling_async_copy_enable", unsafe { set(enable) })
    }

    /// When the copy that completed `done` ran, with profiling of copies.
    pub fn copy_time(&self, done: &Signal) -> Result<abi::AsyncCopyTime, Error> {
        let mut time = abi::AsyncCopyTime::default();
        let ask = self.api().hsa_amd_profiling_get_async_copy_time;
        // SAFETY: the signal lives, the answer has its place.
        check("hsa_amd_profiling_get_async_copy_time", unsafe { ask(done.handle(), &raw mut time) })?;
        Ok(time)
    }

    /// Starts a copy by a copy engine or by the runtime's own kernels, after `after` are all 0; then decrements `done`.
    ///
    /// # Safety
    /// As for [`copy`](Self::copy), until `done` is decremented; the agents can use the ranges; the signals
    /// live until then.
    pub unsafe fn async_copy(
        &self,
        (to, to_agent): (*mut c_void, &Agent),
        (from, from_agent): (*const c_void, &Agent),
        size: usize,
        after: &[&Signal],
        done: &Signal,
    ) -> Result<(), Error> {
        let after: Vec<abi::Signal> = after.iter().map(|signal| signal.handle()).collect();
        let list = if after.is_empty() { std::ptr::null() } else { after.as_ptr() };
        let (to_agent, from_agent) = (to_agent.handle(), from_agent.handle());
        let start = self.api().hsa_amd_memory_async_copy;
        // SAFETY: the list has the length that is passed; the caller promises the rest.
        let status = unsafe { start(to, to_agent, from, from_agent, size, after.len() as u32, list, done.handle()) };
        check("hsa_amd_memory_async_copy", status)
    }
}
