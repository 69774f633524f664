//! What `roci run`, `inspect` and `train-demo` do around a run of a graph.
//!
//! - [`inputs`]: input tensors from NumPy files, images or random numbers.
//! - [`outputs`]: statistics of output tensors, and NumPy files.
//! - [`inspect`]: operations, work, memory and placement of a model, without a device.
//! - [`profile`]: time by operation, and a trace for Perfetto.
//! - [`training`]: trains a small network and compares devices.
//!
//! The crate prints nothing.

#![forbid(unsafe_code)]

mod arrays;
mod declared;
pub mod inputs;
pub mod inspect;
pub mod outputs;
pub mod profile;
pub mod training;

pub use declared::{format_shape, shape_mismatch};
