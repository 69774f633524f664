//! How quantised activations lie.
//!
//! Sixteen tokens are a tile; the last one may have fewer. A tile holds, for each group of 32 columns, first the 32 codes of
//! each token, then seven numbers of each token in turn, all first ones before all second ones: what [`Number`] names.

use super::format::GROUP;

/// Tokens of a tile.
pub(super) const TILE: usize = 16;
/// Numbers that go with a group's codes.
const NUMBERS: usize = 7;
/// Bytes of a group of one token.
pub(super) const BYTES: usize = GROUP + NUMBERS * size_of::<f32>();

/// Which of the numbers.
#[derive(Clone, Copy, Debug)]
pub(super) enum Number {
    /// What a code is to be multiplied with.
    Scale,
    /// -128 times the sum of all codes, then of the first and of the last 16.
    Start,
    FirstStart,
    LastStart,
    /// The sum of all codes times the scale, then of the first and of the last 16.
    Sum,
    FirstSum,
    LastSum,
}

/// A group of the tokens of a tile, `width` of them; offsets in bytes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Place {
    pub(super) width: usize,
}

impl Place {
    /// Bytes from one group to the next.
    pub(super) fn group(self) -> usize {
        self.width * BYTES
    }

    /// Where a token's codes are.
    pub(super) fn codes(self, token: usize) -> usize {
        token * GROUP
    }

    /// Where one of a token's numbers is.
    #[inline(always)]
    pub(super) fn number(self, number: Number, token: usize) -> usize {
        self.width * GROUP + (number as usize * self.width + token) * size_of::<f32>()
    }
}

/// Bytes that `lm_quantize` writes.
pub fn activation_bytes(tokens: usize, columns: usize) -> usize {
    tokens.saturating_mul(columns.div_ceil(GROUP)).saturating_mul(BYTES)
}
