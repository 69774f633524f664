//! Start, end and the system as a whole.

use std::ffi::{CStr, CString, c_char, c_void};
use std::sync::LazyLock;

use roci_hsa::abi::{
    Constant, Endianness, Extension, LoaderTable1_03, MachineModel, Status, SystemEventCallback, SystemInfo,
};

use super::agents::answer;
use super::{put, with, without};
use crate::clock::{self, TICKS_PER_SECOND};
use crate::runtime;
use crate::topology::{self, Answer};

/// Version of the specification, as all of AMD's runtimes of the last ten years say.
const VERSION: [u16; 2] = [1, 1];
/// Version of AMD's extension whose attributes are answered.
const AMD_VERSION: [u16; 2] = [1, 11];
/// Version of the loader's table.
const LOADER_VERSION: [u16; 2] = [1, 3];

pub(crate) unsafe extern "C" fn hsa_init() -> Status {
    without(runtime::init)
}

pub(crate) unsafe extern "C" fn hsa_shut_down() -> Status {
    without(runtime::shut_down)
}

pub(crate) unsafe extern "C" fn hsa_status_string(status: Status, status_string: *mut *const c_char) -> Status {
    /// `HSA_STATUS_SUCCESS: the call did what it was asked`
    static TEXTS: LazyLock<Vec<(u64, CString)>> = LazyLock::new(|| {
        let text = |name, meaning| CString::new(format!("{name}: {meaning}")).unwrap_or_default();
        Status::TABLE.constants.iter().map(|one| (one.value, text(one.name, one.meaning))).collect()
    });
    without(|| {
        let text = TEXTS.iter().find(|(value, _)| *value == u64::from(status.0));
        let (_, text) = text.ok_or(Status::ERROR_INVALID_ARGUMENT)?;
        // SAFETY: the client's pointer is good for a pointer.
        unsafe { put(status_string, text.as_ptr()) }
    })
}

pub(crate) unsafe extern "C" fn hsa_system_get_info(attribute: SystemInfo, value: *mut c_void) -> Status {
    with(|_| {
        // SAFETY: the client's pointer is good for what the attribute answers.
        unsafe { answer(value, system(attribute)) }
    })
}

/// The system's answer; none where there is no such attribute.
fn system(attribute: SystemInfo) -> Option<Answer> {
    const BUILD: &CStr =
        match CStr::from_bytes_with_nul(concat!("roci ", env!("CARGO_PKG_VERSION"), " (emulated)\0").as_bytes()) {
            Ok(text) => text,
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
        SystemInfo::BUILD_VERSION => Answer::address(BUILD),
        SystemInfo::SVM_SUPPORTED | SystemInfo::VIRTUAL_MEM_API_SUPPORTED => true.into(),
        // The host's memory must be allocated or locked before GPUs may touch it, since their accesses are not replayed.
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
    with(|_| {
        if extension.name().is_none() {
            return Err(Status::ERROR_INVALID_ARGUMENT);
        }
        let supported =
            version(extension).is_some_and(|[major, minor]| version_major == major && version_minor <= minor);
        // SAFETY: the client's pointer is good for the answer.
        unsafe { put(result, supported) }
    })
}

pub(crate) unsafe extern "C" fn hsa_system_major_extension_supported(
    extension: Extension,
    version_major: u16,
    version_minor: *mut u16,
    result: *mut bool,
) -> Status {
    with(|_| {
        if version_minor.is_null() || result.is_null() {
            return Err(Status::ERROR_INVALID_ARGUMENT);
        }
        let found = version(extension).filter(|version| version[0] == version_major);
        if let Some([_, minor]) = found {
            // SAFETY: the client's pointer is good for the answer.
            unsafe { put(version_minor, minor) }?;
        }
        // SAFETY: the client's pointer is good for the answer.
        unsafe { put(result, found.is_some()) }
    })
}

/// The newest version of an extension that has a table.
fn version(extension: Extension) -> Option<[u16; 2]> {
    (extension == Extension::AMD_LOADER).then_some(LOADER_VERSION)
}

pub(crate) unsafe extern "C" fn hsa_system_get_major_extension_table(
    extension: Extension,
    version_major: u16,
    table_length: usize,
    table: *mut c_void,
) -> Status {
    with(|_| {
        if table.is_null() || table_length == 0 {
            return Err(Status::ERROR_INVALID_ARGUMENT);
        }
        if version(extension).is_none_or(|version| version[0] != version_major) {
            return Err(Status::ERROR);
        }
        let own: LoaderTable1_03 = crate::loader::table();
        let length = table_length.min(size_of_val(&own));
        // SAFETY: both are good for the length: the client says it of its table, and it is not more than ours.
        unsafe { std::ptr::copy_nonoverlapping((&raw const own).cast::<u8>(), table.cast::<u8>(), length) };
        Ok(())
    })
}

/// The older form has the version, which says how many functions the client's table has room for.
pub(crate) unsafe extern "C" fn hsa_system_get_extension_table(
    extension: Extension,
    version_major: u16,
    version_minor: u16,
    table: *mut c_void,
) -> Status {
    /// Functions of the loader's table by its version.
    const FUNCTIONS: [usize; 4] = [3, 5, 6, 7];
    let functions = FUNCTIONS.get(usize::from(version_minor)).filter(|_| version(extension).is_some());
    let length = functions.map_or(0, |count| count * size_of::<usize>());
    // SAFETY: the client's table has room for the functions of its version.
    unsafe { hsa_system_get_major_extension_table(extension, version_major, length, table) }
}

pub(crate) unsafe extern "C" fn hsa_extension_get_name(extension: Extension, name: *mut *const c_char) -> Status {
    /// The names with the zero that C wants.
    static NAMES: LazyLock<Vec<(u64, CString)>> = LazyLock::new(|| {
        let named = |one: &Constant| (one.value, CString::new(one.name).unwrap_or_default());
        Extension::TABLE.constants.iter().map(named).collect()
    });
    with(|_| {
        let found = NAMES.iter().find(|(value, _)| *value == u64::from(extension.0));
        let text = found.map_or(c"HSA_EXTENSION_INVALID", |(_, text)| text.as_c_str());
        // SAFETY: the client's pointer is good for a pointer.
        unsafe { put(name, text.as_ptr()) }?;
        found.map(|_| ()).ok_or(Status::ERROR_INVALID_ARGUMENT)
    })
}

/// Nothing is logged, so that there is nothing to choose.
pub(crate) unsafe extern "C" fn hsa_amd_enable_logging(_flags: *mut u8, _file: *mut c_void) -> Status {
    with(|_| Ok(()))
}

pub(crate) unsafe extern "C" fn hsa_amd_register_system_event_handler(
    callback: Option<SystemEventCallback>,
    data: *mut c_void,
) -> Status {
    with(|runtime| runtime.events.register(callback.ok_or(Status::ERROR_INVALID_ARGUMENT)?, data))
}
