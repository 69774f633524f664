//! Constants of the kernels of language models, `lm_*`.
//!
//! A batch is `tokens` rows of 32-bit floats. What changes from step to step (where tokens stand, which pages their texts have)
//! lies in a buffer of words, so that a recording can be replayed: first the position of each token, then for each token the word
//! at which the pages of its text begin, then `(first token, tokens)` of each block of attention, then the rows that are
//! wanted of the last state, then the number of each token, and then the pages.

mod attention;
mod products;

use bytemuck::{Pod, Zeroable};

use super::{MAX_GROUPS, Params};

pub use attention::{LmAttend, LmAttention, LmHeads, LmJoin};
pub use products::{LmEmbed, LmLinear, WeightFormat};

/// `lm_norm`: `y[t, c] = x[i, c] / sqrt(mean square of x[i] + epsilon) * weight[c]`.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Pod, Zeroable)]
pub struct LmNorm {
    /// Rows of `y`.
    pub rows: u32,
    /// Columns.
    pub columns: u32,
    /// Floats between rows of `x`.
    pub x_stride: u32,
    /// Floats between rows of `y`.
    pub y_stride: u32,
    /// Added to the mean square.
    pub epsilon: f32,
    /// Sum of [`Self::ADD`] and [`Self::CHOSEN`].
    pub flags: u32,
    /// With [`Self::CHOSEN`], the first word of `inputs` that names a row.
    pub first: u32,
}

impl LmNorm {
    /// Adds to what is in `y`.
    pub const ADD: u32 = 1;
    /// `i` is a word of `inputs`; without it, `i` is `t`.
    pub const CHOSEN: u32 = 2;
}

impl Params for LmNorm {
    fn grid(&self) -> [u32; 3] {
        [self.rows.min(MAX_GROUPS), 1, 1]
    }
}

/// `lm_half`: numbers as 16-bit floats, two to a word; what is too large for them becomes the largest of them.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Pod, Zeroable)]
pub struct LmHalf {
    /// Words of the result.
    pub words: u32,
}

impl Params for LmHalf {
    fn grid(&self) -> [u32; 3] {
        [self.words.div_ceil(256).min(MAX_GROUPS), 1, 1]
    }
}

/// `lm_sum_norm`: `x[t] += parts[used t] + … + parts[used t + used - 1]`, and `y[t, c] = x[t, c] / sqrt(mean square of x[t] + epsilon) * weight[c]` as 16-bit
/// floats, two to a word, as far apart as the numbers of `x`. Strides and columns are multiples of four.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Pod, Zeroable)]
pub struct LmSumNorm {
    /// Rows.
    pub rows: u32,
    /// Columns.
    pub columns: u32,
    /// Floats between rows of `x`.
    pub x_stride: u32,
    /// Parts of a row; 0 leaves `x` as it is.
    pub used: u32,
    /// Floats between parts.
    pub part_stride: u32,
    /// Added to the mean square.
    pub epsilon: f32,
}

impl Params for LmSumNorm {
    fn grid(&self) -> [u32; 3] {
        [self.rows, 1, 1]
    }
}

/// `lm_gate`: `y[t, c] = activation(x[t, c]) * x[t, width + c]`.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Pod, Zeroable)]
pub struct LmGate {
    /// Rows.
    pub tokens: u32,
    /// Columns of the result.
    pub width: u32,
    /// Floats between rows of `x`.
    pub x_stride: u32,
    /// Floats between rows of `y`.
    pub y_stride: u32,
    /// 1 for gelu in its form with tanh, 0 for silu.
    pub gelu: u32,
}

impl Params for LmGate {
    fn grid(&self) -> [u32; 3] {
        [self.width.div_ceil(256).min(MAX_GROUPS), self.tokens, 1]
    }
}

/// `lm_route`: the experts of each token with the highest scores, and their weights: the softmax of all scores by the sum of those taken.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Pod, Zeroable)]
pub struct LmRoute {
    /// Tokens.
    pub tokens: u32,
    /// Experts.
    pub experts: u32,
    /// How many of them a token takes.
    pub used: u32,
    /// Floats between rows of scores.
    pub stride: u32,
}

impl LmRoute {
    /// The most experts.
    pub const MOST: u32 = 1024;
}

impl Params for LmRoute {
    fn grid(&self) -> [u32; 3] {
        [self.tokens.min(MAX_GROUPS), 1, 1]
    }
}

/// `lm_mix`: `y[t, c] = sum over s of weights[t, s] * x[t * used + s, c]`.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Pod, Zeroable)]
pub struct LmMix {
    /// Tokens.
    pub tokens: u32,
    /// Columns.
    pub columns: u32,
    /// Experts of a token.
    pub used: u32,
    /// Floats between rows of `x`.
    pub x_stride: u32,
    /// Floats between rows of `y`.
    pub y_stride: u32,
    /// 1 to add to what is in `y`.
    pub add: u32,
}

impl Params for LmMix {
    fn grid(&self) -> [u32; 3] {
        [self.columns.div_ceil(256).min(MAX_GROUPS), self.tokens, 1]
    }
}
