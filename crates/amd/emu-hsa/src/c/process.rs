//! The runtime of this process. HSA's C interface has no context argument, so its functions look
//! the runtime up here; everything below them gets it as an argument.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use parking_lot::RwLock;
use roci_hsa::abi::Status;

use crate::config::Config;
use crate::events::log;
use crate::runtime::Runtime;

struct Process {
    runtime: Option<Arc<Runtime>>,
    /// `hsa_init` calls without a matching `hsa_shut_down`.
    count: u32,
    /// Replaces the configuration of the environment.
    provided: Option<Config>,
}

static PROCESS: RwLock<Process> = RwLock::new(Process { runtime: None, count: 0, provided: None });
/// Id of the process that started the runtime; 0 while there is no runtime.
static OWNER: AtomicU32 = AtomicU32::new(0);

/// Fails in a forked child of the process that started the runtime. The child has a copy of the
/// memory but no threads, and locks may be held forever, so this must come before any lock.
fn not_forked() -> Result<(), Status> {
    let owner = OWNER.load(Ordering::Acquire);
    if owner == 0 || owner == std::process::id() { Ok(()) } else { Err(Status::ERROR) }
}

/// Configures the emulated GPUs of this process; `ROCI_EMU` is ignored from then on. While the
/// runtime is in use, adds the GPUs of the configuration that it lacks.
pub fn provide(config: Config) {
    if not_forked().is_err() {
        return;
    }
    let mut process = PROCESS.write();
    if let Some(runtime) = &process.runtime {
        runtime.add_missing_gpus(&config.chips);
    }
    process.provided = Some(config);
}

/// Starts the runtime, or increments its reference count.
pub(super) fn init() -> Result<(), Status> {
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
                log(&format!("{error}"));
                return Err(Status::ERROR_OUT_OF_RESOURCES);
            }
        }
    }
    Ok(())
}

/// Decrements the reference count; at zero the runtime shuts down.
pub(super) fn shut_down() -> Result<(), Status> {
    not_forked()?;
    let mut process = PROCESS.write();
    process.count = process.count.checked_sub(1).ok_or(Status::ERROR_NOT_INITIALIZED)?;
    if process.count > 0 {
        return Ok(());
    }
    let runtime = process.runtime.take();
    OWNER.store(0, Ordering::Release);
    // Unlocked before threads are joined: their callbacks may call the runtime or start it again.
    drop(process);
    if let Some(runtime) = runtime {
        runtime.shut_down();
    }
    Ok(())
}

/// The runtime; an error if it is not initialized or this is a forked child.
pub(super) fn runtime() -> Result<Arc<Runtime>, Status> {
    not_forked()?;
    runtime_unchecked()
}

/// [`runtime`] without the system call of the fork check, for callers that are harmless in a forked
/// child.
pub(super) fn runtime_unchecked() -> Result<Arc<Runtime>, Status> {
    PROCESS.read().runtime.clone().ok_or(Status::ERROR_NOT_INITIALIZED)
}
