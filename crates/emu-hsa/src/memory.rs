//! What was allocated from pools or locked by clients, and who may touch it.

#![expect(unsafe_code, reason = "memory is made known to the emulated GPUs by its addresses")]

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

use parking_lot::RwLock;
use roci_emu::{ALIAS, Access};
use roci_hsa::abi::{Agent, DeallocationCallback, IpcMemory, MemoryPoolGlobalFlag, PointerType, Status, c_void};

use crate::gpu::Gpu;
use crate::ipc;
use crate::mapping::{Mapping, PAGE};
use crate::pool::{Pool, PoolKind};
use crate::runtime::CPU;

/// Bytes that allocations are multiples of, and their alignment.
pub(crate) const GRANULE: usize = PAGE;
/// What large allocations are aligned to, as a GPU's driver does it.
const LARGE: usize = 2 << 20;

/// Memory that was allocated, or host memory that was locked.
pub(crate) struct Allocation {
    /// Bytes that were asked for.
    pub(crate) size: u64,
    pub(crate) kind: PointerType,
    /// Whose memory it is.
    pub(crate) owner: Agent,
    pub(crate) flags: MemoryPoolGlobalFlag,
    /// GPUs that may touch it.
    pub(crate) users: Vec<Agent>,
    /// What the client wants to find here.
    pub(crate) user_data: u64,
    /// Whom to tell before it is freed.
    notifiers: Vec<Notifier>,
    /// How often it was locked.
    locked: u32,
    mapping: Option<Arc<Mapping>>,
}

/// A function of the client that wants to know that memory is about to be freed.
#[derive(Clone, Copy)]
pub(crate) struct Notifier {
    /// The address that the client gave, which need not be the first.
    pub(crate) address: u64,
    pub(crate) function: DeallocationCallback,
    pub(crate) data: *mut c_void,
}

// SAFETY: the client gives function and data to be used on whichever thread frees the memory.
unsafe impl Send for Notifier {}
// SAFETY: the same.
unsafe impl Sync for Notifier {}

/// Everything that GPUs may touch.
#[derive(Default)]
pub(crate) struct Allocations {
    state: RwLock<State>,
}

#[derive(Default)]
struct State {
    gpus: Vec<Arc<Gpu>>,
    /// By their first address; they do not overlap.
    all: BTreeMap<u64, Allocation>,
    /// Locked host memory by its first address; parts may be locked twice.
    locks: BTreeMap<u64, Allocation>,
    /// Memory of the runtime itself, which every GPU sees.
    shared: BTreeMap<u64, Arc<Mapping>>,
    /// By GPU: the locked ranges as it knows them.
    known_locks: Vec<Vec<Range<u64>>>,
}

impl Allocations {
    /// Shows a new GPU what every GPU sees.
    pub(crate) fn add_gpu(&self, gpu: &Arc<Gpu>) {
        let mut state = self.state.write();
        for mapping in state.shared.values() {
            show(gpu, mapping);
        }
        state.gpus.push(Arc::clone(gpu));
        state.known_locks.push(Vec::new());
    }

    /// Memory of the runtime itself.
    pub(crate) fn share(&self, size: usize) -> Option<Arc<Mapping>> {
        let mapping = Arc::new(Mapping::new(size, PAGE)?);
        self.share_mapping(&mapping);
        Some(mapping)
    }

    /// The same of another process.
    pub(crate) fn share_mapping(&self, mapping: &Arc<Mapping>) {
        let mut state = self.state.write();
        for gpu in &state.gpus {
            show(gpu, mapping);
        }
        state.shared.insert(mapping.range().start, Arc::clone(mapping));
    }

    /// Takes it back.
    pub(crate) fn unshare(&self, mapping: &Mapping) {
        let mut state = self.state.write();
        let start = mapping.range().start;
        if state.shared.remove(&start).is_some() {
            for gpu in &state.gpus {
                gpu.emulator.memory().unregister(start);
            }
        }
    }

    /// Allocates from a pool; the pool's own agent may touch it.
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
            if !gpu.take(bytes as u64) {
                return Err(Status::ERROR_OUT_OF_RESOURCES);
            }
        }
        let Some(mapping) = Mapping::new(size, if size >= LARGE { LARGE } else { PAGE }) else {
            if let Some(gpu) = gpu {
                gpu.give_back(bytes as u64);
            }
            return Err(Status::ERROR_OUT_OF_RESOURCES);
        };
        let mapping = Arc::new(mapping);
        let start = mapping.range().start;
        let mut users = Vec::new();
        if let Some(gpu) = gpu {
            show(&gpu, &mapping);
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
        state.all.insert(start, allocation);
        Ok(start)
    }

    /// A handle of a whole allocation for other processes.
    pub(crate) fn export(&self, address: u64, size: u64) -> Result<IpcMemory, Status> {
        let state = self.state.read();
        let allocation = state.all.get(&address).ok_or(Status::ERROR_INVALID_ARGUMENT)?;
        // HIP 5 asks for whole pages.
        if ![allocation.size, allocation.size.next_multiple_of(GRANULE as u64)].contains(&size) {
            return Err(Status::ERROR_INVALID_ARGUMENT);
        }
        ipc::export(allocation.mapping.as_ref().ok_or(Status::ERROR_INVALID_ARGUMENT)?)
    }

    /// Lets agents touch memory of another process, all GPUs if none are named; where it is.
    pub(crate) fn import(&self, handle: &IpcMemory, size: u64, agents: &[Agent]) -> Result<u64, Status> {
        let mapping = ipc::import(handle)?;
        let range = mapping.range();
        let mut state = self.state.write();
        let gpus = state.gpus.iter().filter(|gpu| agents.is_empty() || agents.contains(&gpu.agent));
        let users = gpus.inspect(|gpu| show(gpu, &mapping)).map(|gpu| gpu.agent).collect();
        let allocation = Allocation {
            size: size.min(range.end - range.start),
            kind: PointerType::IPC,
            // Whose it is, only its process knows.
            owner: CPU,
            flags: MemoryPoolGlobalFlag::COARSE_GRAINED,
            users,
            user_data: 0,
            notifiers: Vec::new(),
            locked: 0,
            mapping: Some(mapping),
        };
        state.all.insert(range.start, allocation);
        Ok(range.start)
    }

    /// Ends what [`Allocations::import`] began.
    pub(crate) fn detach(&self, address: u64) -> Result<(), Status> {
        let mut state = self.state.write();
        if state.all.get(&address).is_none_or(|allocation| allocation.kind != PointerType::IPC) {
            return Err(Status::ERROR_INVALID_ARGUMENT);
        }
        if let Some(allocation) = state.all.remove(&address) {
            state.hide(address, &allocation.users);
        }
        Ok(())
    }

    /// Gives an allocation back, after those who asked for it are told. Kernels that run keep it until they end.
    pub(crate) fn free(&self, address: u64, tell: impl FnOnce(&[Notifier])) -> Result<(), Status> {
        let allocation = {
            let mut state = self.state.write();
            let kind = state.all.get(&address).ok_or(Status::ERROR_INVALID_ALLOCATION)?.kind;
            if kind == PointerType::IPC {
                return Err(Status::ERROR_INVALID_ARGUMENT);
            }
            state.all.remove(&address).ok_or(Status::ERROR_INVALID_ALLOCATION)?
        };
        // No lock is held: they may allocate and free.
        tell(&allocation.notifiers);
        let state = self.state.read();
        state.hide(address, &allocation.users);
        if let Some(gpu) = state.gpu(allocation.owner) {
            gpu.give_back(allocation.size.next_multiple_of(GRANULE as u64));
        }
        Ok(())
    }

    /// Tells a function before the allocation around an address is freed.
    pub(crate) fn notify(&self, notifier: Notifier) -> Result<(), Status> {
        let mut state = self.state.write();
        let found = around_mut(&mut state.all, notifier.address);
        found.ok_or(Status::ERROR_INVALID_ALLOCATION)?.1.notifiers.push(notifier);
        Ok(())
    }

    /// Forgets what [`Allocations::notify`] was given for this address.
    pub(crate) fn forget(&self, address: u64, function: DeallocationCallback) -> Result<(), Status> {
        let mut state = self.state.write();
        let (_, allocation) = around_mut(&mut state.all, address).ok_or(Status::ERROR_INVALID_ARGUMENT)?;
        let before = allocation.notifiers.len();
        allocation.notifiers.retain(|one| one.address != address || !std::ptr::fn_addr_eq(one.function, function));
        if allocation.notifiers.len() < before { Ok(()) } else { Err(Status::ERROR_INVALID_ARGUMENT) }
    }

    /// Notes what the client wants to find at memory that begins at this address.
    pub(crate) fn set_user_data(&self, address: u64, data: u64) -> Result<(), Status> {
        let mut state = self.state.write();
        let State { all, locks, .. } = &mut *state;
        let found = all.get_mut(&address).or_else(|| locks.get_mut(&address));
        found.ok_or(Status::ERROR_INVALID_ARGUMENT)?.user_data = data;
        Ok(())
    }

    /// Lets these agents touch an allocation, and its owner; others no longer.
    pub(crate) fn grant(&self, address: u64, agents: &[Agent]) -> Result<(), Status> {
        let mut state = self.state.write();
        let state = &mut *state;
        let Some((start, allocation)) = around_mut(&mut state.all, address) else {
            // Locked memory is already what it is for.
            return if state.lock_around(address).is_some() { Ok(()) } else { Err(Status::ERROR_INVALID_ALLOCATION) };
        };
        for gpu in &state.gpus {
            let may = agents.contains(&gpu.agent) || allocation.owner == gpu.agent;
            let could = allocation.users.contains(&gpu.agent);
            match (&allocation.mapping, could, may) {
                (Some(mapping), false, true) => {
                    show(gpu, mapping);
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

    /// Lets agents touch host memory that the client owns and keeps until it is unlocked; the address that they know it by.
    ///
    /// A discrete GPU has no page of the host's under the host's address, so that its driver finds others for it. HIP 5 relies
    /// on the two being different. What was allocated has one address for all.
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
        state.show_locks();
        Ok(if around(&state.all, address).is_some() { address } else { address | ALIAS })
    }

    /// Ends what [`Allocations::lock`] began.
    pub(crate) fn unlock(&self, address: u64) -> Result<(), Status> {
        let mut state = self.state.write();
        let (start, _) = state.lock_around(address).ok_or(Status::ERROR_INVALID_ARGUMENT)?;
        if let Some(lock) = state.locks.get_mut(&start) {
            lock.locked -= 1;
            if lock.locked == 0 {
                state.locks.remove(&start);
                state.show_locks();
            }
        }
        Ok(())
    }

    /// What lies at an address: where it begins, and what it is.
    pub(crate) fn at<T>(&self, address: u64, look: impl FnOnce(u64, &Allocation) -> T) -> Option<T> {
        let state = self.state.read();
        let found = around(&state.all, address).or_else(|| state.lock_around(address))?;
        Some(look(found.0, found.1))
    }

    /// Whether a range is one allocation's, or locked; `None` if nothing of these is at its start.
    pub(crate) fn covers(&self, range: &Range<u64>) -> Option<bool> {
        let state = self.state.read();
        if let Some((start, allocation)) = around(&state.all, range.start) {
            return Some(range.end - start <= allocation.size);
        }
        let locked = merged(state.locks.iter().map(|(start, lock)| *start..start + lock.size));
        let found = locked.into_iter().find(|locked| locked.contains(&range.start))?;
        Some(range.end <= found.end)
    }
}

impl State {
    fn gpu(&self, agent: Agent) -> Option<Arc<Gpu>> {
        self.gpus.iter().find(|gpu| gpu.agent == agent).cloned()
    }

    /// What is locked at an address: of several the one that begins last. Another that begins before may reach further.
    fn lock_around(&self, address: u64) -> Option<(u64, &Allocation)> {
        let mut before = self.locks.range(..=address).rev().map(|(start, lock)| (*start, lock));
        before.find(|(start, lock)| address - start < lock.size)
    }

    /// Lets these agents no longer touch what begins at an address.
    fn hide(&self, address: u64, users: &[Agent]) {
        for gpu in self.gpus.iter().filter(|gpu| users.contains(&gpu.agent)) {
            gpu.emulator.memory().unregister(address);
        }
    }

    /// Tells every GPU which host memory is locked for it, parts that were locked twice once.
    fn show_locks(&mut self) {
        for (gpu, known) in self.gpus.iter().zip(&mut self.known_locks) {
            let wanted = self.locks.iter().filter(|(_, lock)| lock.users.contains(&gpu.agent));
            let host = merged(wanted.map(|(start, lock)| *start..start + lock.size));
            // The host's address too: on a machine whose GPUs share its page tables, programs may use either.
            let aliases: Vec<_> = host.iter().map(|range| range.start | ALIAS..range.end | ALIAS).collect();
            let (old, new) = (known.iter().map(|range| range.start), host.into_iter().chain(aliases));
            // At once: a kernel may be using what stays locked. What is also an allocation is registered already.
            // SAFETY: the client keeps it until it unlocks it.
            *known = unsafe { gpu.emulator.memory().exchange(old, new, Access::ReadWrite, None) };
        }
    }
}

/// Ranges by their start, those that touch as one.
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

/// Lets a GPU touch pages.
fn show(gpu: &Gpu, mapping: &Arc<Mapping>) {
    // SAFETY: the mapping is live as long as its owner, and clients know that kernels may write it.
    unsafe { gpu.emulator.memory().register_owned(mapping.range(), Access::ReadWrite, Arc::clone(mapping) as _) };
}

fn around(map: &BTreeMap<u64, Allocation>, address: u64) -> Option<(u64, &Allocation)> {
    let (&start, allocation) = map.range(..=address).next_back()?;
    (address - start < allocation.size).then_some((start, allocation))
}

fn around_mut(map: &mut BTreeMap<u64, Allocation>, address: u64) -> Option<(u64, &mut Allocation)> {
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
    fn memory_of_a_gpu_is_bounded_and_comes_back() {
        let (allocations, gpus) = with_gpus();
        let pool = Pool::of_agent(gpus[0].agent)[0];
        assert_eq!(allocations.allocate(pool, 2 << 20), Err(Status::ERROR_INVALID_ALLOCATION));
        let all = allocations.allocate(pool, 1 << 20).expect("all of it");
        assert_eq!(allocations.allocate(pool, 1), Err(Status::ERROR_OUT_OF_RESOURCES));
        assert_eq!(allocations.free(all + 1, |_| ()), Err(Status::ERROR_INVALID_ALLOCATION));
        allocations.free(all, |_| ()).expect("it was allocated");
        assert_eq!(gpus[0].free(), 1 << 20);
        assert_eq!(allocations.free(all, |_| ()), Err(Status::ERROR_INVALID_ALLOCATION), "twice");
    }

    #[test]
    fn access_is_granted_and_taken() {
        let (allocations, gpus) = with_gpus();
        let [first, second] = [gpus[0].agent, gpus[1].agent];
        let address = allocations.allocate(Pool::of_agent(first)[0], 100).expect("there is room");
        let users = || allocations.at(address + 99, |_, allocation| allocation.users.clone());
        assert_eq!(users(), Some(vec![first]));
        allocations.grant(address, &[second]).expect("it was allocated");
        assert_eq!(users(), Some(vec![first, second]), "the owner keeps it");
        allocations.grant(address, &[]).expect("it was allocated");
        assert_eq!(users(), Some(vec![first]));
        assert_eq!(allocations.at(address + 100, |_, _| ()), None, "behind its end");
    }

    #[test]
    fn host_memory_may_be_locked_twice() {
        let (allocations, gpus) = with_gpus();
        let memory = vec![0u8; 300];
        let start = memory.as_ptr().expose_provenance() as u64;
        allocations.lock(start, 200, &[gpus[0].agent]).expect("it is memory");
        allocations.lock(start + 100, 200, &[]).expect("it is memory");
        allocations.lock(start, 200, &[]).expect("it is memory");
        let known = || allocations.state.read().known_locks.clone();
        let both = |range: Range<u64>| vec![range.clone(), range.start | ALIAS..range.end | ALIAS];
        assert_eq!(known(), vec![both(start..start + 300); 2]);
        allocations.unlock(start).expect("it was locked twice");
        assert_eq!(known().len(), 2);
        allocations.unlock(start).expect("it was locked once");
        assert_eq!(known()[0], both(start + 100..start + 300));
        allocations.unlock(start + 100).expect("it was locked");
        assert!(known().iter().all(Vec::is_empty));
        assert_eq!(allocations.unlock(start), Err(Status::ERROR_INVALID_ARGUMENT));
    }

    #[test]
    fn a_lock_inside_another_does_not_hide_it() {
        let (allocations, _) = with_gpus();
        let memory = vec![0u8; 300];
        let start = memory.as_ptr().expose_provenance() as u64;
        allocations.lock(start, 300, &[]).expect("it is memory");
        allocations.lock(start + 10, 20, &[]).expect("it is memory");
        let at = |offset| allocations.at(start + offset, |found, lock| (found - start, lock.size));
        assert_eq!([at(5), at(15), at(200), at(300)], [Some((0, 300)), Some((10, 20)), Some((0, 300)), None]);
        let covers = |offset, bytes| allocations.covers(&(start + offset..start + offset + bytes));
        assert_eq!([covers(10, 290), covers(10, 291), covers(300, 1)], [Some(true), Some(false), None]);
        allocations.unlock(start + 15).expect("the inner one");
        allocations.unlock(start + 15).expect("the outer one");
        assert_eq!(at(15), None);
    }
}
