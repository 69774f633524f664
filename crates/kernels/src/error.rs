//! Why a kernel's source cannot be turned into something a device runs.

use crate::clc;
use crate::rules::Rule;

/// What went wrong between WGSL text and a device's language.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The text is not WGSL.
    #[error("{file}:{line}: not valid WGSL\n{diagnostic}")]
    Parse {
        /// The file, as named by whoever gave the text.
        file: String,
        /// Line of the first mistake.
        line: u32,
        /// The whole message with the source line and carets.
        diagnostic: String,
    },
    /// The text is WGSL, but breaks a rule of the language.
    #[error("{file}:{line}: the WGSL does not validate\n{diagnostic}")]
    Validate {
        /// The file, as named by whoever gave the text.
        file: String,
        /// Line of the first mistake.
        line: u32,
        /// The whole message with the source line and carets.
        diagnostic: String,
    },
    /// The override constants do not fit the source.
    #[error("{file}: the override constants do not fit: {source}")]
    Overrides {
        /// The file, as named by whoever gave the text.
        file: String,
        /// What does not fit.
        source: Box<naga::back::pipeline_constants::PipelineConstantError>,
    },
    /// The source breaks one of the rules that all our targets together need.
    #[error("{file}:{line}: house rule `{rule}`: {message}")]
    Rule {
        /// The rule.
        rule: Rule,
        /// The file, as named by whoever gave the text.
        file: String,
        /// Line that breaks it; 1 where the whole file does.
        line: u32,
        /// What is wrong, and what to write instead.
        message: String,
    },
    /// No kernel of that name.
    #[error("no kernel is called `{name}`; the nearest name is `{nearest}`")]
    UnknownKernel {
        /// The name asked for.
        name: String,
        /// The kernel whose name shares the longest beginning with it.
        nearest: &'static str,
    },
    /// A device takes none of the formats that a kernel can be written in.
    #[error("kernel `{kernel}` cannot be written for {device}, which takes {formats:?}")]
    NoFormat {
        /// The kernel.
        kernel: &'static str,
        /// The device.
        device: String,
        /// What the device takes.
        formats: Vec<roci_hal::CodeFormat>,
    },
    /// A device has no matrix units for sub-groups of 32, and the kernel runs on nothing else.
    #[error("kernel `{kernel}` runs on matrix units with sub-groups of 32, which {device} does not have")]
    NoMatrixUnits {
        /// The kernel.
        kernel: &'static str,
        /// The device.
        device: String,
    },
    /// A kernel does with sub-groups what workgroup memory cannot stand in for.
    #[error("{file}: kernel `{kernel}` cannot be written without sub-groups: {reason}")]
    Subgroups {
        /// The file, as named by whoever gave the text.
        file: String,
        /// The kernel, or the kernels of the file.
        kernel: String,
        /// What it does.
        reason: String,
    },
    /// There is no code object of the project's kernels for a chip.
    #[error(transparent)]
    DeviceLibrary(#[from] roci_device_library::Error),
    /// A chip's name is not one.
    #[error("`{chip}` is no AMD target: {reason}")]
    Chip {
        /// The name.
        chip: String,
        /// What is wrong with it.
        reason: String,
    },
    /// SPIR-V cannot express the kernel.
    #[error("{file}: no SPIR-V for it: {source}")]
    Spirv {
        /// The file, as named by whoever gave the text.
        file: String,
        /// What the writer refuses.
        source: Box<naga::back::spv::Error>,
    },
    /// OpenCL C cannot express the kernel.
    #[error("{file}: no OpenCL C for it: {source}")]
    OpenClC {
        /// The file, as named by whoever gave the text.
        file: String,
        /// What the writer refuses.
        source: Box<clc::Error>,
    },
}
