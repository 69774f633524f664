//! AMD's loader extension, which debuggers and profilers use to query loaded code.

use std::os::fd::BorrowedFd;

use roci_hsa::abi::*;

use super::arguments::{for_each, put, put_attribute};
use super::with_runtime;
use crate::loader::Reader;

pub(super) fn table() -> LoaderTable1_03 {
    LoaderTable1_03 {
        query_host_address: Some(query_host_address),
        query_segment_descriptors: Some(query_segment_descriptors),
        query_executable: Some(query_executable),
        executable_iterate_loaded_code_objects: Some(executable_iterate_loaded_code_objects),
        loaded_code_object_get_info: Some(loaded_code_object_get_info),
        code_object_reader_create_from_file_with_offset_size: Some(reader_create_from_file),
        iterate_executables: Some(iterate_executables),
    }
}

/// Host and device share one copy of loaded code.
unsafe extern "C" fn query_host_address(device_address: *const c_void, host_address: *mut *const c_void) -> Status {
    with_runtime(|runtime| {
        let found = runtime.loader.loaded_at(device_address.addr() as u64);
        found.ok_or(Status::ERROR_INVALID_ARGUMENT)?;
        // SAFETY: the client passes a pointer that is valid for this write.
        unsafe { put(host_address, device_address) }
    })
}

unsafe extern "C" fn query_segment_descriptors(descriptors: *mut SegmentDescriptor, count: *mut usize) -> Status {
    with_runtime(|runtime| {
        if count.is_null() {
            return Err(Status::ERROR_INVALID_ARGUMENT);
        }
        // SAFETY: not null, so the client passes a valid pointer.
        let requested = unsafe { count.read_unaligned() };
        if (requested == 0) != descriptors.is_null() {
            return Err(Status::ERROR_INVALID_ARGUMENT);
        }
        let loaded = runtime.loader.all_loaded();
        if requested == 0 {
            // SAFETY: the client passes a pointer that is valid for this write.
            return unsafe { put(count, loaded.len()) };
        }
        if requested != loaded.len() {
            return Err(Status::ERROR_INCOMPATIBLE_ARGUMENTS);
        }
        for (index, loaded) in loaded.iter().enumerate() {
            // SAFETY: the client passes an array of `requested` elements.
            unsafe { put(descriptors.wrapping_add(index), loaded.descriptor()) }?;
        }
        Ok(())
    })
}

unsafe extern "C" fn query_executable(device_address: *const c_void, executable: *mut Executable) -> Status {
    with_runtime(|runtime| {
        let found = runtime.loader.loaded_at(device_address.addr() as u64);
        // SAFETY: the client passes a pointer that is valid for this write.
        unsafe { put(executable, found.ok_or(Status::ERROR_INVALID_ARGUMENT)?.executable()) }
    })
}

unsafe extern "C" fn executable_iterate_loaded_code_objects(
    executable: Executable,
    callback: Option<LoadedCodeObjectCallback>,
    data: *mut c_void,
) -> Status {
    with_runtime(|runtime| {
        let callback = callback.ok_or(Status::ERROR_INVALID_ARGUMENT)?;
        let loaded = runtime.loader.executable(executable)?.loaded()?;
        // No lock is held: the callback may call the runtime.
        // SAFETY: the client passes the callback to be called with this data.
        for_each(loaded, |loaded| unsafe { callback(executable, loaded.handle(), data) })
    })
}

unsafe extern "C" fn loaded_code_object_get_info(
    loaded: LoadedCodeObject,
    attribute: LoadedCodeObjectInfo,
    value: *mut c_void,
) -> Status {
    with_runtime(|runtime| {
        let loaded = runtime.loader.loaded(loaded)?;
        // SAFETY: the client's buffer has the size of this attribute.
        unsafe { put_attribute(value, loaded.info(attribute)) }
    })
}

unsafe extern "C" fn reader_create_from_file(
    file: c_int,
    offset: usize,
    size: usize,
    reader: *mut CodeObjectReader,
) -> Status {
    with_runtime(|runtime| {
        if file < 0 || reader.is_null() {
            return Err(Status::ERROR_INVALID_ARGUMENT);
        }
        // SAFETY: the descriptor is not -1, and the client keeps it open during the call; a closed
        // descriptor fails at its first use.
        let file = unsafe { BorrowedFd::borrow_raw(file) };
        let created = runtime.loader.add_reader(Reader::from_file(file, offset, size)?);
        // SAFETY: the client passes a pointer that is valid for this write.
        unsafe { put(reader, created) }
    })
}

unsafe extern "C" fn iterate_executables(callback: Option<ExecutableCallback>, data: *mut c_void) -> Status {
    with_runtime(|runtime| {
        let callback = callback.ok_or(Status::ERROR_INVALID_ARGUMENT)?;
        // No lock is held: the callback may call the runtime.
        // SAFETY: the client passes the callback to be called with this data.
        for_each(runtime.loader.executables(), |executable| unsafe { callback(executable.handle(), data) })
    })
}
