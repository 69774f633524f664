//! Compressed bundles (`CCOB`): a header and a zlib or zstd stream.

use std::io::Read;

use miniz_oxide::inflate::stream::{InflateState, inflate};
use miniz_oxide::{DataFormat, MZError, MZFlush, MZStatus};
use ruzstd::decoding::StreamingDecoder;

use crate::{FileError, zstd_prefix};

/// Magic number of a compressed bundle.
pub(crate) const MAGIC: &[u8; 4] = b"CCOB";

/// Limit in bytes for everything decompressed from one file. A few bytes can claim to be terabytes.
pub const MAX_DECOMPRESSED: u64 = 2 << 30;

/// Bytes to decompress when only the table of a bundle is needed.
const FIRST_BYTES: usize = 64 << 10;

/// Compression method of a bundle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Compression {
    /// zlib (RFC 1950).
    Zlib,
    /// Zstandard (RFC 8878).
    Zstd,
}

impl Compression {
    /// `zlib` or `zstd`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Zlib => "zlib",
            Self::Zstd => "zstd",
        }
    }
}

/// Decompressed data, possibly only a prefix.
#[derive(Debug)]
pub(crate) struct Decompressed {
    pub(crate) bytes: Vec<u8>,
    pub(crate) compression: Compression,
    /// Size of the whole decompressed bundle in bytes.
    pub(crate) size: usize,
    /// Input bytes consumed, including the header.
    pub(crate) consumed: usize,
}

/// The header of a compressed bundle.
struct BundleHeader {
    /// Size of this header in bytes.
    size: usize,
    compression: Compression,
    /// Size of header and stream in bytes; version 1 does not store it.
    total: Option<u64>,
    decompressed: u64,
}

/// Decompresses the bundle at the start of `input`, to at most `limit` bytes. Trailing input is
/// ignored.
pub fn decompress(input: &[u8], limit: u64) -> Result<Vec<u8>, FileError> {
    let mut remaining = limit;
    decompress_prefix(input, &mut remaining).map(|done| done.bytes)
}

/// Like [`decompress`], but subtracts the decompressed size from `left`. A damaged stream is
/// charged as well: it costs as much work.
pub(crate) fn decompress_prefix(input: &[u8], left: &mut u64) -> Result<Decompressed, FileError> {
    let header = BundleHeader::parse(input)?;
    *left =
        left.checked_sub(header.decompressed).ok_or(FileError::TooLarge { size: header.decompressed, limit: *left })?;
    let stream = match header.total {
        None => input.get(header.size..),
        Some(total) => usize::try_from(total).ok().and_then(|total| input.get(header.size..total)),
    };
    let mut rest = stream.ok_or(FileError::Compressed("is shorter than its header says"))?;
    let length = rest.len();
    let bytes = match header.compression {
        Compression::Zlib => unzip(&mut rest, header.decompressed)?,
        Compression::Zstd => unzstd(&mut rest, header.decompressed)?,
    };
    if bytes.len() as u64 != header.decompressed {
        return Err(FileError::Compressed("does not expand to the size in its header"));
    }
    let consumed = header.size + if header.total.is_some() { length } else { length - rest.len() };
    Ok(Decompressed { size: bytes.len(), bytes, compression: header.compression, consumed })
}

/// Decompresses a prefix of a bundle, long enough for nearly every table. `head` is a prefix of the
/// bundle's at most `available` bytes. For version 1, which does not store its length, `consumed`
/// covers the header only.
pub(crate) fn decompress_table(head: &[u8], available: u64) -> Result<Decompressed, FileError> {
    let header = BundleHeader::parse(head)?;
    if header.total.is_some_and(|total| total > available || total < header.size as u64) {
        return Err(FileError::Compressed("is shorter than its header says"));
    }
    let bytes = first_bytes(&header, head)?;
    let consumed = header.total.unwrap_or(header.size as u64) as usize;
    Ok(Decompressed { bytes, compression: header.compression, size: header.decompressed as usize, consumed })
}

/// Decompresses the start of a compressed bundle from its first bytes, `input`.
pub(crate) fn prefix(input: &[u8]) -> Option<Vec<u8>> {
    let header = BundleHeader::parse(input).ok()?;
    first_bytes(&header, input).ok()
}

/// Decompresses up to `FIRST_BYTES`.
fn first_bytes(header: &BundleHeader, input: &[u8]) -> Result<Vec<u8>, FileError> {
    let stream = input.get(header.size..).unwrap_or_default();
    match header.compression {
        Compression::Zlib => {
            let mut output = vec![0; FIRST_BYTES];
            let mut state = InflateState::new_boxed(DataFormat::Zlib);
            // A truncated stream still yields the bytes before the cut.
            let written = inflate(&mut state, stream, &mut output, MZFlush::None).bytes_written;
            output.truncate(written);
            Ok(output)
        }
        Compression::Zstd => zstd_prefix::unzstd(stream),
    }
}

impl BundleHeader {
    /// Reads the header: magic, version and method (u16 each). Version 2 continues with the total
    /// and the decompressed size as u32, version 3 with both as u64, version 1 with the
    /// decompressed size alone as u32. It ends with an 8-byte hash that no runtime checks.
    fn parse(input: &[u8]) -> Result<Self, FileError> {
        let short = FileError::Compressed("is truncated inside its header");
        let number = |at: usize, size: usize| {
            let bytes = input.get(at..at + size)?;
            Some(bytes.iter().rev().fold(0_u64, |value, &byte| value << 8 | u64::from(byte)))
        };
        if input.get(..4) != Some(MAGIC) {
            return Err(FileError::Compressed("does not start with `CCOB`"));
        }
        let (version, method) = number(4, 2).zip(number(6, 2)).ok_or(short.clone())?;
        let compression = match method {
            0 => Compression::Zlib,
            1 => Compression::Zstd,
            _ => return Err(FileError::Compressed("uses an unknown compression method")),
        };
        let (total, decompressed, size) = match version {
            1 => (None, number(8, 4), 20),
            2 => (number(8, 4), number(12, 4), 24),
            3 => (number(8, 8), number(16, 8), 32),
            _ => return Err(FileError::Compressed("has an unknown version")),
        };
        let decompressed = decompressed.filter(|_| input.len() >= size).ok_or(short)?;
        Ok(Self { size, compression, total, decompressed })
    }
}

/// Inflates a zlib stream. Stops after `limit` bytes; a longer result means that the stream exceeds
/// the limit.
fn unzip(input: &mut &[u8], limit: u64) -> Result<Vec<u8>, FileError> {
    let mut state = InflateState::new_boxed(DataFormat::Zlib);
    let mut output = Vec::new();
    let mut chunk = vec![0; 1 << 16];
    loop {
        let step = inflate(&mut state, input, &mut chunk, MZFlush::None);
        *input = &input[step.bytes_consumed..];
        output.extend_from_slice(&chunk[..step.bytes_written]);
        match step.status {
            Ok(MZStatus::StreamEnd) => return Ok(output),
            Ok(_) if step.bytes_consumed + step.bytes_written > 0 && output.len() as u64 <= limit => {}
            Ok(_) if output.len() as u64 > limit => return Ok(output),
            Ok(_) | Err(MZError::Buf) => return Err(FileError::Compressed("is truncated inside its zlib stream")),
            Err(_) => return Err(FileError::Compressed("has a damaged zlib stream")),
        }
    }
}

/// Decodes a zstd stream, to at most `limit + 1` bytes.
fn unzstd(input: &mut &[u8], limit: u64) -> Result<Vec<u8>, FileError> {
    let damaged = FileError::Compressed("has a damaged zstd stream");
    let mut output = Vec::new();
    let decoder = StreamingDecoder::new(input).map_err(|_| damaged.clone())?;
    decoder.take(limit.saturating_add(1)).read_to_end(&mut output).map_err(|_| damaged)?;
    Ok(output)
}
