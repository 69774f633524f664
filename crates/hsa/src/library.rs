//! A loaded `libhsa-runtime64.so` with its table of functions.

#![expect(unsafe_code, reason = "loads a library")]

use std::ffi::{OsStr, c_char, c_int, c_void};
use std::path::{Path, PathBuf};

use libloading::os::unix;

use crate::api::{Api, MissingFunctions};
use crate::text;

/// A loaded library. It stays loaded as long as this lives.
#[derive(Debug)]
pub struct Library {
    api: Api,
    path: PathBuf,
    /// Unloads the library when it goes, so after everything else here.
    _library: unix::Library,
}

/// Why a library cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    /// The loader refused it.
    #[error("{0}")]
    Refused(String),
    /// It is something else, or too old.
    #[error(transparent)]
    Missing(#[from] MissingFunctions),
}

impl Library {
    /// Loads a file by its path, or what the loader finds by a name without a slash.
    pub fn load(name: impl AsRef<OsStr>) -> Result<Self, LoadError> {
        // SAFETY: the initialisers of a library that the user or the system named as the HSA runtime are run; that they
        // do no harm is what naming it means. RTLD_NOW, so that a library with unresolved needs fails here and not in a
        // call.
        let library = unsafe { unix::Library::open(Some(name.as_ref()), unix::RTLD_NOW | unix::RTLD_LOCAL) };
        let library = library.map_err(|error| LoadError::Refused(reason(&error)))?;
        let api = Api::from_library(&library)?;
        let path = file_of(api.hsa_init as *const c_void).unwrap_or_else(|| name.as_ref().into());
        Ok(Self { api, path, _library: library })
    }

    /// Its functions.
    pub fn api(&self) -> &Api {
        &self.api
    }

    /// The file that was loaded, as the loader knows it.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

/// What the loader says, without the name of the call.
fn reason(error: &libloading::Error) -> String {
    match error {
        libloading::Error::DlOpen { desc } => format!("{desc:?}").trim_matches('"').to_owned(),
        other => other.to_string(),
    }
}

/// What `dladdr` fills.
#[repr(C)]
struct DlInfo {
    file_name: *const c_char,
    file_base: *mut c_void,
    symbol_name: *const c_char,
    symbol_address: *mut c_void,
}

unsafe extern "C" {
    /// Finds the file and the symbol at an address; 0 if there is none. From the C library.
    fn dladdr(address: *const c_void, info: *mut DlInfo) -> c_int;
}

/// The file in which a loaded function lies.
fn file_of(function: *const c_void) -> Option<PathBuf> {
    let mut info = DlInfo {
        file_name: std::ptr::null(),
        file_base: std::ptr::null_mut(),
        symbol_name: std::ptr::null(),
        symbol_address: std::ptr::null_mut(),
    };
    // SAFETY: any address may be asked for, and `info` has the layout of `Dl_info`.
    if unsafe { dladdr(function, &raw mut info) } == 0 {
        return None;
    }
    // SAFETY: the name belongs to the loader and lives as long as the file is loaded, which the caller holds.
    unsafe { text::copy(info.file_name) }.map(PathBuf::from)
}
