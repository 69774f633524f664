//! Which devices take part.

use std::time::Duration;

use serde_json::Value;

use crate::child::{self, End, Limits};
use crate::cli::DriverArgs;

/// Emulated chips that always take part: what ROCm leaves out, and a new one to compare with.
const EMULATED: [&str; 3] = ["emu://gfx1010", "emu://gfx1013", "emu://gfx1151"];
/// Drivers may compile or map much before they can tell what they have.
const PATIENT: Limits = Limits { run: Duration::from_secs(60), silence: None, death: Duration::from_secs(1) };

/// A device that takes part.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Wanted {
    pub(super) uri: String,
    /// A short name for the column.
    pub(super) label: String,
    /// The longer something takes, the sooner it begins.
    rank: u32,
}

/// Those that were named, or all that there are; and what could not be looked for.
pub(super) fn choose(named: &[String], drivers: &DriverArgs) -> (Vec<Wanted>, Vec<String>) {
    if named.is_empty() {
        // Looking for devices starts drivers, so that it is not done here.
        let (left, output) = child::roci_output(&["devices", "--json"], drivers, PATIENT);
        return match left.end {
            End::Ended(_) => (listed(&output), Vec::new()),
            end => {
                let note = format!("no device can be looked for: the process that does it {}", end.describe());
                let own = ["cpu"].iter().chain(&EMULATED);
                (own.map(|uri| Wanted::new(uri, short(uri), 0)).collect(), vec![note])
            }
        };
    }
    let mut wanted: Vec<Wanted> = Vec::new();
    for uri in named {
        if !wanted.iter().any(|other| other.uri == *uri) {
            wanted.push(Wanted::new(uri, short(uri), 0));
        }
    }
    (wanted, Vec::new())
}

/// In which order devices begin: places in the list.
pub(super) fn order(wanted: &[Wanted]) -> Vec<usize> {
    let mut order: Vec<_> = (0..wanted.len()).collect();
    order.sort_by_key(|index| std::cmp::Reverse(wanted[*index].rank));
    order
}

impl Wanted {
    fn new(uri: &str, label: String, rank: u32) -> Self {
        Self { uri: uri.to_owned(), label, rank }
    }
}

/// A URI without what nobody needs to read.
fn short(uri: &str) -> String {
    uri.strip_prefix("emu://").unwrap_or(uri).replace("://", ":")
}

/// What `roci devices --json` lists: the processor first, then real devices, then emulated ones.
fn listed(output: &str) -> Vec<Wanted> {
    let report: Value = serde_json::from_str(output).unwrap_or_default();
    let mut wanted = Vec::new();
    for driver in report["drivers"].as_array().into_iter().flatten() {
        let scheme = driver["driver"].as_str().unwrap_or_default();
        for (ordinal, device) in driver["devices"].as_array().into_iter().flatten().enumerate() {
            let (Some(uri), Some(kind)) = (device["uri"].as_str(), device["kind"].as_str()) else { continue };
            let (emulated, software) = (kind.contains("emulated"), kind.contains("software"));
            if emulated && !EMULATED.contains(&uri) {
                continue;
            }
            let label = if emulated || uri == scheme { short(uri) } else { format!("{scheme}:{ordinal}") };
            // Drivers that compile on the processor take longest.
            let rank = match () {
                () if software => 3,
                () if emulated => 2,
                () => 1,
            };
            wanted.push((if scheme == "cpu" { 0 } else { 1 + u8::from(emulated) }, Wanted::new(uri, label, rank)));
        }
    }
    wanted.sort_by_key(|(place, _)| *place);
    wanted.into_iter().map(|(_, device)| device).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_device_has_a_short_name_and_slow_ones_begin() {
        let device = |uri: &str, kind: &str| serde_json::json!({"uri": uri, "kind": kind});
        let driver = |name: &str, devices: &[Value]| serde_json::json!({"driver": name, "devices": devices});
        let report = serde_json::json!({"drivers": [
            driver("vulkan", &[device("vulkan://GPU-1", "GPU"), device("vulkan://GPU-2", "software rasteriser")]),
            driver("cpu", &[device("cpu", "CPU")]),
            driver("emu", &[device("emu://gfx1010", "emulated GPU"), device("emu://gfx1012", "emulated GPU")]),
        ]});
        let wanted = listed(&report.to_string());
        let labels: Vec<_> = wanted.iter().map(|device| device.label.as_str()).collect();
        assert_eq!(labels, ["cpu", "vulkan:0", "vulkan:1", "gfx1010"]);
        assert_eq!(order(&wanted), [2, 3, 0, 1]);
        assert!(listed("nonsense").is_empty());
        let (named, _) = choose(&["cpu".into(), "emu://gfx1030".into(), "cpu".into()], &DriverArgs::default());
        assert_eq!(named.iter().map(|one| one.label.as_str()).collect::<Vec<_>>(), ["cpu", "gfx1030"]);
    }
}
