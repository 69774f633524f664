//! Copies tokens of quantized activations.
//!
//! An expert computes only some tokens of a batch. Products read whole tiles, so its tokens are
//! copied to separate tiles first.

use super::activations::{GROUP_BYTES, GroupValue, TILE, TileLayout};
use super::format::GROUP;

/// All values of a group, in any order.
const VALUES: [GroupValue; 7] = [
    GroupValue::Scale,
    GroupValue::Offset,
    GroupValue::FirstOffset,
    GroupValue::LastOffset,
    GroupValue::Sum,
    GroupValue::FirstSum,
    GroupValue::LastSum,
];

/// Copies tokens of `source`, which holds `tokens` tokens as [`super::quantize_row`] writes them,
/// to `target` in the same layout. `target` has `picked.len()` times the bytes of a token. Tokens
/// that are out of range are skipped.
#[inline(never)]
pub fn gather_tokens(source: &[u8], tokens: usize, columns: usize, picked: &[usize], target: &mut [u8]) {
    let row = columns.div_ceil(GROUP) * GROUP_BYTES;
    if row == 0 {
        return;
    }
    for (picked, target) in picked.chunks(TILE).zip(target.chunks_mut(TILE * row)) {
        let to = TileLayout { width: picked.len() };
        for (at, token) in picked.iter().copied().enumerate().filter(|(_, token)| *token < tokens) {
            let (first, within) = (token / TILE * TILE, token % TILE);
            let from = TileLayout { width: TILE.min(tokens - first) };
            let tile = &source[first * row..(first + from.width) * row];
            for (source, target) in tile.chunks_exact(from.group()).zip(target.chunks_exact_mut(to.group())) {
                target[to.codes(at)..][..GROUP].copy_from_slice(&source[from.codes(within)..][..GROUP]);
                for value in VALUES {
                    let source = &source[from.value(value, within)..][..size_of::<f32>()];
                    target[to.value(value, at)..][..size_of::<f32>()].copy_from_slice(source);
                }
            }
        }
    }
}
