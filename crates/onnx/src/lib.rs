//! Reads ONNX models into graphs.
//!
//! [`Model::open`] reads a file with what it refers to; [`Model::from_bytes`] what is at hand. Nodes become operations of
//! [`roci_graph`], which mean what the newest ONNX means: `import/` turns older versions and compositions into them, a file a
//! family. What is not understood is an error that names the node, the operation and the version; nothing is skipped.

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
