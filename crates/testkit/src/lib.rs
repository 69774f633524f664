//! What the tests of all crates share: tools that must be there, an OpenCL runner, tolerances with names.
//!
//! Nothing is skipped silently. A test that needs something from outside asks [`require`] for it; what is absent is named
//! on standard error, and is a failure when the environment says so.

#![deny(unsafe_code)]

pub mod opencl;
pub mod tolerance;
pub mod tools;

mod env;
mod require;

pub use env::{RandomRun, bless, isa_samples, random_run};
pub use require::{KNOWN, is_required, note, require};
pub use tolerance::Tolerance;
