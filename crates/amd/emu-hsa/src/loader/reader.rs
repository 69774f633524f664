//! Code object readers.

use std::fs::File;
use std::os::fd::BorrowedFd;
use std::os::unix::fs::FileExt;

use roci_hsa::abi::Status;

use super::uri;

/// The bytes of a code object and their origin. The bytes are a copy, since clients may free or
/// truncate the source while the code object is loaded.
#[derive(Debug)]
pub(crate) struct Reader {
    bytes: Vec<u8>,
    /// Address of the bytes for debuggers; those of the client if read from memory.
    address: u64,
    uri: String,
}

impl Reader {
    pub(crate) fn from_memory(source: &[u8]) -> Result<Self, Status> {
        let mut bytes = reserve(source.len())?;
        bytes.extend_from_slice(source);
        let address = source.as_ptr().addr() as u64;
        Ok(Self { bytes, address, uri: uri::of_memory(address, source.len()) })
    }

    /// Reads a complete file without changing its position.
    pub(crate) fn from_whole_file(file: BorrowedFd<'_>) -> Result<Self, Status> {
        let size = rustix::fs::fstat(file).map_err(|_| Status::ERROR_INVALID_FILE)?.st_size;
        Self::from_file(file, 0, usize::try_from(size).map_err(|_| Status::ERROR_INVALID_FILE)?)
    }

    /// Reads a range of a file without changing its position.
    pub(crate) fn from_file(file: BorrowedFd<'_>, offset: usize, size: usize) -> Result<Self, Status> {
        let duplicate = file.try_clone_to_owned().map_err(|_| Status::ERROR_INVALID_FILE)?;
        let file = File::from(duplicate);
        let metadata = file.metadata().ok().filter(std::fs::Metadata::is_file).ok_or(Status::ERROR_INVALID_FILE)?;
        let length = metadata.len();
        let end = (offset as u64).checked_add(size as u64);
        if size == 0 || end.is_none_or(|end| end > length) {
            return Err(Status::ERROR_INVALID_CODE_OBJECT);
        }
        let mut bytes = reserve(size)?;
        bytes.resize(size, 0);
        file.read_exact_at(&mut bytes, offset as u64).map_err(|_| Status::ERROR_INVALID_FILE)?;
        let address = bytes.as_ptr().addr() as u64;
        let range = (size as u64 != length).then_some((offset as u64, size));
        let uri = uri::of_file(&file, range).unwrap_or_else(|| uri::of_anonymous_memory(address, size));
        Ok(Self { bytes, address, uri })
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Address of the bytes for debuggers; those of the client if read from memory.
    pub(crate) fn address(&self) -> u64 {
        self.address
    }

    /// URI for debuggers.
    pub(crate) fn uri(&self) -> &str {
        &self.uri
    }
}

/// An empty vector with capacity for `size` bytes; an error if the host is out of memory.
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
    fn ranges_of_files_are_read_with_their_uri() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("two parts.co");
        let mut file = File::create_new(&path).and_then(|_| File::options().read(true).write(true).open(&path));
        let file = file.as_mut().expect("a file");
        file.write_all(b"0123456789").expect("the file is writable");
        file.seek(SeekFrom::Start(3)).expect("it has a position");
        let folder = folder.path().canonicalize().expect("it exists");
        let uri = format!("file://{}/two%20parts.co", folder.display());

        let range = Reader::from_file(file.as_fd(), 2, 5).expect("it exists");
        assert_eq!((range.bytes(), range.uri()), (&b"23456"[..], format!("{uri}#offset=2&size=5").as_str()));
        let full = Reader::from_file(file.as_fd(), 0, 10).expect("it exists");
        assert_eq!((full.bytes(), full.uri()), (&b"0123456789"[..], uri.as_str()));
        assert_eq!(file.stream_position().expect("it has a position"), 3);

        for (offset, size) in [(0, 0), (0, 11), (10, 1), (6, 5), (usize::MAX, 2)] {
            let refused = Reader::from_file(file.as_fd(), offset, size).expect_err("out of bounds");
            assert_eq!(refused, Status::ERROR_INVALID_CODE_OBJECT, "{offset} {size}");
        }
        let (pipe, _other) = std::io::pipe().expect("a pipe");
        assert_eq!(Reader::from_file(pipe.as_fd(), 0, 1).expect_err("a pipe"), Status::ERROR_INVALID_FILE);
    }

    #[test]
    fn memory_is_copied_and_its_address_stored() {
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
