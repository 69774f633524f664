#![expect(unsafe_code, reason = "mapping a file is unsafe: others may write to it")]
//! The bytes of a file: mapped, or in memory.

use std::fs::File;
use std::ops::Deref;
use std::path::Path;

use memmap2::Mmap;

use crate::Error;

/// Bytes that a file is read from.
#[derive(Debug)]
pub(crate) enum Bytes {
    /// With the file itself, for those who map it in another way.
    Mapped(Mmap, File),
    Owned(Vec<u8>),
}

impl Bytes {
    /// Maps a file.
    pub(crate) fn open(path: &Path) -> Result<Self, Error> {
        let fail = |error| Error::File { path: path.to_owned(), error };
        let file = File::open(path).map_err(fail)?;
        // Anything but a file (a folder, a pipe) would map as nothing, or wait for ever.
        if !file.metadata().map_err(fail)?.is_file() {
            return Err(fail(std::io::Error::other("this is no file")));
        }
        // SAFETY: the map is read-only and private to us; what is left is that somebody writes to the file, or cuts it short,
        // while it is mapped. Values are checked when they are read and never again assumed, so that a changed byte is a changed
        // weight; a file cut short ends the process with a bus error, as it does for every program that maps files.
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
