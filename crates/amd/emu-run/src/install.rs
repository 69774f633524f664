//! Installs the emulated HSA runtime and the preload library where an unmodified program can load
//! them.

use std::fs;
use std::hash::Hasher;
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

use fnv::FnvHasher;
use roci_base::env;

use super::environment::is_listable;
use super::error::Error;

/// File name of the emulated HSA runtime as cargo builds it.
const RUNTIME_FILE: &str = "libhsa_runtime64.so";
/// Names under which programs load the HSA runtime.
const RUNTIME_NAMES: [&str; 2] = ["libhsa-runtime64.so.1", "libhsa-runtime64.so"];
const PRELOAD_NAME: &str = "libroci_emu_preload.so";
/// The line of the driver in `/proc/modules`.
const MODULE: &str = "amdgpu 16777216 0 - Live 0x0000000000000000\n";
/// Files below `/sys/module/amdgpu`, in addition to the folder of its dependents.
const MODULE_FILES: [(&str, &str); 3] = [("initstate", "live\n"), ("coresize", "16777216\n"), ("refcnt", "0\n")];

/// The installed files.
#[derive(Clone, Debug)]
pub struct Installation {
    /// Folder of the libraries and of the simulated files of the kernel driver.
    pub folder: PathBuf,
    /// The library for LD_PRELOAD.
    pub preload: PathBuf,
}

/// Writes the libraries to the user's cache, or to a temporary folder if there is no cache.
/// Existing copies are reused.
pub fn install() -> Result<Installation, Error> {
    let (runtime, preload) = libraries()?;
    let name = format!("emu-{:016x}{:016x}", fingerprint(&runtime), fingerprint(&preload));
    let mut failure = None;
    for parent in target_folders() {
        let folder = parent.join(&name);
        match make_private(&parent).and_then(|()| fill(&folder, &runtime, &preload)) {
            Ok(()) => return Ok(Installation { preload: folder.join(PRELOAD_NAME), folder }),
            Err(source) => failure = Some(Error::Install { path: folder, source }),
        }
    }
    Err(failure.unwrap_or(Error::NoLibraries { folders: Vec::new() }))
}

/// A content hash that is stable across machines and versions of Rust.
fn fingerprint(bytes: &[u8]) -> u64 {
    let mut hasher = FnvHasher::default();
    hasher.write(bytes);
    hasher.finish()
}

/// The HSA runtime and the preload library, from the first folder that has both.
fn libraries() -> Result<(Vec<u8>, Vec<u8>), Error> {
    let folders = library_folders(&std::env::current_exe().unwrap_or_default());
    let read = |folder: &PathBuf| {
        let library = |name| fs::read(folder.join(name)).ok();
        library(RUNTIME_FILE).zip(library(PRELOAD_NAME))
    };
    folders.iter().find_map(read).ok_or(Error::NoLibraries { folders })
}

/// Folders of the libraries, relative to the program: its own, cargo's `deps`, and `lib/roci` of an
/// installed tree.
fn library_folders(executable: &Path) -> Vec<PathBuf> {
    let own = executable.parent().unwrap_or(Path::new(""));
    let installed = own.parent().map(|prefix| prefix.join("lib/roci"));
    [own.to_owned(), own.join("deps")].into_iter().chain(installed).collect()
}

/// Folders to install to, in order of preference.
fn target_folders() -> Vec<PathBuf> {
    let absolute = |path: &PathBuf| path.is_absolute() && is_listable(path);
    let cache = env::XDG_CACHE_HOME.get_raw().map(PathBuf::from).filter(absolute);
    let home = env::HOME.get_raw().map(|home| Path::new(&home).join(".cache")).filter(absolute);
    let mut folders: Vec<_> = cache.or(home).into_iter().map(|cache| cache.join("roci")).collect();
    // A shared temporary folder: only a private subfolder of this user is safe.
    folders.push(std::env::temp_dir().join(format!("roci-{}", user().unwrap_or_default())));
    folders
}

/// The effective user ID.
fn user() -> io::Result<u32> {
    Ok(fs::metadata("/proc/self")?.uid())
}

fn fill(folder: &Path, runtime: &[u8], preload: &[u8]) -> io::Result<()> {
    make_private(folder)?;
    make_private(&folder.join("amdgpu/holders"))?;
    for name in RUNTIME_NAMES {
        replace(folder, name, runtime)?;
    }
    replace(folder, PRELOAD_NAME, preload)?;
    for (name, text) in MODULE_FILES {
        replace(&folder.join("amdgpu"), name, text.as_bytes())?;
    }
    // Kernels without modules do not have the file.
    let loaded = fs::read("/proc/modules").unwrap_or_default();
    replace(folder, "modules", &with_module(loaded))
}

/// The content of `/proc/modules` with the driver added.
fn with_module(mut list: Vec<u8>) -> Vec<u8> {
    if !list.split(|byte| *byte == b'\n').any(|line| line.starts_with(b"amdgpu ")) {
        list.extend_from_slice(MODULE.as_bytes());
    }
    list
}

/// Creates a folder that only this user can write to.
fn make_private(folder: &Path) -> io::Result<()> {
    fs::DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
    // Metadata of the link itself: another user could have chosen its target.
    let found = fs::symlink_metadata(folder)?;
    if !found.is_dir() || found.uid() != user()? || found.mode() & 0o022 != 0 {
        return Err(io::Error::new(io::ErrorKind::PermissionDenied, "other users may write to it"));
    }
    Ok(())
}

/// Writes a file atomically; several processes may do so concurrently.
fn replace(folder: &Path, name: &str, bytes: &[u8]) -> io::Result<()> {
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
        // The file may not exist; the first error is reported.
        let _ = fs::remove_file(&new);
    }
    written
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn libraries_are_searched_in_the_folder_of_the_program_and_in_an_installed_tree() {
        let folders = library_folders(Path::new("/usr/local/bin/roci"));
        let expected = ["/usr/local/bin", "/usr/local/bin/deps", "/usr/local/lib/roci"];
        assert_eq!(folders, expected.map(PathBuf::from));
    }

    #[test]
    fn the_driver_is_listed_once() {
        let list = |text: &str| String::from_utf8(with_module(text.into())).expect("valid UTF-8");
        assert_eq!(list(""), MODULE);
        assert_eq!(list("amdgpu_other 1 0 - Live 0x0\n"), format!("amdgpu_other 1 0 - Live 0x0\n{MODULE}"));
        assert_eq!(
            list("ext4 1 0 - Live 0x0\namdgpu 5 1 - Live 0x0\n"),
            "ext4 1 0 - Live 0x0\namdgpu 5 1 - Live 0x0\n"
        );
    }

    #[test]
    fn folders_that_others_may_write_to_are_rejected_and_files_are_replaced_atomically() {
        let folder = std::env::temp_dir().join(format!("roci-install-{}", std::process::id()));
        make_private(&folder).expect("temporary files can be written");
        replace(&folder, "file", b"one").expect("the file is writable");
        replace(&folder, "file", b"two").expect("the file is writable");
        assert_eq!(fs::read(folder.join("file")).expect("it exists"), b"two");
        assert_eq!(fs::read_dir(&folder).expect("it exists").count(), 1);
        let open = std::os::unix::fs::PermissionsExt::from_mode(0o777);
        fs::set_permissions(&folder, open).expect("the test owns it");
        assert_eq!(make_private(&folder).expect_err("others may write to it").kind(), io::ErrorKind::PermissionDenied);
        fs::remove_dir_all(&folder).expect("the test owns it");
    }
}
