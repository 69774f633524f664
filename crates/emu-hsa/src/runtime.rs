//! What there is between the first `hsa_init` and the last `hsa_shut_down`.

use std::sync::Arc;
use std::time::Instant;

use parking_lot::{Mutex, RwLock};
use roci_emu::Chip;
use roci_hsa::abi::{Agent, MemoryPool, Status};

use crate::config::Config;
use crate::copies::Copies;
use crate::events::Events;
use crate::gpu::Gpu;
use crate::handlers::Handlers;
use crate::loader::Loader;
use crate::memory::{Allocations, Pool};
use crate::queue::Queues;
use crate::signal::Signals;
use crate::virtual_memory::VirtualMemory;

/// Ticks of the system clock a second: nanoseconds.
pub(crate) const TICKS_PER_SECOND: u64 = 1_000_000_000;
/// Ticks of a GPU's clock a second, as on the real chips: 100 MHz. Signals have times in these.
pub(crate) const GPU_TICKS_PER_SECOND: u64 = 100_000_000;
/// Ticks of the system clock in one of a GPU's.
pub(crate) const SYSTEM_TICKS: u64 = TICKS_PER_SECOND / GPU_TICKS_PER_SECOND;

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
    start: Instant,
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
/// Initialising and shutting down take turns.
static TURNS: Mutex<()> = Mutex::new(());

/// Gives this process emulated GPUs without a look at `ROCI_EMU`: those of the configuration, whichever of them it does not
/// have yet. To be called before `hsa_init`, or while the runtime is in use to add more.
pub fn provide(config: Config) {
    let turn = TURNS.lock();
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
    drop(turn);
}

/// Starts the runtime, or counts one more user.
pub(crate) fn init() -> Result<(), Status> {
    let _turn = TURNS.lock();
    let mut process = PROCESS.write();
    process.count = process.count.checked_add(1).ok_or(Status::ERROR_REFCOUNT_OVERFLOW)?;
    if process.runtime.is_none() {
        let config = match &process.provided {
            Some(config) => Ok(config.clone()),
            None => Config::from_environment(),
        };
        match config {
            Ok(config) => process.runtime = Some(Arc::new(Runtime::new(config))),
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
    let _turn = TURNS.lock();
    let mut process = PROCESS.write();
    process.count = process.count.checked_sub(1).ok_or(Status::ERROR_NOT_INITIALIZED)?;
    if process.count > 0 {
        return Ok(());
    }
    let runtime = process.runtime.take();
    // Threads that are joined may still ask for the runtime.
    drop(process);
    if let Some(runtime) = runtime {
        runtime.end();
    }
    Ok(())
}

/// The runtime, if it is in use.
pub(crate) fn get() -> Result<Arc<Runtime>, Status> {
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
            start: Instant::now(),
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
        let gpu = Arc::new(Gpu::new(chip, gpus.len() as u32, &self.config, self.start));
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
        let pool = Pool::of(handle).ok_or(Status::ERROR_INVALID_ARGUMENT)?;
        if self.knows(pool.agent()) { Ok(pool) } else { Err(Status::ERROR_INVALID_ARGUMENT) }
    }

    /// The system clock.
    pub(crate) fn ticks(&self) -> u64 {
        ticks(self.start)
    }

    /// The clock of the GPUs, for threads of their own.
    pub(crate) fn clock(&self) -> impl Fn() -> u64 + Send + 'static + use<> {
        let start = self.start;
        move || ticks(start) / SYSTEM_TICKS
    }

    /// Ends all threads and gives everything back.
    fn end(&self) {
        self.queues.end(self);
        self.copies.end();
        self.handlers.end();
    }
}

/// Ticks of the system clock since a time.
fn ticks(start: Instant) -> u64 {
    start.elapsed().as_nanos() as u64
}
