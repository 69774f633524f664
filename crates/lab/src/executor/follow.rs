//! Files that another machine writes, read as they grow.

use std::fs::File;
use std::io::Read;
use std::path::PathBuf;

/// How much is read at a time, so that a flood of output fills no memory.
const PORTION: u64 = 256 << 10;

/// A file that grows.
#[derive(Debug)]
pub(super) struct Follow {
    path: PathBuf,
    file: Option<File>,
}

impl Follow {
    /// A file that need not be there yet.
    pub(super) fn new(path: PathBuf) -> Self {
        Self { path, file: None }
    }

    /// What was added since the last call, a bounded portion of it; nothing if there is nothing.
    pub(super) fn take(&mut self) -> Option<Vec<u8>> {
        if self.file.is_none() {
            self.file = File::open(&self.path).ok();
        }
        let mut bytes = Vec::new();
        // What was read before an error is output all the same.
        let _ = self.file.as_mut()?.take(PORTION).read_to_end(&mut bytes);
        (!bytes.is_empty()).then_some(bytes)
    }

    /// How long the file is as seen from here.
    pub(super) fn length(&self) -> u64 {
        // By name, not by the open file: network file systems then ask the server.
        std::fs::metadata(&self.path).map_or(0, |data| data.len())
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    #[test]
    fn what_is_added_comes_once_and_in_order() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("out");
        let mut follow = Follow::new(path.clone());
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
    fn a_flood_comes_in_portions() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("out");
        std::fs::write(&path, vec![b'x'; PORTION as usize + 5]).expect("written");
        let mut follow = Follow::new(path);
        let lengths: Vec<_> = std::iter::from_fn(|| follow.take()).map(|bytes| bytes.len() as u64).collect();
        assert_eq!(lengths, [PORTION, 5]);
    }
}
