//! The safe layer: what a driver uses.
//!
//! Objects own what they name and keep the runtime alive. Agents, pools and the like are names with a runtime: cheap to
//! clone.

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
    /// A library, to be searched for.
    Search(search::Options),
    /// A library that was loaded already.
    Library(Library),
    /// A table that somebody made.
    Table(Table),
}

/// A table of functions that behaves as the HSA runtime does.
#[derive(Debug)]
pub struct Table {
    api: Api,
    name: PathBuf,
}

impl Table {
    /// Wraps a table; `name` stands for it in messages.
    ///
    /// # Safety
    /// The functions do what the HSA runtime's of these names do, for as long as the process runs: they write
    /// the answers that the headers describe, signals' handles are addresses of [`AmdSignal`] and queues' pointers of
    /// [`AmdQueue`], and after `hsa_queue_destroy` returns, the queue's callback is not called.
    pub unsafe fn new(api: Api, name: impl Into<PathBuf>) -> Self {
        Self { api, name: name.into() }
    }
}

/// An initialised HSA runtime. Clones share it; when the last user is gone, it is shut down.
#[derive(Clone, Debug)]
pub struct Runtime {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    api: Api,
    path: PathBuf,
    passed_over: Vec<Attempt>,
    /// After `api`: the functions lie in it.
    _library: Option<Library>,
}

impl Drop for Shared {
    fn drop(&mut self) {
        // SAFETY: there is one `hsa_init` for each `Shared`, and nothing that uses the runtime is left.
        let status = unsafe { (self.api.hsa_shut_down)() };
        // A shut-down that fails leaves nothing to be done.
        let _ = status;
    }
}

impl Runtime {
    /// Finds the functions and initialises the runtime.
    ///
    /// The runtime counts its initialisations, so that this may be called several times in a process.
    pub fn open(source: Source) -> Result<Self, Error> {
        let (api, path, library, passed_over) = match source {
            Source::Search(options) => {
                let found = search::open(&options)?;
                (*found.library.api(), found.library.path().to_owned(), Some(found.library), found.passed_over)
            }
            Source::Library(library) => (*library.api(), library.path().to_owned(), Some(library), Vec::new()),
            Source::Table(table) => (table.api, table.name, None, Vec::new()),
        };
        // SAFETY: the library is loaded, or the table is good by its contract.
        let status = unsafe { (api.hsa_init)() };
        match library {
            // A library says no more than a number, so that the kernel's side is worth a look.
            Some(_) if !status.is_ok() => {
                return Err(Error::Start { library: path, status, kernel_driver: KernelDriver::look() });
            }
            _ => check("hsa_init", status)?,
        }
        Ok(Self { shared: Arc::new(Shared { api, path, passed_over, _library: library }) })
    }

    /// The library's file, or the table's name.
    pub fn path(&self) -> &Path {
        &self.shared.path
    }

    /// What was tried before that library was found, and why that did not do.
    pub fn passed_over(&self) -> &[Attempt] {
        &self.shared.passed_over
    }

    /// The functions, for what this layer does not cover. They may be called as long as this runtime lives.
    pub fn api(&self) -> &Api {
        &self.shared.api
    }

    /// All agents, in the order in which the runtime lists them.
    pub fn agents(&self) -> Result<Vec<Agent>, Error> {
        iterate::collect("hsa_iterate_agents", |callback, data| {
            // SAFETY: the callback takes what this function gives it.
            unsafe { (self.api().hsa_iterate_agents)(Some(callback), data) }
        })
        .map(|agents| agents.into_iter().map(|handle| Agent::new(self, handle)).collect())
    }

    /// Visits agents until `visit` breaks. A panic in `visit` goes on here, after the library has returned.
    pub fn for_each_agent(&self, mut visit: impl FnMut(Agent) -> std::ops::ControlFlow<()>) -> Result<(), Error> {
        iterate::visit(
            "hsa_iterate_agents",
            |handle| visit(Agent::new(self, handle)),
            // SAFETY: the callback takes what this function gives it.
            |callback, data| unsafe { (self.api().hsa_iterate_agents)(Some(callback), data) },
        )
    }

    /// Is told of faults of devices, with the address; a queue's own error tells only that there was one.
    ///
    /// A process has one handler for all of its runtimes, which stays until it ends: the call fails if there is one. A
    /// panic in `handler` is dropped.
    pub fn on_system_event(&self, handler: impl Fn(&Event) + Send + Sync + 'static) -> Result<(), Error> {
        // The runtime has no way to take a handler back, so the closure lives on.
        let handler = Box::into_raw(Box::new(Handler(Box::new(handler))));
        let register = self.api().hsa_amd_register_system_event_handler;
        // SAFETY: the handler lives as long as the process, and `system_event` takes it as what it is.
        let status = unsafe { register(Some(system_event), handler.cast()) };
        if !status.is_ok() {
            // SAFETY: the runtime did not take it, so it is ours again.
            drop(unsafe { Box::from_raw(handler) });
        }
        check("hsa_amd_register_system_event_handler", status)
    }
}

/// A handler behind a thin pointer.
struct Handler(Box<dyn Fn(&Event) + Send + Sync>);

/// Calls the handler that `on_system_event` registered.
unsafe extern "C" fn system_event(event: *const Event, data: *mut c_void) -> Status {
    // SAFETY: `data` is the leaked `Handler` of the registration.
    let handler = unsafe { &*data.cast_const().cast::<Handler>() };
    // SAFETY: the runtime passes an event that is valid during the call.
    let event = unsafe { &*event };
    match std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| (handler.0)(event))) {
        Ok(()) => Status::SUCCESS,
        Err(_) => Status::ERROR,
    }
}
