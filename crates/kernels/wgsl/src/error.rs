//! Errors of the WGSL compiler.

use crate::clc;
use crate::rules::Rule;

/// An error from parsing WGSL to writing the target language.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The source does not parse as WGSL.
    #[error("{file}:{line}: not valid WGSL\n{diagnostic}")]
    Parse {
        /// File name as given by the caller.
        file: String,
        /// Line of the first error, 1-based.
        line: u32,
        /// naga's diagnostic with the source line and carets.
        diagnostic: String,
    },
    /// The source parses but fails validation.
    #[error("{file}:{line}: the WGSL is invalid\n{diagnostic}")]
    Validate {
        /// File name as given by the caller.
        file: String,
        /// Line of the first error, 1-based.
        line: u32,
        /// naga's diagnostic with the source line and carets.
        diagnostic: String,
    },
    /// The override values do not fit the source.
    #[error("{file}: invalid override constants: {source}")]
    Overrides {
        /// File name as given by the caller.
        file: String,
        /// naga's error.
        source: Box<naga::back::pipeline_constants::PipelineConstantError>,
    },
    /// The source breaks a rule that the project's targets require.
    #[error("{file}:{line}: kernel rule `{rule}`: {message}")]
    Rule {
        /// The violated rule.
        rule: Rule,
        /// File name as given by the caller.
        file: String,
        /// Line of the violation; 1 if it concerns the whole file.
        line: u32,
        /// What is wrong, and how to fix it.
        message: String,
    },
    /// A kernel uses subgroups in a way that workgroup memory cannot emulate.
    #[error("{file}: kernel `{kernel}` cannot be lowered to emulated subgroups: {reason}")]
    Subgroups {
        /// File name as given by the caller.
        file: String,
        /// Name of the kernel, or of all kernels in the file.
        kernel: String,
        /// The operation that cannot be emulated.
        reason: String,
    },
    /// SPIR-V cannot express the kernel.
    #[error("{file}: cannot write SPIR-V: {source}")]
    Spirv {
        /// File name as given by the caller.
        file: String,
        /// Error of naga's SPIR-V writer.
        source: Box<naga::back::spv::Error>,
    },
    /// OpenCL C cannot express the kernel.
    #[error("{file}: cannot write OpenCL C: {source}")]
    OpenClC {
        /// File name as given by the caller.
        file: String,
        /// Error of the OpenCL C writer.
        source: Box<clc::Error>,
    },
}
