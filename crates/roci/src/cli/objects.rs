//! Arguments of `roci objects`.

use std::path::PathBuf;

use clap::Args;

use super::FormatArgs;

/// Arguments of `roci objects`.
#[derive(Debug, Args)]
pub(crate) struct ObjectsArgs {
    /// Files to read; with `--for`, also folders
    #[arg(value_name = "FILE", required_unless_present = "library")]
    pub(crate) files: Vec<PathBuf>,
    /// Report which libraries have kernels that run on this chip, such as `gfx1013`
    ///
    /// Folders are searched recursively. Files are grouped into libraries: rocBLAS with its Tensile
    /// folder, MIOpen with its databases, torch, llama.cpp and others. Kernels run on the exact
    /// chip that they were compiled for and on the chips that their generic target covers, not on
    /// sibling chips. Only headers are read, so that gigabytes take seconds. The exit code is 0 if
    /// every library has kernels that run, and 1 otherwise.
    #[arg(long = "for", value_name = "CHIP", conflicts_with_all = ["library", "extract", "disassemble"])]
    pub(crate) chip: Option<String>,
    /// List the AMD GPU kernels that are embedded in roci, one code object per target
    ///
    /// ROCI_DEVICE_TARGETS selects targets.
    #[arg(long)]
    pub(crate) library: bool,
    /// Write each code object to this folder; existing files are not overwritten
    #[arg(long, value_name = "DIR")]
    pub(crate) extract: Option<PathBuf>,
    /// Disassemble all functions, or one kernel
    #[arg(long, value_name = "KERNEL", num_args = 0..=1, require_equals = true, default_missing_value = "")]
    pub(crate) disassemble: Option<String>,
    #[command(flatten)]
    pub(crate) format: FormatArgs,
}

pub(super) const OBJECTS_EXAMPLES: &str = "Examples:
  roci objects /opt/rocm/lib/librocfft.so.0
  roci objects --for gfx1013 /opt/rocm ~/venv       which libraries have kernels for this chip
  roci objects --extract out kernels.hsaco          each code object becomes a file
  roci objects --library --extract out              the kernels that are embedded in roci
  roci objects --disassemble=scale kernels.co       one kernel; without a name all functions
  roci objects --json *.so | jq -r '.files[].objects[].target' | sort -u";
