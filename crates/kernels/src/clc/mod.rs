//! OpenCL C from naga IR: the second half of "one source".
//!
//! [`write()`] turns a validated compute module into one OpenCL C source with a `kernel` per entry point. Two dialects
//! share everything but a few built-in functions: [`Dialect::OpenCl`] asks an OpenCL 1.2 driver for them, and
//! [`Dialect::AmdGcn`] asks clang alone (`-target amdgcn-amd-amdhsa`, no ROCm device library), see [`clang_arguments`].
//!
//! What a device lacks is lowered rather than refused:
//!
//! - **f16 without `cl_khr_fp16`** ([`Options::fp16`]): memory holds 16-bit integers, a load widens with `vload_half`, a
//!   store narrows with `vstore_half_rte`, and arithmetic is f32 without rounding in between. Only an explicit `f16(x)`
//!   and a store round.
//! - **sub-groups without the extensions, or of another size** ([`Subgroups::Emulated`]): each operation goes through
//!   work-group memory between two work-group barriers. WGSL asks for uniform control flow within a sub-group; this
//!   lowering asks for it within the work-group.
//!
//! What is promised: WGSL's results for integer division by zero, overflow, shifts beyond the width and conversions out
//! of range; private and function variables start as zero (work-group memory on request,
//! [`Options::zero_workgroup_memory`]); the same module and options give the same text. What is not checked: indices
//! out of bounds are undefined, as in naga's SPIR-V with its default policy.
//!
//! ## How a value is held
//!
//! Scalars and vectors have a *register* form and a *memory* form. They differ for three-component vectors (12 bytes in
//! WGSL's layout, 16 in OpenCL C) and for lowered f16. Variables, struct members and array elements always have the
//! memory form, so structs and arrays need one C type each, with WGSL's layout.

mod access;
mod analysis;
mod atomics;
mod constants;
mod conversions;
mod cooperative;
mod entry_points;
mod error;
mod expressions;
mod f16;
mod functions;
mod layout;
mod math;
mod matrices;
mod names;
mod operators;
mod prelude;
mod statements;
mod subgroups;
mod text;
mod types;
mod writer;

pub use error::Error;

/// Whose built-in functions the source may call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Dialect {
    /// An OpenCL driver: OpenCL C 1.2 and its library.
    OpenCl,
    /// clang for `amdgcn-amd-amdhsa` without any library, compiled with [`clang_arguments`].
    AmdGcn,
}

/// Where sub-group operations come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Subgroups {
    /// The device's own sub-groups (OpenCL: `cl_khr_subgroups` and its kin; amdgcn: the wave), of this size.
    ///
    /// On amdgcn the size is 32 for RDNA and 64 for gfx9; RDNA in wave64 mode has no cheap way across its halves and is
    /// not supported.
    Native {
        /// Work-items in a sub-group.
        size: u32,
    },
    /// Work-group memory and barriers, for any size. Needs uniform control flow in the whole work-group.
    Emulated {
        /// Work-items in a sub-group.
        size: u32,
    },
}

impl Subgroups {
    /// Work-items in a sub-group.
    pub fn size(self) -> u32 {
        match self {
            Subgroups::Native { size } | Subgroups::Emulated { size } => size,
        }
    }
}

/// What stands behind cooperative matrices.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Matrix {
    /// Nothing: a cooperative matrix is an error.
    None,
    /// WMMA of gfx11 in wave32: 16x16x16, f16 times f16, accumulated in f32 or f16.
    Wmma,
}

/// What the target has, and how to write for it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Options {
    /// Whose built-in functions to call.
    pub dialect: Dialect,
    /// Whether f16 arithmetic exists (`cl_khr_fp16`). Always so on amdgcn, where this is ignored.
    pub fp16: bool,
    /// Where sub-group operations come from.
    pub subgroups: Subgroups,
    /// Whether packed dot products exist (`cl_khr_integer_dot_product`). On amdgcn: use the instruction on targets that
    /// have it, which the source finds out itself.
    pub integer_dot: bool,
    /// What stands behind cooperative matrices.
    pub matrix: Matrix,
    /// Copy the constants block before anything reads it: there are drivers that take one work-item's index into a
    /// kernel's own arguments for all.
    pub copies_constants: bool,
    /// Clear work-group memory before the kernel starts, as WGSL has it. Off by default, as kernels that write before
    /// they read would pay for nothing.
    pub zero_workgroup_memory: bool,
    /// Let the compiler fuse `a * b + c`. Off gives the same rounding everywhere.
    pub fp_contract: bool,
}

impl Options {
    /// For any OpenCL 1.2 driver: everything optional is lowered.
    pub fn opencl() -> Self {
        Options {
            dialect: Dialect::OpenCl,
            fp16: false,
            subgroups: Subgroups::Emulated { size: 32 },
            integer_dot: false,
            matrix: Matrix::None,
            copies_constants: false,
            zero_workgroup_memory: false,
            fp_contract: true,
        }
    }

    /// For clang and an RDNA target in wave32.
    pub fn amdgcn() -> Self {
        Options {
            dialect: Dialect::AmdGcn,
            fp16: true,
            subgroups: Subgroups::Native { size: 32 },
            integer_dot: true,
            matrix: Matrix::None,
            copies_constants: false,
            zero_workgroup_memory: false,
            fp_contract: true,
        }
    }

    /// Whether f16 is held as f32 in registers and as 16-bit integers in memory.
    pub(in crate::clc) fn lowers_f16(&self) -> bool {
        self.dialect == Dialect::OpenCl && !self.fp16
    }
}

/// One argument of a kernel, in the order the host passes them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Argument {
    /// A pointer to a storage or uniform buffer.
    Binding {
        /// `@group`.
        group: u32,
        /// `@binding`.
        binding: u32,
        /// Whether the kernel may write through it.
        writable: bool,
    },
    /// The constants block (`var<immediate>`), by value.
    Constants {
        /// Its size in bytes.
        size: u32,
    },
    /// A `u32`: how many elements the run-time array of a binding has, `(bytes - offset) / stride`.
    ArrayLength {
        /// `@group` of the binding.
        group: u32,
        /// `@binding` of the binding.
        binding: u32,
        /// Bytes before the array.
        offset: u32,
        /// Bytes from one element to the next.
        stride: u32,
    },
}

/// One kernel of the source.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EntryInfo {
    /// The name of the WGSL entry point.
    pub entry_point: String,
    /// The name of the kernel in the source; it differs where C would not take the WGSL name.
    pub name: String,
    /// Work-items of a work-group.
    pub workgroup_size: [u32; 3],
    /// What the host passes.
    pub arguments: Vec<Argument>,
    /// Whether it, or a function it calls, uses sub-group operations or built-in values.
    pub uses_subgroups: bool,
}

/// OpenCL C, and how to call it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Output {
    /// The whole source.
    pub source: String,
    /// The kernels in it, in the module's order.
    pub entry_points: Vec<EntryInfo>,
    /// OpenCL extensions the source asks for, all of them by [`Options`].
    pub extensions: Vec<&'static str>,
}

/// Writes all entry points of a module as OpenCL C.
///
/// `info` is what validation gave for this very module. With `source_text`, errors name the line. Overrides must have
/// been resolved before (`naga::back::pipeline_constants::process_overrides`).
pub fn write(
    module: &naga::Module,
    info: &naga::valid::ModuleInfo,
    source_text: Option<&str>,
    options: &Options,
) -> Result<Output, Error> {
    writer::Writer::new(module, info, source_text, options)?.write()
}

/// The arguments under which clang takes [`Dialect::AmdGcn`] source for `target` (`gfx1010`) without a warning.
///
/// `-Wall -Wextra` stand, save the warnings on names without a use, which speak of the WGSL source, and on use before
/// initialisation: private variables always start as zero, and clang takes work-group memory for a work-item's own.
pub fn clang_arguments(target: &str, subgroups: Subgroups) -> Vec<String> {
    let mut arguments: Vec<String> = [
        "-x",
        "cl",
        "-cl-std=CL2.0",
        "-target",
        "amdgcn-amd-amdhsa",
        "-nogpulib",
        "-ffreestanding",
        "-O3",
        // Models that quantise expect the very quotient; clang is content with 2.5 units in the last place otherwise.
        "-cl-fp32-correctly-rounded-divide-sqrt",
        "-Wall",
        "-Wextra",
        "-Wno-unused-parameter",
        "-Wno-unused-variable",
        "-Wno-unused-but-set-variable",
        "-Wno-unused-but-set-parameter",
        "-Wno-unused-value",
        "-Wno-uninitialized",
        "-Wno-sometimes-uninitialized",
        // clang keeps each kernel's body as a second function, and warns of the work-group memory in it; nothing calls it.
        "-mllvm",
        "-amdgpu-internalize-symbols",
    ]
    .map(str::to_owned)
    .to_vec();
    arguments.push(format!("-mcpu={target}"));
    // gfx9 has no wave32 and refuses the choice.
    if !target.starts_with("gfx9") {
        let wide = matches!(subgroups, Subgroups::Native { size: 64 });
        arguments.push(if wide { "-mwavefrontsize64" } else { "-mno-wavefrontsize64" }.to_owned());
    }
    arguments
}
