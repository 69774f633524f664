//! Reads text of any length in blocks of whole lines.

use std::io::{ErrorKind, Read};

/// Bytes that are read at once.
const BLOCK: usize = 8 << 20;

#[derive(Clone, Copy, Debug)]
enum Encoding {
    Utf8,
    Utf16(fn([u8; 2]) -> u16),
}

/// Blocks of a text. A block ends at the end of a line, unless the line is longer than a block.
#[derive(Debug)]
pub(super) struct Blocks<R> {
    from: R,
    encoding: Option<Encoding>,
    /// Bytes of an incomplete character.
    bytes: Vec<u8>,
    /// Text after the last line end.
    rest: String,
    ended: bool,
    size: usize,
}

impl<R: Read> Blocks<R> {
    pub(super) fn new(from: R) -> Self {
        Self::with_size(from, BLOCK)
    }

    pub(super) fn with_size(from: R, size: usize) -> Self {
        Self { from, encoding: None, bytes: Vec::new(), rest: String::new(), ended: false, size }
    }

    /// The next block; `None` at the end.
    pub(super) fn next(&mut self) -> std::io::Result<Option<String>> {
        while !self.ended {
            self.fill()?;
            let (encoding, start) = match self.encoding {
                Some(encoding) => (encoding, 0),
                None => encoding(&self.bytes),
            };
            self.encoding = Some(encoding);
            self.bytes.drain(..start);
            self.decode(encoding);
            // What is left belongs to a line that the next block continues.
            let end = match memchr::memrchr(b'\n', self.rest.as_bytes()) {
                Some(end) => end + 1,
                None if self.rest.len() < self.size => continue,
                None => self.rest.len(),
            };
            let rest = self.rest.split_off(end);
            return Ok(Some(std::mem::replace(&mut self.rest, rest)));
        }
        let last = std::mem::take(&mut self.rest);
        Ok((!last.is_empty()).then_some(last))
    }

    /// Reads until a block is full or the input ends.
    fn fill(&mut self) -> std::io::Result<()> {
        let mut length = self.bytes.len();
        self.bytes.resize(length + self.size, 0);
        let full = self.bytes.len();
        while length < full {
            match self.from.read(&mut self.bytes[length..]) {
                Ok(0) => {
                    self.ended = true;
                    break;
                }
                Ok(count) => length += count,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        self.bytes.truncate(length);
        Ok(())
    }

    /// Moves all complete characters to the text.
    fn decode(&mut self, encoding: Encoding) {
        let end = match encoding {
            _ if self.ended => self.bytes.len(),
            Encoding::Utf8 => complete(&self.bytes),
            Encoding::Utf16(unit) => {
                let even = self.bytes.len() / 2 * 2;
                // The first half of a surrogate pair waits for the second.
                let is_half = |at: usize| (0xd800..0xdc00).contains(&unit([self.bytes[at], self.bytes[at + 1]]));
                if even >= 2 && is_half(even - 2) { even - 2 } else { even }
            }
        };
        match encoding {
            // Valid text, the usual case, is checked ten times as fast.
            Encoding::Utf8 => match std::str::from_utf8(&self.bytes[..end]) {
                Ok(text) => self.rest.push_str(text),
                Err(_) => self.rest.push_str(&String::from_utf8_lossy(&self.bytes[..end])),
            },
            Encoding::Utf16(unit) => {
                let units = self.bytes[..end].chunks_exact(2).map(|pair| unit([pair[0], pair[1]]));
                self.rest.extend(char::decode_utf16(units).map(|c| c.unwrap_or(char::REPLACEMENT_CHARACTER)));
            }
        }
        self.bytes.drain(..end);
    }
}

/// The encoding by the byte order mark, and the length of the mark.
fn encoding(bytes: &[u8]) -> (Encoding, usize) {
    match bytes {
        [0xff, 0xfe, ..] => (Encoding::Utf16(u16::from_le_bytes), 2),
        [0xfe, 0xff, ..] => (Encoding::Utf16(u16::from_be_bytes), 2),
        [0xef, 0xbb, 0xbf, ..] => (Encoding::Utf8, 3),
        _ => (Encoding::Utf8, 0),
    }
}

/// Length without an incomplete UTF-8 character at the end.
fn complete(bytes: &[u8]) -> usize {
    let tail = bytes.len().saturating_sub(3);
    let start = (tail..bytes.len()).rev().find(|at| bytes[*at] >= 0xc0);
    match start {
        Some(start) if std::str::from_utf8(&bytes[start..]).is_err_and(|error| error.error_len().is_none()) => start,
        _ => bytes.len(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(bytes: &[u8], size: usize) -> Vec<String> {
        let mut blocks = Blocks::with_size(bytes, size);
        std::iter::from_fn(|| blocks.next().expect("memory is readable")).collect()
    }

    #[test]
    fn blocks_end_at_line_ends_and_lose_nothing() {
        let text = "one\ntwo — é\nthree three three\n\nlast";
        for size in 1..40 {
            let blocks = all(text.as_bytes(), size);
            assert_eq!(blocks.concat(), text, "{size}");
            let little: Vec<u8> =
                [0xff, 0xfe].into_iter().chain("a😀b\n".encode_utf16().flat_map(u16::to_le_bytes)).collect();
            assert_eq!(all(&little, size.max(2)).concat(), "a😀b\n", "{size}");
        }
        assert_eq!(all(text.as_bytes(), 12), ["one\n", "two — é\n", "three three three\n\n", "last"]);
        assert_eq!(all(b"\xef\xbb\xbfx\xffy", 64), ["x\u{fffd}y"]);
        assert_eq!(all(b"", 4), [""; 0]);
    }

    #[test]
    fn memory_does_not_grow_with_the_input() {
        let mut blocks = Blocks::with_size(std::io::repeat(b'x').take(4 << 20), 4096);
        while let Some(block) = blocks.next().expect("memory is readable") {
            assert!(block.len() <= 2 * 4096 && blocks.rest.capacity() + blocks.bytes.capacity() <= 64 << 10);
        }
    }
}
