//! What the tests of all crates share: tools that must be there, an OpenCL runner, tolerances with names.
//!
//! Nothing is skipped silently. A test that needs something from outside asks [`require`] for it; what is absent is named
//! on standard error and in the file of `ROCI_SKIPPED`, and is a failure when the environment says so.

#![deny(unsafe_code)]

pub mod opencl;
pub mod tolerance;
pub mod tools;

mod env;
mod require;
mod skipped;

pub use env::{RandomRun, bless, isa_samples, opencl_device, random_run, smollm2, stress_seconds, vulkan_device};
pub use require::{KNOWN, is_required, note, require};
pub use skipped::{absent, skipped};
pub use tolerance::Tolerance;
