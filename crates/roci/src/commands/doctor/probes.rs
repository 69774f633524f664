//! Lists the devices of drivers in child processes, since a driver can crash or hang.

use std::time::Duration;

use roci_doctor::{Probe, ProbedDevice, Probes};
use roci_probe::child::{Exit, Launcher, Limits};
use roci_probe::listing::{self, ListedDevice};

use crate::child;
use crate::cli::DriverArgs;

/// Time limit of Vulkan, which is always queried.
const VULKAN_TIMEOUT: Duration = Duration::from_secs(4);
/// Time limit of HSA and OpenCL, which may compile or map memory at startup.
const DEEP_TIMEOUT: Duration = Duration::from_secs(30);
/// How long a killed process may take to exit before it is abandoned.
const KILL_TIMEOUT: Duration = Duration::from_millis(500);

/// Queries Vulkan and, with `deep`, OpenCL and HSA.
pub(super) fn query(deep: bool, drivers: &DriverArgs) -> Probes {
    let launcher = child::launcher(drivers);
    let probe = |driver, timeout| probe(driver, &launcher, timeout);
    let vulkan = Some(probe("vulkan", VULKAN_TIMEOUT));
    let opencl = deep.then(|| probe("opencl", DEEP_TIMEOUT));
    let hsa = deep.then(|| probe("amdgpu", DEEP_TIMEOUT));
    Probes { vulkan, opencl, hsa }
}

fn probe(driver: &str, launcher: &Launcher<'_>, timeout: Duration) -> Probe {
    let limits = Limits { total: timeout, silence: None, kill: KILL_TIMEOUT };
    let (child, output) = launcher.output(&["devices", "--json", "--driver", driver], limits);
    match child.exit {
        Exit::Code(_) => parse(&output),
        exit => Probe { error: Some(format!("it {}", exit.describe())), devices: Vec::new() },
    }
}

/// Parses the output of `roci devices --json`.
fn parse(output: &str) -> Probe {
    let Ok(drivers) = listing::parse(output) else {
        return Probe { error: Some("its output is not JSON of `roci devices`".into()), devices: Vec::new() };
    };
    let mut probe = Probe::default();
    for driver in drivers {
        probe.error = driver.error.or(probe.error);
        probe.devices.extend(driver.devices.into_iter().map(device));
    }
    probe
}

fn device(device: ListedDevice) -> ProbedDevice {
    ProbedDevice {
        gpu: device.is_gpu(),
        name: device.name,
        pci: device.pci,
        runtime: device.runtime,
        target: device.target,
        memory: device.memory_bytes,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn output_of_devices_is_parsed() {
        let probe = parse(
            r#"{"drivers":[{"driver":"vulkan","error":null,"devices":[{"name":"RX","pci":"0000:03:00.0",
            "kind":"discrete GPU","memory_bytes":8,"runtime":"radv 25"}]}]}"#,
        );
        assert!(probe.error.is_none() && probe.devices[0].gpu);
        assert_eq!(probe.devices[0].pci.as_deref(), Some("0000:03:00.0"));
        let refused = parse(r#"{"drivers":[{"driver":"vulkan","error":"there is no loader","devices":[]}]}"#);
        assert_eq!(refused.error.as_deref(), Some("there is no loader"));
        assert!(parse("").error.is_some());
    }
}
