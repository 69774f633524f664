//! The results of a run, for all output formats.

use roci_probe::{Outcome, Verdict};
use serde::Serialize;

use super::error::Error;

/// All results of a run. Serialized, it is the output of `roci matrix --json`.
#[derive(Debug, Serialize)]
#[non_exhaustive]
pub struct Report {
    /// Name of the JSON schema.
    pub schema: &'static str,
    /// Version of the JSON schema.
    pub version: u32,
    /// Version of roci.
    pub roci: &'static str,
    /// Start of the run, in seconds since 1970.
    pub started: u64,
    /// Total duration.
    pub seconds: f64,
    /// Whether Ctrl-C interrupted the run.
    pub interrupted: bool,
    /// Devices, in the order of the table.
    pub devices: Vec<DeviceReport>,
    /// Probes, in the order of the table.
    pub probes: Vec<ProbeReport>,
    /// Results in the order in which the probes ended.
    pub results: Vec<ProbeResult>,
    /// Outcomes that differ from the last run.
    pub changes: Vec<OutcomeChange>,
}

/// A device of the run.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct DeviceReport {
    /// URI that opens it.
    pub uri: String,
    /// Short name for tables.
    pub label: String,
    /// Name that the driver reports; null if the device was not opened.
    pub name: Option<String>,
    /// Kind of device; null if it was not opened.
    pub kind: Option<String>,
    /// The driver's runtime with its version.
    pub driver: Option<String>,
    /// Identity of the device across runs.
    pub identity: Option<String>,
    /// Why the device could not be used; null if it could.
    pub error: Option<String>,
    /// Whether the process died while opening it.
    pub died: bool,
}

/// A probe of the run.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct ProbeReport {
    /// Name of its group.
    pub group: String,
    /// Unique name.
    pub name: String,
}

/// The outcome of a probe on a device.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct ProbeResult {
    /// The device's URI.
    pub device: String,
    /// Name of the probe.
    pub probe: String,
    /// Outcome and detail.
    #[serde(flatten)]
    pub verdict: Verdict,
    /// Duration of the probe.
    pub seconds: f64,
}

/// A probe whose outcome differs from the last run.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct OutcomeChange {
    /// The device's URI.
    pub device: String,
    /// Name of the probe.
    pub probe: String,
    /// Outcome of the last run.
    pub from: Outcome,
    /// Outcome of this run.
    pub to: Outcome,
    /// Driver version of the last run; null if unchanged.
    pub driver_before: Option<String>,
    /// Start of the last run, in seconds since 1970.
    pub since: Option<i64>,
}

/// Probes that a device does not support for the same reason.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct UnsupportedProbes<'a> {
    /// Label of the device.
    pub device: &'a str,
    /// The reason that the device or the runtime gives.
    pub reason: &'a str,
    /// Names of the probes.
    pub probes: Vec<&'a str>,
}

impl Report {
    /// The outcome of a probe on a device.
    pub fn result(&self, device: &DeviceReport, probe: &ProbeReport) -> Option<&ProbeResult> {
        self.results.iter().find(|result| result.device == device.uri && result.probe == probe.name)
    }

    /// Broken and skipped probes, by device.
    pub fn failures(&self) -> impl Iterator<Item = (&DeviceReport, &ProbeResult)> {
        self.devices.iter().flat_map(|device| {
            let failed = |result: &&ProbeResult| {
                let outcome = result.verdict.outcome;
                result.device == device.uri && (outcome.is_bad() || outcome == Outcome::NotTried)
            };
            self.results.iter().filter(failed).map(move |result| (device, result))
        })
    }

    /// Number of probes per outcome, without zeros.
    pub fn counts(&self, device: &DeviceReport) -> Vec<(Outcome, usize)> {
        let own = || self.results.iter().filter(|result| result.device == device.uri);
        let count = |outcome| own().filter(|result| result.verdict.outcome == outcome).count();
        let counted = Outcome::ALL.iter().rev().map(|outcome| (*outcome, count(*outcome)));
        counted.filter(|(_, count)| *count > 0).collect()
    }

    /// Probes by group, in order.
    pub fn groups(&self) -> Vec<(&str, Vec<&ProbeReport>)> {
        let mut groups: Vec<(&str, Vec<&ProbeReport>)> = Vec::new();
        for probe in &self.probes {
            match groups.last_mut().filter(|(name, _)| *name == probe.group) {
                Some((_, probes)) => probes.push(probe),
                None => groups.push((&probe.group, vec![probe])),
            }
        }
        groups
    }

    /// Unsupported probes, by device and reason.
    pub fn refusals(&self) -> Vec<UnsupportedProbes<'_>> {
        let mut refusals: Vec<UnsupportedProbes<'_>> = Vec::new();
        for device in &self.devices {
            let own =
                |result: &&ProbeResult| result.device == device.uri && result.verdict.outcome == Outcome::Unsupported;
            for result in self.results.iter().filter(own) {
                let reason = result.verdict.detail.as_deref().unwrap_or_default();
                let same = refusals.iter_mut().find(|other| other.device == device.label && other.reason == reason);
                match same {
                    Some(refusal) => refusal.probes.push(&result.probe),
                    None => {
                        refusals.push(UnsupportedProbes { device: &device.label, reason, probes: vec![&result.probe] })
                    }
                }
            }
        }
        refusals
    }

    /// The label of the device with this URI.
    pub fn label<'a>(&'a self, uri: &'a str) -> &'a str {
        self.devices.iter().find(|device| device.uri == uri).map_or(uri, |device| &device.label)
    }

    /// Whether a probe works without a kernel of its own, which tables mark by a star.
    pub fn has_starred_results(&self) -> bool {
        self.results.iter().any(|result| result.verdict.mark().ends_with('*'))
    }

    /// Whether a probe failed or was skipped, or a process died while opening a device.
    /// Unsupported probes are not failures.
    pub fn has_failures(&self) -> bool {
        self.failures().next().is_some() || self.devices.iter().any(|device| device.died)
    }

    /// Whether a device could not be opened. A device whose process died is a failure instead.
    pub fn has_unavailable_device(&self) -> bool {
        self.devices.iter().any(|device| device.error.is_some() && !device.died)
    }

    /// An error if no device could be opened.
    pub fn check_devices(&self) -> Result<(), Error> {
        let unavailable = |device: &&DeviceReport| device.error.is_some() && !device.died;
        match self.devices.first().and_then(|device| device.error.as_deref()) {
            Some(first) if self.devices.iter().all(|device| unavailable(&device)) => Err(Error::no_device(first)),
            _ => Ok(()),
        }
    }
}

impl OutcomeChange {
    /// The change as one line of text.
    pub fn describe(&self) -> String {
        let driver = self.driver_before.as_ref().map(|driver| format!(" (before: {driver})")).unwrap_or_default();
        format!("{}: {} -> {}{driver}", self.probe, self.from.name(), self.to.name())
    }
}

/// A report with two devices, one that cannot be opened, and every kind of result.
#[cfg(test)]
pub(crate) fn example() -> Report {
    let device = |uri: &str, label: &str, error: Option<&str>| DeviceReport {
        uri: uri.into(),
        label: label.into(),
        name: Some("Card <1> | \"two\"".into()),
        kind: Some("GPU".into()),
        driver: Some("Mesa & 25".into()),
        identity: Some(format!("{uri} card")),
        error: error.map(str::to_owned),
        died: false,
    };
    let probe = |group: &str, name: &str| ProbeReport { group: group.into(), name: name.into() };
    let result = |device: &str, probe: &str, verdict| ProbeResult {
        device: device.into(),
        probe: probe.into(),
        verdict,
        seconds: 0.25,
    };
    let wrong = Verdict { outcome: Outcome::Wrong, detail: Some("got <nan> | want 1".into()), error_ratio: Some(12.0) };
    Report {
        schema: "roci.matrix",
        version: 2,
        roci: "0.1.0",
        started: 1_794_873_600,
        seconds: 61.5,
        interrupted: false,
        devices: vec![
            device("cpu", "cpu", None),
            device("vulkan://1", "vulkan:0", None),
            device("x", "x", Some("gone")),
        ],
        probes: vec![probe("casts", "cast f32 to f16"), probe("products", "a<b>"), probe("products", "mm")],
        results: vec![
            result("cpu", "cast f32 to f16", Verdict::works()),
            result("cpu", "a<b>", Verdict::new(Outcome::Works, "no kernel")),
            result("cpu", "mm", Verdict::works()),
            result("vulkan://1", "cast f32 to f16", Verdict::new(Outcome::Unsupported, "no f16")),
            result("vulkan://1", "a<b>", wrong),
            result("vulkan://1", "mm", Verdict::new(Outcome::Hangs, "no response within 60 s")),
        ],
        changes: vec![OutcomeChange {
            device: "vulkan://1".into(),
            probe: "mm".into(),
            from: Outcome::Works,
            to: Outcome::Hangs,
            driver_before: Some("Mesa 24".into()),
            since: Some(1_794_000_000),
        }],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn failures_counts_and_groups() {
        let report = example();
        let failures: Vec<_> = report.failures().map(|(device, result)| (&*device.label, &*result.probe)).collect();
        assert_eq!(failures, [("vulkan:0", "a<b>"), ("vulkan:0", "mm")]);
        assert_eq!(report.counts(&report.devices[0]), [(Outcome::Works, 3)]);
        let groups: Vec<_> = report.groups().into_iter().map(|(name, probes)| (name, probes.len())).collect();
        assert_eq!(groups, [("casts", 1), ("products", 2)]);
        let refusal = UnsupportedProbes { device: "vulkan:0", reason: "no f16", probes: vec!["cast f32 to f16"] };
        assert_eq!(report.refusals(), [refusal]);
        assert_eq!(report.changes[0].describe(), "mm: works -> hangs (before: Mesa 24)");
    }

    #[test]
    fn unsupported_probes_are_not_failures_and_unavailable_devices_are_reported() {
        let mut report = example();
        assert!(report.has_failures() && report.has_unavailable_device());
        report.results.retain(|result| !result.verdict.outcome.is_bad());
        assert!(!report.has_failures() && report.check_devices().is_ok());
        report.devices.drain(..2);
        assert_eq!(report.check_devices().expect_err("no device is left").to_string(), "gone");
        report.devices[0].died = true;
        assert!(report.has_failures() && !report.has_unavailable_device() && report.check_devices().is_ok());
    }
}
