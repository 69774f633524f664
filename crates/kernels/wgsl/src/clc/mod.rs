//! Writes naga IR as OpenCL C.
//!
//! [`write()`] turns a validated compute module into one OpenCL C source with a `kernel` per entry
//! point. The two dialects differ only in a few built-in functions: [`Dialect::OpenCl`] uses those
//! of an OpenCL 1.2 driver, [`Dialect::AmdGcn`] uses only clang's (`-target amdgcn-amd-amdhsa`, no
//! ROCm device library); see [`clang_arguments`].
//!
//! Features that a device lacks are lowered:
//!
//! - **f16 without `cl_khr_fp16`** ([`Options::fp16`]): memory holds 16-bit integers, a load widens
//!   with `vload_half`, a store narrows with `vstore_half_rte`, and arithmetic is f32 without
//!   intermediate rounding. Only an explicit `f16(x)` and a store round.
//! - **subgroups without the extensions, or of another size** ([`Subgroups::Emulated`]): each
//!   operation goes through work-group memory between two work-group barriers. WGSL requires
//!   uniform control flow within a subgroup; this lowering requires it within the work-group.
//!
//! Guaranteed: WGSL's results for integer division by zero, overflow, shifts beyond the width and
//! conversions out of range. Private and function variables start as zero (work-group memory only
//! with [`Options::zero_workgroup_memory`]). The same module and options give the same source.
//!
//! Not checked: indices out of bounds are undefined behavior, as in naga's SPIR-V with its default
//! policy.
//!
//! ## Register form and memory form
//!
//! Scalars and vectors have a *register* form and a *memory* form. The forms differ for
//! three-component vectors (12 bytes in WGSL's layout, 16 in OpenCL C) and for lowered f16.
//! Variables, struct members and array elements always have the memory form, so structs and arrays
//! need one C type each, with WGSL's layout.

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

/// Set of built-in functions that the source may call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Dialect {
    /// OpenCL C 1.2 and its library, compiled by an OpenCL driver.
    OpenCl,
    /// clang for `amdgcn-amd-amdhsa` without any library, compiled with [`clang_arguments`].
    AmdGcn,
}

/// Implementation of subgroup operations.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Subgroups {
    /// The device's own subgroups (OpenCL: `cl_khr_subgroups` and related extensions; amdgcn: the
    /// wave), of this size.
    ///
    /// On amdgcn the size is 32 for RDNA and 64 for gfx9. RDNA in wave64 mode is not supported: it
    /// has no cheap exchange between the two halves of a wave.
    Native {
        /// Work-items in a subgroup.
        size: u32,
    },
    /// Work-group memory and barriers, for any size. Needs uniform control flow in the whole
    /// work-group.
    Emulated {
        /// Work-items in a subgroup.
        size: u32,
    },
}

impl Subgroups {
    /// Work-items in a subgroup.
    pub fn size(self) -> u32 {
        match self {
            Subgroups::Native { size } | Subgroups::Emulated { size } => size,
        }
    }
}

/// Implementation of cooperative matrices.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Matrix {
    /// None: a cooperative matrix is an error.
    None,
    /// WMMA of gfx11 in wave32: 16x16x16, f16 operands, f32 or f16 accumulator.
    Wmma,
}

/// Features of the target, and options of the writer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Options {
    /// Set of built-in functions to call.
    pub dialect: Dialect,
    /// Whether the device has f16 arithmetic (`cl_khr_fp16`). Ignored on amdgcn, which always has
    /// it.
    pub fp16: bool,
    /// Implementation of subgroup operations.
    pub subgroups: Subgroups,
    /// Whether packed dot products exist (`cl_khr_integer_dot_product`). On amdgcn: use the
    /// instruction if the target has it, which the preprocessor decides.
    pub integer_dot: bool,
    /// Implementation of cooperative matrices.
    pub matrix: Matrix,
    /// Copy the constants block to private memory before reading it. Works around drivers that
    /// treat an index by work-item into a kernel argument as uniform.
    pub copies_constants: bool,
    /// Clear work-group memory at kernel start, as WGSL specifies. Default off: kernels that write
    /// before they read do not need it.
    pub zero_workgroup_memory: bool,
    /// Let the compiler contract `a * b + c` to an FMA. Off gives the same rounding on every
    /// device.
    pub fp_contract: bool,
}

impl Options {
    /// Options for any OpenCL 1.2 driver: every optional feature is lowered.
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

    /// Options for clang and an RDNA target in wave32.
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

    /// Whether f16 is lowered: f32 in registers, 16-bit integers in memory.
    pub(in crate::clc) fn lowers_f16(&self) -> bool {
        self.dialect == Dialect::OpenCl && !self.fp16
    }
}

/// A kernel argument, in the order in which the host passes them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Argument {
    /// A pointer to a storage or uniform buffer.
    Binding {
        /// `@group`.
        group: u32,
        /// `@binding`.
        binding: u32,
        /// Whether the kernel may write to it.
        writable: bool,
    },
    /// The constants block (`var<immediate>`), by value.
    Constants {
        /// Size in bytes.
        size: u32,
    },
    /// A `u32`: the element count of a binding's run-time array, `(bytes - offset) / stride`.
    ArrayLength {
        /// `@group` of the binding.
        group: u32,
        /// `@binding` of the binding.
        binding: u32,
        /// Byte offset of the array in the binding.
        offset: u32,
        /// Bytes from one element to the next.
        stride: u32,
    },
}

/// One kernel of the generated source.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EntryInfo {
    /// Name of the WGSL entry point.
    pub entry_point: String,
    /// Name of the kernel in the source. Differs from the entry point if C does not accept that
    /// name.
    pub name: String,
    /// Work-items in a work-group, per axis.
    pub workgroup_size: [u32; 3],
    /// Arguments in the order in which the host passes them.
    pub arguments: Vec<Argument>,
    /// Whether the kernel or a function it calls uses subgroup operations or built-in values.
    pub uses_subgroups: bool,
}

/// Generated OpenCL C with the interface of its kernels.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Output {
    /// The complete source.
    pub source: String,
    /// The kernels, in the module's order.
    pub entry_points: Vec<EntryInfo>,
    /// OpenCL extensions that the source requires, all of them enabled by [`Options`].
    pub extensions: Vec<&'static str>,
}

/// Writes all entry points of a module as OpenCL C.
///
/// `info` must be the validation result of this module. With `source_text`, errors name the line.
/// Overrides must be resolved first (`naga::back::pipeline_constants::process_overrides`).
pub fn write(
    module: &naga::Module,
    info: &naga::valid::ModuleInfo,
    source_text: Option<&str>,
    options: &Options,
) -> Result<Output, Error> {
    writer::Writer::new(module, info, source_text, options)?.write()
}

/// The clang arguments that compile [`Dialect::AmdGcn`] source for `target` (`gfx1010`) without
/// warnings.
///
/// `-Wall -Wextra` stay on except for two groups. Warnings about unused names concern the WGSL
/// source. Warnings about uninitialized use are false: private variables always start as zero, and
/// clang treats work-group memory as private to a work-item.
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
        // Quantized models expect the correctly rounded quotient; clang's default error is 2.5 ULP.
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
        // clang emits each kernel's body as a second, uncalled function and warns about the
        // work-group memory in it.
        "-mllvm",
        "-amdgpu-internalize-symbols",
    ]
    .map(str::to_owned)
    .to_vec();
    arguments.push(format!("-mcpu={target}"));
    // gfx9 has no wave32 and rejects the option.
    if !target.starts_with("gfx9") {
        let wide = matches!(subgroups, Subgroups::Native { size: 64 });
        arguments.push(if wide { "-mwavefrontsize64" } else { "-mno-wavefrontsize64" }.to_owned());
    }
    arguments
}
