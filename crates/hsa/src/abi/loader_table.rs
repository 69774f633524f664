//! AMD's loader extension, version 1.03: what debuggers and profilers ask about loaded code.

use super::*;

/// A part of a loaded code object. In C: `hsa_ven_amd_loader_segment_descriptor_t`.
#[repr(C)]
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct SegmentDescriptor {
    /// Where it is loaded; null for the program.
    pub agent: Agent,
    /// To which executable it belongs.
    pub executable: Executable,
    /// Where its bytes came from.
    pub code_object_storage_type: CodeObjectStorageType,
    /// The address they came from, if that was memory.
    pub code_object_storage_base: *const c_void,
    /// How many they were.
    pub code_object_storage_size: usize,
    /// Where this part starts among them.
    pub code_object_storage_offset: usize,
    /// Where it is loaded.
    pub segment_base: *const c_void,
    /// Its bytes.
    pub segment_size: usize,
}

/// The table. A library that knows fewer functions leaves the last slots as they were; versions 1.00 to 1.02 are its
/// first 3, 5 and 6 slots.
#[repr(C)]
#[derive(Copy, Clone, Debug, Default)]
pub struct LoaderTable1_03 {
    /// Finds the host's copy of loaded code.
    pub query_host_address:
        Option<unsafe extern "C" fn(device_address: *const c_void, host_address: *mut *const c_void) -> Status>,
    /// Lists all parts of all loaded code objects.
    pub query_segment_descriptors:
        Option<unsafe extern "C" fn(descriptors: *mut SegmentDescriptor, count: *mut usize) -> Status>,
    /// Finds the executable at an address.
    pub query_executable:
        Option<unsafe extern "C" fn(device_address: *const c_void, executable: *mut Executable) -> Status>,
    /// Lists the code objects of an executable.
    pub executable_iterate_loaded_code_objects: Option<
        unsafe extern "C" fn(
            executable: Executable,
            callback: Option<LoadedCodeObjectCallback>,
            data: *mut c_void,
        ) -> Status,
    >,
    /// Answers a question about a loaded code object.
    pub loaded_code_object_get_info: Option<
        unsafe extern "C" fn(loaded: LoadedCodeObject, attribute: LoadedCodeObjectInfo, value: *mut c_void) -> Status,
    >,
    /// Reads a code object from a part of a file.
    pub code_object_reader_create_from_file_with_offset_size:
        Option<unsafe extern "C" fn(file: c_int, offset: usize, size: usize, reader: *mut CodeObjectReader) -> Status>,
    /// Lists all executables.
    pub iterate_executables:
        Option<unsafe extern "C" fn(callback: Option<ExecutableCallback>, data: *mut c_void) -> Status>,
}
