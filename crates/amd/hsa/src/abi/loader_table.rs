//! AMD's loader extension, version 1.03, with which debuggers and profilers query loaded code.

use super::*;

/// A segment of a loaded code object. In C: `hsa_ven_amd_loader_segment_descriptor_t`.
#[repr(C)]
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct SegmentDescriptor {
    /// Agent it is loaded on; null for the program.
    pub agent: Agent,
    /// Executable that contains it.
    pub executable: Executable,
    /// Where the code object came from.
    pub code_object_storage_type: CodeObjectStorageType,
    /// Address of the code object, if it came from memory.
    pub code_object_storage_base: *const c_void,
    /// Size of the code object in bytes.
    pub code_object_storage_size: usize,
    /// Where the segment begins in the code object, in bytes.
    pub code_object_storage_offset: usize,
    /// Load address.
    pub segment_base: *const c_void,
    /// Size of the segment in bytes.
    pub segment_size: usize,
}

/// Function table of the extension. A library with fewer functions leaves the last slots unchanged;
/// versions 1.00 to 1.02 are the first 3, 5 and 6 slots.
#[repr(C)]
#[derive(Copy, Clone, Debug, Default)]
pub struct LoaderTable1_03 {
    /// Finds the host address of loaded code.
    pub query_host_address:
        Option<unsafe extern "C" fn(device_address: *const c_void, host_address: *mut *const c_void) -> Status>,
    /// Lists all segments of all loaded code objects.
    pub query_segment_descriptors:
        Option<unsafe extern "C" fn(descriptors: *mut SegmentDescriptor, count: *mut usize) -> Status>,
    /// Finds the executable that contains an address.
    pub query_executable:
        Option<unsafe extern "C" fn(device_address: *const c_void, executable: *mut Executable) -> Status>,
    /// Iterates over the loaded code objects of an executable.
    pub executable_iterate_loaded_code_objects: Option<
        unsafe extern "C" fn(
            executable: Executable,
            callback: Option<LoadedCodeObjectCallback>,
            data: *mut c_void,
        ) -> Status,
    >,
    /// Queries an attribute of a loaded code object.
    pub loaded_code_object_get_info: Option<
        unsafe extern "C" fn(loaded: LoadedCodeObject, attribute: LoadedCodeObjectInfo, value: *mut c_void) -> Status,
    >,
    /// Creates a code object reader for a range of a file.
    pub code_object_reader_create_from_file_with_offset_size:
        Option<unsafe extern "C" fn(file: c_int, offset: usize, size: usize, reader: *mut CodeObjectReader) -> Status>,
    /// Iterates over all executables.
    pub iterate_executables:
        Option<unsafe extern "C" fn(callback: Option<ExecutableCallback>, data: *mut c_void) -> Status>,
}
