//! Arguments and results of C functions.

use std::ffi::{CStr, c_char, c_void};
use std::sync::Arc;

use roci_emu::ALIAS;
use roci_hsa::abi::{Agent, Status};

use crate::agent::CPU;
use crate::gpu::Gpu;
use crate::runtime::Runtime;
use crate::topology::AttributeValue;

/// Writes a result through a pointer of the client.
///
/// # Safety
/// The pointer is null, which is an error, or valid for a write of `T`; it need not be aligned.
pub(super) unsafe fn put<T>(to: *mut impl Sized, value: T) -> Result<(), Status> {
    if to.is_null() {
        return Err(Status::ERROR_INVALID_ARGUMENT);
    }
    // SAFETY: not null, so the caller guarantees it.
    unsafe { to.cast::<T>().write_unaligned(value) };
    Ok(())
}

/// Writes the value of an attribute through a pointer of the client; `None`, an unknown attribute,
/// is an error.
///
/// # Safety
/// The pointer is null, which is an error, or valid for a write of all bytes of the value.
pub(super) unsafe fn put_attribute(to: *mut c_void, value: Option<AttributeValue>) -> Result<(), Status> {
    let value = value.filter(|_| !to.is_null()).ok_or(Status::ERROR_INVALID_ARGUMENT)?;
    let bytes = value.bytes();
    // SAFETY: not null, so the caller guarantees the size.
    unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), to.cast::<u8>(), bytes.len()) };
    Ok(())
}

/// An array of the client. Null and misaligned pointers are errors unless the array is empty.
///
/// # Safety
/// The pointer is null or valid for reads of `count` values.
pub(super) unsafe fn array<'a, T>(start: *const T, count: usize) -> Result<&'a [T], Status> {
    if count == 0 {
        return Ok(&[]);
    }
    if start.is_null() || !start.is_aligned() {
        return Err(Status::ERROR_INVALID_ARGUMENT);
    }
    // SAFETY: aligned and not null, so the caller guarantees it.
    Ok(unsafe { std::slice::from_raw_parts(start, count) })
}

/// An array of agents; an unknown agent is an error.
///
/// # Safety
/// The pointer is null or valid for reads of `count` agents.
pub(super) unsafe fn agents<'a>(runtime: &Runtime, start: *const Agent, count: usize) -> Result<&'a [Agent], Status> {
    // SAFETY: the caller upholds the same contract.
    let agents = unsafe { array(start, count) }?;
    if agents.iter().all(|agent| runtime.has_agent(*agent)) { Ok(agents) } else { Err(Status::ERROR_INVALID_AGENT) }
}

/// A string of the client; `None` if it is not UTF-8, as all names here are.
///
/// # Safety
/// The pointer is null, which is an error, or that of a NUL-terminated string.
#[expect(clippy::disallowed_methods, reason = "the string is copied before the call returns")]
pub(super) unsafe fn c_string(string: *const c_char) -> Result<Option<String>, Status> {
    if string.is_null() {
        return Err(Status::ERROR_INVALID_ARGUMENT);
    }
    // SAFETY: not null, so the caller guarantees it.
    let string = unsafe { CStr::from_ptr(string) };
    Ok(string.to_str().ok().map(str::to_owned))
}

/// A symbol name, with its module as `module::name` if there is one.
///
/// # Safety
/// `name` is null, which is an error, or a NUL-terminated string; `module` is null or a
/// NUL-terminated string.
pub(super) unsafe fn symbol_name(module: *const c_char, name: *const c_char) -> Result<String, Status> {
    // SAFETY: the caller upholds the same contract.
    let name = unsafe { c_string(name) }?.filter(|name| !name.is_empty()).ok_or(Status::ERROR_INVALID_SYMBOL_NAME)?;
    if module.is_null() {
        return Ok(name);
    }
    // SAFETY: the caller upholds the same contract.
    let module = unsafe { c_string(module) }?.ok_or(Status::ERROR_INVALID_SYMBOL_NAME)?;
    Ok(if module.is_empty() { name } else { format!("{module}::{name}") })
}

/// Calls a callback for each item until it does not return success.
pub(super) fn for_each<T>(items: impl IntoIterator<Item = T>, callback: impl Fn(T) -> Status) -> Result<(), Status> {
    for item in items {
        let status = callback(item);
        if status != Status::SUCCESS {
            return Err(status);
        }
    }
    Ok(())
}

/// Host address of a host or device pointer.
pub(super) fn host_address<T>(pointer: *const T) -> u64 {
    pointer.expose_provenance() as u64 & !ALIAS
}

/// Host pointer of a host or device pointer.
pub(super) fn host_pointer<T>(pointer: *const T) -> *mut T {
    std::ptr::with_exposed_provenance_mut(host_address(pointer) as usize)
}

/// GPU of an agent, or `None` for the CPU.
pub(super) fn gpu_or_cpu(runtime: &Runtime, agent: Agent) -> Result<Option<Arc<Gpu>>, Status> {
    if agent == CPU {
        return Ok(None);
    }
    runtime.gpu(agent).map(Some).ok_or(Status::ERROR_INVALID_AGENT)
}

/// GPU to load code on.
pub(super) fn code_gpu(runtime: &Runtime, agent: Agent) -> Result<Arc<Gpu>, Status> {
    runtime.gpu(agent).ok_or(match agent {
        // A valid agent that cannot run code objects.
        CPU => Status::ERROR_INCOMPATIBLE_ARGUMENTS,
        _ => Status::ERROR_INVALID_AGENT,
    })
}
