//! Buffers, and the HSA memory pools they are allocated from.

#![expect(unsafe_code, reason = "guarantees that memory stays mapped, and writes a register")]

use std::ptr::NonNull;

use roci_hal::driver::BufferBackend;
use roci_hal::{BufferDesc, Error, MemoryType};
use roci_hsa::abi::{MemoryPoolAccess, MemoryPoolFlag, MemoryPoolGlobalFlag};
use roci_hsa::runtime::{Agent, Allocation, Pool};

use crate::agent::{is_apu, pool};
use crate::error::{failed, unavailable};

/// The memory pools of a logical device.
pub(crate) struct BufferAllocator {
    /// Device-local memory of the first GPU.
    device: Pool,
    /// Fine-grained host memory.
    host: Pool,
    /// Host memory for kernel arguments.
    kernarg: Pool,
    /// Device-local and host-visible memory.
    shared: Option<SharedPool>,
    /// The CPU nearest to the first GPU.
    cpu: Agent,
    /// Flush register for host writes to GPU memory; null if there is none.
    hdp: Hdp,
    /// All GPUs of the logical device.
    gpus: Vec<Agent>,
}

/// A pool of device-local and host-visible memory.
struct SharedPool {
    pool: Pool,
    location: MemoryLocation,
}

/// Where memory is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum MemoryLocation {
    /// The first GPU.
    Gpu,
    Host,
}

/// An allocation of one of the pools.
pub(crate) struct Buffer {
    allocation: Allocation,
    visible: bool,
    location: MemoryLocation,
    hdp: Hdp,
}

/// The HDP register that flushes host writes to GPU memory, mapped into the process by the runtime.
/// May be null.
#[derive(Clone, Copy)]
struct Hdp(*mut u32);

// SAFETY: a GPU register that is mapped while the runtime lives. All writes store the same value,
// so they may race.
unsafe impl Send for Hdp {}
// SAFETY: as above.
unsafe impl Sync for Hdp {}

// SAFETY: the allocation is mapped for the host at a fixed address until it is dropped, and the
// operating system has zeroed it.
unsafe impl BufferBackend for Buffer {
    fn host_pointer(&self) -> Option<NonNull<u8>> {
        self.visible.then(|| self.allocation.address())
    }

    fn flush(&self, _offset: u64, _length: u64) -> Result<(), Error> {
        if self.location == MemoryLocation::Gpu && !self.hdp.0.is_null() {
            // Orders the host's writes before the flush.
            std::sync::atomic::fence(std::sync::atomic::Ordering::SeqCst);
            // SAFETY: the register is not null, and the allocation keeps the runtime, which mapped
            // it, alive.
            unsafe { self.hdp.0.write_volatile(1) };
            // SAFETY: as above. Reading the register back waits for the flush.
            let _ = unsafe { self.hdp.0.read_volatile() };
        }
        Ok(())
    }
}

impl Buffer {
    /// Address, identical for host and GPUs.
    pub(crate) fn address(&self) -> u64 {
        self.allocation.address().as_ptr().expose_provenance() as u64
    }

    /// Owner of the memory.
    pub(crate) fn location(&self) -> MemoryLocation {
        self.location
    }

    /// Address for host writes; valid only for host-visible memory.
    pub(crate) fn pointer(&self) -> *mut u8 {
        self.allocation.address().as_ptr()
    }
}

impl BufferAllocator {
    /// Finds the pools of the first GPU and of the CPU nearest to it.
    pub(crate) fn find(gpus: &[Agent]) -> Result<Self, Error> {
        let first = &gpus[0];
        let runtime = first.runtime();
        let cpu = match first.nearest_cpu() {
            Ok(cpu) => cpu,
            // Older runtimes do not report the nearest CPU.
            Err(_) => {
                let agents = runtime.agents().map_err(failed)?;
                let is_cpu = |agent: &Agent| agent.device_type().ok() == Some(roci_hsa::abi::DeviceType::CPU);
                agents.into_iter().find(is_cpu).ok_or_else(|| unavailable("the CPU", "HSA lists none"))?
            }
        };
        let need = |found: Option<Pool>, what: &str| found.ok_or_else(|| unavailable(what, "HSA has no such pool"));
        let extended = pool(first, MemoryPoolGlobalFlag::EXTENDED_SCOPE_FINE_GRAINED)?;
        let fine = extended.map_or_else(|| pool(first, MemoryPoolGlobalFlag::FINE_GRAINED), |pool| Ok(Some(pool)))?;
        let reachable = |pool: &Pool| pool.access(&cpu).is_ok_and(|access| access != MemoryPoolAccess::NEVER_ALLOWED);
        // An APU uses host memory as device-local memory.
        let host = need(pool(&cpu, MemoryPoolGlobalFlag::FINE_GRAINED)?, "host memory")?;
        let of_gpu = fine.filter(reachable).map(|pool| SharedPool { pool, location: MemoryLocation::Gpu });
        let of_host = || is_apu(first).then(|| SharedPool { pool: host.clone(), location: MemoryLocation::Host });
        Ok(Self {
            device: need(pool(first, MemoryPoolGlobalFlag::COARSE_GRAINED)?, "GPU memory")?,
            kernarg: need(pool(&cpu, MemoryPoolGlobalFlag::KERNARG_INIT)?, "kernarg memory")?,
            shared: of_gpu.or_else(of_host),
            host,
            hdp: Hdp(first.hdp_flush().map_or(std::ptr::null_mut(), |registers| registers.mem_flush_cntl)),
            cpu,
            gpus: gpus.to_vec(),
        })
    }

    /// Supported memory types.
    pub(crate) fn types(&self) -> Vec<MemoryType> {
        let mut types = vec![MemoryType::Device, MemoryType::Host];
        types.extend(self.shared.as_ref().map(|_| MemoryType::Shared));
        types
    }

    /// Maximum allocation size in bytes.
    pub(crate) fn max_allocation(&self) -> u64 {
        let most = self.device.max_allocation().or_else(|_| self.device.size());
        most.map_or(0, |bytes| bytes as u64)
    }

    /// Allocates a buffer. Returns `None` if out of memory.
    pub(crate) fn allocate(&self, desc: &BufferDesc) -> Option<Buffer> {
        let (pool, location) = match desc.memory {
            MemoryType::Device => (&self.device, MemoryLocation::Gpu),
            MemoryType::Host => (&self.host, MemoryLocation::Host),
            MemoryType::Shared => self.shared.as_ref().map(|shared| (&shared.pool, shared.location))?,
        };
        self.allocate_from(pool, desc.size, desc.memory.host_visible(), location)
    }

    /// Allocates memory for kernel arguments. Returns `None` if out of memory.
    pub(crate) fn kernargs(&self, bytes: u64) -> Option<Buffer> {
        self.allocate_from(&self.kernarg, bytes, true, MemoryLocation::Host)
    }

    /// The agent to name as owner in a copy by the runtime.
    pub(crate) fn owner(&self, location: MemoryLocation) -> &Agent {
        match location {
            MemoryLocation::Gpu => &self.gpus[0],
            MemoryLocation::Host => &self.cpu,
        }
    }

    fn allocate_from(&self, pool: &Pool, bytes: u64, visible: bool, location: MemoryLocation) -> Option<Buffer> {
        let allocation = pool.allocate(usize::try_from(bytes).ok()?, MemoryPoolFlag::STANDARD_FLAG).ok()?;
        let mut users: Vec<&Agent> = self.gpus.iter().collect();
        // The owner has access implicitly. The host must be listed for host-visible GPU memory.
        if visible && location == MemoryLocation::Gpu {
            users.push(&self.cpu);
        }
        allocation.allow_access(&users).ok()?;
        Some(Buffer { allocation, visible, location, hdp: self.hdp })
    }
}
