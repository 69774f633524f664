//! Files of a machine: this one, or a copy of its tree elsewhere. Nothing here needs root's rights, and nothing fails: what cannot
//! be read is noted. Nothing waits either: only regular files are opened, which those of procfs and sysfs are.

use std::cell::RefCell;
use std::fs;
use std::io::{Error, ErrorKind, Read};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

/// Files of this kind are small; one that is not is cut here.
const LARGEST: u64 = 16 << 20;

/// Opens a regular file without waiting. A pipe would wait for a writer, and opening a device can have effects.
pub(crate) fn open(path: &Path) -> std::io::Result<fs::File> {
    let regular = |metadata: fs::Metadata| {
        let other = || Error::new(ErrorKind::InvalidInput, "it is not a regular file");
        metadata.is_file().then_some(()).ok_or_else(other)
    };
    regular(fs::metadata(path)?)?;
    let flags = rustix::fs::OFlags::NONBLOCK | rustix::fs::OFlags::NOCTTY;
    let file = fs::OpenOptions::new().read(true).custom_flags(flags.bits() as i32).open(path)?;
    // The path may lead elsewhere since.
    regular(file.metadata()?)?;
    Ok(file)
}

/// The root of a tree of files.
#[derive(Debug)]
pub struct Root {
    base: PathBuf,
    unreadable: RefCell<Vec<String>>,
}

impl Root {
    /// This machine's.
    pub fn system() -> Self {
        Self::at("/")
    }

    /// A tree elsewhere, such as a copy of another machine's `/sys`, `/proc` and `/etc`.
    pub fn at(base: impl Into<PathBuf>) -> Self {
        Self { base: base.into(), unreadable: RefCell::default() }
    }

    /// Whether it is the machine that this program runs on.
    pub(crate) fn is_here(&self) -> bool {
        self.base == Path::new("/")
    }

    /// Where a file of the tree is.
    pub(crate) fn path(&self, path: &str) -> PathBuf {
        self.base.join(path.trim_start_matches('/'))
    }

    fn read(&self, path: &str) -> std::io::Result<Vec<u8>> {
        let mut bytes = Vec::new();
        open(&self.path(path))?.take(LARGEST).read_to_end(&mut bytes)?;
        Ok(bytes)
    }

    /// A file's bytes; nothing if there is none, or if it cannot be read, which is noted.
    pub(crate) fn bytes(&self, path: &str) -> Option<Vec<u8>> {
        self.read(path).map_err(|error| self.note(path, &error)).ok()
    }

    /// The text of a file that may go away at any time, such as a process's: that it cannot be read is not noted.
    pub(crate) fn passing(&self, path: &str) -> Option<String> {
        Some(String::from_utf8_lossy(&self.read(path).ok()?).trim().to_owned())
    }

    /// Notes a file that is there and cannot be read.
    fn note(&self, path: &str, error: &std::io::Error) {
        if !matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) {
            self.unreadable.borrow_mut().push(format!("{path}: {error}"));
        }
    }

    /// A file to read parts of; nothing if there is none, or if it cannot be opened, which is noted.
    pub(crate) fn open(&self, path: &str) -> Option<fs::File> {
        open(&self.path(path)).map_err(|error| self.note(path, &error)).ok()
    }

    /// When a file was last written.
    pub(crate) fn modified(&self, path: &str) -> Option<SystemTime> {
        fs::metadata(self.path(path)).ok()?.modified().ok()
    }

    /// Bytes of a file.
    pub(crate) fn size(&self, path: &str) -> Option<u64> {
        Some(fs::metadata(self.path(path)).ok()?.len())
    }

    /// A file's text, without the space around it.
    pub(crate) fn text(&self, path: &str) -> Option<String> {
        Some(String::from_utf8_lossy(&self.bytes(path)?).trim().to_owned())
    }

    /// A file that holds one value: its first line.
    pub(crate) fn value(&self, path: &str) -> Option<String> {
        Some(String::from_utf8_lossy(&self.bytes(path)?).lines().next().unwrap_or_default().trim().to_owned())
    }

    /// A file that holds a number, in decimal or hexadecimal.
    pub(crate) fn number(&self, path: &str) -> Option<u64> {
        let text = self.value(path)?;
        match text.strip_prefix("0x") {
            Some(digits) => u64::from_str_radix(digits, 16).ok(),
            None => text.parse().ok(),
        }
    }

    /// The names in a folder, sorted: numbers by their value. A folder that cannot be read is noted.
    pub(crate) fn list(&self, path: &str) -> Vec<String> {
        let entries = match fs::read_dir(self.path(path)) {
            Ok(entries) => entries,
            Err(error) => {
                self.note(path, &error);
                return Vec::new();
            }
        };
        let mut names: Vec<_> =
            entries.flatten().map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
        names.sort_by_key(|name| (name.parse::<u64>().unwrap_or(u64::MAX), name.clone()));
        names
    }

    /// Whether there is such a file or folder.
    pub(crate) fn has(&self, path: &str) -> bool {
        self.path(path).symlink_metadata().is_ok()
    }

    /// The last part of what a link points to.
    pub(crate) fn link_name(&self, path: &str) -> Option<String> {
        let target = fs::read_link(self.path(path)).ok()?;
        Some(target.file_name()?.to_string_lossy().into_owned())
    }

    /// What was there and could not be read, each with the reason.
    pub(crate) fn unreadable(&self) -> Vec<String> {
        let mut all = self.unreadable.borrow().clone();
        all.sort();
        all.dedup();
        all
    }
}
