//! Quantization of model files, with the same bytes as llama.cpp's `llama-quantize`.
//!
//! A [`FileType`], such as `Q4_K_M`, is a mixture of types. [`Plan::new`] selects the type of every
//! tensor, so that the size is known and most errors are found before anything is written.
//! [`Plan::write`] quantizes on several threads and writes the file in order. [`ImportanceMatrix`]
//! reads the files of `llama-imatrix`.
//!
//! Tensors and keys of the file also have llama.cpp's order: tensors by layer and name; the keys of
//! the source, then those of the quantization.

mod error;
mod file_type;
mod importance;
mod mixture;
mod plan;
mod write;

pub use error::QuantizeError;
pub use file_type::FileType;
pub use importance::{ImportanceError, ImportanceMatrix};
pub use plan::{Options, Plan, PlannedTensor};

#[cfg(test)]
mod tests;
