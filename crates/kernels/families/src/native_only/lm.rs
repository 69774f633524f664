//! Parameters of the CPU kernels for packed language model weights.

use bytemuck::{Pod, Zeroable};

use super::one_group;
use crate::Params;

/// `lm_quantize`: quantizes activations to int8 with one scale per 32 columns, in the layout that
/// `lm_matmul_packed` reads. The output has `roci_natives::lm_cpu::activation_bytes` bytes.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Pod, Zeroable)]
pub struct LmQuantize {
    /// Number of tokens.
    pub tokens: u32,
    /// Columns of `x`; the last group of 32 is padded with zeros.
    pub columns: u32,
    /// Token stride of `x` in elements.
    pub x_stride: u32,
    /// Offset of the first token in `x`, in elements.
    pub x_offset: u32,
}

/// `lm_matmul_packed`: `y[t * y_stride + y_offset + r] = sum over c of w[r, c] * x[t, c]`,
/// optionally with a bias and optionally added to `y`. `w` is the output of
/// `roci_natives::lm_cpu::pack_rows`. `x` is the output of `lm_quantize` for the same tokens and
/// columns, or plain f32 activations if `w` is F32, F16 or BF16.
///
/// With [`LmMatmulPacked::IN_PLACE`], `w` is a memory-mapped file (or the relevant range of one)
/// and rows keep the file's layout (`roci_natives::lm_cpu::row_in_place`). It concatenates the rows
/// of up to three matrices.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Pod, Zeroable)]
pub struct LmMatmulPacked {
    /// Rows of `w`.
    pub rows: u32,
    /// Columns of `w`.
    pub columns: u32,
    /// Number of tokens.
    pub tokens: u32,
    /// The GGUF type id of `w` (`roci_gguf::Type::id`).
    pub format: u32,
    /// Token stride of `x` in elements, if `x` is floats.
    pub x_stride: u32,
    /// Offset of the first token in `x` in elements, if `x` is floats.
    pub x_offset: u32,
    /// Token stride of `y` in elements; at least `rows` unless there is one token.
    pub y_stride: u32,
    /// Offset of the first token in `y`, in elements.
    pub y_offset: u32,
    /// Sum of [`LmMatmulPacked::ADD`], [`LmMatmulPacked::BIAS`], [`LmMatmulPacked::IN_PLACE`] and
    /// [`LmMatmulPacked::SCALED`].
    pub flags: u32,
    /// With [`LmMatmulPacked::IN_PLACE`], the offset of each matrix in `w`, in units of
    /// [`LmMatmulPacked::UNIT`] bytes.
    pub starts: [u32; 3],
    /// With [`LmMatmulPacked::IN_PLACE`], the exclusive end row of each matrix, which is the first
    /// row of the next one. A multiple of 16.
    pub ends: [u32; 3],
    /// With [`LmMatmulPacked::SCALED`], the factor of all weights.
    pub scale: f32,
}

impl LmMatmulPacked {
    /// Unit in bytes of the offsets in [`LmMatmulPacked::starts`].
    pub const UNIT: u32 = 16;
    /// Rows of `w` are used in place, in the file's layout.
    pub const IN_PLACE: u32 = 4;
    /// Adds to `y` instead of overwriting it.
    pub const ADD: u32 = 1;
    /// Adds one bias value per row from the third binding, which is not read otherwise.
    pub const BIAS: u32 = 2;
    /// Multiplies the weights by [`LmMatmulPacked::scale`]. Only for types whose blocks have code
    /// groups (`roci_gguf::Type::has_code_groups`).
    pub const SCALED: u32 = 8;
}

/// `lm_experts_packed`: products with expert matrices, for pairs of a token and one of its experts:
/// `y[p * y_stride + y_offset + m * rows + r] = sum over c of w[m, ids[p], r, c] * x[p / sharing,
/// c]`, optionally with a bias. `x` is as for [`LmMatmulPacked`], quantized or floats. An expert
/// has one matrix (`m` is 0), or two with the same input, such as gate and up projections.
///
/// The bindings are `w`, `x`, `ids`, `bias`, `scales` and `y`. `ids` has a word per pair; `bias` has
/// `rows` values for each matrix of each expert, expert by expert, and `scales` has one.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Pod, Zeroable)]
pub struct LmExpertsPacked {
    /// Rows of a matrix.
    pub rows: u32,
    /// Columns of a matrix.
    pub columns: u32,
    /// Number of pairs.
    pub pairs: u32,
    /// Number of experts.
    pub experts: u32,
    /// Pairs that read the same row of `x`.
    pub sharing: u32,
    /// Matrices of an expert: 1 or 2.
    pub matrices: u32,
    /// The GGUF type id of `w` (`roci_gguf::Type::id`).
    pub format: u32,
    /// Token stride of `x` in elements, if `x` is floats.
    pub x_stride: u32,
    /// Pair stride of `y` in elements; at least `matrices * rows`, unless there is only one pair.
    pub y_stride: u32,
    /// Offset of the first pair in `y`, in elements.
    pub y_offset: u32,
    /// Sum of [`LmExpertsPacked::BIAS`], [`LmExpertsPacked::IN_PLACE`], [`LmExpertsPacked::SCALED`]
    /// and [`LmExpertsPacked::READ_AHEAD`].
    pub flags: u32,
    /// Offset of the first expert's matrices in `w`, in units of [`LmExpertsPacked::UNIT`] bytes.
    pub starts: [u32; 2],
    /// Distance from one expert's matrix to the next expert's, in the same units.
    pub steps: [u32; 2],
}

impl LmExpertsPacked {
    /// Unit in bytes of the offsets of matrices.
    pub const UNIT: u32 = LmMatmulPacked::UNIT;
    /// Adds one bias value per row.
    pub const BIAS: u32 = 2;
    /// The rows of the matrices are in the file's layout
    /// (`roci_natives::lm_cpu::row_decoded_in_place`). Their number must be a multiple of 16.
    pub const IN_PLACE: u32 = 4;
    /// Requests the pages of the chosen experts' matrices before the products, because `w` is a
    /// mapped file that exceeds the memory.
    pub const READ_AHEAD: u32 = 16;
    /// Multiplies the weights of each matrix by a factor. Only for types whose blocks have code
    /// groups (`roci_gguf::Type::has_code_groups`).
    pub const SCALED: u32 = 8;
}

/// `lm_embed_packed`: `y[t * y_stride + y_offset + c] = scale * w[index[t], c]` with a packed `w`;
/// zeros for an index out of range.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Pod, Zeroable)]
pub struct LmEmbedPacked {
    /// Rows of `w`.
    pub rows: u32,
    /// Columns of `w`.
    pub columns: u32,
    /// Elements of `index`.
    pub tokens: u32,
    /// The GGUF type id of `w`, as in [`LmMatmulPacked::format`].
    pub format: u32,
    /// Token stride of `y` in elements; at least `columns` unless there is one token.
    pub y_stride: u32,
    /// Offset of the first token in `y`, in elements.
    pub y_offset: u32,
    /// Multiplier of the embedding.
    pub scale: f32,
}

/// `lm_read_ahead`: asks the operating system to read the pages of its binding, a range of a mapped
/// file, without waiting for them.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Pod, Zeroable)]
pub struct LmReadAhead {
    /// Length of the range in bytes.
    pub bytes: u32,
}

one_group!(LmQuantize LmMatmulPacked LmExpertsPacked LmEmbedPacked LmReadAhead);
