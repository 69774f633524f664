//! The compiler for WGSL compute kernels: WGSL in, SPIR-V or OpenCL C out.
//!
//! [`Source::parse`] parses, validates and resolves overrides. [`Compiled::spirv`] and
//! [`Compiled::opencl_c`] write the module for a driver or for clang. [`rules`] lists the WGSL
//! features that the project's kernels may not use.
//!
//! Start reading at `source.rs`, which runs the stages in order.

#![deny(unsafe_code)]

pub mod clc;
pub mod rules;
pub mod spirv;

mod error;
mod executable;
mod memory_model;
mod prune;
mod source;
mod subgroups;
mod uniform;

pub use error::Error;
pub use source::{Compiled, Source};
pub use spirv::SpirvOptions;
