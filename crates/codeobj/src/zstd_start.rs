//! The first bytes of a zstd stream.
//!
//! A decoder gives nothing before it has decoded as much as its window holds, since later blocks may refer to it; of a
//! large bundle that is all. The first blocks refer to nothing but themselves. Made into a stream of their own, they can be
//! decoded alone.

use std::io::Read;

use ruzstd::decoding::StreamingDecoder;

use crate::FileError;

const MAGIC: [u8; 4] = [0x28, 0xb5, 0x2f, 0xfd];
/// Blocks that are decoded; each gives at most 128 KiB.
const BLOCKS: usize = 4;
/// A window of 8 MiB, which holds what all those give.
const WINDOW: u8 = 13 << 3;

/// Decodes the first blocks that `input` holds as a whole.
pub(crate) fn unzstd(input: &[u8]) -> Result<Vec<u8>, FileError> {
    let damaged = FileError::Compressed("has a damaged zstd stream");
    let stream = first_blocks(input).ok_or(damaged.clone())?;
    let mut output = Vec::new();
    let decoder = StreamingDecoder::new(stream.as_slice()).map_err(|_| damaged.clone())?;
    decoder.take((BLOCKS as u64) << 17).read_to_end(&mut output).map_err(|_| damaged)?;
    Ok(output)
}

/// A stream of the first blocks of another one.
fn first_blocks(input: &[u8]) -> Option<Vec<u8>> {
    let mut at = blocks_start(input)?;
    let mut stream = [&MAGIC[..], &[0, WINDOW]].concat();
    let mut last = None;
    for _ in 0..BLOCKS {
        let Some(&[low, middle, high]) = input.get(at..).and_then(|rest| rest.first_chunk()) else { break };
        let header = u32::from_le_bytes([low, middle, high, 0]);
        // A block of one repeated byte stores that byte alone.
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

/// Where the first block starts: behind the header of the frame.
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
