//! The table of the project's kernels, and the choice of the kernel variant and code format for a
//! device.
//!
//! The table ([`kernels`]) lists each kernel with its variants and bindings; it follows from the
//! kernel families in [`params`]. [`KernelSpec::module`] compiles a kernel's WGSL. [`spirv()`] and
//! [`opencl_c`] translate it; [`wgsl`] is the compiler. [`native`] implements the same kernels as
//! host code, under the same names. [`Source::parse`] compiles WGSL that is not in the table.
//!
//! Start reading at `table.rs`, then `executable.rs`.

#![deny(unsafe_code)]

mod error;
mod executable;
mod matmul;
mod specialized;
mod table;

pub use error::Error;
pub use executable::{native_only_executable, runs_native_kernels};
pub use matmul::{MatmulElement, best_matmul, linear_kernel, matmul_kernel};
pub use roci_families::{self as params, Binding, Constants, MatmulForm};
pub use roci_natives as native;
pub use roci_wgsl::{self as wgsl, Compiled, Source, SpirvOptions, clc, rules};
pub use specialized::SpecializedKernel;
pub use table::{KernelSpec, find, kernels};

/// Compiles a kernel of the table to SPIR-V.
pub fn spirv(kernel: &KernelSpec, options: &SpirvOptions) -> Result<Vec<u32>, Error> {
    Ok(kernel.module()?.spirv(options)?)
}

/// Compiles a kernel of the table to OpenCL C, for a driver or for clang.
pub fn opencl_c(kernel: &KernelSpec, options: &clc::Options) -> Result<clc::Output, Error> {
    Ok(kernel.module()?.opencl_c(options)?)
}
