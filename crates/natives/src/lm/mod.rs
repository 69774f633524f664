//! Products with the quantised matrices of language models, which only the CPU has.
//!
//! A matrix of a GGUF file is packed once, sixteen rows at a time ([`pack_rows`]), into a form that vectors read without
//! shuffling; every kind of CPU reads the same form. Activations become whole numbers of eight bits first (`lm_quantize`), with
//! a scale for each 32 of them; then a product (`lm_product`) is mostly one of bytes. Matrices of floats take activations as
//! they are. `lm_rows` gives single rows of a packed matrix, for embeddings. Some types need not be packed ([`row_in_place`]): their
//! rows are brought into the same form as they are read.
//!
//! ```
//! use roci_gguf::Type;
//! use roci_natives::lm;
//!
//! let (rows, columns) = (40, 64);
//! let source = vec![0; rows * columns / 32 * 18];
//! let mut packed = vec![0; lm::packed_bytes(Type::Q4_0, rows, columns)?];
//! // Any thread can pack any sixteen rows.
//! let bytes = lm::group_bytes(Type::Q4_0, columns)?;
//! for (group, target) in packed.chunks_mut(bytes).enumerate() {
//!     lm::pack_rows(Type::Q4_0, &source, columns, group..group + 1, target)?;
//! }
//! # Ok::<(), lm::PackError>(())
//! ```
//!
//! Start reading at `format` (what lies where), then `tile` (the product itself) and `matrix` (the same on matrix units).

mod activations;
mod ahead;
mod blocks;
mod float;
mod format;
#[cfg(target_arch = "x86_64")]
mod matrix;
mod pack;
mod product;
mod quantize;
mod rows;
mod tile;
mod widen;

pub use activations::activation_bytes;
pub use format::{PackError, group_bytes, packed_bytes, row_in_place};
pub use pack::pack_rows;
pub(super) use product::Product;
pub(super) use quantize::Quantize;
pub(super) use rows::Rows;

/// Rows that are packed together.
pub const ROWS: usize = super::simd::codes::ROWS;
