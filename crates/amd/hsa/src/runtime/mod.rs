//! The safe layer for drivers.
//!
//! Objects own their resource and keep the runtime alive. Agents, pools, regions, caches and ISAs
//! are handles that are cheap to clone.

#![expect(unsafe_code, reason = "calls the library")]

mod agent;
mod attribute;
mod executable;
mod iterate;
mod memory;
mod pool;
mod queue;
mod signal;
mod system;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::abi::*;
use crate::api::Api;
use crate::error::{Error, check};
use crate::kernel_driver::KernelDriver;
use crate::library::Library;
use crate::search::{self, Attempt};

pub use agent::{Agent, Cache, Isa, Region};
pub use attribute::Value;
pub use executable::{Executable, Kernel, Variable};
pub use memory::{Allocation, Locked};
pub use pool::Pool;
pub use queue::{Queue, QueueOptions};
pub use signal::{Signal, Wait};

/// Where the functions come from.
#[derive(Debug)]
pub enum Source {
    /// A library that is searched for.
    Search(search::Options),
    /// A loaded library.
    Library(Library),
    /// A function table, such as that of an emulated runtime.
    Table(Table),
}

/// A function table that behaves as the HSA runtime does.
#[derive(Debug)]
pub struct Table {
    api: Api,
    name: PathBuf,
}

impl Table {
    /// Wraps a table; messages use `name`.
    ///
    /// # Safety
    /// For the lifetime of the process, the functions behave as those of the HSA runtime: they
    /// write attributes of the documented size, signal handles are addresses of [`AmdSignal`],
    /// queue pointers point to an [`AmdQueue`], and the callback of a queue is not called after
    /// `hsa_queue_destroy` returns.
    pub unsafe fn new(api: Api, name: impl Into<PathBuf>) -> Self {
        Self { api, name: name.into() }
    }
}

/// An initialized HSA runtime. Clones share it; dropping the last user shuts it down.
#[derive(Clone, Debug)]
pub struct Runtime {
    shared: Arc<RuntimeState>,
}

#[derive(Debug)]
struct RuntimeState {
    api: Api,
    path: PathBuf,
    failed_attempts: Vec<Attempt>,
    /// Last field: it contains the functions of `api`.
    _library: Option<Library>,
}

impl Drop for RuntimeState {
    fn drop(&mut self) {
        // SAFETY: each `RuntimeState` has called `hsa_init` once, and all users of the runtime hold
        // a reference to it.
        let status = unsafe { (self.api.hsa_shut_down)() };
        // An error cannot be handled here.
        let _ = status;
    }
}

impl Runtime {
    /// Loads the functions and initializes the runtime.
    ///
    /// The runtime counts initializations, so a process may call this several times.
    pub fn open(source: Source) -> Result<Self, Error> {
        let (api, path, library, failed_attempts) = match source {
            Source::Search(options) => {
                let found = search::open(&options)?;
                (*found.library.api(), found.library.path().to_owned(), Some(found.library), found.failed_attempts)
            }
            Source::Library(library) => (*library.api(), library.path().to_owned(), Some(library), Vec::new()),
            Source::Table(table) => (table.api, table.name, None, Vec::new()),
        };
        // SAFETY: `hsa_init` of a loaded library, or of a table that fulfills the contract of
        // `Table::new`.
        let status = unsafe { (api.hsa_init)() };
        match library {
            // The status alone does not tell the cause, which usually is the kernel driver.
            Some(_) if !status.is_ok() => {
                return Err(Error::Start { library: path, status, kernel_driver: KernelDriver::probe() });
            }
            _ => check("hsa_init", status)?,
        }
        Ok(Self { shared: Arc::new(RuntimeState { api, path, failed_attempts, _library: library }) })
    }

    /// File of the library, or name of the table.
    pub fn path(&self) -> &Path {
        &self.shared.path
    }

    /// Failed attempts before the library was found.
    pub fn failed_attempts(&self) -> &[Attempt] {
        &self.shared.failed_attempts
    }

    /// Function table, for functions that this layer does not cover. Valid as long as this runtime
    /// lives.
    pub fn api(&self) -> &Api {
        &self.shared.api
    }

    /// All agents, in the order in which the runtime lists them.
    pub fn agents(&self) -> Result<Vec<Agent>, Error> {
        iterate::collect("hsa_iterate_agents", |callback, data| {
            // SAFETY: `iterate` passes a callback with its own data.
            unsafe { (self.api().hsa_iterate_agents)(Some(callback), data) }
        })
        .map(|agents| agents.into_iter().map(|handle| Agent::new(self, handle)).collect())
    }

    /// Calls `visit` for each agent until it breaks. A panic in `visit` resumes after the library
    /// has returned.
    pub fn for_each_agent(&self, mut visit: impl FnMut(Agent) -> std::ops::ControlFlow<()>) -> Result<(), Error> {
        iterate::visit(
            "hsa_iterate_agents",
            |handle| visit(Agent::new(self, handle)),
            // SAFETY: `iterate` passes a callback with its own data.
            |callback, data| unsafe { (self.api().hsa_iterate_agents)(Some(callback), data) },
        )
    }

    /// Registers a handler for faults of devices. It gets the address, which the error callback of
    /// a queue does not.
    ///
    /// A process has one handler for all runtimes, which cannot be removed: the call fails if there
    /// is one. A panic in `handler` is caught and ignored.
    pub fn on_system_event(&self, handler: impl Fn(&Event) + Send + Sync + 'static) -> Result<(), Error> {
        // Handlers cannot be unregistered, so the closure is leaked.
        let handler = Box::into_raw(Box::new(EventHandler(Box::new(handler))));
        let register = self.api().hsa_amd_register_system_event_handler;
        // SAFETY: the handler is leaked, and `system_event` casts the data back to its type.
        let status = unsafe { register(Some(system_event), handler.cast()) };
        if !status.is_ok() {
            // SAFETY: the registration failed, so the runtime has no copy of the pointer.
            drop(unsafe { Box::from_raw(handler) });
        }
        check("hsa_amd_register_system_event_handler", status)
    }
}

/// A closure behind a thin pointer.
struct EventHandler(Box<dyn Fn(&Event) + Send + Sync>);

/// Calls the handler that `on_system_event` registered.
unsafe extern "C" fn system_event(event: *const Event, data: *mut c_void) -> Status {
    // SAFETY: `data` is the leaked `EventHandler` of the registration.
    let handler = unsafe { &*data.cast_const().cast::<EventHandler>() };
    // SAFETY: the runtime passes an event that is valid during the call.
    let event = unsafe { &*event };
    match std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| (handler.0)(event))) {
        Ok(()) => Status::SUCCESS,
        Err(_) => Status::ERROR,
    }
}
