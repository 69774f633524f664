//! Files of this machine, or of a copied tree. Does not need root. Errors are recorded, not
//! returned. Nothing blocks: only regular files are opened, including those of procfs and sysfs.

use std::cell::RefCell;
use std::fs;
use std::io::{Error, ErrorKind, Read};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

/// Maximum number of bytes read from a file.
const LARGEST: u64 = 16 << 20;

/// Opens a regular file without blocking. Opening a pipe would wait for a writer, and opening a
/// device can have side effects.
pub(crate) fn open(path: &Path) -> std::io::Result<fs::File> {
    let regular = |metadata: fs::Metadata| {
        let other = || Error::new(ErrorKind::InvalidInput, "it is not a regular file");
        metadata.is_file().then_some(()).ok_or_else(other)
    };
    regular(fs::metadata(path)?)?;
    let flags = rustix::fs::OFlags::NONBLOCK | rustix::fs::OFlags::NOCTTY;
    let file = fs::OpenOptions::new().read(true).custom_flags(flags.bits() as i32).open(path)?;
    // The path may have been replaced since.
    regular(file.metadata()?)?;
    Ok(file)
}

/// Root of a file tree.
#[derive(Debug)]
pub struct Root {
    base: PathBuf,
    unreadable: RefCell<Vec<String>>,
}

impl Root {
    /// The tree of this machine.
    pub fn system() -> Self {
        Self::at("/")
    }

    /// A tree elsewhere, such as a copy of another machine's `/sys`, `/proc` and `/etc`.
    pub fn at(base: impl Into<PathBuf>) -> Self {
        Self { base: base.into(), unreadable: RefCell::default() }
    }

    /// Whether it is this machine.
    pub(crate) fn is_here(&self) -> bool {
        self.base == Path::new("/")
    }

    /// Path of a file in the tree.
    pub(crate) fn path(&self, path: &str) -> PathBuf {
        self.base.join(path.trim_start_matches('/'))
    }

    fn read(&self, path: &str) -> std::io::Result<Vec<u8>> {
        let mut bytes = Vec::new();
        open(&self.path(path))?.take(LARGEST).read_to_end(&mut bytes)?;
        Ok(bytes)
    }

    /// Bytes of a file; `None` if it is missing, or cannot be read, which is recorded.
    pub(crate) fn bytes(&self, path: &str) -> Option<Vec<u8>> {
        self.read(path).map_err(|error| self.note(path, &error)).ok()
    }

    /// Text of a file that can disappear at any time, such as a process's. Errors are not recorded.
    pub(crate) fn volatile_text(&self, path: &str) -> Option<String> {
        Some(String::from_utf8_lossy(&self.read(path).ok()?).trim().to_owned())
    }

    /// Records a file that exists but cannot be read.
    fn note(&self, path: &str, error: &std::io::Error) {
        if !matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) {
            self.unreadable.borrow_mut().push(format!("{path}: {error}"));
        }
    }

    /// Opens a file for partial reads; `None` if it is missing, or cannot be opened, which is
    /// recorded.
    pub(crate) fn open(&self, path: &str) -> Option<fs::File> {
        open(&self.path(path)).map_err(|error| self.note(path, &error)).ok()
    }

    /// Modification time of a file.
    pub(crate) fn modified(&self, path: &str) -> Option<SystemTime> {
        fs::metadata(self.path(path)).ok()?.modified().ok()
    }

    /// Size of a file in bytes.
    pub(crate) fn size(&self, path: &str) -> Option<u64> {
        Some(fs::metadata(self.path(path)).ok()?.len())
    }

    /// Text of a file, trimmed.
    pub(crate) fn text(&self, path: &str) -> Option<String> {
        Some(String::from_utf8_lossy(&self.bytes(path)?).trim().to_owned())
    }

    /// First line of a file with one value.
    pub(crate) fn value(&self, path: &str) -> Option<String> {
        Some(String::from_utf8_lossy(&self.bytes(path)?).lines().next().unwrap_or_default().trim().to_owned())
    }

    /// Number in a file, decimal or hexadecimal.
    pub(crate) fn number(&self, path: &str) -> Option<u64> {
        let text = self.value(path)?;
        match text.strip_prefix("0x") {
            Some(digits) => u64::from_str_radix(digits, 16).ok(),
            None => text.parse().ok(),
        }
    }

    /// Sorted names in a folder; numbers sort by value. A folder that cannot be read is recorded.
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

    /// Whether a file or folder exists.
    pub(crate) fn has(&self, path: &str) -> bool {
        self.path(path).symlink_metadata().is_ok()
    }

    /// The only user who is a person, as far as `/etc/passwd` tells.
    pub(crate) fn only_person(&self) -> Option<String> {
        let text = self.text("/etc/passwd")?;
        let mut people = text.lines().filter_map(crate::identity::person);
        let first = people.next()?;
        people.next().is_none().then(|| first.to_owned())
    }

    /// Last component of a link's target.
    pub(crate) fn link_name(&self, path: &str) -> Option<String> {
        let target = fs::read_link(self.path(path)).ok()?;
        Some(target.file_name()?.to_string_lossy().into_owned())
    }

    /// Files that exist but could not be read, with the reasons.
    pub(crate) fn unreadable(&self) -> Vec<String> {
        let mut all = self.unreadable.borrow().clone();
        all.sort();
        all.dedup();
        all
    }
}
