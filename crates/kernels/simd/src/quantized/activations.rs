//! The layout of quantized activations.
//!
//! Sixteen tokens make a tile; the last tile may have fewer. For each group of 32 columns, a tile
//! holds the 32 codes of each token, then the seven values of [`GroupValue`], each for all tokens.

use super::format::GROUP;

/// Tokens per tile.
pub const TILE: usize = 16;
/// Values per group in addition to its codes.
const VALUES: usize = 7;
/// Bytes per group and token.
pub const GROUP_BYTES: usize = GROUP + VALUES * size_of::<f32>();

/// A value of a group.
#[derive(Clone, Copy, Debug)]
pub(super) enum GroupValue {
    /// The factor of the codes.
    Scale,
    /// -128 times the sum of all codes, then of the first and of the last 16.
    Offset,
    FirstOffset,
    LastOffset,
    /// The sum of all codes times the scale, then of the first and of the last 16.
    Sum,
    FirstSum,
    LastSum,
}

/// Offsets, in bytes, within a group of a tile of `width` tokens.
#[derive(Clone, Copy, Debug)]
pub(super) struct TileLayout {
    pub(super) width: usize,
}

impl TileLayout {
    /// Bytes from one group to the next.
    pub(super) fn group(self) -> usize {
        self.width * GROUP_BYTES
    }

    /// A token's codes.
    pub(super) fn codes(self, token: usize) -> usize {
        token * GROUP
    }

    /// A value of a token.
    #[inline(always)]
    pub(super) fn value(self, value: GroupValue, token: usize) -> usize {
        self.width * GROUP + (value as usize * self.width + token) * size_of::<f32>()
    }
}

/// Bytes that `lm_quantize` writes.
pub fn activation_bytes(tokens: usize, columns: usize) -> usize {
    tokens.saturating_mul(columns.div_ceil(GROUP)).saturating_mul(GROUP_BYTES)
}
