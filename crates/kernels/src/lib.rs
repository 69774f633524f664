//! Every GPU kernel as one WGSL source, its translations, and its native twin.
//!
//! The table ([`kernels`]) names each kernel, its variants and what a caller binds. [`KernelSpec::module`] parses and
//! checks the WGSL under `wgsl/`; [`spirv()`] and [`opencl_c`] write it in a device's language; [`native`] holds the same
//! kernels as host code, under the same names. Text that is not in the table goes through [`Source::parse`].
//!
//! Start reading at `table.rs`, then `source.rs` for the stages in their order.

#![deny(unsafe_code)]

pub mod clc;
pub mod rules;
pub mod spirv;

mod baked;
mod error;
mod executable;
mod matmul;
mod memory_model;
mod prune;
mod source;
mod subgroups;
mod table;
mod uniform;

pub use baked::Baked;
pub use error::Error;
pub use executable::{host_executable, takes_native};
pub use matmul::{MatmulElement, MatmulForm};
pub use roci_natives::{self as native, params};
pub use source::{Compiled, Source};
pub use spirv::SpirvOptions;
pub use table::{Binding, Constants, KernelSpec, find, kernels};

/// A kernel of the table as SPIR-V.
pub fn spirv(kernel: &KernelSpec, options: &SpirvOptions) -> Result<Vec<u32>, Error> {
    kernel.module()?.spirv(options)
}

/// A kernel of the table as OpenCL C, for a driver or for clang.
pub fn opencl_c(kernel: &KernelSpec, options: &clc::Options) -> Result<clc::Output, Error> {
    kernel.module()?.opencl_c(options)
}
