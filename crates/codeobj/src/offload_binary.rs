//! LLVM's newer container, `llvm-offload-binary`: what compilers put into the `.llvm.offloading` section of object files.

use crate::bundle::Reader;
use crate::{Bundle, BundleEntry, FileError};

/// The bytes that it starts with.
pub(crate) const MAGIC: &[u8; 4] = b"\x10\xff\x10\xad";

/// Longest value of a string; they are triples and target ids.
const MAX_STRING: usize = 256;
/// Most strings of an entry that are looked at; compilers write two or three.
const MAX_STRINGS: usize = 64;

const OUTSIDE: FileError = FileError::OffloadBinary("has a table that lies outside it");

/// Reads the table of one that starts `bytes`, as if it were a bundle. One of version 1 has one entry; several of them
/// follow each other. Version 2 has as many as it says. Of a longer one, `bytes` may be the first of `available`.
pub(crate) fn parse(bytes: &[u8], available: usize) -> Result<Bundle, FileError> {
    let mut header = Reader { bytes, at: MAGIC.len() };
    let version = header.half().zip(header.half()).map(|(low, high)| u32::from(high) << 16 | u32::from(low));
    let (Some(size), Some(entries_at), Some(last)) = (header.number(), header.number(), header.number()) else {
        return Err(OUTSIDE);
    };
    let (count, string_size) = match version {
        // The last number of the header is the size of its entry here, and the number of entries there.
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
    Bundle::checked(entries, header.at, size)
}

/// Reads one entry: kind of image and of offloading, flags, where its strings and its image are.
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
    // An empty environment of the triple stands before the target id, as in a bundle.
    let gap = if triple.matches('-').count() == 2 { "--" } else { "-" };
    Some(BundleEntry { id: format!("{kind}-{triple}{gap}{arch}"), range })
}

/// The text at `offset`, which a zero ends.
fn string(bytes: &[u8], offset: usize) -> Option<&str> {
    let rest = bytes.get(offset..)?;
    let rest = &rest[..rest.len().min(MAX_STRING)];
    std::str::from_utf8(&rest[..memchr::memchr(0, rest)?]).ok()
}
