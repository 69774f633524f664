//! Language models on devices.
//!
//! [`DeviceModel::load`] brings a model's weights to one or several devices and is a [`Forward`](roci_engine::Forward) for an engine. Each device
//! has some of the layers (a stage). A step's commands are recorded once for each shape of step and replayed; where tokens stand and which pages they
//! have is data. [`estimate`] says how much memory that takes before anything is loaded.
//!
//! Start reading at `model.rs`, then `record.rs` (what is computed) and `pack.rs` (how weights lie in memory).
#![deny(unsafe_code)]

mod bindings;
mod error;
mod kernels;
mod layer;
mod memory;
mod model;
mod options;
mod pack;
mod product;
mod record;
mod scratch;
mod stage;
mod upload;
mod weights;

pub use error::Error;
pub use memory::{Estimate, Share, estimate};
pub use model::DeviceModel;
pub use options::{CacheType, Options};

/// Tokens of a step up to which it is for texts that are being written: attention is split, weights are read for few tokens at a time.
pub(crate) const FEW_TOKENS: usize = 16;
