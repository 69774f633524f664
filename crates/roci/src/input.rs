//! Reads files that are named on the command line.

use std::fs::File;
use std::io::{Error, ErrorKind, Read};
use std::os::unix::fs::FileTypeExt as _;
use std::path::Path;

/// Limit for pipes and devices, which have no size and may never end.
const UNSIZED_LIMIT: u64 = 256 << 20;

/// Reads a whole file, and at most [`UNSIZED_LIMIT`] bytes of a pipe or a device.
pub(crate) fn read(path: &Path) -> Result<Vec<u8>, Error> {
    let file = File::open(path)?;
    let metadata = file.metadata()?;
    let limit = if metadata.is_file() { metadata.len().max(UNSIZED_LIMIT) } else { UNSIZED_LIMIT };
    read_at_most(file, limit)
}

/// Reads standard input, at most [`UNSIZED_LIMIT`] bytes.
pub(crate) fn read_stdin() -> Result<Vec<u8>, Error> {
    read_at_most(std::io::stdin().lock(), UNSIZED_LIMIT)
}

/// Opens a file or a pipe of any length. Devices may never end, so they are limited.
pub(crate) fn open(path: &Path) -> Result<impl Read, Error> {
    let file = File::open(path)?;
    let kind = file.metadata()?.file_type();
    let left = if kind.is_file() || kind.is_fifo() { u64::MAX } else { UNSIZED_LIMIT };
    Ok(Limited { from: file, left })
}

/// Input with a limit, beyond which it is an error.
struct Limited<R> {
    from: R,
    left: u64,
}

impl<R: Read> Read for Limited<R> {
    fn read(&mut self, buffer: &mut [u8]) -> Result<usize, Error> {
        if self.left == 0 && self.from.read(&mut [0])? > 0 {
            return Err(too_large(UNSIZED_LIMIT));
        }
        let length = buffer.len().min(usize::try_from(self.left).unwrap_or(usize::MAX));
        let count = self.from.read(&mut buffer[..length])?;
        self.left -= count as u64;
        Ok(count)
    }
}

fn too_large(limit: u64) -> Error {
    Error::new(ErrorKind::FileTooLarge, format!("it exceeds the limit of {} MiB for pipes and devices", limit >> 20))
}

fn read_at_most(mut from: impl Read, limit: u64) -> Result<Vec<u8>, Error> {
    let mut bytes = Vec::new();
    from.by_ref().take(limit).read_to_end(&mut bytes)?;
    if bytes.len() as u64 == limit && from.read(&mut [0])? > 0 {
        return Err(too_large(limit));
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn endless_input_is_an_error() {
        let error = read_at_most(std::io::repeat(7), 2 << 20).expect_err("it never ends");
        assert_eq!(error.kind(), ErrorKind::FileTooLarge);
        assert!(error.to_string().contains("2 MiB"), "{error}");
        assert_eq!(read_at_most(&[7; 100][..], 100).expect("it ends").len(), 100);
        assert!(read_at_most(&[7; 100][..], 99).is_err());
        let mut limited = Limited { from: std::io::repeat(7), left: 2 << 20 };
        assert!(limited.read_to_end(&mut Vec::new()).is_err());
        let mut exact = Limited { from: &[7; 100][..], left: 100 };
        assert_eq!(exact.read_to_end(&mut Vec::new()).expect("it ends"), 100);
    }
}
