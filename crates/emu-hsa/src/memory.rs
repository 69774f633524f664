//! Memory pools, what was allocated from them, and who may touch it.

#![expect(unsafe_code, reason = "memory is made known to the emulated GPUs by its addresses")]

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

use parking_lot::RwLock;
use roci_emu::Access;
use roci_hsa::abi::{Agent, MemoryPool, MemoryPoolGlobalFlag, PointerType, Status};

use crate::gpu::Gpu;
use crate::mapping::{Mapping, PAGE};
use crate::runtime::CPU;

/// Bytes that allocations are multiples of, and their alignment.
pub(crate) const GRANULE: usize = PAGE;
/// What large allocations are aligned to, as a GPU's driver does it.
const LARGE: usize = 2 << 20;

/// What memory of a pool is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PoolKind {
    /// Seen by others while a kernel runs.
    Fine,
    /// The same, for the arguments of kernels.
    Kernarg,
    /// One agent's at a time.
    Coarse,
    /// A workgroup's: nothing can be allocated.
    Group,
}

/// A memory pool of an agent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Pool {
    agent: Agent,
    kind: PoolKind,
}

impl Pool {
    const KINDS: [PoolKind; 4] = [PoolKind::Fine, PoolKind::Kernarg, PoolKind::Coarse, PoolKind::Group];

    /// The pools of an agent, in the order of a real one.
    pub(crate) fn of_agent(agent: Agent) -> Vec<Self> {
        let kinds = if agent == CPU {
            [PoolKind::Fine, PoolKind::Kernarg, PoolKind::Coarse]
        } else {
            [PoolKind::Coarse, PoolKind::Fine, PoolKind::Group]
        };
        kinds.map(|kind| Self { agent, kind }).to_vec()
    }

    /// The pool of a handle, if there may be one.
    pub(crate) fn of(handle: MemoryPool) -> Option<Self> {
        let agent = Agent { handle: handle.handle >> 8 };
        let kind = *Self::KINDS.get((handle.handle & 0xff) as usize)?;
        let pool = Self { agent, kind };
        Self::of_agent(agent).contains(&pool).then_some(pool)
    }

    pub(crate) fn handle(self) -> MemoryPool {
        MemoryPool { handle: self.agent.handle << 8 | self.kind as u64 }
    }

    pub(crate) fn agent(self) -> Agent {
        self.agent
    }

    pub(crate) fn kind(self) -> PoolKind {
        self.kind
    }

    /// What it promises of writes.
    pub(crate) fn flags(self) -> MemoryPoolGlobalFlag {
        match self.kind {
            PoolKind::Fine if self.agent == CPU => MemoryPoolGlobalFlag::FINE_GRAINED,
            PoolKind::Fine => MemoryPoolGlobalFlag::EXTENDED_SCOPE_FINE_GRAINED,
            PoolKind::Kernarg => MemoryPoolGlobalFlag::KERNARG_INIT | MemoryPoolGlobalFlag::FINE_GRAINED,
            PoolKind::Coarse => MemoryPoolGlobalFlag::COARSE_GRAINED,
            PoolKind::Group => MemoryPoolGlobalFlag::EMPTY,
        }
    }
}

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
    /// How often it was locked.
    locked: u32,
    mapping: Option<Arc<Mapping>>,
}

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
        let mut state = self.state.write();
        for gpu in &state.gpus {
            show(gpu, &mapping);
        }
        state.shared.insert(mapping.range().start, Arc::clone(&mapping));
        Some(mapping)
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
        if pool.kind == PoolKind::Group {
            return Err(Status::ERROR_INVALID_ALLOCATION);
        }
        let mut state = self.state.write();
        let gpu = state.gpu(pool.agent);
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
            owner: pool.agent,
            flags: pool.flags(),
            users,
            locked: 0,
            mapping: Some(mapping),
        };
        state.all.insert(start, allocation);
        Ok(start)
    }

    /// Gives an allocation back. Kernels that run keep it until they end.
    pub(crate) fn free(&self, address: u64) -> Result<(), Status> {
        let mut state = self.state.write();
        let allocation = state.all.remove(&address).ok_or(Status::ERROR_INVALID_ALLOCATION)?;
        for gpu in state.gpus.iter().filter(|gpu| allocation.users.contains(&gpu.agent)) {
            gpu.emulator.memory().unregister(address);
        }
        if let Some(gpu) = state.gpu(allocation.owner) {
            gpu.give_back(allocation.size.next_multiple_of(GRANULE as u64));
        }
        Ok(())
    }

    /// Lets these agents touch an allocation, and its owner; others no longer.
    pub(crate) fn grant(&self, address: u64, agents: &[Agent]) -> Result<(), Status> {
        let mut state = self.state.write();
        let state = &mut *state;
        let Some((start, allocation)) = around_mut(&mut state.all, address) else {
            // Locked memory is already what it is for.
            return if around(&state.locks, address).is_some() {
                Ok(())
            } else {
                Err(Status::ERROR_INVALID_ALLOCATION)
            };
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

    /// Lets agents touch host memory that the client owns and keeps until it is unlocked.
    pub(crate) fn lock(&self, address: u64, size: u64, agents: &[Agent]) -> Result<(), Status> {
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
        Ok(())
    }

    /// Ends what [`Allocations::lock`] began.
    pub(crate) fn unlock(&self, address: u64) -> Result<(), Status> {
        let mut state = self.state.write();
        let Some(start) = around(&state.locks, address).map(|(start, _)| start) else {
            return Err(Status::ERROR_INVALID_ARGUMENT);
        };
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
        let found = around(&state.all, address).or_else(|| around(&state.locks, address))?;
        Some(look(found.0, found.1))
    }
}

impl State {
    fn gpu(&self, agent: Agent) -> Option<Arc<Gpu>> {
        self.gpus.iter().find(|gpu| gpu.agent == agent).cloned()
    }

    /// Tells every GPU which host memory is locked for it, parts that were locked twice once.
    fn show_locks(&mut self) {
        for (gpu, known) in self.gpus.iter().zip(&mut self.known_locks) {
            let memory = gpu.emulator.memory();
            for range in known.drain(..) {
                memory.unregister(range.start);
            }
            let wanted = self.locks.iter().filter(|(_, lock)| lock.users.contains(&gpu.agent));
            for range in merged(wanted.map(|(start, lock)| *start..start + lock.size)) {
                // SAFETY: the client keeps it until it unlocks it. What is also an allocation is registered already.
                if unsafe { memory.register(range.clone(), Access::ReadWrite) } {
                    known.push(range);
                }
            }
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
    use std::time::Instant;

    fn with_gpus() -> (Allocations, Vec<Arc<Gpu>>) {
        let allocations = Allocations::default();
        let mut config = Config::new(vec![Chip::Gfx1010; 2]);
        config.memory = Some(1 << 20);
        let gpus: Vec<_> = (0..2).map(|i| Arc::new(Gpu::new(Chip::Gfx1010, i, &config, Instant::now()))).collect();
        for gpu in &gpus {
            allocations.add_gpu(gpu);
        }
        (allocations, gpus)
    }

    #[test]
    fn handles_of_pools_come_back() {
        for agent in [CPU, Agent { handle: 2 }, Agent { handle: 77 }] {
            for pool in Pool::of_agent(agent) {
                assert_eq!(Pool::of(pool.handle()), Some(pool));
            }
        }
        assert_eq!(Pool::of(MemoryPool { handle: CPU.handle << 8 | PoolKind::Group as u64 }), None);
        assert_eq!(Pool::of(MemoryPool { handle: 0x2ff }), None);
    }

    #[test]
    fn memory_of_a_gpu_is_bounded_and_comes_back() {
        let (allocations, gpus) = with_gpus();
        let pool = Pool::of_agent(gpus[0].agent)[0];
        assert_eq!(allocations.allocate(pool, 2 << 20), Err(Status::ERROR_INVALID_ALLOCATION));
        let all = allocations.allocate(pool, 1 << 20).expect("all of it");
        assert_eq!(allocations.allocate(pool, 1), Err(Status::ERROR_OUT_OF_RESOURCES));
        assert_eq!(allocations.free(all + 1), Err(Status::ERROR_INVALID_ALLOCATION));
        allocations.free(all).expect("it was allocated");
        assert_eq!(gpus[0].free(), 1 << 20);
        assert_eq!(allocations.free(all), Err(Status::ERROR_INVALID_ALLOCATION), "twice");
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
        assert_eq!(known(), vec![vec![start..start + 300]; 2]);
        allocations.unlock(start).expect("it was locked twice");
        assert_eq!(known().len(), 2);
        allocations.unlock(start).expect("it was locked once");
        assert_eq!(known()[0], vec![start + 100..start + 300]);
        allocations.unlock(start + 100).expect("it was locked");
        assert!(known().iter().all(Vec::is_empty));
        assert_eq!(allocations.unlock(start), Err(Status::ERROR_INVALID_ARGUMENT));
    }
}
