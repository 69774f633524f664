//! Memory of the GPUs and of the host that they can reach.

#![expect(unsafe_code, reason = "promises the HAL that memory stays where it is")]

use std::ptr::NonNull;

use roci_hal::driver::BufferBackend;
use roci_hal::{BufferDesc, Error, MemoryType};
use roci_hsa::abi::{MemoryPoolAccess, MemoryPoolFlag, MemoryPoolGlobalFlag};
use roci_hsa::runtime::{Agent, Allocation, Pool};

use crate::discover::{failed, pool, unavailable};

/// The pools that a logical device allocates from.
pub(crate) struct Pools {
    /// Of the first GPU.
    device: Pool,
    /// The host's.
    host: Pool,
    /// For kernel arguments.
    kernarg: Pool,
    /// Of the first GPU, where the host can reach it.
    shared: Option<Pool>,
    /// All GPUs of the logical device.
    gpus: Vec<Agent>,
}

/// A buffer.
pub(crate) struct Memory {
    allocation: Allocation,
    visible: bool,
}

// SAFETY: the allocation stays where it is, mapped for the host and zeroed by the operating system, until it is dropped.
unsafe impl BufferBackend for Memory {
    fn host_pointer(&self) -> Option<NonNull<u8>> {
        self.visible.then(|| self.allocation.address())
    }
}

impl Memory {
    /// Its address, which is the same for all.
    pub(crate) fn address(&self) -> u64 {
        self.allocation.address().as_ptr().expose_provenance() as u64
    }

    /// Where the host writes it, if it is memory of the host.
    pub(crate) fn pointer(&self) -> *mut u8 {
        self.allocation.address().as_ptr()
    }
}

impl Pools {
    /// The pools of GPUs and of the CPU nearest to the first.
    pub(crate) fn find(gpus: &[Agent]) -> Result<Self, Error> {
        let first = &gpus[0];
        let runtime = first.runtime();
        let cpu = match first.nearest_cpu() {
            Ok(cpu) => cpu,
            // Older runtimes do not know which is nearest.
            Err(_) => {
                let agents = runtime.agents().map_err(failed)?;
                let is_cpu = |agent: &Agent| agent.device_type().ok() == Some(roci_hsa::abi::DeviceType::CPU);
                agents.into_iter().find(is_cpu).ok_or_else(|| unavailable("the CPU", "HSA lists none"))?
            }
        };
        let need = |found: Option<Pool>, what: &str| found.ok_or_else(|| unavailable(what, "HSA lists no such pool"));
        let extended = pool(first, MemoryPoolGlobalFlag::EXTENDED_SCOPE_FINE_GRAINED)?;
        let fine = extended.map_or_else(|| pool(first, MemoryPoolGlobalFlag::FINE_GRAINED), |pool| Ok(Some(pool)))?;
        let reachable = |pool: &Pool| pool.access(&cpu).is_ok_and(|access| access != MemoryPoolAccess::NEVER_ALLOWED);
        Ok(Self {
            device: need(pool(first, MemoryPoolGlobalFlag::COARSE_GRAINED)?, "memory of the GPU")?,
            host: need(pool(&cpu, MemoryPoolGlobalFlag::FINE_GRAINED)?, "memory of the host")?,
            kernarg: need(pool(&cpu, MemoryPoolGlobalFlag::KERNARG_INIT)?, "memory for kernel arguments")?,
            shared: fine.filter(reachable),
            gpus: gpus.to_vec(),
        })
    }

    /// The types of memory that there are.
    pub(crate) fn types(&self) -> Vec<MemoryType> {
        let mut types = vec![MemoryType::Device, MemoryType::Host];
        types.extend(self.shared.as_ref().map(|_| MemoryType::Shared));
        types
    }

    /// Bytes of one allocation at most.
    pub(crate) fn max_allocation(&self) -> u64 {
        let most = self.device.max_allocation().or_else(|_| self.device.size());
        most.map_or(0, |bytes| bytes as u64)
    }

    /// A buffer; `None` if there is not so much memory.
    pub(crate) fn allocate(&self, desc: &BufferDesc) -> Option<Memory> {
        let pool = match desc.memory {
            MemoryType::Device => &self.device,
            MemoryType::Host => &self.host,
            MemoryType::Shared => self.shared.as_ref()?,
        };
        self.take(pool, desc.size, desc.memory.host_visible())
    }

    /// Memory for kernel arguments.
    pub(crate) fn arguments(&self, bytes: u64) -> Option<Memory> {
        self.take(&self.kernarg, bytes, true)
    }

    fn take(&self, pool: &Pool, bytes: u64, visible: bool) -> Option<Memory> {
        let allocation = pool.allocate(usize::try_from(bytes).ok()?, MemoryPoolFlag::STANDARD_FLAG).ok()?;
        let gpus: Vec<&Agent> = self.gpus.iter().collect();
        allocation.allow_access(&gpus).ok()?;
        Some(Memory { allocation, visible })
    }
}
