//! Asks drivers for their devices, each in a process of its own: a driver can crash or hang, and the doctor must not.

use std::time::Duration;

use roci_doctor::{Probe, Probes, Seen};
use serde_json::Value;

use crate::child::{self, End, Limits};
use crate::cli::DriverArgs;

/// Vulkan is asked always, so that nobody may wait long for it.
const QUICK: Duration = Duration::from_secs(4);
/// HSA and OpenCL may compile or map much.
const PATIENT: Duration = Duration::from_secs(30);
/// One that cannot even be killed is left alone.
const DEATH: Duration = Duration::from_millis(500);

/// Asks Vulkan, and with `deep` OpenCL and HSA.
pub(super) fn ask(deep: bool, drivers: &DriverArgs) -> Probes {
    let probe = |driver, limit| probe(driver, drivers, limit);
    let vulkan = Some(probe("vulkan", QUICK));
    let opencl = deep.then(|| probe("opencl", PATIENT));
    let hsa = deep.then(|| probe("amdgpu", PATIENT));
    Probes { vulkan, opencl, hsa }
}

fn probe(driver: &str, drivers: &DriverArgs, limit: Duration) -> Probe {
    let limits = Limits { run: limit, silence: None, death: DEATH };
    let (left, output) = child::roci_output(&["devices", "--json", "--driver", driver], drivers, limits);
    match left.end {
        End::Ended(_) => read(&output),
        end => Probe { error: Some(format!("it {}", end.describe())), devices: Vec::new() },
    }
}

/// Reads what `roci devices --json` prints.
fn read(output: &str) -> Probe {
    let Ok(report) = serde_json::from_str::<Value>(output) else {
        return Probe { error: Some("it printed nothing that can be read".into()), devices: Vec::new() };
    };
    let mut probe = Probe::default();
    for driver in report["drivers"].as_array().into_iter().flatten() {
        probe.error = driver["error"].as_str().map(str::to_owned).or(probe.error);
        probe.devices.extend(driver["devices"].as_array().into_iter().flatten().map(seen));
    }
    probe
}

fn seen(device: &Value) -> Seen {
    let text = |name: &str| device[name].as_str().map(str::to_owned);
    Seen {
        name: text("name").unwrap_or_default(),
        pci: text("pci"),
        runtime: text("runtime"),
        target: text("target"),
        memory: device["memory_bytes"].as_u64().unwrap_or(0),
        gpu: text("kind").is_some_and(|kind| kind.contains("GPU")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_devices_prints_is_read() {
        let probe = read(
            r#"{"drivers":[{"driver":"vulkan","error":null,"devices":[{"name":"RX","pci":"0000:03:00.0",
            "kind":"discrete GPU","memory_bytes":8,"runtime":"radv 25"}]}]}"#,
        );
        assert!(probe.error.is_none() && probe.devices[0].gpu);
        assert_eq!(probe.devices[0].pci.as_deref(), Some("0000:03:00.0"));
        let refused = read(r#"{"drivers":[{"driver":"vulkan","error":"there is no loader","devices":[]}]}"#);
        assert_eq!(refused.error.as_deref(), Some("there is no loader"));
        assert!(read("").error.is_some());
    }
}
