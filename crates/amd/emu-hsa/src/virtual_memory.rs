//! Virtual memory (`hsa_amd_vmem_*`): address reservations, memory handles, and mappings of the
//! latter into the former.

#![expect(unsafe_code, reason = "memory is mapped over reserved addresses")]

use std::collections::BTreeMap;
use std::os::fd::{BorrowedFd, OwnedFd};
use std::sync::Arc;

use parking_lot::Mutex;
use roci_emu::{Access, Owner};
use roci_hsa::abi::{AccessPermission, Agent, MemoryType, Status};
use rustix::fs::{MemfdFlags, fstat, ftruncate, memfd_create};
use rustix::mm::{MapFlags, ProtFlags, mmap, mmap_anonymous};

use crate::gpu::Gpu;
use crate::mapping::{Mapping, PAGE};
use crate::pool::Pool;

/// Memory behind a handle; it has no address until it is mapped.
struct PhysicalMemory {
    handle: u64,
    file: OwnedFd,
    size: u64,
    pool: Pool,
    kind: MemoryType,
    /// GPU whose memory it uses; `None` for host and imported memory.
    gpu: Option<Arc<Gpu>>,
}

/// Memory that is mapped at an address.
struct MappedMemory {
    size: u64,
    /// GPUs that can access it.
    users: Vec<Arc<Gpu>>,
    /// Permissions that the client set.
    granted: BTreeMap<Agent, AccessPermission>,
    memory: Arc<PhysicalMemory>,
}

#[derive(Default)]
pub(crate) struct VirtualMemory {
    state: Mutex<VirtualMemoryState>,
}

#[derive(Default)]
struct VirtualMemoryState {
    reserved: BTreeMap<u64, Arc<Mapping>>,
    /// By handle, with its reference count.
    memory: BTreeMap<u64, (Arc<PhysicalMemory>, u32)>,
    mapped: BTreeMap<u64, MappedMemory>,
    last_handle: u64,
}

impl Drop for PhysicalMemory {
    fn drop(&mut self) {
        if let Some(gpu) = &self.gpu {
            gpu.release(self.size);
        }
    }
}

impl VirtualMemory {
    /// Reserves addresses and returns the first.
    pub(crate) fn reserve(&self, size: usize, alignment: usize) -> Result<u64, Status> {
        if size == 0 || !size.is_multiple_of(PAGE) || alignment != 0 && !alignment.is_power_of_two() {
            return Err(Status::ERROR_INVALID_ARGUMENT);
        }
        let mapping = Mapping::new(size, alignment).ok_or(Status::ERROR_OUT_OF_RESOURCES)?;
        let start = mapping.range().start;
        self.state.lock().reserved.insert(start, Arc::new(mapping));
        Ok(start)
    }

    /// Frees a complete reservation in which nothing is mapped.
    pub(crate) fn free(&self, address: u64, size: usize) -> Result<(), Status> {
        let mut state = self.state.lock();
        let range = state.reserved.get(&address).ok_or(Status::ERROR_INVALID_ALLOCATION)?.range();
        if range.end - range.start != size as u64 {
            return Err(Status::ERROR_INVALID_ARGUMENT);
        }
        if state.mapped.range(range).next().is_some() {
            return Err(Status::ERROR_RESOURCE_FREE);
        }
        state.reserved.remove(&address);
        Ok(())
    }

    /// Creates memory and returns its handle.
    pub(crate) fn create(
        &self,
        pool: Pool,
        kind: MemoryType,
        gpu: Option<Arc<Gpu>>,
        size: usize,
    ) -> Result<u64, Status> {
        if size == 0 || !size.is_multiple_of(PAGE) {
            return Err(Status::ERROR_INVALID_ARGUMENT);
        }
        if gpu.as_ref().is_some_and(|gpu| !gpu.reserve(size as u64)) {
            return Err(Status::ERROR_OUT_OF_RESOURCES);
        }
        let release = || gpu.as_ref().map(|gpu| gpu.release(size as u64));
        let file = memfd_create("roci-vmem", MemfdFlags::CLOEXEC).and_then(|file| {
            ftruncate(&file, size as u64)?;
            Ok(file)
        });
        let Ok(file) = file else {
            release();
            return Err(Status::ERROR_OUT_OF_RESOURCES);
        };
        Ok(self.insert(|handle| PhysicalMemory { handle, file, size: size as u64, pool, kind, gpu }))
    }

    /// Inserts memory under a new handle with a reference count of 1.
    fn insert(&self, create: impl FnOnce(u64) -> PhysicalMemory) -> u64 {
        let mut state = self.state.lock();
        state.last_handle += 1;
        let handle = state.last_handle;
        state.memory.insert(handle, (Arc::new(create(handle)), 1));
        handle
    }

    /// Decrements the reference count of a handle. Mappings keep the memory.
    pub(crate) fn release(&self, handle: u64) -> Result<(), Status> {
        let mut state = self.state.lock();
        let (_, count) = state.memory.get_mut(&handle).ok_or(Status::ERROR_INVALID_ALLOCATION)?;
        *count -= 1;
        if *count == 0 {
            state.memory.remove(&handle);
        }
        Ok(())
    }

    /// Increments the reference count of the memory that is mapped at an address and returns its
    /// handle.
    pub(crate) fn retain(&self, address: u64) -> Result<u64, Status> {
        let mut state = self.state.lock();
        let memory = &state.mapped.get(&address).ok_or(Status::ERROR_INVALID_ALLOCATION)?.memory;
        let (handle, memory) = (memory.handle, Arc::clone(memory));
        state.memory.entry(handle).or_insert((memory, 0)).1 += 1;
        Ok(handle)
    }

    /// Pool and type of the memory of a handle.
    pub(crate) fn properties(&self, handle: u64) -> Result<(Pool, MemoryType), Status> {
        let state = self.state.lock();
        let (memory, _) = state.memory.get(&handle).ok_or(Status::ERROR_INVALID_ALLOCATION)?;
        Ok((memory.pool, memory.kind))
    }

    /// A file descriptor that another process can import.
    pub(crate) fn export(&self, handle: u64) -> Result<OwnedFd, Status> {
        let state = self.state.lock();
        let (memory, _) = state.memory.get(&handle).ok_or(Status::ERROR_INVALID_ALLOCATION)?;
        memory.file.try_clone().map_err(|_| Status::ERROR_OUT_OF_RESOURCES)
    }

    /// Imports the file of [`VirtualMemory::export`]. It counts against the GPU of its creator
    /// only.
    pub(crate) fn import(&self, file: BorrowedFd<'_>) -> Result<u64, Status> {
        let size = fstat(file).map_err(|_| Status::ERROR_INVALID_ARGUMENT)?.st_size;
        let size = u64::try_from(size).ok().filter(|size| *size > 0 && size.is_multiple_of(PAGE as u64));
        let size = size.ok_or(Status::ERROR_INVALID_ARGUMENT)?;
        let file = file.try_clone_to_owned().map_err(|_| Status::ERROR_OUT_OF_RESOURCES)?;
        // The file does not name its pool.
        let pool = Pool::host_fine_grained();
        Ok(self.insert(|handle| PhysicalMemory { handle, file, size, pool, kind: MemoryType::NONE, gpu: None }))
    }

    /// Maps memory at reserved addresses. Only a mapping of all of it is supported.
    pub(crate) fn map(&self, address: u64, size: usize, offset: usize, handle: u64) -> Result<(), Status> {
        let mut state = self.state.lock();
        let memory = Arc::clone(&state.memory.get(&handle).ok_or(Status::ERROR_INVALID_ALLOCATION)?.0);
        let end = address.checked_add(size as u64).ok_or(Status::ERROR_INVALID_ARGUMENT)?;
        let full = offset == 0 && size as u64 == memory.size && address.is_multiple_of(PAGE as u64);
        let reserved = state.reservation(address).is_some_and(|mapping| end <= mapping.range().end);
        let overlaps = state.mapped.range(..end).next_back().is_some_and(|(start, one)| start + one.size > address);
        if !full || !reserved || overlaps {
            return Err(Status::ERROR_INVALID_ARGUMENT);
        }
        let pointer = std::ptr::with_exposed_provenance_mut(address as usize);
        let (protection, flags) = (ProtFlags::READ | ProtFlags::WRITE, MapFlags::SHARED | MapFlags::FIXED);
        // SAFETY: `FIXED` replaces only pages of the reservation, in which the checks above found
        // nothing mapped.
        let mapped = unsafe { mmap(pointer, size, protection, flags, &memory.file, 0) };
        mapped.map_err(|_| Status::ERROR_OUT_OF_RESOURCES)?;
        state
            .mapped
            .insert(address, MappedMemory { size: size as u64, users: Vec::new(), granted: BTreeMap::new(), memory });
        Ok(())
    }

    /// Unmaps memory from addresses, which stay reserved.
    pub(crate) fn unmap(&self, address: u64, size: usize) -> Result<(), Status> {
        let mut state = self.state.lock();
        if state.mapped.get(&address).is_none_or(|one| one.size != size as u64) {
            return Err(Status::ERROR_INVALID_ALLOCATION);
        }
        let Some(mapped) = state.mapped.remove(&address) else { return Err(Status::ERROR_INVALID_ALLOCATION) };
        for gpu in &mapped.users {
            gpu.emulator.memory().unregister(address);
        }
        let pointer = std::ptr::with_exposed_provenance_mut(address as usize);
        let flags = MapFlags::PRIVATE | MapFlags::FIXED | MapFlags::NORESERVE;
        // A kernel that is still running accesses zeroed pages instead of crashing the process.
        // SAFETY: `FIXED` replaces only the pages of the mapping that was just removed.
        let emptied = unsafe { mmap_anonymous(pointer, size, ProtFlags::READ | ProtFlags::WRITE, flags) };
        emptied.map(drop).map_err(|_| Status::ERROR_OUT_OF_RESOURCES)
    }

    /// Sets the access permissions of agents to the memory that is mapped at an address.
    pub(crate) fn set_access(
        &self,
        address: u64,
        gpus: &[Arc<Gpu>],
        requested: &[(Agent, AccessPermission)],
    ) -> Result<(), Status> {
        let mut state = self.state.lock();
        let owner: Owner = Arc::clone(state.reservation(address).ok_or(Status::ERROR_INVALID_ALLOCATION)?) as _;
        let mapped = state.mapped.get_mut(&address).ok_or(Status::ERROR_INVALID_ALLOCATION)?;
        for (agent, permission) in requested {
            mapped.granted.insert(*agent, *permission);
            let Some(gpu) = gpus.iter().find(|gpu| gpu.agent == *agent) else { continue };
            let before = mapped.users.iter().position(|user| user.agent == *agent);
            let old = before.map(|index| mapped.users.remove(index)).map(|_| address);
            let (new, access) = match *permission {
                AccessPermission::NONE => (None, Access::Read),
                AccessPermission::RO => (Some(address..address + mapped.size), Access::Read),
                _ => (Some(address..address + mapped.size), Access::ReadWrite),
            };
            // One atomic exchange: a running kernel may use the range.
            // SAFETY: the owner keeps the reservation mapped, with this memory or with zeroed
            // pages.
            let registered = unsafe { gpu.emulator.memory().exchange(old, new, access, Some(&owner)) };
            if !registered.is_empty() {
                mapped.users.push(Arc::clone(gpu));
            }
        }
        Ok(())
    }

    /// Access permission of an agent to the memory that is mapped at an address.
    pub(crate) fn access(&self, address: u64, agent: Agent) -> Result<AccessPermission, Status> {
        let state = self.state.lock();
        let mapped = state.mapped.get(&address).ok_or(Status::ERROR_INVALID_ALLOCATION)?;
        Ok(mapped.granted.get(&agent).copied().unwrap_or(AccessPermission::NONE))
    }

    /// The mapping that contains an address: its start, its size, the GPU that owns the memory and
    /// the GPUs with access.
    pub(crate) fn lookup(&self, address: u64) -> Option<(u64, u64, Option<Agent>, Vec<Agent>)> {
        let state = self.state.lock();
        let (&start, mapped) = state.mapped.range(..=address).next_back()?;
        let owner = mapped.memory.gpu.as_ref().map(|gpu| gpu.agent);
        let users = mapped.users.iter().map(|gpu| gpu.agent).collect();
        (address - start < mapped.size).then_some((start, mapped.size, owner, users))
    }
}

impl VirtualMemoryState {
    /// The reservation that contains an address.
    fn reservation(&self, address: u64) -> Option<&Arc<Mapping>> {
        let (_, mapping) = self.reserved.range(..=address).next_back()?;
        mapping.range().contains(&address).then_some(mapping)
    }
}
