//! The kernel families: one folder each, with the WGSL, the constants block, the entry from which
//! the table of kernels follows, and the test cases.
//!
//! Each family defines its constants block as a Rust struct, which also computes the grid of its
//! problem. A test compares its fields with the WGSL struct in `var<immediate>`. All fields are 32
//! bits wide, so `repr(C)` has no padding and both sides agree byte for byte. Counts, strides and
//! offsets are in elements of the kernel's type, not bytes, unless documented otherwise.
//!
//! - **Gathers and scatters.** Indices are signed 32-bit words; negative ones count from the end.
//!   An out-of-range index is clamped by reads and skipped by writes. An axis that is read from has
//!   at least one element.
//! - **Language models**, `lm_*`. A batch is `tokens` rows of f32. Everything that changes from
//!   step to step is in a buffer of words, `inputs`, so that recorded commands can be replayed. Its
//!   sections, in order: the position of each token; for each token, the word at which the page
//!   table of its sequence begins; `(first token, tokens)` of each attention block; `(first token,
//!   tokens, slot to read or NO_STATE, slot to write)` of each sequence, in models with recurrent
//!   states; the rows of the final hidden state that are needed; the vocabulary id of each token;
//!   the page tables.
//!
//! Start reading at `family.rs`, then at `fill/mod.rs`.

#![deny(unsafe_code)]

pub mod cases;

mod arg_reduce;
mod attention;
mod binary;
mod cast;
mod conv;
mod copy;
mod elementwise_program;
mod family;
mod fill;
mod gather;
mod gather_elements;
mod gather_nd;
mod linear;
mod lm_add_rms_norm;
mod lm_attention;
mod lm_cast_f16;
mod lm_combine_splits;
mod lm_decode_attention;
mod lm_delta_rule;
mod lm_embed;
mod lm_gated_rms_norm;
mod lm_glu;
mod lm_l2_norm;
mod lm_layer_norm;
mod lm_linear;
mod lm_mix_streams;
mod lm_moe_combine;
mod lm_moe_group;
mod lm_moe_top_k;
mod lm_quantize_i8;
mod lm_rms_norm;
mod lm_rope_kv_store;
mod lm_short_conv;
mod lm_sigmoid_gate;
mod lm_ssm_scan;
mod lm_wkv;
mod matmul;
mod matvec;
mod native_only;
mod normalize;
mod pool;
mod product_aliases;
mod random;
mod reduce;
mod resample;
mod scan;
mod scatter_elements;
mod scatter_nd;
mod shared;
mod softmax;
mod strided_copy;
mod top_k;
mod unary;

pub use arg_reduce::ArgReduce;
pub use attention::Attention;
pub use binary::Binary;
pub use cast::Cast;
pub use conv::Conv;
pub use copy::Copy;
pub use elementwise_program::{
    ELEMENTWISE_IMMEDIATES, ELEMENTWISE_LENGTH, ElementwiseCode, ElementwiseError, ElementwiseOp, ElementwiseOperand,
    ElementwiseProgram,
};
pub use family::{Binding, Constants, Family, Params, Variant};
pub use fill::Fill;
pub use gather::Gather;
pub use gather_elements::GatherElements;
pub use gather_nd::GatherNd;
pub use linear::Linear;
pub use lm_add_rms_norm::LmAddRmsNorm;
pub use lm_attention::LmAttention;
pub use lm_cast_f16::LmCastF16;
pub use lm_combine_splits::LmCombineSplits;
pub use lm_decode_attention::LmDecodeAttention;
pub use lm_delta_rule::LmDeltaRule;
pub use lm_embed::LmEmbed;
pub use lm_gated_rms_norm::LmGatedRmsNorm;
pub use lm_glu::LmGlu;
pub use lm_l2_norm::LmL2Norm;
pub use lm_layer_norm::LmLayerNorm;
pub use lm_linear::{LmLinear, WeightFormat};
pub use lm_mix_streams::LmMixStreams;
pub use lm_moe_combine::LmMoeCombine;
pub use lm_moe_group::LmMoeGroup;
pub use lm_moe_top_k::LmMoeTopK;
pub use lm_quantize_i8::LmQuantizeI8;
pub use lm_rms_norm::LmRmsNorm;
pub use lm_rope_kv_store::LmRopeKvStore;
pub use lm_short_conv::LmShortConv;
pub use lm_sigmoid_gate::LmSigmoidGate;
pub use lm_ssm_scan::LmSsmScan;
pub use lm_wkv::LmWkv;
pub use matmul::{MATMUL_LARGE_TILE, MATMUL_MATRIX_TILE, MATMUL_TILE, Matmul, MatmulForm};
pub use matvec::{MATVEC_ROWS, Matvec};
pub use native_only::{
    BlockedLayout, ConvBlocked, LmEmbedPacked, LmExpertsPacked, LmMatmulPacked, LmQuantize, LmReadAhead, MatmulPacked,
    PoolBlocked, Reorder,
};
pub use normalize::Normalize;
pub use pool::Pool;
pub use random::{Random, RandomForm};
pub use reduce::Reduce;
pub use resample::Resample;
pub use scan::Scan;
pub use scatter_elements::ScatterElements;
pub use scatter_nd::ScatterNd;
pub use shared::{Combine, Numbers};
pub use softmax::Softmax;
pub use strided_copy::StridedCopy;
pub use top_k::TopK;
pub use unary::Unary;

/// Every family, in the order of the table of kernels.
pub static FAMILIES: &[&[Family]] = &[
    fill::FAMILIES,
    copy::FAMILIES,
    strided_copy::FAMILIES,
    unary::FAMILIES,
    binary::FAMILIES,
    elementwise_program::FAMILIES,
    cast::FAMILIES,
    random::FAMILIES,
    conv::FAMILIES,
    pool::FAMILIES,
    matmul::FAMILIES,
    matvec::FAMILIES,
    linear::FAMILIES,
    attention::FAMILIES,
    gather::FAMILIES,
    gather_elements::FAMILIES,
    gather_nd::FAMILIES,
    scatter_elements::FAMILIES,
    scatter_nd::FAMILIES,
    resample::FAMILIES,
    reduce::FAMILIES,
    softmax::FAMILIES,
    arg_reduce::FAMILIES,
    scan::FAMILIES,
    normalize::FAMILIES,
    top_k::FAMILIES,
    lm_linear::FAMILIES,
    lm_linear::GRID_FAMILIES,
    lm_embed::FAMILIES,
    lm_cast_f16::FAMILIES,
    lm_quantize_i8::FAMILIES,
    lm_add_rms_norm::FAMILIES,
    lm_rms_norm::FAMILIES,
    lm_l2_norm::FAMILIES,
    lm_layer_norm::FAMILIES,
    lm_short_conv::FAMILIES,
    lm_delta_rule::FAMILIES,
    lm_ssm_scan::FAMILIES,
    lm_wkv::FAMILIES,
    lm_gated_rms_norm::FAMILIES,
    lm_rope_kv_store::FAMILIES,
    lm_attention::FAMILIES,
    lm_decode_attention::FAMILIES,
    lm_combine_splits::FAMILIES,
    lm_glu::FAMILIES,
    lm_sigmoid_gate::FAMILIES,
    lm_moe_top_k::FAMILIES,
    lm_moe_group::FAMILIES,
    lm_moe_combine::FAMILIES,
    lm_mix_streams::FAMILIES,
];

/// Invocations per workgroup of the one-dimensional kernels.
pub const LINEAR_WORKGROUP: u32 = 256;
/// Maximum workgroups per grid dimension; Vulkan guarantees 65,535. Larger problems use a
/// grid-stride loop.
pub const MAX_GROUPS: u32 = 65_535;
/// In place of a slot of recurrent states: the state before the first token of a sequence, which is
/// zero.
pub const NO_STATE: u32 = u32::MAX;
