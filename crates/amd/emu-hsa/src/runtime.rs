//! State of the runtime between the first `hsa_init` and the last `hsa_shut_down`.

use std::sync::Arc;

use parking_lot::RwLock;
use roci_emu::Chip;
use roci_hsa::abi::{Agent, MemoryPool, Status};

use crate::agent::CPU;
use crate::config::Config;
use crate::copy_engine::CopyEngine;
use crate::events::Events;
use crate::gpu::Gpu;
use crate::handlers::Handlers;
use crate::loader::Loader;
use crate::memory::Allocations;
use crate::pool::Pool;
use crate::queues::Queues;
use crate::signal_groups::SignalGroups;
use crate::signal_pool::SignalPool;
use crate::virtual_memory::VirtualMemory;

pub(crate) struct Runtime {
    config: Config,
    gpus: RwLock<Vec<Arc<Gpu>>>,
    pub(crate) memory: Arc<Allocations>,
    pub(crate) virtual_memory: VirtualMemory,
    pub(crate) signals: Arc<SignalPool>,
    pub(crate) signal_groups: SignalGroups,
    pub(crate) queues: Queues,
    pub(crate) copy_engine: CopyEngine,
    pub(crate) handlers: Arc<Handlers>,
    pub(crate) events: Arc<Events>,
    pub(crate) loader: Loader,
}

impl Runtime {
    pub(crate) fn new(config: Config) -> Self {
        let memory = Arc::<Allocations>::default();
        let handlers = Arc::<Handlers>::default();
        let signals = Arc::new(SignalPool::new(Arc::clone(&memory), Arc::clone(&handlers)));
        let events = Arc::new(Events::new(config.quiet));
        let queues = Queues::new(Arc::clone(&memory), Arc::clone(&signals), Arc::clone(&events), config.poll_doorbells);
        let runtime = Self {
            gpus: RwLock::default(),
            memory,
            virtual_memory: VirtualMemory::default(),
            signals,
            signal_groups: SignalGroups::default(),
            queues,
            copy_engine: CopyEngine::default(),
            handlers,
            events,
            loader: Loader::default(),
            config,
        };
        for chip in runtime.config.chips.clone() {
            runtime.add_gpu(chip);
        }
        runtime
    }

    fn add_gpu(&self, chip: Chip) {
        let mut gpus = self.gpus.write();
        let gpu = Arc::new(Gpu::new(chip, gpus.len() as u32, &self.config));
        self.memory.add_gpu(&gpu);
        gpus.push(gpu);
    }

    /// Adds a GPU for each of `chips` that has none yet; a chip listed twice needs two.
    pub(crate) fn add_missing_gpus(&self, chips: &[Chip]) {
        let mut present: Vec<Chip> = self.gpus().iter().map(|gpu| gpu.chip).collect();
        for &chip in chips {
            match present.iter().position(|other| *other == chip) {
                Some(index) => {
                    present.remove(index);
                }
                None => self.add_gpu(chip),
            }
        }
    }

    pub(crate) fn gpus(&self) -> Vec<Arc<Gpu>> {
        self.gpus.read().clone()
    }

    /// The GPU of an agent; `None` for the CPU and for unknown handles.
    pub(crate) fn gpu(&self, agent: Agent) -> Option<Arc<Gpu>> {
        self.gpus.read().iter().find(|gpu| gpu.agent == agent).cloned()
    }

    pub(crate) fn has_agent(&self, agent: Agent) -> bool {
        agent == CPU || self.gpu(agent).is_some()
    }

    pub(crate) fn pool(&self, handle: MemoryPool) -> Result<Pool, Status> {
        let pool = Pool::from_handle(handle).filter(|pool| self.has_agent(pool.agent()));
        pool.ok_or(Status::ERROR_INVALID_MEMORY_POOL)
    }

    /// Whether a range lies in one allocation, in locked memory or in one mapping of virtual
    /// memory.
    pub(crate) fn contains_range(&self, address: u64, bytes: u64) -> bool {
        let Some(end) = address.checked_add(bytes) else { return false };
        let mapped = || self.virtual_memory.lookup(address).map(|(start, size, ..)| end - start <= size);
        self.memory.covers(&(address..end)).or_else(mapped).unwrap_or(false)
    }

    /// Stops all threads. What a client leaked is freed with the last reference to the runtime.
    pub(crate) fn shut_down(&self) {
        self.queues.shut_down();
        self.copy_engine.shut_down();
        self.handlers.shut_down();
    }
}
