//! Decodes the first bytes of a zstd stream.
//!
//! A decoder outputs nothing until its window is full, because later blocks may refer to it. For a
//! large bundle that is the whole stream. The first blocks refer only to each other, so they can be
//! copied into a stream of their own and decoded.

use std::io::Read;

use ruzstd::decoding::StreamingDecoder;

use crate::FileError;

const MAGIC: [u8; 4] = [0x28, 0xb5, 0x2f, 0xfd];
/// Blocks to decode, at most 128 KiB each.
const BLOCKS: usize = 4;
/// Window descriptor for 8 MiB, enough for all decoded blocks.
const WINDOW: u8 = 13 << 3;

/// Decodes the first complete blocks of `input`.
pub(crate) fn unzstd(input: &[u8]) -> Result<Vec<u8>, FileError> {
    let damaged = FileError::Compressed("has a damaged zstd stream");
    let stream = first_blocks(input).ok_or(damaged.clone())?;
    let mut output = Vec::new();
    let decoder = StreamingDecoder::new(stream.as_slice()).map_err(|_| damaged.clone())?;
    decoder.take((BLOCKS as u64) << 17).read_to_end(&mut output).map_err(|_| damaged)?;
    Ok(output)
}

/// Builds a stream from the first blocks of `input`.
fn first_blocks(input: &[u8]) -> Option<Vec<u8>> {
    let mut at = blocks_start(input)?;
    let mut stream = [&MAGIC[..], &[0, WINDOW]].concat();
    let mut last = None;
    for _ in 0..BLOCKS {
        let Some(&[low, middle, high]) = input.get(at..).and_then(|rest| rest.first_chunk()) else { break };
        let header = u32::from_le_bytes([low, middle, high, 0]);
        // An RLE block stores one byte.
        let size = if header >> 1 & 3 == 1 { 1 } else { header as usize >> 3 };
        let Some(block) = input.get(at..at + 3 + size) else { break };
        last = Some(stream.len());
        stream.extend_from_slice(block);
        at += block.len();
        if header & 1 == 1 {
            break;
        }
    }
    stream[last?] |= 1;
    Some(stream)
}

/// Offset of the first block, after the frame header.
fn blocks_start(input: &[u8]) -> Option<usize> {
    if !input.starts_with(&MAGIC) {
        return None;
    }
    let descriptor = *input.get(MAGIC.len())?;
    let is_single_segment = descriptor >> 5 & 1 == 1;
    let window = usize::from(!is_single_segment);
    let dictionary = [0, 1, 2, 4][usize::from(descriptor & 3)];
    let content_size = match descriptor >> 6 {
        0 => usize::from(is_single_segment),
        flag => 1 << flag,
    };
    Some(MAGIC.len() + 1 + window + dictionary + content_size)
}
