//! An emulated AMD GPU that runs real amdgcn code objects on the CPU.
//!
//! Start reading at `emulator` (the API), then `dispatch` (distributes workgroups over threads),
//! `launch` (initial state of waves), `program` (decoded machine code), `engine` (executes waves),
//! and `lanes` and `scalar` (what instructions compute).

#![expect(clippy::needless_range_loop, reason = "lanes, halves and rows index several arrays at once")]

mod check;
mod counts;
mod dispatch;
mod emulator;
mod engine;
mod fault;
mod grid_sync;
mod lanes;
mod launch;
mod memory;
mod mode;
mod observe;
mod pool;
mod program;
mod row;
mod scalar;
mod wave;

pub use check::{Checks, UnknownCheck};
pub use counts::Counts;
pub use dispatch::DispatchError;
pub use emulator::{Dispatch, Emulator, Error, Kernel, MAX_LDS, MAX_WORKGROUP, Module};
pub use engine::control::aperture::{PRIVATE as PRIVATE_APERTURE, SHARED as SHARED_APERTURE};
pub use fault::{Fault, FaultReport};
pub use memory::{ALIAS, Access, Allocation, Memory, Owner};
pub use observe::{ExecutedInstruction, Observer, RegisterValue, register_name};
pub use program::LoadedCode;
pub use roci_isa::{Chip, Register};
