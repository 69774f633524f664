//! What there is between the first `hsa_init` and the last `hsa_shut_down`.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use parking_lot::RwLock;
use roci_emu::Chip;
use roci_hsa::abi::{Agent, MemoryPool, Status};

use crate::c::Groups;
use crate::config::Config;
use crate::copies::Copies;
use crate::events::Events;
use crate::gpu::Gpu;
use crate::handlers::Handlers;
use crate::loader::Loader;
use crate::memory::Allocations;
use crate::pool::Pool;
use crate::queue::Queues;
use crate::signal::Signals;
use crate::virtual_memory::VirtualMemory;

/// The only CPU.
pub(crate) const CPU: Agent = Agent { handle: 1 };

/// All state of the runtime.
pub(crate) struct Runtime {
    pub(crate) config: Config,
    gpus: RwLock<Vec<Arc<Gpu>>>,
    pub(crate) memory: Arc<Allocations>,
    pub(crate) virtual_memory: VirtualMemory,
    pub(crate) signals: Signals,
    pub(crate) queues: Queues,
    pub(crate) copies: Copies,
    pub(crate) handlers: Handlers,
    pub(crate) events: Arc<Events>,
    pub(crate) loader: Loader,
    pub(crate) groups: Groups,
}

/// Who uses the runtime of this process.
struct Process {
    runtime: Option<Arc<Runtime>>,
    /// How often it was initialised.
    count: u32,
    /// GPUs that the process wants, whatever the environment says.
    provided: Option<Config>,
}

static PROCESS: RwLock<Process> = RwLock::new(Process { runtime: None, count: 0, provided: None });
/// The process whose runtime it is; 0 if no one uses it.
static OWNER: AtomicU32 = AtomicU32::new(0);

/// An error in a child that was forked while the runtime was in use: it has a copy of everything, but neither the threads nor
/// whatever they had locked. To be asked before anything is locked.
fn not_forked() -> Result<(), Status> {
    let owner = OWNER.load(Ordering::Acquire);
    if owner == 0 || owner == std::process::id() { Ok(()) } else { Err(Status::ERROR) }
}

/// Gives this process emulated GPUs without a look at `ROCI_EMU`: those of the configuration, whichever of them it does not
/// have yet. To be called before `hsa_init`, or while the runtime is in use to add more.
pub fn provide(config: Config) {
    if not_forked().is_err() {
        return;
    }
    let mut process = PROCESS.write();
    if let Some(runtime) = &process.runtime {
        let mut have: Vec<Chip> = runtime.gpus().iter().map(|gpu| gpu.chip).collect();
        for &chip in &config.chips {
            match have.iter().position(|other| *other == chip) {
                Some(index) => {
                    have.remove(index);
                }
                None => runtime.add(chip),
            }
        }
    }
    process.provided = Some(config);
}

/// Starts the runtime, or counts one more user.
pub(crate) fn init() -> Result<(), Status> {
    not_forked()?;
    let mut process = PROCESS.write();
    process.count = process.count.checked_add(1).ok_or(Status::ERROR_REFCOUNT_OVERFLOW)?;
    if process.runtime.is_none() {
        let config = match &process.provided {
            Some(config) => Ok(config.clone()),
            None => Config::from_environment(),
        };
        match config {
            Ok(config) => {
                process.runtime = Some(Arc::new(Runtime::new(config)));
                OWNER.store(std::process::id(), Ordering::Release);
            }
            Err(error) => {
                process.count -= 1;
                crate::events::say(&format!("{error}"));
                return Err(Status::ERROR_OUT_OF_RESOURCES);
            }
        }
    }
    Ok(())
}

/// Counts one user less; the last one ends the runtime.
pub(crate) fn shut_down() -> Result<(), Status> {
    not_forked()?;
    let mut process = PROCESS.write();
    process.count = process.count.checked_sub(1).ok_or(Status::ERROR_NOT_INITIALIZED)?;
    if process.count > 0 {
        return Ok(());
    }
    let runtime = process.runtime.take();
    OWNER.store(0, Ordering::Release);
    // Threads that are joined may still ask for the runtime, or start it again.
    drop(process);
    if let Some(runtime) = runtime {
        runtime.end();
    }
    Ok(())
}

/// The runtime, if it is in use and this process is the one that started it.
pub(crate) fn get() -> Result<Arc<Runtime>, Status> {
    not_forked()?;
    current()
}

/// The same where a forked child does no harm, without the system call.
pub(crate) fn current() -> Result<Arc<Runtime>, Status> {
    PROCESS.read().runtime.clone().ok_or(Status::ERROR_NOT_INITIALIZED)
}

impl Runtime {
    fn new(config: Config) -> Self {
        let runtime = Self {
            gpus: RwLock::default(),
            memory: Arc::default(),
            virtual_memory: VirtualMemory::default(),
            signals: Signals::default(),
            queues: Queues::default(),
            copies: Copies::default(),
            handlers: Handlers::default(),
            events: Arc::new(Events::new(config.quiet)),
            loader: Loader::default(),
            groups: Groups::default(),
            config,
        };
        for chip in runtime.config.chips.clone() {
            runtime.add(chip);
        }
        runtime
    }

    /// Adds a GPU, which sees all memory that every GPU sees.
    fn add(&self, chip: Chip) {
        let mut gpus = self.gpus.write();
        let gpu = Arc::new(Gpu::new(chip, gpus.len() as u32, &self.config));
        self.memory.add_gpu(&gpu);
        gpus.push(gpu);
    }

    /// All GPUs.
    pub(crate) fn gpus(&self) -> Vec<Arc<Gpu>> {
        self.gpus.read().clone()
    }

    /// The GPU of an agent.
    pub(crate) fn gpu(&self, agent: Agent) -> Option<Arc<Gpu>> {
        self.gpus.read().iter().find(|gpu| gpu.agent == agent).cloned()
    }

    /// Whether there is such an agent.
    pub(crate) fn knows(&self, agent: Agent) -> bool {
        agent == CPU || self.gpu(agent).is_some()
    }

    /// The pool of a handle.
    pub(crate) fn pool(&self, handle: MemoryPool) -> Result<Pool, Status> {
        let pool = Pool::of(handle).filter(|pool| self.knows(pool.agent()));
        pool.ok_or(Status::ERROR_INVALID_MEMORY_POOL)
    }

    /// Whether so many bytes at an address are one allocation's, or locked, or mapped.
    pub(crate) fn holds(&self, address: u64, bytes: u64) -> bool {
        let Some(end) = address.checked_add(bytes) else { return false };
        let mapped = || self.virtual_memory.at(address).map(|(start, size, ..)| end - start <= size);
        self.memory.covers(&(address..end)).or_else(mapped).unwrap_or(false)
    }

    /// Ends all threads and gives everything back.
    fn end(&self) {
        self.queues.end(self);
        self.copies.end();
        self.handlers.end();
    }
}
