//! Language models on devices.
//!
//! [`DeviceModel::load`] uploads a model's weights to one or several devices and implements
//! [`Forward`](roci_engine::Forward) for an engine. Each device has a stage: consecutive layers.
//! The commands of a step are recorded once per shape and replayed; token ids, positions and page
//! tables are data. [`estimate`] computes the memory that this takes before anything is loaded.
//!
//! A call goes through these modules in order:
//!
//! 1. `model`: the batch, one step per stage.
//! 2. `stage`: submits the recording of the step's shape; records it on first use.
//! 3. `recorder`: records a step layer by layer.
//! 4. `kernel_id`: which kernel. `kernels`: loads it and records the dispatch.
//!
//! `layer`, `adapters`, `norms`, `experts`, `per_layer`, `latent`, `streams`, `delta_net`,
//! `selective_scan` and `weights` have the contents of a stage, `pack` the memory layout of weights,
//! `limits` the maximum sizes of a step.
#![deny(unsafe_code)]

mod adapters;
mod batch;
mod bindings;
mod delta_net;
mod dynamic_time_mix;
mod embedding;
mod error;
mod experts;
mod features;
mod half_floats;
mod host_experts;
mod images;
mod kernel_cache;
mod kernel_id;
mod latent;
mod layer;
mod limits;
mod memory;
mod model;
mod native_experts;
mod norms;
mod options;
mod pack;
mod pack_compact;
mod pack_panels;
mod per_layer;
mod prediction;
mod recorder;
mod recurrent;
mod scratch;
mod selective_scan;
mod shape;
mod stage;
mod streams;
mod support;
mod time_mix;
mod upload;
mod vectors;
mod weights;

pub use adapters::ModelAdapter;
pub use error::Error;
pub use memory::{DeviceShare, Estimate, estimate};
pub use model::DeviceModel;
pub use options::{CacheType, Options};
pub use support::unsupported;

/// Maximum number of tokens of a small batch, as in the decode phase: attention is split over the
/// KV cache, and products read the weights per token or per four tokens instead of in tiles.
pub(crate) const SMALL_BATCH: usize = 16;
