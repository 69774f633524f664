//! Allocations from pools, locked host memory, and which GPUs can access them.

#![expect(unsafe_code, reason = "memory is registered with the emulated GPUs by address")]

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

use parking_lot::RwLock;
use roci_emu::{ALIAS, Access};
use roci_hsa::abi::{Agent, DeallocationCallback, IpcMemory, MemoryPoolGlobalFlag, PointerType, Status, c_void};

use crate::agent::CPU;
use crate::gpu::Gpu;
use crate::ipc;
use crate::mapping::{Mapping, PAGE};
use crate::pool::{GRANULE, Pool, PoolKind};

/// Allocations of at least this many bytes are aligned to it, as the kernel driver does.
const LARGE: usize = 2 << 20;

/// An allocation, or locked host memory.
pub(crate) struct Allocation {
    /// Requested size in bytes.
    pub(crate) size: u64,
    pub(crate) kind: PointerType,
    /// Agent of the pool; the CPU for locked and imported memory.
    pub(crate) owner: Agent,
    pub(crate) flags: MemoryPoolGlobalFlag,
    /// GPUs that can access it.
    pub(crate) users: Vec<Agent>,
    /// User data of the client for `hsa_amd_pointer_info`.
    pub(crate) user_data: u64,
    notifiers: Vec<Notifier>,
    /// Lock count; 0 for allocations.
    locked: u32,
    /// `None` for locked host memory, which the client owns.
    mapping: Option<Arc<Mapping>>,
}

/// Deallocation callback of the client.
#[derive(Clone, Copy)]
pub(crate) struct Notifier {
    /// Address that the client registered, anywhere in the allocation.
    pub(crate) address: u64,
    pub(crate) function: DeallocationCallback,
    pub(crate) data: *mut c_void,
}

// SAFETY: the callback runs on the thread that frees the memory, which the client chooses.
unsafe impl Send for Notifier {}
// SAFETY: as above.
unsafe impl Sync for Notifier {}

/// All memory that GPUs can access, except for mapped virtual memory.
#[derive(Default)]
pub(crate) struct Allocations {
    state: RwLock<AllocationsState>,
}

#[derive(Default)]
struct AllocationsState {
    gpus: Vec<Arc<Gpu>>,
    /// By start address; they do not overlap.
    allocations: BTreeMap<u64, Allocation>,
    /// Locked host memory by start address; ranges may overlap.
    locks: BTreeMap<u64, Allocation>,
    /// Memory of the runtime itself by start address; every GPU can access it.
    internal: BTreeMap<u64, Arc<Mapping>>,
    /// By GPU: the locked ranges that are registered with it.
    registered_locks: Vec<Vec<Range<u64>>>,
}

impl Allocations {
    /// Adds a GPU and registers internal memory with it.
    pub(crate) fn add_gpu(&self, gpu: &Arc<Gpu>) {
        let mut state = self.state.write();
        for mapping in state.internal.values() {
            register(gpu, mapping);
        }
        state.gpus.push(Arc::clone(gpu));
        state.registered_locks.push(Vec::new());
    }

    /// Maps memory for the runtime itself that every GPU can access; `None` if the host is out of
    /// memory.
    pub(crate) fn allocate_internal(&self, size: usize) -> Option<Arc<Mapping>> {
        let mapping = Arc::new(Mapping::new(size, PAGE)?);
        self.register_internal(&mapping);
        Some(mapping)
    }

    /// Lets every GPU access a mapping.
    pub(crate) fn register_internal(&self, mapping: &Arc<Mapping>) {
        let mut state = self.state.write();
        for gpu in &state.gpus {
            register(gpu, mapping);
        }
        state.internal.insert(mapping.range().start, Arc::clone(mapping));
    }

    /// Undoes [`Allocations::register_internal`]. The pages stay mapped until the last reference is
    /// dropped.
    pub(crate) fn unregister_internal(&self, mapping: &Mapping) {
        let mut state = self.state.write();
        let start = mapping.range().start;
        if state.internal.remove(&start).is_some() {
            for gpu in &state.gpus {
                gpu.emulator.memory().unregister(start);
            }
        }
    }

    /// Allocates from a pool and returns the address. Only the agent of the pool can access it.
    pub(crate) fn allocate(&self, pool: Pool, size: usize) -> Result<u64, Status> {
        if size == 0 {
            return Err(Status::ERROR_INVALID_ARGUMENT);
        }
        if pool.kind() == PoolKind::Group {
            return Err(Status::ERROR_INVALID_ALLOCATION);
        }
        let mut state = self.state.write();
        let gpu = state.gpu(pool.agent());
        let bytes = size.checked_next_multiple_of(GRANULE).ok_or(Status::ERROR_INVALID_ALLOCATION)?;
        if let Some(gpu) = &gpu {
            if bytes as u64 > gpu.memory {
                return Err(Status::ERROR_INVALID_ALLOCATION);
            }
            if !gpu.reserve(bytes as u64) {
                return Err(Status::ERROR_OUT_OF_RESOURCES);
            }
        }
        let Some(mapping) = Mapping::new(size, if size >= LARGE { LARGE } else { PAGE }) else {
            if let Some(gpu) = gpu {
                gpu.release(bytes as u64);
            }
            return Err(Status::ERROR_OUT_OF_RESOURCES);
        };
        let mapping = Arc::new(mapping);
        let start = mapping.range().start;
        let mut users = Vec::new();
        if let Some(gpu) = gpu {
            register(&gpu, &mapping);
            users.push(gpu.agent);
        }
        let allocation = Allocation {
            size: size as u64,
            kind: PointerType::HSA,
            owner: pool.agent(),
            flags: pool.flags(),
            users,
            user_data: 0,
            notifiers: Vec::new(),
            locked: 0,
            mapping: Some(mapping),
        };
        state.allocations.insert(start, allocation);
        Ok(start)
    }

    /// Exports a complete allocation to other processes.
    pub(crate) fn export(&self, address: u64, size: u64) -> Result<IpcMemory, Status> {
        let state = self.state.read();
        let allocation = state.allocations.get(&address).ok_or(Status::ERROR_INVALID_ARGUMENT)?;
        // HIP 5 passes the size rounded up to pages.
        if ![allocation.size, allocation.size.next_multiple_of(GRANULE as u64)].contains(&size) {
            return Err(Status::ERROR_INVALID_ARGUMENT);
        }
        ipc::export(allocation.mapping.as_ref().ok_or(Status::ERROR_INVALID_ARGUMENT)?)
    }

    /// Maps memory of another process for `agents`, or for all GPUs if that is empty, and returns
    /// its address.
    pub(crate) fn import(&self, handle: &IpcMemory, size: u64, agents: &[Agent]) -> Result<u64, Status> {
        let mapping = ipc::import(handle)?;
        let range = mapping.range();
        let mut state = self.state.write();
        let gpus = state.gpus.iter().filter(|gpu| agents.is_empty() || agents.contains(&gpu.agent));
        let users = gpus.inspect(|gpu| register(gpu, &mapping)).map(|gpu| gpu.agent).collect();
        let allocation = Allocation {
            size: size.min(range.end - range.start),
            kind: PointerType::IPC,
            // The handle does not name the owner.
            owner: CPU,
            flags: MemoryPoolGlobalFlag::COARSE_GRAINED,
            users,
            user_data: 0,
            notifiers: Vec::new(),
            locked: 0,
            mapping: Some(mapping),
        };
        state.allocations.insert(range.start, allocation);
        Ok(range.start)
    }

    /// Undoes [`Allocations::import`].
    pub(crate) fn detach(&self, address: u64) -> Result<(), Status> {
        let mut state = self.state.write();
        if state.allocations.get(&address).is_none_or(|allocation| allocation.kind != PointerType::IPC) {
            return Err(Status::ERROR_INVALID_ARGUMENT);
        }
        if let Some(allocation) = state.allocations.remove(&address) {
            state.unregister(address, &allocation.users);
        }
        Ok(())
    }

    /// Frees an allocation after calling `notify` with its deallocation callbacks. Running kernels
    /// keep the pages until they finish.
    pub(crate) fn free(&self, address: u64, notify: impl FnOnce(&[Notifier])) -> Result<(), Status> {
        let allocation = {
            let mut state = self.state.write();
            let kind = state.allocations.get(&address).ok_or(Status::ERROR_INVALID_ALLOCATION)?.kind;
            if kind == PointerType::IPC {
                return Err(Status::ERROR_INVALID_ARGUMENT);
            }
            state.allocations.remove(&address).ok_or(Status::ERROR_INVALID_ALLOCATION)?
        };
        // No lock is held: the callbacks may allocate and free.
        notify(&allocation.notifiers);
        let state = self.state.read();
        state.unregister(address, &allocation.users);
        if let Some(gpu) = state.gpu(allocation.owner) {
            gpu.release(allocation.size.next_multiple_of(GRANULE as u64));
        }
        Ok(())
    }

    /// Registers a deallocation callback for the allocation that contains its address.
    pub(crate) fn add_notifier(&self, notifier: Notifier) -> Result<(), Status> {
        let mut state = self.state.write();
        let found = containing_mut(&mut state.allocations, notifier.address);
        found.ok_or(Status::ERROR_INVALID_ALLOCATION)?.1.notifiers.push(notifier);
        Ok(())
    }

    /// Removes a callback that [`Allocations::add_notifier`] registered for this address.
    pub(crate) fn remove_notifier(&self, address: u64, function: DeallocationCallback) -> Result<(), Status> {
        let mut state = self.state.write();
        let (_, allocation) = containing_mut(&mut state.allocations, address).ok_or(Status::ERROR_INVALID_ARGUMENT)?;
        let before = allocation.notifiers.len();
        allocation.notifiers.retain(|one| one.address != address || !std::ptr::fn_addr_eq(one.function, function));
        if allocation.notifiers.len() < before { Ok(()) } else { Err(Status::ERROR_INVALID_ARGUMENT) }
    }

    /// Stores user data for the allocation or locked range that starts at this address.
    pub(crate) fn set_user_data(&self, address: u64, data: u64) -> Result<(), Status> {
        let mut state = self.state.write();
        let AllocationsState { allocations, locks, .. } = &mut *state;
        let found = allocations.get_mut(&address).or_else(|| locks.get_mut(&address));
        found.ok_or(Status::ERROR_INVALID_ARGUMENT)?.user_data = data;
        Ok(())
    }

    /// Gives access to an allocation to exactly these agents and its owner.
    pub(crate) fn allow_access(&self, address: u64, agents: &[Agent]) -> Result<(), Status> {
        let mut state = self.state.write();
        let state = &mut *state;
        let Some((start, allocation)) = containing_mut(&mut state.allocations, address) else {
            // Access to locked memory is fixed by the lock.
            return if state.lock_containing(address).is_some() {
                Ok(())
            } else {
                Err(Status::ERROR_INVALID_ALLOCATION)
            };
        };
        for gpu in &state.gpus {
            let allowed = agents.contains(&gpu.agent) || allocation.owner == gpu.agent;
            let accessible = allocation.users.contains(&gpu.agent);
            match (&allocation.mapping, accessible, allowed) {
                (Some(mapping), false, true) => {
                    register(gpu, mapping);
                    allocation.users.push(gpu.agent);
                }
                (_, true, false) => {
                    gpu.emulator.memory().unregister(start);
                    allocation.users.retain(|user| *user != gpu.agent);
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// Locks host memory for agents, or for all GPUs if `agents` is empty, and returns the device
    /// address. The client keeps the memory mapped until it is unlocked.
    ///
    /// Locked host memory has a device address of its own, as on a discrete GPU; HIP 5 relies on
    /// the difference. Allocations have one address on host and device.
    pub(crate) fn lock(&self, address: u64, size: u64, agents: &[Agent]) -> Result<u64, Status> {
        let mut state = self.state.write();
        if size == 0 || address == 0 || address.checked_add(size).is_none() {
            return Err(Status::ERROR_INVALID_ARGUMENT);
        }
        let users = if agents.is_empty() { state.gpus.iter().map(|gpu| gpu.agent).collect() } else { agents.to_vec() };
        let lock = state.locks.entry(address).or_insert_with(|| Allocation {
            size,
            kind: PointerType::LOCKED,
            owner: CPU,
            flags: MemoryPoolGlobalFlag::FINE_GRAINED,
            users: Vec::new(),
            user_data: 0,
            notifiers: Vec::new(),
            locked: 0,
            mapping: None,
        });
        lock.locked += 1;
        lock.size = lock.size.max(size);
        for user in users {
            if !lock.users.contains(&user) {
                lock.users.push(user);
            }
        }
        state.update_locks();
        Ok(if containing(&state.allocations, address).is_some() { address } else { address | ALIAS })
    }

    /// Undoes one [`Allocations::lock`].
    pub(crate) fn unlock(&self, address: u64) -> Result<(), Status> {
        let mut state = self.state.write();
        let (start, _) = state.lock_containing(address).ok_or(Status::ERROR_INVALID_ARGUMENT)?;
        if let Some(lock) = state.locks.get_mut(&start) {
            lock.locked -= 1;
            if lock.locked == 0 {
                state.locks.remove(&start);
                state.update_locks();
            }
        }
        Ok(())
    }

    /// Calls `read` with the start address of the allocation or locked range that contains an
    /// address.
    pub(crate) fn lookup<T>(&self, address: u64, read: impl FnOnce(u64, &Allocation) -> T) -> Option<T> {
        let state = self.state.read();
        let found = containing(&state.allocations, address).or_else(|| state.lock_containing(address))?;
        Some(read(found.0, found.1))
    }

    /// Whether a range lies in one allocation or in locked memory; `None` if its start is in
    /// neither.
    pub(crate) fn covers(&self, range: &Range<u64>) -> Option<bool> {
        let state = self.state.read();
        if let Some((start, allocation)) = containing(&state.allocations, range.start) {
            return Some(range.end - start <= allocation.size);
        }
        let locked = merged(state.locks.iter().map(|(start, lock)| *start..start + lock.size));
        let found = locked.into_iter().find(|locked| locked.contains(&range.start))?;
        Some(range.end <= found.end)
    }
}

impl AllocationsState {
    fn gpu(&self, agent: Agent) -> Option<Arc<Gpu>> {
        self.gpus.iter().find(|gpu| gpu.agent == agent).cloned()
    }

    /// Locked range that contains an address; of several, the one with the highest start.
    fn lock_containing(&self, address: u64) -> Option<(u64, &Allocation)> {
        let mut before = self.locks.range(..=address).rev().map(|(start, lock)| (*start, lock));
        before.find(|(start, lock)| address - start < lock.size)
    }

    /// Revokes the access of these agents to the range that starts at an address.
    fn unregister(&self, address: u64, users: &[Agent]) {
        for gpu in self.gpus.iter().filter(|gpu| users.contains(&gpu.agent)) {
            gpu.emulator.memory().unregister(address);
        }
    }

    /// Registers with every GPU the union of the ranges that are locked for it.
    fn update_locks(&mut self) {
        for (gpu, registered) in self.gpus.iter().zip(&mut self.registered_locks) {
            let locks = self.locks.iter().filter(|(_, lock)| lock.users.contains(&gpu.agent));
            let host = merged(locks.map(|(start, lock)| *start..start + lock.size));
            // The host address is registered too: programs for GPUs that share the page tables of
            // the host use either.
            let aliases: Vec<_> = host.iter().map(|range| range.start | ALIAS..range.end | ALIAS).collect();
            let (old, new) = (registered.iter().map(|range| range.start), host.into_iter().chain(aliases));
            // One atomic exchange: a running kernel may use ranges that stay locked.
            // SAFETY: the client keeps locked memory mapped until it unlocks it.
            *registered = unsafe { gpu.emulator.memory().exchange(old, new, Access::ReadWrite, None) };
        }
    }
}

/// Merges overlapping and adjacent ranges, which come ordered by start.
fn merged(ranges: impl Iterator<Item = Range<u64>>) -> Vec<Range<u64>> {
    let mut merged: Vec<Range<u64>> = Vec::new();
    for range in ranges {
        match merged.last_mut() {
            Some(last) if range.start <= last.end => last.end = last.end.max(range.end),
            _ => merged.push(range),
        }
    }
    merged
}

/// Gives a GPU access to a mapping.
fn register(gpu: &Gpu, mapping: &Arc<Mapping>) {
    // SAFETY: the registration holds a reference to the mapping; kernels and the host share it by
    // design of the interface.
    unsafe { gpu.emulator.memory().register_owned(mapping.range(), Access::ReadWrite, Arc::clone(mapping) as _) };
}

/// The entry of `map` whose range contains an address, with its start.
fn containing(map: &BTreeMap<u64, Allocation>, address: u64) -> Option<(u64, &Allocation)> {
    let (&start, allocation) = map.range(..=address).next_back()?;
    (address - start < allocation.size).then_some((start, allocation))
}

fn containing_mut(map: &mut BTreeMap<u64, Allocation>, address: u64) -> Option<(u64, &mut Allocation)> {
    let (&start, allocation) = map.range_mut(..=address).next_back()?;
    (address - start < allocation.size).then_some((start, allocation))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Config;
    use roci_emu::Chip;

    fn with_gpus() -> (Allocations, Vec<Arc<Gpu>>) {
        let allocations = Allocations::default();
        let mut config = Config::new(vec![Chip::Gfx1010; 2]);
        config.memory = Some(1 << 20);
        let gpus: Vec<_> = (0..2).map(|i| Arc::new(Gpu::new(Chip::Gfx1010, i, &config))).collect();
        for gpu in &gpus {
            allocations.add_gpu(gpu);
        }
        (allocations, gpus)
    }

    #[test]
    fn device_memory_is_limited_and_freed() {
        let (allocations, gpus) = with_gpus();
        let pool = Pool::of_agent(gpus[0].agent)[0];
        assert_eq!(allocations.allocate(pool, 2 << 20), Err(Status::ERROR_INVALID_ALLOCATION));
        let all = allocations.allocate(pool, 1 << 20).expect("as large as the pool");
        assert_eq!(allocations.allocate(pool, 1), Err(Status::ERROR_OUT_OF_RESOURCES));
        assert_eq!(allocations.free(all + 1, |_| ()), Err(Status::ERROR_INVALID_ALLOCATION));
        allocations.free(all, |_| ()).expect("a live allocation");
        assert_eq!(gpus[0].available(), 1 << 20);
        assert_eq!(allocations.free(all, |_| ()), Err(Status::ERROR_INVALID_ALLOCATION), "freed twice");
    }

    #[test]
    fn access_is_given_and_revoked() {
        let (allocations, gpus) = with_gpus();
        let [first, second] = [gpus[0].agent, gpus[1].agent];
        let address = allocations.allocate(Pool::of_agent(first)[0], 100).expect("there is room");
        let users = || allocations.lookup(address + 99, |_, allocation| allocation.users.clone());
        assert_eq!(users(), Some(vec![first]));
        allocations.allow_access(address, &[second]).expect("a live allocation");
        assert_eq!(users(), Some(vec![first, second]), "the owner keeps access");
        allocations.allow_access(address, &[]).expect("a live allocation");
        assert_eq!(users(), Some(vec![first]));
        assert_eq!(allocations.lookup(address + 100, |_, _| ()), None, "past its end");
    }

    #[test]
    fn host_memory_can_be_locked_twice() {
        let (allocations, gpus) = with_gpus();
        let memory = vec![0u8; 300];
        let start = memory.as_ptr().expose_provenance() as u64;
        allocations.lock(start, 200, &[gpus[0].agent]).expect("the range can be locked");
        allocations.lock(start + 100, 200, &[]).expect("the range can be locked");
        allocations.lock(start, 200, &[]).expect("the range can be locked");
        let registered = || allocations.state.read().registered_locks.clone();
        let both = |range: Range<u64>| vec![range.clone(), range.start | ALIAS..range.end | ALIAS];
        assert_eq!(registered(), vec![both(start..start + 300); 2]);
        allocations.unlock(start).expect("it was locked twice");
        assert_eq!(registered().len(), 2);
        allocations.unlock(start).expect("it was locked once");
        assert_eq!(registered()[0], both(start + 100..start + 300));
        allocations.unlock(start + 100).expect("it was locked");
        assert!(registered().iter().all(Vec::is_empty));
        assert_eq!(allocations.unlock(start), Err(Status::ERROR_INVALID_ARGUMENT));
    }

    #[test]
    fn nested_locks_are_both_found() {
        let (allocations, _) = with_gpus();
        let memory = vec![0u8; 300];
        let start = memory.as_ptr().expose_provenance() as u64;
        allocations.lock(start, 300, &[]).expect("the range can be locked");
        allocations.lock(start + 10, 20, &[]).expect("the range can be locked");
        let lookup = |offset| allocations.lookup(start + offset, |found, lock| (found - start, lock.size));
        assert_eq!(
            [lookup(5), lookup(15), lookup(200), lookup(300)],
            [Some((0, 300)), Some((10, 20)), Some((0, 300)), None]
        );
        let covers = |offset, bytes| allocations.covers(&(start + offset..start + offset + bytes));
        assert_eq!([covers(10, 290), covers(10, 291), covers(300, 1)], [Some(true), Some(false), None]);
        allocations.unlock(start + 15).expect("the inner one");
        allocations.unlock(start + 15).expect("the outer one");
        assert_eq!(lookup(15), None);
    }
}
