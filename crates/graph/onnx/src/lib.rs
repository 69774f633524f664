//! Imports ONNX models as graphs.
//!
//! [`Model::open`] reads a file and its external data; [`Model::from_bytes`] reads a model in
//! memory. Nodes become operations of [`roci_graph`], which have the semantics of the newest ONNX
//! versions. `import/` converts older versions and composed operations, with one file per family.
//! Anything that is not supported is an error that names the node, the operation and the version;
//! nothing is skipped.

#![deny(unsafe_code)]

mod attributes;
mod error;
mod import;
mod model;
pub mod proto;
mod tensor;
#[cfg(test)]
mod tests;

pub use error::Error;
pub use model::{Model, OPSETS};
pub use tensor::{dtype, tensor, value_from_file};
