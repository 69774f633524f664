//! Products with the quantized matrices of language models.
//!
//! A matrix of a GGUF file is packed once, in panels of sixteen rows ([`pack_rows`]), into a layout
//! that vectors read without shuffles; all instruction sets read the same layout. Activations are
//! quantized to eight bits with a scale for each 32 columns ([`quantize_row`]), so that a product
//! ([`MatrixProduct`]) is mostly one of bytes. Matrices of floats take f32 activations. Some types
//! need no packing ([`row_in_place`]): the product rearranges or decodes their rows as it reads
//! them.
//!
//! Start reading at `format` (the layout), then `product` (the inner loops) and `amx_product` (the
//! same on AMX).

mod activations;
#[cfg(target_arch = "x86_64")]
mod amx_product;
mod blocks;
mod decode;
mod float;
mod format;
mod gather;
mod matrix;
mod pack;
mod prefetch;
mod product;
mod quantize;
mod row;
mod unpack;

pub use activations::{GROUP_BYTES, TILE, activation_bytes};
pub use format::{Format, GROUP, PackError, packed_bytes, panel_bytes, row_decoded_in_place, row_in_place};
pub use gather::gather_tokens;
pub use matrix::{MatrixProduct, Segment};
pub use pack::pack_rows;
pub use quantize::quantize_row;
pub use row::read_row;

/// Rows of a packed panel.
pub const ROWS: usize = crate::int8::ROWS;
