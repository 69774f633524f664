//! Reads files that are named on the command line.

use std::fs::File;
use std::io::{Error, ErrorKind, Read};
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

fn read_at_most(mut from: impl Read, limit: u64) -> Result<Vec<u8>, Error> {
    let mut bytes = Vec::new();
    from.by_ref().take(limit).read_to_end(&mut bytes)?;
    if bytes.len() as u64 == limit && from.read(&mut [0])? > 0 {
        let text = format!("it exceeds the limit of {} MiB for pipes and devices", limit >> 20);
        return Err(Error::new(ErrorKind::FileTooLarge, text));
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
    }
}
