//! Memory of the GPUs and of the host that they can reach.

#![expect(unsafe_code, reason = "promises the HAL that memory stays where it is, and writes a register")]

use std::ptr::NonNull;

use roci_hal::driver::BufferBackend;
use roci_hal::{BufferDesc, Error, MemoryType};
use roci_hsa::abi::{MemoryPoolAccess, MemoryPoolFlag, MemoryPoolGlobalFlag};
use roci_hsa::runtime::{Agent, Allocation, Pool};

use crate::discover::{failed, is_apu, pool, unavailable};

/// The pools that a logical device allocates from.
pub(crate) struct Pools {
    /// Of the first GPU.
    device: Pool,
    /// The host's.
    host: Pool,
    /// For kernel arguments.
    kernarg: Pool,
    /// Memory that is near to the GPU and in reach of the host.
    shared: Option<Shared>,
    /// The CPU nearest to the first GPU.
    cpu: Agent,
    /// Registers that make the host's writes to the GPU's memory seen; null where there are none.
    hdp: Hdp,
    /// All GPUs of the logical device.
    gpus: Vec<Agent>,
}

/// A pool that host and GPU are both near to.
struct Shared {
    pool: Pool,
    home: Home,
}

/// Whose memory it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Home {
    /// The first GPU's.
    Gpu,
    /// The host's.
    Host,
}

/// A buffer.
pub(crate) struct Memory {
    allocation: Allocation,
    visible: bool,
    home: Home,
    hdp: Hdp,
}

/// The register that flushes the host's writes to a GPU's memory, mapped for the host by the runtime; perhaps null.
#[derive(Clone, Copy)]
struct Hdp(*mut u32);

// SAFETY: a register of the GPU, mapped as long as the runtime lives; every write of the same value means the same.
unsafe impl Send for Hdp {}
// SAFETY: the same.
unsafe impl Sync for Hdp {}

// SAFETY: the allocation stays where it is, mapped for the host and zeroed by the operating system, until it is dropped.
unsafe impl BufferBackend for Memory {
    fn host_pointer(&self) -> Option<NonNull<u8>> {
        self.visible.then(|| self.allocation.address())
    }

    fn flush(&self, _offset: u64, _length: u64) -> Result<(), Error> {
        if self.home == Home::Gpu && !self.hdp.0.is_null() {
            // What the host wrote stands before this.
            std::sync::atomic::fence(std::sync::atomic::Ordering::SeqCst);
            // SAFETY: the runtime mapped the register, and this memory keeps the runtime alive.
            unsafe { self.hdp.0.write_volatile(1) };
            // SAFETY: the same. Reading it back waits for the flush.
            let _ = unsafe { self.hdp.0.read_volatile() };
        }
        Ok(())
    }
}

impl Memory {
    /// Its address, which is the same for all.
    pub(crate) fn address(&self) -> u64 {
        self.allocation.address().as_ptr().expose_provenance() as u64
    }

    /// Whose it is.
    pub(crate) fn home(&self) -> Home {
        self.home
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
        // A GPU that has no memory of its own is near to the host's.
        let host = need(pool(&cpu, MemoryPoolGlobalFlag::FINE_GRAINED)?, "memory of the host")?;
        let of_gpu = fine.filter(reachable).map(|pool| Shared { pool, home: Home::Gpu });
        let of_host = || is_apu(first).then(|| Shared { pool: host.clone(), home: Home::Host });
        Ok(Self {
            device: need(pool(first, MemoryPoolGlobalFlag::COARSE_GRAINED)?, "memory of the GPU")?,
            kernarg: need(pool(&cpu, MemoryPoolGlobalFlag::KERNARG_INIT)?, "memory for kernel arguments")?,
            shared: of_gpu.or_else(of_host),
            host,
            hdp: Hdp(first.hdp_flush().map_or(std::ptr::null_mut(), |registers| registers.mem_flush_cntl)),
            cpu,
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
        let (pool, home) = match desc.memory {
            MemoryType::Device => (&self.device, Home::Gpu),
            MemoryType::Host => (&self.host, Home::Host),
            MemoryType::Shared => self.shared.as_ref().map(|shared| (&shared.pool, shared.home))?,
        };
        self.take(pool, desc.size, desc.memory.host_visible(), home)
    }

    /// Memory for kernel arguments.
    pub(crate) fn arguments(&self, bytes: u64) -> Option<Memory> {
        self.take(&self.kernarg, bytes, true, Home::Host)
    }

    /// Whose memory copy engines are told that it is.
    pub(crate) fn owner(&self, home: Home) -> &Agent {
        match home {
            Home::Gpu => &self.gpus[0],
            Home::Host => &self.cpu,
        }
    }

    fn take(&self, pool: &Pool, bytes: u64, visible: bool, home: Home) -> Option<Memory> {
        let allocation = pool.allocate(usize::try_from(bytes).ok()?, MemoryPoolFlag::STANDARD_FLAG).ok()?;
        let mut users: Vec<&Agent> = self.gpus.iter().collect();
        // The list is of all but the owner: the host must be on it where the GPU's memory is for it, too.
        if visible && home == Home::Gpu {
            users.push(&self.cpu);
        }
        allocation.allow_access(&users).ok()?;
        Some(Memory { allocation, visible, home, hdp: self.hdp })
    }
}
