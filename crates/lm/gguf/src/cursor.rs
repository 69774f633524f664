//! Bounds-checked reader of little-endian numbers and strings.

use crate::Error;

/// Maximum size in bytes of the tables before the tensor data. The largest vocabularies take 20 MB.
/// Without a limit, a file full of empty strings would take three times its size in memory.
const TABLES: u64 = 256 << 20;

/// A read position in a file's bytes.
pub(crate) struct Cursor<'a> {
    bytes: &'a [u8],
    at: usize,
    /// The key or tensor being read, for errors.
    pub(crate) location: String,
}

impl<'a> Cursor<'a> {
    pub(crate) fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, at: 0, location: "the header".to_owned() }
    }

    /// Byte offset of the next read.
    pub(crate) fn offset(&self) -> u64 {
        self.at as u64
    }

    /// An error at the current offset.
    pub(crate) fn invalid(&self, reason: impl Into<String>) -> Error {
        Error::Invalid { location: self.location.clone(), offset: self.offset(), reason: reason.into() }
    }

    fn check(&self, needed: u64) -> Result<(), Error> {
        let available = (self.bytes.len() - self.at) as u64;
        if needed > available {
            return Err(Error::Truncated { location: self.location.clone(), offset: self.offset(), needed, available });
        }
        if needed > TABLES.saturating_sub(self.offset()) {
            return Err(self.invalid(format!("the tables of this file exceed {} MiB", TABLES >> 20)));
        }
        Ok(())
    }

    pub(crate) fn take(&mut self, needed: u64) -> Result<&'a [u8], Error> {
        self.check(needed)?;
        let bytes = &self.bytes[self.at..][..needed as usize];
        self.at += bytes.len();
        Ok(bytes)
    }

    pub(crate) fn number<const N: usize>(&mut self) -> Result<[u8; N], Error> {
        let mut number = [0; N];
        number.copy_from_slice(self.take(N as u64)?);
        Ok(number)
    }

    pub(crate) fn u32(&mut self) -> Result<u32, Error> {
        self.number().map(u32::from_le_bytes)
    }

    pub(crate) fn u64(&mut self) -> Result<u64, Error> {
        self.number().map(u64::from_le_bytes)
    }

    /// Reads a count of items of at least `least` bytes each. Fails if the file is too short for
    /// them.
    pub(crate) fn count(&mut self, least: u64) -> Result<usize, Error> {
        let count = self.u64()?;
        self.expect_room(count, least)?;
        Ok(count as usize)
    }

    /// Fails if the file is too short for `count` items of at least `least` bytes each.
    pub(crate) fn expect_room(&self, count: u64, least: u64) -> Result<(), Error> {
        self.check(count.saturating_mul(least))
    }

    pub(crate) fn string(&mut self) -> Result<&'a str, Error> {
        let length = self.u64()?;
        let start = self.offset();
        let bytes = self.take(length)?;
        std::str::from_utf8(bytes).map_err(|error| Error::Invalid {
            location: self.location.clone(),
            offset: start + error.valid_up_to() as u64,
            reason: "this string is not UTF-8".to_owned(),
        })
    }
}
