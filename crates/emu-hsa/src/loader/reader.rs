//! Readers: a code object's bytes, and where they came from.

use std::fs::File;
use std::os::fd::BorrowedFd;
use std::os::unix::fs::FileExt;

use roci_hsa::abi::Status;

use super::place;

/// The bytes of a code object. They are the client's or a file's, which may go before what is loaded from them does: this is
/// a copy.
#[derive(Debug)]
pub(crate) struct Reader {
    bytes: Vec<u8>,
    /// Where debuggers find the bytes in memory.
    address: u64,
    uri: String,
}

impl Reader {
    /// Reads memory.
    pub(crate) fn from_memory(source: &[u8]) -> Result<Self, Status> {
        let mut bytes = reserve(source.len())?;
        bytes.extend_from_slice(source);
        let address = source.as_ptr().addr() as u64;
        Ok(Self { bytes, address, uri: place::of_memory(address, source.len()) })
    }

    /// Reads all of a file, whose position stays where it is.
    pub(crate) fn from_whole_file(file: BorrowedFd<'_>) -> Result<Self, Status> {
        let size = rustix::fs::fstat(file).map_err(|_| Status::ERROR_INVALID_FILE)?.st_size;
        Self::from_file(file, 0, usize::try_from(size).map_err(|_| Status::ERROR_INVALID_FILE)?)
    }

    /// Reads a part of a file, whose position stays where it is.
    pub(crate) fn from_file(file: BorrowedFd<'_>, offset: usize, size: usize) -> Result<Self, Status> {
        let duplicate = file.try_clone_to_owned().map_err(|_| Status::ERROR_INVALID_FILE)?;
        let file = File::from(duplicate);
        let metadata = file.metadata().ok().filter(std::fs::Metadata::is_file).ok_or(Status::ERROR_INVALID_FILE)?;
        let whole = metadata.len();
        let end = (offset as u64).checked_add(size as u64);
        if size == 0 || end.is_none_or(|end| end > whole) {
            return Err(Status::ERROR_INVALID_CODE_OBJECT);
        }
        let mut bytes = reserve(size)?;
        bytes.resize(size, 0);
        file.read_exact_at(&mut bytes, offset as u64).map_err(|_| Status::ERROR_INVALID_FILE)?;
        let address = bytes.as_ptr().addr() as u64;
        let part = (size as u64 != whole).then_some((offset as u64, size));
        let uri = place::of_file(&file, part).unwrap_or_else(|| place::of_plain_memory(address, size));
        Ok(Self { bytes, address, uri })
    }

    /// The bytes.
    pub(crate) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Where they are in memory: for bytes from memory, where the client has them.
    pub(crate) fn address(&self) -> u64 {
        self.address
    }

    /// Where they are, for debuggers.
    pub(crate) fn uri(&self) -> &str {
        &self.uri
    }
}

/// Room for so many bytes, if the host has it.
fn reserve(size: usize) -> Result<Vec<u8>, Status> {
    let mut bytes = Vec::new();
    bytes.try_reserve_exact(size).map_err(|_| Status::ERROR_OUT_OF_RESOURCES)?;
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use std::io::{Seek, SeekFrom, Write};
    use std::os::fd::AsFd;

    use super::*;

    #[test]
    fn parts_of_files_are_read_and_named() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("two parts.co");
        let mut file = File::create_new(&path).and_then(|_| File::options().read(true).write(true).open(&path));
        let file = file.as_mut().expect("a file");
        file.write_all(b"0123456789").expect("it can be written");
        file.seek(SeekFrom::Start(3)).expect("it has a position");
        let folder = folder.path().canonicalize().expect("it is there");
        let uri = format!("file://{}/two%20parts.co", folder.display());

        let part = Reader::from_file(file.as_fd(), 2, 5).expect("it is there");
        assert_eq!((part.bytes(), part.uri()), (&b"23456"[..], format!("{uri}#offset=2&size=5").as_str()));
        let whole = Reader::from_file(file.as_fd(), 0, 10).expect("it is there");
        assert_eq!((whole.bytes(), whole.uri()), (&b"0123456789"[..], uri.as_str()));
        assert_eq!(file.stream_position().expect("it has a position"), 3);

        for (offset, size) in [(0, 0), (0, 11), (10, 1), (6, 5), (usize::MAX, 2)] {
            let refused = Reader::from_file(file.as_fd(), offset, size).expect_err("there is no such part");
            assert_eq!(refused, Status::ERROR_INVALID_CODE_OBJECT, "{offset} {size}");
        }
        let (pipe, _other) = std::io::pipe().expect("a pipe");
        assert_eq!(Reader::from_file(pipe.as_fd(), 0, 1).expect_err("no file"), Status::ERROR_INVALID_FILE);
    }

    #[test]
    fn memory_is_copied_and_its_address_kept() {
        let source = vec![7; 100];
        let reader = Reader::from_memory(&source).expect("there is memory");
        assert_eq!((reader.bytes(), reader.address()), (&source[..], source.as_ptr().addr() as u64));
        assert_ne!(reader.bytes().as_ptr(), source.as_ptr());
        assert_eq!(
            reader.uri(),
            format!("memory://{}#offset={:#x}&size=100", std::process::id(), source.as_ptr().addr())
        );
    }
}
