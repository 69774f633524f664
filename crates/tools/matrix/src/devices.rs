//! Selects the devices of a run.

use std::time::Duration;

use roci_probe::child::{Exit, Launcher, Limits};
use roci_probe::listing;

/// Emulated chips that are always included: two that ROCm does not support, and a recent one for
/// comparison.
const EMULATED: [&str; 3] = ["emu://gfx1010", "emu://gfx1013", "emu://gfx1151"];
/// Time limits of the enumeration: drivers may compile or map memory first.
const ENUMERATION_LIMITS: Limits =
    Limits { total: Duration::from_secs(60), silence: None, kill: Duration::from_secs(1) };

/// A device that `roci matrix` tests.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TestDevice {
    /// URI that opens it.
    pub uri: String,
    /// Short name for tables.
    pub label: String,
    /// Expected run time: devices with a higher rank start first.
    rank: u32,
}

/// The devices of a run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct DeviceSelection {
    /// In the order of the table.
    pub devices: Vec<TestDevice>,
    /// Why devices could not be enumerated.
    pub note: Option<String>,
}

impl DeviceSelection {
    /// The devices with these URIs, each once; or all devices if there are none.
    pub fn new(uris: &[String], launcher: &Launcher<'_>) -> Self {
        if uris.is_empty() {
            return Self::all(launcher);
        }
        let mut devices: Vec<TestDevice> = Vec::new();
        for uri in uris {
            if !devices.iter().any(|other| other.uri == *uri) {
                devices.push(TestDevice::new(uri, short(uri), 0));
            }
        }
        Self { devices, note: None }
    }

    /// All devices. Enumeration initializes drivers, so it runs in a child process. If that fails,
    /// only the CPU and emulated chips are tested.
    fn all(launcher: &Launcher<'_>) -> Self {
        let (child, output) = launcher.output(&["devices", "--json"], ENUMERATION_LIMITS);
        match child.exit {
            Exit::Code(_) => Self { devices: parse(&output), note: None },
            exit => {
                let own = ["cpu"].iter().chain(&EMULATED);
                let note = format!("cannot list devices: the process that enumerates them {}", exit.describe());
                Self { devices: own.map(|uri| TestDevice::new(uri, short(uri), 0)).collect(), note: Some(note) }
            }
        }
    }
}

/// The start order of devices as indices, slowest first.
pub(crate) fn start_order(devices: &[TestDevice]) -> Vec<usize> {
    let mut order: Vec<_> = (0..devices.len()).collect();
    order.sort_by_key(|index| std::cmp::Reverse(devices[*index].rank));
    order
}

impl TestDevice {
    fn new(uri: &str, label: String, rank: u32) -> Self {
        Self { uri: uri.to_owned(), label, rank }
    }
}

/// Shortens a URI for tables.
fn short(uri: &str) -> String {
    uri.strip_prefix("emu://").unwrap_or(uri).replace("://", ":")
}

/// The devices of `roci devices --json`: the CPU first, then real devices, then emulated ones.
fn parse(output: &str) -> Vec<TestDevice> {
    let mut devices = Vec::new();
    for driver in listing::parse(output).unwrap_or_default() {
        for (ordinal, device) in driver.devices.iter().enumerate() {
            let (uri, emulated) = (device.uri.as_str(), device.is_emulated());
            if emulated && !EMULATED.contains(&uri) {
                continue;
            }
            let is_short = emulated || uri == driver.driver;
            let label = if is_short { short(uri) } else { format!("{}:{ordinal}", driver.driver) };
            // Software rasterizers are slowest.
            let rank = match () {
                () if device.is_software() => 3,
                () if emulated => 2,
                () => 1,
            };
            let position = if driver.driver == "cpu" { 0 } else { 1 + u8::from(emulated) };
            devices.push((position, TestDevice::new(uri, label, rank)));
        }
    }
    devices.sort_by_key(|(position, _)| *position);
    devices.into_iter().map(|(_, device)| device).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    #[test]
    fn every_device_has_a_short_name_and_slow_ones_start_first() {
        let device = |uri: &str, kind: &str| json!({"uri": uri, "kind": kind});
        let driver = |name: &str, devices: &[Value]| json!({"driver": name, "devices": devices});
        let report = json!({"drivers": [
            driver("vulkan", &[device("vulkan://GPU-1", "GPU"), device("vulkan://GPU-2", "software rasterizer")]),
            driver("cpu", &[device("cpu", "CPU")]),
            driver("emu", &[device("emu://gfx1010", "emulated GPU"), device("emu://gfx1012", "emulated GPU")]),
        ]});
        let devices = parse(&report.to_string());
        let labels: Vec<_> = devices.iter().map(|device| device.label.as_str()).collect();
        assert_eq!(labels, ["cpu", "vulkan:0", "vulkan:1", "gfx1010"]);
        assert_eq!(start_order(&devices), [2, 3, 0, 1]);
        assert!(parse("nonsense").is_empty());
        let launcher = Launcher::new(Vec::new(), &|| false);
        let named = DeviceSelection::new(&["cpu".into(), "emu://gfx1030".into(), "cpu".into()], &launcher);
        assert_eq!(named.devices.iter().map(|one| one.label.as_str()).collect::<Vec<_>>(), ["cpu", "gfx1030"]);
    }
}
