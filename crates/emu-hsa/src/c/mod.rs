//! The functions of the C interface, by subject. Each checks what it was given, and no panic leaves it.

#![expect(unsafe_code, reason = "C gives pointers")]

pub(crate) mod agents;
pub(crate) mod code_objects;
pub(crate) mod executables;
pub(crate) mod groups;
pub(crate) mod isas;
pub(crate) mod memory;
pub(crate) mod profiling;
pub(crate) mod queues;
pub(crate) mod refused;
pub(crate) mod regions;
pub(crate) mod shared;
pub(crate) mod signals;
pub(crate) mod system;
pub(crate) mod virtual_memory;

use std::ffi::{CStr, c_char};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use roci_hsa::Api;
use roci_hsa::abi::Status;

pub(crate) use groups::Groups;

use crate::runtime::{self, Runtime};

/// All functions under one roof.
mod functions {
    pub(super) use super::agents::*;
    pub(super) use super::code_objects::*;
    pub(super) use super::executables::*;
    pub(super) use super::groups::*;
    pub(super) use super::isas::*;
    pub(super) use super::memory::*;
    pub(super) use super::profiling::*;
    pub(super) use super::queues::*;
    pub(super) use super::refused::*;
    pub(super) use super::regions::*;
    pub(super) use super::shared::*;
    pub(super) use super::signals::*;
    pub(super) use super::system::*;
    pub(super) use super::virtual_memory::*;
}

/// The emulated runtime as a table.
pub fn api() -> Api {
    roci_hsa::api_from!(self::functions)
}

/// Declares a table of the functions that no driver calls.
macro_rules! declare_further {
    ($(further fn $name:ident($($argument:ident: $type:ty),*) -> $result:ty;)*) => {
        /// The functions that [`Api`](roci_hsa::Api) leaves out: only a library that takes the place of AMD's needs them.
        #[derive(Clone, Copy, Debug)]
        pub struct Further {
            $(
                #[doc = concat!("`", stringify!($name), "`")]
                pub $name: unsafe extern "C" fn($($argument: $type),*) -> $result,
            )*
        }

        /// All of them.
        pub const FURTHER: Further = Further { $($name: functions::$name,)* };
    };
}
mod further {
    use roci_hsa::abi::*;

    use super::functions;

    roci_hsa::for_each_further_function!(declare_further);
}
pub use further::{FURTHER, Further};

/// The same for [`Runtime::open`](roci_hsa::Runtime::open).
pub fn table() -> roci_hsa::Table {
    // SAFETY: they do what the real ones do, and stay as long as the process runs.
    unsafe { roci_hsa::Table::new(api(), "the emulated HSA runtime") }
}

/// Does something with the runtime, which must be initialised.
pub(crate) fn with(act: impl FnOnce(&Arc<Runtime>) -> Result<(), Status>) -> Status {
    without(|| act(&runtime::get()?))
}

/// Does something that needs no runtime.
pub(crate) fn without(act: impl FnOnce() -> Result<(), Status>) -> Status {
    match catch_unwind(AssertUnwindSafe(act)) {
        Ok(Ok(())) => Status::SUCCESS,
        Ok(Err(status)) => status,
        // The panic has said why.
        Err(_) => Status::ERROR,
    }
}

/// Writes an answer to where C wants it.
///
/// # Safety
/// The pointer is null, which is an error, or good for a value of this type; it need not be aligned.
pub(crate) unsafe fn put<T>(to: *mut impl Sized, value: T) -> Result<(), Status> {
    if to.is_null() {
        return Err(Status::ERROR_INVALID_ARGUMENT);
    }
    // SAFETY: the caller's promise.
    unsafe { to.cast::<T>().write_unaligned(value) };
    Ok(())
}

/// An array that C gives by its start and length.
///
/// # Safety
/// The pointer is good for so many values, or there are none.
pub(crate) unsafe fn array<'a, T>(start: *const T, count: usize) -> Result<&'a [T], Status> {
    if count == 0 {
        return Ok(&[]);
    }
    if start.is_null() || !start.is_aligned() {
        return Err(Status::ERROR_INVALID_ARGUMENT);
    }
    // SAFETY: the caller's promise.
    Ok(unsafe { std::slice::from_raw_parts(start, count) })
}

/// A text that C gives; none if it is not UTF-8, as no name of anything here is.
///
/// # Safety
/// The pointer is null, which is an error, or that of a text that ends with a zero.
#[expect(clippy::disallowed_methods, reason = "the text is copied before it can go")]
pub(crate) unsafe fn text(text: *const c_char) -> Result<Option<String>, Status> {
    if text.is_null() {
        return Err(Status::ERROR_INVALID_ARGUMENT);
    }
    // SAFETY: the caller's promise.
    let text = unsafe { CStr::from_ptr(text) };
    Ok(text.to_str().ok().map(str::to_owned))
}
