//! Arguments of the verbs that run kernels or list devices: `demo`, `devices` and `verify-route`.

use std::time::Duration;

use clap::Args;
#[cfg(debug_assertions)]
use clap::builder::{PossibleValuesParser, TypedValueParser};
#[cfg(debug_assertions)]
use roci_probe::verify::RouteFault;

use super::{FormatArgs, seconds};

/// Arguments of `roci demo`.
#[derive(Debug, Args)]
pub(crate) struct DemoArgs {
    /// Kernels to run, by the start of their names (default: all)
    #[arg(value_name = "KERNEL")]
    pub(crate) kernels: Vec<String>,
    /// Device to run on, as `roci devices` prints it; can be given several times
    ///
    /// `auto` selects the best real device and prints which and why. The default is ROCI_DEVICE, or
    /// every device of this machine if that is unset.
    #[arg(short, long = "device", value_name = "URI")]
    pub(crate) devices: Vec<String>,
    /// Seconds that a kernel may run before its device counts as lost (default: ROCI_TIMEOUT, or
    /// 30)
    #[arg(long, value_name = "SECONDS", value_parser = seconds)]
    pub(crate) timeout: Option<Duration>,
    /// Use small problem sizes: the same checks, but timings that mean little
    #[arg(long)]
    pub(crate) quick: bool,
    /// Also measure kernels and copies with the device's timestamps
    ///
    /// Prints for each kernel the number of runs, the total and the mean time, and its share of the
    /// device's busy time. With `--json`, `profile` holds every single run.
    #[arg(long)]
    pub(crate) profile: bool,
    #[command(flatten)]
    pub(crate) format: FormatArgs,
}

pub(super) const DEMO_EXAMPLES: &str = "Examples:
  roci demo                        every kernel on every device
  roci demo matmul softmax         only kernels with names that start so
  roci demo --device cpu?threads=1 --device auto
  roci demo --profile matmul       with times by the device's own clock
  roci demo --json | jq '.results[] | select(.status != \"ok\")'";

/// Arguments of `roci devices`.
#[derive(Debug, Args)]
pub(crate) struct DevicesArgs {
    /// Also list null devices, which compute nothing and are for tests
    #[arg(long)]
    pub(crate) all: bool,
    /// List only devices of this driver: amdgpu, vulkan, opencl, cpu, emu; can be given several
    /// times
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
    /// Devices to check; with `--in-children`, the default is every device that drivers find
    #[arg(value_name = "URI", required_unless_present = "in_children")]
    pub(crate) devices: Vec<String>,
    /// Check each device in its own process, as `roci doctor` does
    #[arg(long)]
    pub(crate) in_children: bool,
    /// Also check emulated devices if no device is named
    #[arg(long, requires = "in_children")]
    pub(crate) emulated: bool,
    /// Seconds that the process of one device may take
    #[arg(long, alias = "deadline", value_name = "SECONDS", value_parser = seconds)]
    pub(crate) timeout: Option<Duration>,
    /// Fail on purpose, for tests
    #[cfg(debug_assertions)]
    #[arg(long, value_name = "FAULT", value_parser = faults())]
    pub(crate) fault: Option<RouteFault>,
    #[command(flatten)]
    pub(crate) format: FormatArgs,
}

/// Parses the name of a fault.
#[cfg(debug_assertions)]
fn faults() -> impl TypedValueParser<Value = RouteFault> {
    let known = PossibleValuesParser::new(RouteFault::ALL.map(RouteFault::name));
    known.try_map(|name| RouteFault::ALL.into_iter().find(|fault| fault.name() == name).ok_or("there is no such fault"))
}

pub(super) const VERIFY_ROUTE_EXAMPLES: &str = "Example:
  roci verify-route vulkan:0";
