//! Arguments of `matrix`, and of the verb that it runs itself by.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;

use super::{FormatArgs, seconds};
use crate::commands::matrix::Group;

/// Arguments of `roci matrix`.
#[derive(Debug, Args)]
pub(crate) struct MatrixArgs {
    /// Device to try, as `roci devices` prints it; can be given several times (default: all, and three emulated GPUs)
    #[arg(short, long = "device", value_name = "URI")]
    pub(crate) devices: Vec<String>,
    /// Try what has this in its name; can be given several times
    #[arg(long, value_name = "TEXT")]
    pub(crate) only: Vec<String>,
    /// Try this group; can be given several times
    #[arg(long = "group", value_name = "GROUP", value_enum)]
    pub(crate) groups: Vec<Group>,
    /// List what would be tried
    #[arg(long)]
    pub(crate) list: bool,
    /// File that keeps the results (default: `roci/matrix.sqlite` in XDG_DATA_HOME)
    #[arg(long, value_name = "FILE")]
    pub(crate) database: Option<PathBuf>,
    /// Write the matrix as Markdown to a file; `-` prints it instead of the table
    #[arg(long, value_name = "FILE")]
    pub(crate) markdown: Option<PathBuf>,
    /// Write the matrix as a page of its own
    #[arg(long, value_name = "FILE")]
    pub(crate) html: Option<PathBuf>,
    /// Seconds that a probe may take before it counts as hanging (default: 60)
    #[arg(long, value_name = "SECONDS", value_parser = seconds)]
    pub(crate) deadline: Option<Duration>,
    /// Also try what goes wrong on purpose, for tests
    #[cfg(debug_assertions)]
    #[arg(long, hide = true)]
    pub(crate) faults: bool,
    #[command(flatten)]
    pub(crate) format: FormatArgs,
}

pub(super) const MATRIX_EXAMPLES: &str = "Examples:
  roci matrix                                  everything on every device
  roci matrix --device emu://gfx1010 --group convolution
  roci matrix --only conv2d --only softmax --markdown -
  roci matrix --html matrix.html               a page to look at and to show
  roci matrix --json | jq '.results[] | select(.outcome == \"wrong\")'";

/// Arguments of `roci matrix-probe`.
#[derive(Debug, Args)]
pub(crate) struct MatrixProbeArgs {
    /// The device
    #[arg(value_name = "URI")]
    pub(crate) device: String,
    /// What to try, by whole names
    #[arg(value_name = "PROBE")]
    pub(crate) probes: Vec<String>,
    /// Seconds that the device may work before it counts as lost
    #[arg(long, value_name = "SECONDS", value_parser = seconds)]
    pub(crate) timeout: Option<Duration>,
    /// Bytes of memory that this process may take
    #[arg(long, value_name = "BYTES")]
    pub(crate) memory: Option<u64>,
}

pub(super) const MATRIX_PROBE_EXAMPLES: &str = "Example:
  roci matrix-probe cpu mm softmax";
