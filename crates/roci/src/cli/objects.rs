//! Arguments of `roci objects`.

use std::path::PathBuf;

use clap::Args;

use super::FormatArgs;

/// Arguments of `roci objects`.
#[derive(Debug, Args)]
pub(crate) struct ObjectsArgs {
    /// Files to look into; with `--for`, folders too
    #[arg(value_name = "FILE", required_unless_present = "library")]
    pub(crate) files: Vec<PathBuf>,
    /// Tell which libraries have kernels that run on this chip, such as `gfx1013`
    ///
    /// Folders are searched with all that is below them. Files are put together as libraries: rocBLAS with its Tensile
    /// folder, MIOpen with its databases, torch, llama.cpp and others. Kernels run on the very chip that they are for, and
    /// on those that a generic target covers; kernels for sibling chips do not. Only tables are read, so that gigabytes
    /// take no time. The exit code is 0 if every library has kernels that run, 1 if one has none.
    #[arg(long = "for", value_name = "CHIP", conflicts_with_all = ["library", "extract", "disassemble"])]
    pub(crate) chip: Option<String>,
    /// Look into roci itself: the kernels that it carries for AMD GPUs, one code object a target
    ///
    /// ROCI_DEVICE_TARGETS picks some of the targets.
    #[arg(long)]
    pub(crate) library: bool,
    /// Write each piece of GPU code that is found into this folder; existing files are left alone
    #[arg(long, value_name = "DIR")]
    pub(crate) extract: Option<PathBuf>,
    /// Print the machine code of all functions, or of one kernel, as text
    #[arg(long, value_name = "KERNEL", num_args = 0..=1, require_equals = true, default_missing_value = "")]
    pub(crate) disassemble: Option<String>,
    #[command(flatten)]
    pub(crate) format: FormatArgs,
}

pub(super) const OBJECTS_EXAMPLES: &str = "Examples:
  roci objects /opt/rocm/lib/librocfft.so.0
  roci objects --for gfx1013 /opt/rocm ~/venv       which libraries have kernels for this chip
  roci objects --extract out kernels.hsaco          each piece of code becomes a file
  roci objects --library --extract out              the kernels that roci carries
  roci objects --disassemble=scale kernels.co       one kernel; without a name all functions
  roci objects --json *.so | jq -r '.files[].objects[].target' | sort -u";
