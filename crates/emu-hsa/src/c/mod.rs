//! The functions of the C interface, by subject. Each checks what it was given, and no panic leaves it.

#![expect(unsafe_code, reason = "C gives pointers")]

pub(crate) mod agents;
pub(crate) mod executables;
pub(crate) mod memory;
pub(crate) mod profiling;
pub(crate) mod queues;
pub(crate) mod refused;
pub(crate) mod signals;
pub(crate) mod system;
pub(crate) mod virtual_memory;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use roci_hsa::Api;
use roci_hsa::abi::Status;

use crate::runtime::{self, Runtime};

/// All functions under one roof.
mod functions {
    pub(super) use super::agents::*;
    pub(super) use super::executables::*;
    pub(super) use super::memory::*;
    pub(super) use super::profiling::*;
    pub(super) use super::queues::*;
    pub(super) use super::refused::*;
    pub(super) use super::signals::*;
    pub(super) use super::system::*;
    pub(super) use super::virtual_memory::*;
}

/// The emulated runtime as a table.
pub fn api() -> Api {
    roci_hsa::api_from!(self::functions)
}

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
