//! The `llvm-offload-binary` container, which compilers put into the `.llvm.offloading` section of
//! object files.

use crate::bundle::Reader;
use crate::{Bundle, BundleEntry, FileError};

/// Magic number of the container.
pub(crate) const MAGIC: &[u8; 4] = b"\x10\xff\x10\xad";

/// Length limit of a string. Real ones are triples and target IDs.
const MAX_STRING: usize = 256;
/// Limit on the strings read per entry. Compilers write two or three.
const MAX_STRINGS: usize = 64;

const OUTSIDE: FileError = FileError::OffloadBinary("has a table outside its bounds");

/// Reads the table of the container at the start of `bytes`, as a bundle. Version 1 has one entry
/// per container, and containers may follow each other; version 2 stores the number of entries.
/// `bytes` may be a prefix of a container of up to `available` bytes.
pub(crate) fn parse(bytes: &[u8], available: usize) -> Result<Bundle, FileError> {
    let mut header = Reader { bytes, at: MAGIC.len() };
    let version = header.half().zip(header.half()).map(|(low, high)| u32::from(high) << 16 | u32::from(low));
    let (Some(size), Some(entries_at), Some(last)) = (header.number(), header.number(), header.number()) else {
        return Err(OUTSIDE);
    };
    let (count, string_size) = match version {
        // The last header field is the entry size in version 1 and the number of entries in version
        // 2.
        Some(1) => (1, 16),
        Some(2) => (last, 24),
        _ => return Err(FileError::OffloadBinary("has an unknown version")),
    };
    if size > available || size < header.at {
        return Err(OUTSIDE);
    }
    let bytes = &bytes[..bytes.len().min(size)];
    let mut reader = Reader { bytes, at: entries_at };
    let mut entries = Vec::new();
    for _ in 0..count {
        entries.push(entry(&mut reader, size, string_size).ok_or(OUTSIDE)?);
    }
    Bundle::without_overlap(entries, header.at, size)
}

/// Reads one entry: image kind, offload kind, flags, position of its strings and of its image.
fn entry(reader: &mut Reader, size: usize, string_size: usize) -> Option<BundleEntry> {
    let (_image, kind, _flags) = (reader.half()?, reader.half()?, reader.take(4)?);
    let (strings_at, string_count) = (reader.number()?, reader.number()?);
    let (start, length) = (reader.number()?, reader.number()?);
    let range = start..start.checked_add(length).filter(|&end| end <= size)?;
    let (mut triple, mut arch) = ("unknown", "");
    for index in 0..string_count.min(MAX_STRINGS) {
        let mut pair = Reader { bytes: reader.bytes, at: strings_at.checked_add(index * string_size)? };
        let (key, value) = (string(reader.bytes, pair.number()?)?, string(reader.bytes, pair.number()?)?);
        match key {
            "triple" => triple = value,
            "arch" => arch = value,
            _ => {}
        }
    }
    let kind = match kind {
        1 => "openmp",
        2 => "cuda",
        4 => "hip",
        8 => "sycl",
        _ => "unknown",
    };
    // The target ID follows an empty environment field of the triple, as in a bundle.
    let gap = if triple.matches('-').count() == 2 { "--" } else { "-" };
    Some(BundleEntry { id: format!("{kind}-{triple}{gap}{arch}"), range })
}

/// The NUL-terminated string at `offset`.
fn string(bytes: &[u8], offset: usize) -> Option<&str> {
    let rest = bytes.get(offset..)?;
    let rest = &rest[..rest.len().min(MAX_STRING)];
    std::str::from_utf8(&rest[..memchr::memchr(0, rest)?]).ok()
}
