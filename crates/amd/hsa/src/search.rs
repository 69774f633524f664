//! Search for `libhsa-runtime64.so`, in this order:
//!
//! 1. paths from the user,
//! 2. `ROCI_HAL_AMDGPU_LIBHSA_PATH`, then `IREE_HAL_AMDGPU_LIBHSA_PATH`,
//! 3. the directories on `PATH`,
//! 4. the search of the dynamic loader (`LD_LIBRARY_PATH`, system libraries),
//! 5. `/opt/rocm/lib`.
//!
//! A path is a file of any name, or a directory that contains one of [`NAMES`]. Candidates that
//! fail are skipped; the result, or the error if all fail, lists them with the reason.

use std::ffi::OsString;
use std::fmt;
use std::path::{Path, PathBuf};

use crate::library::Library;

/// File names of the library, in the order in which they are tried.
pub const NAMES: [&str; 2] = ["libhsa-runtime64.so.1", "libhsa-runtime64.so"];

/// Default directory of ROCm.
const ROCM: &str = "/opt/rocm/lib";

/// Values of the environment variables that the search uses. The caller reads them.
#[derive(Clone, Debug, Default)]
pub struct Environment {
    /// `ROCI_HAL_AMDGPU_LIBHSA_PATH`
    pub roci_path: Option<OsString>,
    /// `IREE_HAL_AMDGPU_LIBHSA_PATH`
    pub iree_path: Option<OsString>,
    /// `PATH`
    pub path: Option<OsString>,
}

/// Search options.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// Files or directories from the user, searched first.
    pub paths: Vec<PathBuf>,
    /// Environment variables.
    pub environment: Environment,
}

/// Where a search path comes from.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Origin {
    /// From [`Options::paths`].
    Option,
    /// From the environment variable of this name.
    Variable(&'static str),
    /// From `PATH`.
    Path,
    /// The search of the dynamic loader.
    Loader,
    /// The default directory of ROCm.
    Rocm,
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Origin::Option => f.write_str("given search path"),
            Origin::Variable(name) => f.write_str(name),
            Origin::Path => f.write_str("PATH"),
            Origin::Loader => f.write_str("search of the dynamic loader"),
            Origin::Rocm => f.write_str("default directory of ROCm"),
        }
    }
}

/// A place to search, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SearchPath {
    /// Where it comes from.
    pub origin: Origin,
    /// A file or a directory; for the dynamic loader, a file name.
    pub path: PathBuf,
}

/// A failed attempt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Attempt {
    /// The path, or the file in that directory.
    pub path: SearchPath,
    /// Why it failed.
    pub reason: String,
}

impl fmt::Display for Attempt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({}): {}", self.path.path.display(), self.path.origin, self.reason)
    }
}

/// A usable library.
#[derive(Debug)]
pub struct FoundLibrary {
    /// The loaded library.
    pub library: Library,
    /// Which search path contained it.
    pub origin: Origin,
    /// Failed attempts before it.
    pub failed_attempts: Vec<Attempt>,
}

/// No usable library was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NotFound {
    /// All attempts.
    pub attempts: Vec<Attempt>,
}

impl fmt::Display for NotFound {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "no usable `{}` found; tried:", NAMES[0])?;
        self.attempts.iter().try_for_each(|attempt| write!(f, "\n  {attempt}"))
    }
}

impl std::error::Error for NotFound {}

impl NotFound {
    /// Suggested fix.
    pub fn remedy(&self) -> String {
        format!(
            "install the HSA runtime (Debian and Ubuntu: `apt install libhsa-runtime64-1`), or set ROCI_HAL_AMDGPU_LIBHSA_PATH to \
             the directory of `{}`",
            NAMES[0]
        )
    }
}

/// All search paths in order. The file system is not accessed.
pub fn search_paths(options: &Options) -> Vec<SearchPath> {
    let environment = &options.environment;
    let entry = |origin, path: PathBuf| SearchPath { origin, path };
    let variable = |name, value: &Option<OsString>| {
        let value = value.as_ref().filter(|value| !value.is_empty());
        value.map(|value| entry(Origin::Variable(name), value.into()))
    };
    let mut paths: Vec<_> = options.paths.iter().map(|path| entry(Origin::Option, path.clone())).collect();
    paths.extend(variable("ROCI_HAL_AMDGPU_LIBHSA_PATH", &environment.roci_path));
    paths.extend(variable("IREE_HAL_AMDGPU_LIBHSA_PATH", &environment.iree_path));
    for directory in std::env::split_paths(environment.path.as_deref().unwrap_or_default()) {
        // An empty entry means the working directory, which must not be searched by accident.
        if directory.is_absolute() && !paths.iter().any(|other| other.path == directory) {
            paths.push(entry(Origin::Path, directory));
        }
    }
    paths.extend(NAMES.map(|name| entry(Origin::Loader, name.into())));
    paths.push(entry(Origin::Rocm, ROCM.into()));
    paths
}

/// Loads the first usable library.
pub fn open(options: &Options) -> Result<FoundLibrary, NotFound> {
    let mut failed_attempts = Vec::new();
    for searched in search_paths(options) {
        for candidate in candidates(&searched) {
            let result = match candidate {
                Ok(file) => Library::load(&file).map_err(|error| (file, error.to_string())),
                Err(reason) => Err((searched.path.clone(), reason)),
            };
            match result {
                Ok(library) => return Ok(FoundLibrary { library, origin: searched.origin, failed_attempts }),
                Err((path, reason)) => {
                    failed_attempts.push(Attempt { path: SearchPath { origin: searched.origin, path }, reason });
                }
            }
        }
    }
    Err(NotFound { attempts: failed_attempts })
}

/// Files to load for a search path, or why there are none.
fn candidates(searched: &SearchPath) -> Vec<Result<PathBuf, String>> {
    if searched.origin == Origin::Loader {
        return vec![Ok(searched.path.clone())];
    }
    match std::fs::metadata(&searched.path) {
        Err(error) => vec![Err(describe(&error))],
        Ok(metadata) if metadata.is_dir() => {
            let files: Vec<_> =
                NAMES.iter().map(|name| searched.path.join(name)).filter(|file| file.exists()).collect();
            if files.is_empty() {
                vec![Err(format!("contains neither {} nor {}", NAMES[0], NAMES[1]))]
            } else {
                files.into_iter().map(Ok).collect()
            }
        }
        // The dynamic loader would search for a file name without a directory.
        Ok(_) => vec![absolute(&searched.path)],
    }
}

fn absolute(path: &Path) -> Result<PathBuf, String> {
    std::path::absolute(path).map_err(|error| describe(&error))
}

fn describe(error: &std::io::Error) -> String {
    match error.kind() {
        std::io::ErrorKind::NotFound => "does not exist".to_owned(),
        std::io::ErrorKind::PermissionDenied => "permission denied".to_owned(),
        _ => error.to_string(),
    }
}
