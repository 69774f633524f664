//! Arguments of the verbs that use devices: `demo`, `devices` and `verify-route`.

use std::time::Duration;

use clap::Args;

use super::{FormatArgs, seconds};

/// Arguments of `roci demo`.
#[derive(Debug, Args)]
pub(crate) struct DemoArgs {
    /// Kernels to run, by the start of their names; all without it
    #[arg(value_name = "KERNEL")]
    pub(crate) kernels: Vec<String>,
    /// Device to run on, as `roci devices` prints it; can be given several times
    ///
    /// `auto` takes the best real device and says which and why. Without this option ROCI_DEVICE counts, and without
    /// that every device of this machine is used.
    #[arg(short, long = "device", value_name = "URI")]
    pub(crate) devices: Vec<String>,
    /// Seconds a kernel may run before its device counts as lost (default: ROCI_TIMEOUT, or 30)
    #[arg(long, value_name = "SECONDS", value_parser = seconds)]
    pub(crate) timeout: Option<Duration>,
    /// Small problems: verifies as much, says little about speed
    #[arg(long)]
    pub(crate) quick: bool,
    /// Also show when kernels and copies ran, by the device's own clock
    ///
    /// For each of them how often it ran, how long in all and on average, and which share of the device's time it took.
    /// With `--json` every single run is there, under `profile`.
    #[arg(long)]
    pub(crate) profile: bool,
    #[command(flatten)]
    pub(crate) format: FormatArgs,
}

pub(super) const DEMO_EXAMPLES: &str = "Examples:
  roci demo                        every kernel on every device
  roci demo matmul softmax         only kernels whose names start so
  roci demo --device cpu?threads=1 --device auto
  roci demo --profile matmul       with the time that the device itself took
  roci demo --json | jq '.results[] | select(.status != \"ok\")'";

/// Arguments of `roci devices`.
#[derive(Debug, Args)]
pub(crate) struct DevicesArgs {
    /// Also list devices that compute nothing (the null driver, for tests)
    #[arg(long)]
    pub(crate) all: bool,
    /// Ask this driver alone: amdgpu, vulkan, opencl, cpu, emu; can be given several times
    #[arg(long = "driver", value_name = "NAME")]
    pub(crate) drivers: Vec<String>,
    #[command(flatten)]
    pub(crate) format: FormatArgs,
}

pub(super) const DEVICES_EXAMPLES: &str = "Examples:
  roci devices                     a table
  roci devices --json | jq -r '.drivers[].devices[].uri'";

/// Arguments of `roci verify-route`.
#[derive(Debug, Args)]
pub(crate) struct VerifyRouteArgs {
    /// Devices to check; with `--in-children`, all that drivers find if there are none
    #[arg(value_name = "URI", required_unless_present = "in_children")]
    pub(crate) devices: Vec<String>,
    /// Check each device in a process of its own, as the doctor does
    #[arg(long)]
    pub(crate) in_children: bool,
    /// Emulated devices too, where none are named
    #[arg(long, requires = "in_children")]
    pub(crate) emulated: bool,
    /// Seconds that such a process may take
    #[arg(long, value_name = "SECONDS", value_parser = seconds)]
    pub(crate) deadline: Option<Duration>,
    /// Go wrong on purpose, for tests
    #[cfg(debug_assertions)]
    #[arg(long, value_enum)]
    pub(crate) fault: Option<crate::commands::verify::Fault>,
    #[command(flatten)]
    pub(crate) format: FormatArgs,
}

pub(super) const VERIFY_ROUTE_EXAMPLES: &str = "Example:
  roci verify-route vulkan:0";
