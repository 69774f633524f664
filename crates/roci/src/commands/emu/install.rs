//! Installs the emulated HSA runtime and the preload library where an unmodified program can load them.

use std::fs;
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

use roci_device_library::Fingerprint;
use roci_hal::env;

use super::EmuError;
use super::exec::is_listable;

/// File name of the emulated HSA runtime as cargo builds it.
const RUNTIME_FILE: &str = "libhsa_runtime64.so";
/// Names under which programs load the HSA runtime.
const RUNTIME_NAMES: [&str; 2] = ["libhsa-runtime64.so.1", "libhsa-runtime64.so"];
const PRELOAD_NAME: &str = "libroci_emu_preload.so";
/// The driver as `/proc/modules` would list it.
const MODULE: &str = "amdgpu 16777216 0 - Live 0x0000000000000000\n";
/// What there is below `/sys/module/amdgpu`, besides the folder of what depends on it.
const STATE: [(&str, &str); 3] = [("initstate", "live\n"), ("coresize", "16777216\n"), ("refcnt", "0\n")];

/// What was put into a folder.
pub(super) struct Installed {
    /// The folder of the libraries and of the driver's files.
    pub(super) folder: PathBuf,
    pub(super) preload: PathBuf,
}

/// Writes the libraries to the user's cache, or to a temporary folder if there is no cache. Existing copies are reused.
pub(super) fn install() -> Result<Installed, EmuError> {
    let (runtime, preload) = libraries()?;
    let name = format!("emu-{}{}", Fingerprint::of(&runtime), Fingerprint::of(&preload));
    let mut failure = None;
    for place in places() {
        let folder = place.join(&name);
        match make_private(&place).and_then(|()| fill(&folder, &runtime, &preload)) {
            Ok(()) => return Ok(Installed { preload: folder.join(PRELOAD_NAME), folder }),
            Err(source) => failure = Some(EmuError::Install { path: folder, source }),
        }
    }
    Err(failure.unwrap_or(EmuError::NoLibraries { folders: Vec::new() }))
}

/// The HSA runtime and the preload library, from the first folder that has both.
fn libraries() -> Result<(Vec<u8>, Vec<u8>), EmuError> {
    let folders = library_folders(&std::env::current_exe().unwrap_or_default());
    let read = |folder: &PathBuf| {
        let library = |name| fs::read(folder.join(name)).ok();
        library(RUNTIME_FILE).zip(library(PRELOAD_NAME))
    };
    folders.iter().find_map(read).ok_or(EmuError::NoLibraries { folders })
}

/// Where the libraries may be, relative to the program: beside it, in cargo's folder of dependencies, or in `lib/roci` of
/// an installed tree.
fn library_folders(executable: &Path) -> Vec<PathBuf> {
    let own = executable.parent().unwrap_or(Path::new(""));
    let installed = own.parent().map(|prefix| prefix.join("lib/roci"));
    [own.to_owned(), own.join("deps")].into_iter().chain(installed).collect()
}

/// Where they may be put, the best place first.
fn places() -> Vec<PathBuf> {
    let absolute = |path: &PathBuf| path.is_absolute() && is_listable(path);
    let cache = env::XDG_CACHE_HOME.get_raw().map(PathBuf::from).filter(absolute);
    let home = env::HOME.get_raw().map(|home| Path::new(&home).join(".cache")).filter(absolute);
    let mut places: Vec<_> = cache.or(home).into_iter().map(|cache| cache.join("roci")).collect();
    // Others may write there too, so it is ours only under a name of our own, and only if it is private.
    places.push(std::env::temp_dir().join(format!("roci-{}", user().unwrap_or_default())));
    places
}

/// The user that this process runs as.
fn user() -> io::Result<u32> {
    Ok(fs::metadata("/proc/self")?.uid())
}

fn fill(folder: &Path, runtime: &[u8], preload: &[u8]) -> io::Result<()> {
    make_private(folder)?;
    make_private(&folder.join("amdgpu/holders"))?;
    for name in RUNTIME_NAMES {
        put(folder, name, runtime)?;
    }
    put(folder, PRELOAD_NAME, preload)?;
    for (name, text) in STATE {
        put(&folder.join("amdgpu"), name, text.as_bytes())?;
    }
    // Where nothing is ever loaded there is no list either.
    let loaded = fs::read("/proc/modules").unwrap_or_default();
    put(folder, "modules", &with_module(loaded))
}

/// The list of modules with the driver in it.
fn with_module(mut list: Vec<u8>) -> Vec<u8> {
    if !list.split(|byte| *byte == b'\n').any(|line| line.starts_with(b"amdgpu ")) {
        list.extend_from_slice(MODULE.as_bytes());
    }
    list
}

/// Makes a folder that only this user may write.
fn make_private(folder: &Path) -> io::Result<()> {
    fs::DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
    // The link itself, if it is one: where it leads would be somebody else's choice.
    let found = fs::symlink_metadata(folder)?;
    if !found.is_dir() || found.uid() != user()? || found.mode() & 0o022 != 0 {
        return Err(io::Error::new(io::ErrorKind::PermissionDenied, "others may write there"));
    }
    Ok(())
}

/// Makes a file have these bytes, at once for whoever opens it; several processes may do so at the same time.
fn put(folder: &Path, name: &str, bytes: &[u8]) -> io::Result<()> {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    let path = folder.join(name);
    if fs::read(&path).is_ok_and(|found| found == bytes) {
        return Ok(());
    }
    let count = COUNT.fetch_add(1, Ordering::Relaxed);
    let new = folder.join(format!("{name}.{}.{count}", std::process::id()));
    let written = fs::OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o700)
        .open(&new)
        .and_then(|mut file| file.write_all(bytes))
        .and_then(|()| fs::rename(&new, &path));
    if written.is_err() {
        // It may not even be there; the first error is the one to tell.
        let _ = fs::remove_file(&new);
    }
    written
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn libraries_are_searched_beside_the_program_and_in_an_installed_tree() {
        let folders = library_folders(Path::new("/usr/local/bin/roci"));
        let expected = ["/usr/local/bin", "/usr/local/bin/deps", "/usr/local/lib/roci"];
        assert_eq!(folders, expected.map(PathBuf::from));
    }

    #[test]
    fn the_driver_is_listed_once() {
        let list = |text: &str| String::from_utf8(with_module(text.into())).expect("it was text");
        assert_eq!(list(""), MODULE);
        assert_eq!(list("amdgpu_other 1 0 - Live 0x0\n"), format!("amdgpu_other 1 0 - Live 0x0\n{MODULE}"));
        assert_eq!(
            list("ext4 1 0 - Live 0x0\namdgpu 5 1 - Live 0x0\n"),
            "ext4 1 0 - Live 0x0\namdgpu 5 1 - Live 0x0\n"
        );
    }

    #[test]
    fn a_folder_that_others_may_write_is_refused_and_files_change_whole() {
        let folder = std::env::temp_dir().join(format!("roci-install-{}", std::process::id()));
        make_private(&folder).expect("temporary files can be written");
        put(&folder, "file", b"one").expect("it can be written");
        put(&folder, "file", b"two").expect("it can be written");
        assert_eq!(fs::read(folder.join("file")).expect("it is there"), b"two");
        assert_eq!(fs::read_dir(&folder).expect("it is there").count(), 1);
        let open = std::os::unix::fs::PermissionsExt::from_mode(0o777);
        fs::set_permissions(&folder, open).expect("it is ours");
        assert_eq!(make_private(&folder).expect_err("all may write").kind(), io::ErrorKind::PermissionDenied);
        fs::remove_dir_all(&folder).expect("it is ours");
    }
}
