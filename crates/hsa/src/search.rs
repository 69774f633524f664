//! Where `libhsa-runtime64.so` is looked for, in this order:
//!
//! 1. the paths that the user gave,
//! 2. `ROCI_HAL_AMDGPU_LIBHSA_PATH`, then `IREE_HAL_AMDGPU_LIBHSA_PATH`,
//! 3. the directories on `PATH`,
//! 4. wherever the loader looks by itself (`LD_LIBRARY_PATH`, the system's libraries),
//! 5. `/opt/rocm/lib`.
//!
//! A path may be a file of any name, or a directory that holds [`NAMES`]. A place without a library that works is
//! passed over, and the reason is kept: in the result, and in the error when all places fail.

use std::ffi::OsString;
use std::fmt;
use std::path::{Path, PathBuf};

use crate::library::Library;

/// The names of the library, in the order in which they are tried.
pub const NAMES: [&str; 2] = ["libhsa-runtime64.so.1", "libhsa-runtime64.so"];

/// Where ROCm installs itself.
const ROCM: &str = "/opt/rocm/lib";

/// The variables that count, as their values: whoever may read the environment fills this.
#[derive(Clone, Debug, Default)]
pub struct Environment {
    /// `ROCI_HAL_AMDGPU_LIBHSA_PATH`
    pub roci_path: Option<OsString>,
    /// `IREE_HAL_AMDGPU_LIBHSA_PATH`
    pub iree_path: Option<OsString>,
    /// `PATH`
    pub path: Option<OsString>,
}

/// What to search.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// Files or directories that the user named.
    pub paths: Vec<PathBuf>,
    /// The environment.
    pub environment: Environment,
}

/// Why a place is searched.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Origin {
    /// The user gave it.
    Option,
    /// An environment variable holds it; its name.
    Variable(&'static str),
    /// It is on `PATH`.
    Path,
    /// The loader's own search.
    Loader,
    /// ROCm installs itself there.
    Rocm,
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Origin::Option => f.write_str("given search path"),
            Origin::Variable(name) => f.write_str(name),
            Origin::Path => f.write_str("PATH"),
            Origin::Loader => f.write_str("the loader's own search"),
            Origin::Rocm => f.write_str("ROCm's usual place"),
        }
    }
}

/// A place to search.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// Why.
    pub origin: Origin,
    /// A file or a directory; for the loader, the name it is asked for.
    pub path: PathBuf,
}

/// A place without a library that works.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Attempt {
    /// The place, or the file in it.
    pub place: Place,
    /// Why it was passed over.
    pub reason: String,
}

impl fmt::Display for Attempt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({}): {}", self.place.path.display(), self.place.origin, self.reason)
    }
}

/// A library that works.
#[derive(Debug)]
pub struct Found {
    /// The library; it knows its file.
    pub library: Library,
    /// Where it was found.
    pub origin: Origin,
    /// What was tried before it, and why that did not do.
    pub passed_over: Vec<Attempt>,
}

/// There is no library that works.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NotFound {
    /// Every place, and why it did not do.
    pub attempts: Vec<Attempt>,
}

impl fmt::Display for NotFound {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "there is no usable `{}`; tried:", NAMES[0])?;
        self.attempts.iter().try_for_each(|attempt| write!(f, "\n  {attempt}"))
    }
}

impl std::error::Error for NotFound {}

impl NotFound {
    /// What to do about it.
    pub fn remedy(&self) -> String {
        format!(
            "install the HSA runtime (Debian and Ubuntu: `apt install libhsa-runtime64-1`), or name the directory of \
             `{}` in ROCI_HAL_AMDGPU_LIBHSA_PATH",
            NAMES[0]
        )
    }
}

/// All places, in order, without a look at any of them.
pub fn places(options: &Options) -> Vec<Place> {
    let environment = &options.environment;
    let place = |origin, path: PathBuf| Place { origin, path };
    let variable = |name, value: &Option<OsString>| {
        let value = value.as_ref().filter(|value| !value.is_empty());
        value.map(|value| place(Origin::Variable(name), value.into()))
    };
    let mut places: Vec<_> = options.paths.iter().map(|path| place(Origin::Option, path.clone())).collect();
    places.extend(variable("ROCI_HAL_AMDGPU_LIBHSA_PATH", &environment.roci_path));
    places.extend(variable("IREE_HAL_AMDGPU_LIBHSA_PATH", &environment.iree_path));
    for directory in std::env::split_paths(environment.path.as_deref().unwrap_or_default()) {
        // An empty entry means the working directory, from which no library is to be loaded by accident.
        if directory.is_absolute() && !places.iter().any(|place| place.path == directory) {
            places.push(place(Origin::Path, directory));
        }
    }
    places.extend(NAMES.map(|name| place(Origin::Loader, name.into())));
    places.push(place(Origin::Rocm, ROCM.into()));
    places
}

/// Loads the first library that works.
pub fn open(options: &Options) -> Result<Found, NotFound> {
    let mut passed_over = Vec::new();
    for place in places(options) {
        for candidate in candidates(&place) {
            let result = match candidate {
                Ok(file) => Library::load(&file).map_err(|error| (file, error.to_string())),
                Err(reason) => Err((place.path.clone(), reason)),
            };
            match result {
                Ok(library) => return Ok(Found { library, origin: place.origin, passed_over }),
                Err((path, reason)) => {
                    passed_over.push(Attempt { place: Place { origin: place.origin, path }, reason });
                }
            }
        }
    }
    Err(NotFound { attempts: passed_over })
}

/// The files to load at a place, or why there are none.
fn candidates(place: &Place) -> Vec<Result<PathBuf, String>> {
    if place.origin == Origin::Loader {
        return vec![Ok(place.path.clone())];
    }
    match std::fs::metadata(&place.path) {
        Err(error) => vec![Err(describe(&error))],
        Ok(metadata) if metadata.is_dir() => {
            let files: Vec<_> = NAMES.iter().map(|name| place.path.join(name)).filter(|file| file.exists()).collect();
            if files.is_empty() {
                vec![Err(format!("holds neither {} nor {}", NAMES[0], NAMES[1]))]
            } else {
                files.into_iter().map(Ok).collect()
            }
        }
        // A bare file name would send the loader to its own search.
        Ok(_) => vec![absolute(&place.path)],
    }
}

fn absolute(path: &Path) -> Result<PathBuf, String> {
    std::path::absolute(path).map_err(|error| describe(&error))
}

fn describe(error: &std::io::Error) -> String {
    match error.kind() {
        std::io::ErrorKind::NotFound => "does not exist".to_owned(),
        std::io::ErrorKind::PermissionDenied => "may not be read by this user".to_owned(),
        _ => error.to_string(),
    }
}
