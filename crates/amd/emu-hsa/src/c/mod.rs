//! The functions of the C interface, by subject. Each checks its arguments, and no panic crosses
//! the boundary to C.

#![expect(unsafe_code, reason = "C passes raw pointers")]

mod agents;
mod arguments;
mod code_objects;
mod executables;
mod ipc;
mod isas;
mod loader_extension;
mod memory;
mod process;
mod profiling;
mod queues;
mod regions;
mod signal_groups;
mod signals;
mod system;
mod unsupported;
mod virtual_memory;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use roci_hsa::Api;
use roci_hsa::abi::Status;

pub use process::provide;

use crate::runtime::Runtime;

/// All functions of the interface.
mod functions {
    pub(super) use super::agents::*;
    pub(super) use super::code_objects::*;
    pub(super) use super::executables::*;
    pub(super) use super::ipc::*;
    pub(super) use super::isas::*;
    pub(super) use super::memory::*;
    pub(super) use super::profiling::*;
    pub(super) use super::queues::*;
    pub(super) use super::regions::*;
    pub(super) use super::signal_groups::*;
    pub(super) use super::signals::*;
    pub(super) use super::system::*;
    pub(super) use super::unsupported::*;
    pub(super) use super::virtual_memory::*;
}

/// Table of the functions that drivers call.
pub fn api() -> Api {
    roci_hsa::api_from!(self::functions)
}

/// Declares the table of the remaining functions.
macro_rules! declare_additional {
    ($(additional fn $name:ident($($argument:ident: $type:ty),*) -> $result:ty;)*) => {
        /// Functions that [`Api`](roci_hsa::Api) lacks. Only a drop-in replacement of AMD's library
        /// needs them.
        #[derive(Clone, Copy, Debug)]
        pub struct Additional {
            $(
                #[doc = concat!("`", stringify!($name), "`")]
                pub $name: unsafe extern "C" fn($($argument: $type),*) -> $result,
            )*
        }

        /// Table of the functions that [`api`](super::api) lacks.
        pub const ADDITIONAL: Additional = Additional { $($name: functions::$name,)* };
    };
}
mod additional {
    use roci_hsa::abi::*;

    use super::functions;

    roci_hsa::for_each_additional_function!(declare_additional);
}
pub use additional::{ADDITIONAL, Additional};

/// [`api`] for [`Runtime::open`](roci_hsa::Runtime::open).
pub fn table() -> roci_hsa::Table {
    // SAFETY: the functions follow the HSA specification and are part of this program.
    unsafe { roci_hsa::Table::new(api(), "the emulated HSA runtime") }
}

/// Calls `body` with the runtime; an error if it is not initialized.
fn with_runtime(body: impl FnOnce(&Arc<Runtime>) -> Result<(), Status>) -> Status {
    catch_panics(|| body(&process::runtime()?))
}

/// Calls `body` and turns its result into a status; a panic becomes an error.
fn catch_panics(body: impl FnOnce() -> Result<(), Status>) -> Status {
    match catch_unwind(AssertUnwindSafe(body)) {
        Ok(Ok(())) => Status::SUCCESS,
        Ok(Err(status)) => status,
        // The panic hook has printed the reason.
        Err(_) => Status::ERROR,
    }
}
