//! Runs graphs on devices.
//!
//! The path of one run, from [`Session::run`] to a recorded dispatch:
//!
//! 1. `session`: checks the inputs and splits the batch over physical devices. If a `recording`
//!    exists for these input shapes, it uploads the inputs and replays it.
//! 2. `execution`: visits the nodes in order. It folds constants on the host, evaluates host
//!    operations there, and lowers every other node.
//! 3. `lower`: turns one operation into dispatches, one file per family of operations.
//! 4. `value_state`, `device_state`: track where each value is, upload operands, download results,
//!    and submit recordings.
//! 5. `segment`: collects the dispatches. `fuse` and `native` rewrite them, `arena` plans their
//!    memory, and `segment` records them once, with barriers. `kernel_cache` loads their kernels.
//!
//! Modules import in this direction only: `session` and `stateful_session` use `execution`, which
//! uses `lower`, which uses `value_state`, which uses `device_state`, which uses `segment`.
//!
//! Some operations decide how the run continues: those whose output shape depends on data, control
//! flow, and text. They end the segment and run on the host. Which operations these are is fixed
//! (`host_ops`). An operation that the device does not support is an error; it never falls back to
//! another device silently.
//!
//! On devices every element is a 32-bit word (`storage`): f32 and narrower floats are f32, integers
//! and `bool` are 32-bit integers. 64-bit integers must fit 32 bits, which is checked on upload.
//! f64 is computed in f32, and [`Session::notes`] reports it.

#![deny(unsafe_code)]

mod arena;
mod device_state;
mod error;
mod execution;
mod fuse;
mod hazards;
mod host_ops;
mod input_checks;
mod kernel_cache;
mod lower;
mod memory;
mod native;
mod note;
mod placement;
mod precision;
mod recording;
mod segment;
mod session;
mod split;
mod stateful_session;
mod storage;
mod timing;
mod value_state;

pub use error::Error;
pub use execution::{DryRunReport, dry_run};
pub use memory::MemoryUsage;
pub use note::Note;
pub use placement::Placement;
pub use precision::Precision;
pub use session::Session;
pub use stateful_session::StatefulSession;
pub use timing::Timing;
