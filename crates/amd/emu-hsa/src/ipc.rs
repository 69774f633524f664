//! Sharing of memory between processes.
//!
//! Memory is private until its first export, which moves the pages into an anonymous file (memfd).
//! Another process opens that file through `/proc`. An IPC handle is 32 bytes: a magic number,
//! process, file descriptor, inode and page count.

use std::fs::OpenOptions;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};
use std::sync::Arc;

use roci_hsa::abi::{IpcMemory, Status};
use rustix::fs::fstat;

use crate::mapping::Mapping;

/// Magic number and version of a handle.
const MAGIC: [u32; 2] = [0x69_63_6f_72, 0x31];

/// Exports a mapping to other processes.
pub(crate) fn export(mapping: &Mapping) -> Result<IpcMemory, Status> {
    let file = mapping.file().ok_or(Status::ERROR_OUT_OF_RESOURCES)?;
    let inode = inode(file.as_fd()).ok_or(Status::ERROR_OUT_OF_RESOURCES)?;
    let pages = mapping.pages().try_into().map_err(|_| Status::ERROR_INVALID_ARGUMENT)?;
    let words = [std::process::id(), file.as_raw_fd().cast_unsigned(), inode as u32, (inode >> 32) as u32, pages];
    let mut handle = [0; 8];
    handle[..2].copy_from_slice(&MAGIC);
    handle[2..7].copy_from_slice(&words);
    Ok(IpcMemory { handle })
}

/// Maps the memory of a handle; an error if the exporting process has unmapped it.
pub(crate) fn import(handle: &IpcMemory) -> Result<Arc<Mapping>, Status> {
    let [magic, version, process, file, low, high, pages, _] = handle.handle;
    if [magic, version] != MAGIC || pages == 0 {
        return Err(Status::ERROR_INVALID_ARGUMENT);
    }
    let path = format!("/proc/{process}/fd/{file}");
    let file = OpenOptions::new().read(true).write(true).open(path).map_err(|_| Status::ERROR_INVALID_ARGUMENT)?;
    // The file descriptor may have been reused for another file.
    let same = inode(file.as_fd()) == Some(u64::from(high) << 32 | u64::from(low));
    let mapping = if same { Mapping::from_file(file, pages as usize) } else { None };
    mapping.map(Arc::new).ok_or(Status::ERROR_INVALID_ARGUMENT)
}

fn inode(file: BorrowedFd<'_>) -> Option<u64> {
    fstat(file).ok().map(|metadata| metadata.st_ino)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_mappings_see_each_others_writes() {
        let own = Mapping::new(5000, 1).expect("two pages");
        own.write(4999, 7);
        let handle = export(&own).expect("the mapping can be shared");
        assert_eq!(export(&own), Ok(handle), "exported once");
        let other = import(&handle).expect("it exists");
        assert_ne!(own.range(), other.range());
        assert_eq!((own.read(4999), other.read(4999)), (7, 7), "the export keeps the contents");
        other.write(0, 9);
        assert_eq!(own.read(0), 9);
        drop(own);
        assert_eq!(import(&handle).err(), Some(Status::ERROR_INVALID_ARGUMENT), "unmapped by its owner");
        assert_eq!(other.read(0), 9, "the import keeps its pages");
    }

    #[test]
    fn corrupt_handles_are_rejected() {
        assert_eq!(import(&IpcMemory::default()).err(), Some(Status::ERROR_INVALID_ARGUMENT));
        let own = Mapping::new(5000, 1).expect("two pages");
        let handle = export(&own).expect("the mapping can be shared");
        for word in [0, 3, 4, 6] {
            let mut wrong = handle;
            wrong.handle[word] ^= 0x70;
            assert_eq!(import(&wrong).err(), Some(Status::ERROR_INVALID_ARGUMENT), "word {word}");
        }
    }
}
