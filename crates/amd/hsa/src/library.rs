//! A loaded `libhsa-runtime64.so` and its function table.

#![expect(unsafe_code, reason = "loads a library")]

use std::ffi::{OsStr, c_char, c_int, c_void};
use std::path::{Path, PathBuf};

use libloading::os::unix;

use crate::api::{Api, MissingFunctions};
use crate::c_string;

/// A loaded library, unloaded on drop.
#[derive(Debug)]
pub struct Library {
    api: Api,
    path: PathBuf,
    /// Last field: dropped after the functions that it contains.
    _library: unix::Library,
}

/// Why a library cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LoadError {
    /// `dlopen` failed; its message.
    #[error("{0}")]
    Dlopen(String),
    /// It is another library, or too old.
    #[error(transparent)]
    Missing(#[from] MissingFunctions),
}

impl Library {
    /// Loads a file by path, or searches as `dlopen` does for a name without a slash.
    pub fn load(name: impl AsRef<OsStr>) -> Result<Self, LoadError> {
        // RTLD_NOW: unresolved symbols fail here and not in a later call.
        // SAFETY: this runs the initializers of a library that the user or the system designates as
        // the HSA runtime.
        let library = unsafe { unix::Library::open(Some(name.as_ref()), unix::RTLD_NOW | unix::RTLD_LOCAL) };
        let library = library.map_err(|error| LoadError::Dlopen(reason(&error)))?;
        let api = Api::from_library(&library)?;
        let path = file_of(api.hsa_init as *const c_void).unwrap_or_else(|| name.as_ref().into());
        Ok(Self { api, path, _library: library })
    }

    /// Function table, valid while the library is loaded.
    pub fn api(&self) -> &Api {
        &self.api
    }

    /// Path of the loaded file as reported by the dynamic loader.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

/// Message of the dynamic loader without the name of the call.
fn reason(error: &libloading::Error) -> String {
    match error {
        libloading::Error::DlOpen { desc } => format!("{desc:?}").trim_matches('"').to_owned(),
        other => other.to_string(),
    }
}

/// `Dl_info` of the C library.
#[repr(C)]
struct DlInfo {
    file_name: *const c_char,
    file_base: *mut c_void,
    symbol_name: *const c_char,
    symbol_address: *mut c_void,
}

unsafe extern "C" {
    /// Finds file and symbol of an address; 0 if there is none. From the C library.
    fn dladdr(address: *const c_void, info: *mut DlInfo) -> c_int;
}

/// File that contains a loaded function.
fn file_of(function: *const c_void) -> Option<PathBuf> {
    let mut info = DlInfo {
        file_name: std::ptr::null(),
        file_base: std::ptr::null_mut(),
        symbol_name: std::ptr::null(),
        symbol_address: std::ptr::null_mut(),
    };
    // SAFETY: `dladdr` accepts any address, and `info` has the layout of `Dl_info`.
    if unsafe { dladdr(function, &raw mut info) } == 0 {
        return None;
    }
    // SAFETY: the name lives as long as the file is loaded, and the caller holds the library.
    unsafe { c_string::copy(info.file_name) }.map(PathBuf::from)
}
