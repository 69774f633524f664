//! Follows files that another machine writes.

use std::fs::File;
use std::io::Read;
use std::path::PathBuf;

/// Bytes per read, to bound memory.
const MAX_READ: u64 = 256 << 10;

/// A growing file.
#[derive(Debug)]
pub(super) struct FileFollower {
    path: PathBuf,
    file: Option<File>,
}

impl FileFollower {
    /// The file may not exist yet.
    pub(super) fn new(path: PathBuf) -> Self {
        Self { path, file: None }
    }

    /// The next new bytes, up to a limit; `None` if there are none.
    pub(super) fn take(&mut self) -> Option<Vec<u8>> {
        if self.file.is_none() {
            self.file = File::open(&self.path).ok();
        }
        let mut bytes = Vec::new();
        // Bytes read before an error are still output.
        let _ = self.file.as_mut()?.take(MAX_READ).read_to_end(&mut bytes);
        (!bytes.is_empty()).then_some(bytes)
    }

    /// Current length of the file.
    pub(super) fn length(&self) -> u64 {
        // By path, not by the open file: network file systems then query the server.
        std::fs::metadata(&self.path).map_or(0, |data| data.len())
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    #[test]
    fn new_bytes_arrive_once_and_in_order() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("out");
        let mut follow = FileFollower::new(path.clone());
        assert_eq!((follow.take(), follow.length()), (None, 0), "it is not there yet");
        let mut file = File::create(&path).expect("writable");
        file.write_all(b"one\n").expect("written");
        assert_eq!(follow.take().as_deref(), Some(&b"one\n"[..]));
        assert_eq!(follow.take(), None);
        file.write_all(b"tw").expect("written");
        file.write_all(b"o\n").expect("written");
        assert_eq!(follow.take().as_deref(), Some(&b"two\n"[..]));
        assert_eq!(follow.length(), 8);
    }

    #[test]
    fn a_large_file_arrives_in_bounded_chunks() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("out");
        std::fs::write(&path, vec![b'x'; MAX_READ as usize + 5]).expect("written");
        let mut follow = FileFollower::new(path);
        let lengths: Vec<_> = std::iter::from_fn(|| follow.take()).map(|bytes| bytes.len() as u64).collect();
        assert_eq!(lengths, [MAX_READ, 5]);
    }
}
