//! Arguments of `matrix`, and of `matrix-probe`, which it starts for each device.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};

use super::{FormatArgs, seconds};
use roci_probe::probes::Group;

/// Parses the name of a group of probes.
fn groups() -> impl TypedValueParser<Value = Group> {
    let value = |(group, name, help): (Group, &'static str, &'static str)| {
        let value = PossibleValue::new(name).help(help);
        if group == Group::Quantized { value.alias("quantised") } else { value }
    };
    let known = PossibleValuesParser::new(Group::ALL.map(value));
    known.try_map(|name| {
        let name = if name == "quantised" { "quantized" } else { &name };
        Group::from_name(name).ok_or("there is no such group")
    })
}

/// Arguments of `roci matrix`.
#[derive(Debug, Args)]
pub(crate) struct MatrixArgs {
    /// Device to test, as `roci devices` prints it; can be given several times (default: all, and
    /// three emulated GPUs)
    #[arg(short, long = "device", value_name = "URI")]
    pub(crate) devices: Vec<String>,
    /// Run probes with this text in their names; can be given several times
    #[arg(long, value_name = "TEXT")]
    pub(crate) only: Vec<String>,
    /// Run the probes of this group; can be given several times
    #[arg(long = "group", value_name = "GROUP", value_parser = groups())]
    pub(crate) groups: Vec<Group>,
    /// List the selected probes without running them
    #[arg(long)]
    pub(crate) list: bool,
    /// SQLite file that stores the results (default: `roci/matrix.sqlite` in XDG_DATA_HOME)
    #[arg(long, value_name = "FILE")]
    pub(crate) database: Option<PathBuf>,
    /// Write the results as Markdown; `-` prints them to standard output instead of the table
    #[arg(long, value_name = "FILE")]
    pub(crate) markdown: Option<PathBuf>,
    /// Write the results as a self-contained HTML page
    #[arg(long, value_name = "FILE")]
    pub(crate) html: Option<PathBuf>,
    /// Seconds that a probe may take before it counts as hung (default: 60)
    #[arg(long, alias = "deadline", value_name = "SECONDS", value_parser = seconds)]
    pub(crate) timeout: Option<Duration>,
    /// Also run probes that fail on purpose, for tests
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
  roci matrix --html matrix.html               a page to share
  roci matrix --json | jq '.results[] | select(.outcome == \"wrong\")'";

/// Arguments of `roci matrix-probe`.
#[derive(Debug, Args)]
pub(crate) struct MatrixProbeArgs {
    /// Device to test
    #[arg(value_name = "URI")]
    pub(crate) device: String,
    /// Probes to run, by their full names
    #[arg(value_name = "PROBE")]
    pub(crate) probes: Vec<String>,
    /// Seconds that one submission may run before the device counts as lost
    #[arg(long, value_name = "SECONDS", value_parser = seconds)]
    pub(crate) timeout: Option<Duration>,
    /// Bytes of memory that this process may allocate
    #[arg(long, value_name = "BYTES")]
    pub(crate) memory: Option<u64>,
}

pub(super) const MATRIX_PROBE_EXAMPLES: &str = "Example:
  roci matrix-probe cpu mm softmax";
