#![expect(unsafe_code, reason = "mapping a file is unsafe: other processes may write to it")]
//! The bytes of a file, mapped or in memory.

use std::fs::File;
use std::ops::Deref;
use std::path::Path;

use memmap2::Mmap;

use crate::Error;

/// Storage of a file's bytes.
#[derive(Debug)]
pub(crate) enum Bytes {
    /// A mapping and its file, for callers that map the file again, for example as a device buffer.
    Mapped(Mmap, File),
    Owned(Vec<u8>),
}

impl Bytes {
    /// Maps a file into memory.
    pub(crate) fn open(path: &Path) -> Result<Self, Error> {
        let fail = |error| Error::File { path: path.to_owned(), error };
        let file = File::open(path).map_err(fail)?;
        // A folder or pipe would map as empty, or block forever.
        if !file.metadata().map_err(fail)?.is_file() {
            return Err(fail(std::io::Error::other("not a regular file")));
        }
        // SAFETY: the mapping is read-only and private to this process. The remaining risk is
        // another process that writes to the file or truncates it while it is mapped. Values are
        // validated where they are read and never assumed to be unchanged, so a changed byte is
        // only a changed weight. A truncated file terminates the process with SIGBUS, as for every
        // program that maps files.
        let map = unsafe { Mmap::map(&file) }.map_err(fail)?;
        Ok(Self::Mapped(map, file))
    }
}

impl Deref for Bytes {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        match self {
            Self::Mapped(map, _) => map,
            Self::Owned(bytes) => bytes,
        }
    }
}
