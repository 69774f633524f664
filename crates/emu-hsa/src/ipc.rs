//! Memory and signals that other processes see too.
//!
//! Memory is private until it is shared for the first time: then its pages become those of a file without a name, which
//! another process finds among the open files of this one. A handle is 32 bytes that say where.

use std::fs::{File, OpenOptions};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};
use std::sync::Arc;

use roci_hsa::abi::{IpcMemory, Status};
use rustix::fs::fstat;

use crate::mapping::Mapping;

/// What handles begin with, so that others' are not taken for ours.
const MARK: [u32; 2] = [0x69_63_6f_72, 0x31];

/// A handle of memory for other processes.
pub(crate) fn export(mapping: &Mapping) -> Result<IpcMemory, Status> {
    let file = mapping.file().ok_or(Status::ERROR_OUT_OF_RESOURCES)?;
    let number = inode(file.as_fd()).ok_or(Status::ERROR_OUT_OF_RESOURCES)?;
    let pages = mapping.pages().try_into().map_err(|_| Status::ERROR_INVALID_ARGUMENT)?;
    let words = [std::process::id(), file.as_raw_fd().cast_unsigned(), number as u32, (number >> 32) as u32, pages];
    let mut handle = [0; 8];
    handle[..2].copy_from_slice(&MARK);
    handle[2..7].copy_from_slice(&words);
    Ok(IpcMemory { handle })
}

/// The memory of a handle, if its process still has it.
pub(crate) fn import(handle: &IpcMemory) -> Result<Arc<Mapping>, Status> {
    let [mark, version, process, file, low, high, pages, _] = handle.handle;
    if [mark, version] != MARK || pages == 0 {
        return Err(Status::ERROR_INVALID_ARGUMENT);
    }
    let path = format!("/proc/{process}/fd/{file}");
    let file = OpenOptions::new().read(true).write(true).open(path).map_err(|_| Status::ERROR_INVALID_ARGUMENT)?;
    // The number may be another file's by now.
    let same = inode(file.as_fd()) == Some(u64::from(high) << 32 | u64::from(low));
    let mapping = if same { Mapping::of_file(file, pages as usize) } else { None };
    mapping.map(Arc::new).ok_or(Status::ERROR_INVALID_ARGUMENT)
}

fn inode(file: BorrowedFd<'_>) -> Option<u64> {
    fstat(file).ok().map(|facts| facts.st_ino)
}

/// Whether a file is large enough for so many bytes: memory beyond its end could not be touched.
pub(crate) fn holds(file: &File, bytes: usize) -> bool {
    file.metadata().is_ok_and(|facts| facts.len() >= bytes as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_one_writes_the_other_reads() {
        let own = Mapping::new(5000, 1).expect("two pages");
        own.write(4999, 7);
        let handle = export(&own).expect("it can be shared");
        assert_eq!(export(&own), Ok(handle), "once for all");
        let other = import(&handle).expect("it is there");
        assert_ne!(own.range(), other.range());
        assert_eq!((own.read(4999), other.read(4999)), (7, 7), "what was there stays");
        other.write(0, 9);
        assert_eq!(own.read(0), 9);
        drop(own);
        assert_eq!(import(&handle).err(), Some(Status::ERROR_INVALID_ARGUMENT), "it is gone");
        assert_eq!(other.read(0), 9, "but not for who has it");
    }

    #[test]
    fn other_handles_are_refused() {
        assert_eq!(import(&IpcMemory::default()).err(), Some(Status::ERROR_INVALID_ARGUMENT));
        let own = Mapping::new(5000, 1).expect("two pages");
        let handle = export(&own).expect("it can be shared");
        for word in [0, 3, 4, 6] {
            let mut wrong = handle;
            wrong.handle[word] ^= 0x70;
            assert_eq!(import(&wrong).err(), Some(Status::ERROR_INVALID_ARGUMENT), "word {word}");
        }
    }
}
