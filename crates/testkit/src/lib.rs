//! Shared test support: external tools, an OpenCL runner, and reports of skipped tests.
//!
//! Nothing is skipped silently. A test that needs an external tool or device calls [`require`]. If
//! it is missing, that is reported on standard error and in the file of `ROCI_SKIPPED`, or fails
//! the test if `ROCI_REQUIRE` names it.

#![deny(unsafe_code)]

pub mod opencl;
pub mod tools;

mod env;
mod require;
mod selection;
mod skipped;

pub use env::{RandomRun, bless, isa_samples, opencl_device, random_run, smollm2, stress_seconds, vulkan_device};
pub use require::{KNOWN, is_required, note, require};
pub use roci_tolerance as tolerance;
pub use roci_tolerance::Tolerance;
pub use selection::may_run;
pub use skipped::{absent, skipped};
