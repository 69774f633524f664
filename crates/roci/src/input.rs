//! Reading files that people name.

use std::fs::File;
use std::io::{Error, ErrorKind, Read};
use std::path::Path;

/// Bytes that are read of what does not say how long it is: pipes and devices, some of which never end.
const UNSIZED: u64 = 256 << 20;

/// All of a file. Of one that does not state its size, only so much is taken as code and arrays have there.
pub(crate) fn read(path: &Path) -> Result<Vec<u8>, Error> {
    let file = File::open(path)?;
    let metadata = file.metadata()?;
    let most = if metadata.is_file() { metadata.len().max(UNSIZED) } else { UNSIZED };
    read_at_most(file, most)
}

/// All of standard input, no more than of any pipe.
pub(crate) fn read_stdin() -> Result<Vec<u8>, Error> {
    read_at_most(std::io::stdin().lock(), UNSIZED)
}

fn read_at_most(mut from: impl Read, most: u64) -> Result<Vec<u8>, Error> {
    let mut bytes = Vec::new();
    from.by_ref().take(most).read_to_end(&mut bytes)?;
    if bytes.len() as u64 == most && from.read(&mut [0])? > 0 {
        let text = format!("it does not end within the {} MiB that are read of a pipe or a device", most >> 20);
        return Err(Error::new(ErrorKind::FileTooLarge, text));
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_does_not_end_is_refused() {
        let error = read_at_most(std::io::repeat(7), 2 << 20).expect_err("it never ends");
        assert_eq!(error.kind(), ErrorKind::FileTooLarge);
        assert!(error.to_string().contains("2 MiB"), "{error}");
        assert_eq!(read_at_most(&[7; 100][..], 100).expect("it ends").len(), 100);
        assert!(read_at_most(&[7; 100][..], 99).is_err());
    }
}
