//! Constants of the CPU's products with packed matrices of language models.

use bytemuck::{Pod, Zeroable};

use super::Params;

/// `lm_quantize`: activations as whole numbers of eight bits with a scale for each 32 of them, in the order that `lm_product`
/// takes: `roci_natives::lm::activation_bytes` of them.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Pod, Zeroable)]
pub struct LmQuantize {
    /// Tokens.
    pub tokens: u32,
    /// Columns of `x`; the last 32 are filled up with zeros.
    pub columns: u32,
    /// Elements between tokens in `x`.
    pub x_stride: u32,
    /// Where the first token starts in `x`.
    pub x_offset: u32,
}

/// `lm_product`: `y[t * y_stride + y_offset + r] = sum over c of w[r, c] * x[t, c]`, perhaps with a bias, perhaps added to what is there. `w` is what
/// `roci_natives::lm::pack_rows` makes; `x` is what `lm_quantize` wrote for as many tokens and columns, or the activations
/// themselves where `w` is of F32, F16 or BF16.
///
/// With [`LmProduct::IN_PLACE`], `w` is a file instead, or all of it that matters, and rows lie as they do there
/// (`roci_natives::lm::row_in_place`): those of up to three matrices, which make one.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Pod, Zeroable)]
pub struct LmProduct {
    /// Rows of `w`.
    pub rows: u32,
    /// Columns of `w`.
    pub columns: u32,
    /// Tokens.
    pub tokens: u32,
    /// The type of `w`, as GGUF files number them (`roci_gguf::Type::id`).
    pub format: u32,
    /// Elements between tokens in `x`, where that is floats.
    pub x_stride: u32,
    /// Where the first token starts in `x`, where that is floats.
    pub x_offset: u32,
    /// Elements between tokens in `y`; at least `rows` unless there is one token.
    pub y_stride: u32,
    /// Where the first token starts in `y`.
    pub y_offset: u32,
    /// Sum of the flags.
    pub flags: u32,
    /// With [`LmProduct::IN_PLACE`], where matrices begin in `w`, in [`LmProduct::UNIT`]s.
    pub starts: [u32; 3],
    /// With it, which row is the first that a matrix no longer has; the next one begins with that. A multiple of 16.
    pub ends: [u32; 3],
}

impl LmProduct {
    /// Bytes that places in a file are told in.
    pub const UNIT: u32 = 16;
    /// Rows are used where they lie in a file.
    pub const IN_PLACE: u32 = 4;
    /// Added to what is in `y`.
    pub const ADD: u32 = 1;
    /// With a number for each row from the third binding, which nobody reads otherwise.
    pub const BIAS: u32 = 2;
}

/// `lm_rows`: `y[t * y_stride + y_offset + c] = scale * w[index[t], c]` with a packed `w`; zeros where there is no such row.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Pod, Zeroable)]
pub struct LmRows {
    /// Rows of `w`.
    pub rows: u32,
    /// Columns of `w`.
    pub columns: u32,
    /// Elements of `index`.
    pub tokens: u32,
    /// The type of `w`, as [`LmProduct::format`].
    pub format: u32,
    /// Elements between tokens in `y`; at least `columns` unless there is one token.
    pub y_stride: u32,
    /// Where the first token starts in `y`.
    pub y_offset: u32,
    /// What rows are multiplied with.
    pub scale: f32,
}

super::one_group!(LmQuantize LmProduct LmRows);
