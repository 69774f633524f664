//! CPU-only kernels for the quantized matrices of language models: see [`roci_simd::quantized`].
//!
//! `lm_quantize` quantizes activations to eight bits, with one scale per 32 columns;
//! `lm_matmul_packed` is a product with a packed matrix, or with one in place; `lm_experts_packed`
//! is the same for the matrices of experts; `lm_embed_packed` dequantizes single rows of a packed
//! matrix, for embeddings. `lm_read_ahead` requests pages of a mapped file.
//!
//! ```
//! use roci_gguf::Type;
//! use roci_natives::lm_cpu;
//!
//! let (rows, columns) = (40, 64);
//! let source = vec![0; rows * columns / 32 * 18];
//! let mut packed = vec![0; lm_cpu::packed_bytes(Type::Q4_0, rows, columns)?];
//! // Panels can be packed by any number of threads.
//! let bytes = lm_cpu::panel_bytes(Type::Q4_0, columns)?;
//! for (panel, target) in packed.chunks_mut(bytes).enumerate() {
//!     lm_cpu::pack_rows(Type::Q4_0, &source, columns, panel..panel + 1, target)?;
//! }
//! # Ok::<(), lm_cpu::PackError>(())
//! ```

pub(super) mod embed_packed;
pub(super) mod experts_packed;
pub(super) mod matmul_packed;
pub(super) mod quantize;
pub(super) mod read_ahead;

pub use read_ahead::requested_bytes;
pub use roci_simd::quantized::{
    PackError, ROWS, activation_bytes, pack_rows, packed_bytes, panel_bytes, row_decoded_in_place, row_in_place,
};
