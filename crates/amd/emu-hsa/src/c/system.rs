//! Initialization, shutdown, attributes and extensions of the system.

use std::ffi::{CStr, CString, c_char, c_void};
use std::sync::LazyLock;

use roci_hsa::abi::{
    Constant, Endianness, Extension, LoaderTable1_03, MachineModel, Status, SystemEventCallback, SystemInfo,
};

use super::arguments::{put, put_attribute};
use super::{catch_panics, loader_extension, process, with_runtime};
use crate::clock::{self, TICKS_PER_SECOND};
use crate::topology::{self, AttributeValue};

/// Version of the HSA specification that AMD's runtime reports.
const VERSION: [u16; 2] = [1, 1];
/// Version of AMD's extensions to the interface.
const AMD_VERSION: [u16; 2] = [1, 11];
/// Version of the loader extension.
const LOADER_VERSION: [u16; 2] = [1, 3];

pub(crate) unsafe extern "C" fn hsa_init() -> Status {
    catch_panics(process::init)
}

pub(crate) unsafe extern "C" fn hsa_shut_down() -> Status {
    catch_panics(process::shut_down)
}

pub(crate) unsafe extern "C" fn hsa_status_string(status: Status, status_string: *mut *const c_char) -> Status {
    /// Strings of the form `HSA_STATUS_SUCCESS: meaning`.
    static STRINGS: LazyLock<Vec<(u64, CString)>> = LazyLock::new(|| {
        let string = |name, meaning| CString::new(format!("{name}: {meaning}")).unwrap_or_default();
        Status::TABLE.constants.iter().map(|one| (one.value, string(one.name, one.meaning))).collect()
    });
    catch_panics(|| {
        let found = STRINGS.iter().find(|(value, _)| *value == u64::from(status.0));
        let (_, string) = found.ok_or(Status::ERROR_INVALID_ARGUMENT)?;
        // SAFETY: the client passes a pointer that is valid for this write.
        unsafe { put(status_string, string.as_ptr()) }
    })
}

pub(crate) unsafe extern "C" fn hsa_system_get_info(attribute: SystemInfo, value: *mut c_void) -> Status {
    with_runtime(|_| {
        // SAFETY: the client's buffer has the size of this attribute.
        unsafe { put_attribute(value, system_info(attribute)) }
    })
}

/// Attribute of the system; `None` if unknown.
fn system_info(attribute: SystemInfo) -> Option<AttributeValue> {
    const BUILD: &CStr =
        match CStr::from_bytes_with_nul(concat!("roci ", env!("CARGO_PKG_VERSION"), " (emulated)\0").as_bytes()) {
            Ok(build) => build,
            Err(_) => c"roci (emulated)",
        };
    Some(match attribute {
        SystemInfo::VERSION_MAJOR => VERSION[0].into(),
        SystemInfo::VERSION_MINOR => VERSION[1].into(),
        SystemInfo::TIMESTAMP => clock::system().into(),
        SystemInfo::TIMESTAMP_FREQUENCY => TICKS_PER_SECOND.into(),
        SystemInfo::SIGNAL_MAX_WAIT => u64::MAX.into(),
        SystemInfo::ENDIANNESS => Endianness::LITTLE.into(),
        SystemInfo::MACHINE_MODEL => MachineModel::LARGE.into(),
        SystemInfo::EXTENSIONS => topology::extensions(&[]),
        SystemInfo::BUILD_VERSION => AttributeValue::address(BUILD),
        SystemInfo::SVM_SUPPORTED | SystemInfo::VIRTUAL_MEM_API_SUPPORTED => true.into(),
        // Emulated GPUs do not retry page faults (XNACK), so host memory must be allocated or
        // locked for them.
        SystemInfo::SVM_ACCESSIBLE_BY_DEFAULT
        | SystemInfo::XNACK_ENABLED
        | SystemInfo::MWAITX_ENABLED
        | SystemInfo::DMABUF_SUPPORTED => false.into(),
        SystemInfo::EXT_VERSION_MAJOR => AMD_VERSION[0].into(),
        SystemInfo::EXT_VERSION_MINOR => AMD_VERSION[1].into(),
        _ => return None,
    })
}

pub(crate) unsafe extern "C" fn hsa_system_extension_supported(
    extension: Extension,
    version_major: u16,
    version_minor: u16,
    result: *mut bool,
) -> Status {
    with_runtime(|_| {
        if extension.name().is_none() {
            return Err(Status::ERROR_INVALID_ARGUMENT);
        }
        let supported =
            version(extension).is_some_and(|[major, minor]| version_major == major && version_minor <= minor);
        // SAFETY: the client passes a pointer that is valid for this write.
        unsafe { put(result, supported) }
    })
}

pub(crate) unsafe extern "C" fn hsa_system_major_extension_supported(
    extension: Extension,
    version_major: u16,
    version_minor: *mut u16,
    result: *mut bool,
) -> Status {
    with_runtime(|_| {
        if version_minor.is_null() || result.is_null() {
            return Err(Status::ERROR_INVALID_ARGUMENT);
        }
        let found = version(extension).filter(|version| version[0] == version_major);
        if let Some([_, minor]) = found {
            // SAFETY: the client passes a pointer that is valid for this write.
            unsafe { put(version_minor, minor) }?;
        }
        // SAFETY: the client passes a pointer that is valid for this write.
        unsafe { put(result, found.is_some()) }
    })
}

/// Newest version of an extension; `None` if it has no table.
fn version(extension: Extension) -> Option<[u16; 2]> {
    (extension == Extension::AMD_LOADER).then_some(LOADER_VERSION)
}

pub(crate) unsafe extern "C" fn hsa_system_get_major_extension_table(
    extension: Extension,
    version_major: u16,
    table_length: usize,
    table: *mut c_void,
) -> Status {
    with_runtime(|_| {
        if table.is_null() || table_length == 0 {
            return Err(Status::ERROR_INVALID_ARGUMENT);
        }
        if version(extension).is_none_or(|version| version[0] != version_major) {
            return Err(Status::ERROR);
        }
        let functions: LoaderTable1_03 = loader_extension::table();
        let length = table_length.min(size_of_val(&functions));
        // SAFETY: the client's table has `table_length` bytes, and `length` is at most the size of
        // both.
        unsafe { std::ptr::copy_nonoverlapping((&raw const functions).cast::<u8>(), table.cast::<u8>(), length) };
        Ok(())
    })
}

/// Older form: the minor version determines the size of the client's table.
pub(crate) unsafe extern "C" fn hsa_system_get_extension_table(
    extension: Extension,
    version_major: u16,
    version_minor: u16,
    table: *mut c_void,
) -> Status {
    /// Number of functions in the loader's table by minor version.
    const FUNCTIONS: [usize; 4] = [3, 5, 6, 7];
    let functions = FUNCTIONS.get(usize::from(version_minor)).filter(|_| version(extension).is_some());
    let length = functions.map_or(0, |count| count * size_of::<usize>());
    // SAFETY: the client's table has the functions of its version.
    unsafe { hsa_system_get_major_extension_table(extension, version_major, length, table) }
}

pub(crate) unsafe extern "C" fn hsa_extension_get_name(extension: Extension, name: *mut *const c_char) -> Status {
    /// Names as C strings.
    static NAMES: LazyLock<Vec<(u64, CString)>> = LazyLock::new(|| {
        let named = |one: &Constant| (one.value, CString::new(one.name).unwrap_or_default());
        Extension::TABLE.constants.iter().map(named).collect()
    });
    with_runtime(|_| {
        let found = NAMES.iter().find(|(value, _)| *value == u64::from(extension.0));
        let string = found.map_or(c"HSA_EXTENSION_INVALID", |(_, string)| string.as_c_str());
        // SAFETY: the client passes a pointer that is valid for this write.
        unsafe { put(name, string.as_ptr()) }?;
        found.map(|_| ()).ok_or(Status::ERROR_INVALID_ARGUMENT)
    })
}

/// Accepted and ignored: the emulated runtime has no log.
pub(crate) unsafe extern "C" fn hsa_amd_enable_logging(_flags: *mut u8, _file: *mut c_void) -> Status {
    with_runtime(|_| Ok(()))
}

pub(crate) unsafe extern "C" fn hsa_amd_register_system_event_handler(
    callback: Option<SystemEventCallback>,
    data: *mut c_void,
) -> Status {
    with_runtime(|runtime| runtime.events.register(callback.ok_or(Status::ERROR_INVALID_ARGUMENT)?, data))
}
