//! Compressed bundles: `CCOB`, a header and a zlib or zstd stream.

use std::io::Read;

use miniz_oxide::inflate::stream::{InflateState, inflate};
use miniz_oxide::{DataFormat, MZError, MZFlush, MZStatus};
use ruzstd::decoding::StreamingDecoder;

use crate::{FileError, zstd_start};

/// The bytes that a compressed bundle starts with.
pub(crate) const MAGIC: &[u8; 4] = b"CCOB";

/// How many bytes decompression of one file gives before it is stopped. A few bytes can pretend to be terabytes.
pub const MAX_DECOMPRESSED: u64 = 2 << 30;

/// Bytes that are decompressed of a bundle of which only the table is wanted.
const FIRST_BYTES: usize = 64 << 10;

/// How a bundle was compressed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Compression {
    /// zlib.
    Zlib,
    /// Zstandard.
    Zstd,
}

impl Compression {
    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Zlib => "zlib",
            Self::Zstd => "zstd",
        }
    }
}

/// What was decompressed.
#[derive(Debug)]
pub(crate) struct Decompressed {
    pub(crate) bytes: Vec<u8>,
    pub(crate) compression: Compression,
    /// Bytes that it has when it is whole.
    pub(crate) size: usize,
    /// Bytes of the input that it took, header included.
    pub(crate) taken: usize,
}

/// The header of a compressed bundle.
struct Header {
    /// Its own size.
    size: usize,
    compression: Compression,
    /// Of header and stream; version 1 does not say.
    total: Option<u64>,
    decompressed: u64,
}

/// Decompresses a bundle that starts `input`, to at most `limit` bytes. What follows it is left alone.
pub fn decompress(input: &[u8], limit: u64) -> Result<Vec<u8>, FileError> {
    let mut left = limit;
    decompress_prefix(input, &mut left).map(|done| done.bytes)
}

/// The same, taken from what is left of a limit. A damaged stream uses it up too: it cost as much work.
pub(crate) fn decompress_prefix(input: &[u8], left: &mut u64) -> Result<Decompressed, FileError> {
    let header = Header::parse(input)?;
    *left =
        left.checked_sub(header.decompressed).ok_or(FileError::TooLarge { size: header.decompressed, limit: *left })?;
    let stream = match header.total {
        None => input.get(header.size..),
        Some(total) => usize::try_from(total).ok().and_then(|total| input.get(header.size..total)),
    };
    let mut rest = stream.ok_or(FileError::Compressed("ends before its header says"))?;
    let length = rest.len();
    let bytes = match header.compression {
        Compression::Zlib => unzip(&mut rest, header.decompressed)?,
        Compression::Zstd => unzstd(&mut rest, header.decompressed)?,
    };
    if bytes.len() as u64 != header.decompressed {
        return Err(FileError::Compressed("gives another number of bytes than its header says"));
    }
    let taken = header.size + if header.total.is_some() { length } else { length - rest.len() };
    Ok(Decompressed { size: bytes.len(), bytes, compression: header.compression, taken })
}

/// Decompresses the start of a bundle of which `head` is the start and which has at most `available` bytes: enough for its
/// table, as good as always. Where version 1 does not say how long it is, only its header counts as taken.
pub(crate) fn decompress_table(head: &[u8], available: u64) -> Result<Decompressed, FileError> {
    let header = Header::parse(head)?;
    if header.total.is_some_and(|total| total > available || total < header.size as u64) {
        return Err(FileError::Compressed("ends before its header says"));
    }
    let bytes = first_bytes(&header, head)?;
    let taken = header.total.unwrap_or(header.size as u64) as usize;
    Ok(Decompressed { bytes, compression: header.compression, size: header.decompressed as usize, taken })
}

/// The first bytes of what a compressed bundle holds, of which `input` may be the beginning alone.
pub(crate) fn start(input: &[u8]) -> Option<Vec<u8>> {
    let header = Header::parse(input).ok()?;
    first_bytes(&header, input).ok()
}

/// The first bytes that come out, as many as are worth the work.
fn first_bytes(header: &Header, input: &[u8]) -> Result<Vec<u8>, FileError> {
    let stream = input.get(header.size..).unwrap_or_default();
    match header.compression {
        Compression::Zlib => {
            let mut output = vec![0; FIRST_BYTES];
            let mut state = InflateState::new_boxed(DataFormat::Zlib);
            // Where the input ends within the stream, what came before it may do.
            let written = inflate(&mut state, stream, &mut output, MZFlush::None).bytes_written;
            output.truncate(written);
            Ok(output)
        }
        Compression::Zstd => zstd_start::unzstd(stream),
    }
}

impl Header {
    /// Reads it: magic, version and method (u16 each); then, as u32 in version 2 and u64 in version 3, the size of the
    /// whole and of what comes out; version 1 has the latter alone, as u32. A hash of 8 bytes ends it; no runtime checks it.
    fn parse(input: &[u8]) -> Result<Self, FileError> {
        let short = FileError::Compressed("ends within its header");
        let number = |at: usize, size: usize| {
            let bytes = input.get(at..at + size)?;
            Some(bytes.iter().rev().fold(0_u64, |value, &byte| value << 8 | u64::from(byte)))
        };
        if input.get(..4) != Some(MAGIC) {
            return Err(FileError::Compressed("has no `CCOB` at its start"));
        }
        let (version, method) = number(4, 2).zip(number(6, 2)).ok_or(short.clone())?;
        let compression = match method {
            0 => Compression::Zlib,
            1 => Compression::Zstd,
            _ => return Err(FileError::Compressed("is compressed by an unknown method")),
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

/// Reads a zlib stream that may give at most `limit` bytes, and one more to show that it is longer.
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
            Ok(_) | Err(MZError::Buf) => return Err(FileError::Compressed("ends within its zlib stream")),
            Err(_) => return Err(FileError::Compressed("has a damaged zlib stream")),
        }
    }
}

/// The same for Zstandard.
fn unzstd(input: &mut &[u8], limit: u64) -> Result<Vec<u8>, FileError> {
    let damaged = FileError::Compressed("has a damaged zstd stream");
    let mut output = Vec::new();
    let decoder = StreamingDecoder::new(input).map_err(|_| damaged.clone())?;
    decoder.take(limit.saturating_add(1)).read_to_end(&mut output).map_err(|_| damaged)?;
    Ok(output)
}
