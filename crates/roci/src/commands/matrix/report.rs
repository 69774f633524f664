//! What a run found: the same for every form of output.

use serde::Serialize;

use super::outcome::{Outcome, Verdict};

/// The whole.
#[derive(Debug, Serialize)]
pub(crate) struct Report {
    pub(crate) schema: &'static str,
    pub(crate) version: u32,
    /// The version of roci.
    pub(crate) roci: &'static str,
    /// Seconds since 1970.
    pub(crate) started: u64,
    /// How long all took.
    pub(crate) seconds: f64,
    /// Whether Ctrl-C came before the end.
    pub(crate) interrupted: bool,
    pub(crate) devices: Vec<DeviceReport>,
    /// What was tried, in the order of the table.
    pub(crate) probes: Vec<ProbeReport>,
    pub(crate) results: Vec<Finding>,
    /// What is otherwise than the last time.
    pub(crate) changes: Vec<Change>,
}

/// A device that took part.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct DeviceReport {
    pub(crate) uri: String,
    /// A short name for the column.
    pub(crate) label: String,
    pub(crate) name: Option<String>,
    pub(crate) kind: Option<String>,
    /// What the driver stands on, with its version.
    pub(crate) driver: Option<String>,
    /// What stays the same from run to run.
    pub(crate) identity: Option<String>,
    /// Why it could not be used.
    pub(crate) error: Option<String>,
    /// Whether a process died of opening it.
    pub(crate) died: bool,
}

/// Something that was tried.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct ProbeReport {
    pub(crate) group: String,
    pub(crate) name: String,
}

/// How a probe ended on a device.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct Finding {
    /// The device's URI.
    pub(crate) device: String,
    pub(crate) probe: String,
    #[serde(flatten)]
    pub(crate) verdict: Verdict,
    pub(crate) seconds: f64,
}

/// A probe that ended otherwise than the last time.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct Change {
    /// The device's URI.
    pub(crate) device: String,
    pub(crate) probe: String,
    pub(crate) from: Outcome,
    pub(crate) to: Outcome,
    /// The driver of the last time, where it was another.
    pub(crate) driver_before: Option<String>,
    /// When that was, in seconds since 1970.
    pub(crate) since: Option<i64>,
}

impl Report {
    /// How a probe ended on a device.
    pub(crate) fn finding(&self, device: &DeviceReport, probe: &ProbeReport) -> Option<&Finding> {
        self.results.iter().find(|finding| finding.device == device.uri && finding.probe == probe.name)
    }

    /// What is broken or was left out, device by device.
    pub(crate) fn failures(&self) -> impl Iterator<Item = (&DeviceReport, &Finding)> {
        let of = |device: &DeviceReport| device.uri.clone();
        self.devices.iter().flat_map(move |device| {
            let uri = of(device);
            let bad = move |finding: &&Finding| {
                let outcome = finding.verdict.outcome;
                finding.device == uri && (outcome.is_bad() || outcome == Outcome::NotTried)
            };
            self.results.iter().filter(bad).map(move |finding| (device, finding))
        })
    }

    /// How often a device had each outcome; those that it never had are left out.
    pub(crate) fn counts(&self, device: &DeviceReport) -> Vec<(Outcome, usize)> {
        let own = || self.results.iter().filter(|finding| finding.device == device.uri);
        let count = |outcome| own().filter(|finding| finding.verdict.outcome == outcome).count();
        let counted = Outcome::ALL.iter().rev().map(|outcome| (*outcome, count(*outcome)));
        counted.filter(|(_, count)| *count > 0).collect()
    }

    /// The groups in their order, with the probes of each.
    pub(crate) fn groups(&self) -> Vec<(&str, Vec<&ProbeReport>)> {
        let mut groups: Vec<(&str, Vec<&ProbeReport>)> = Vec::new();
        for probe in &self.probes {
            match groups.last_mut().filter(|(name, _)| *name == probe.group) {
                Some((_, probes)) => probes.push(probe),
                None => groups.push((&probe.group, vec![probe])),
            }
        }
        groups
    }

    /// Reasons for what devices do not support, each with the probes that it holds for.
    pub(crate) fn refusals(&self) -> Vec<(String, String, Vec<&str>)> {
        let mut refusals: Vec<(String, String, Vec<&str>)> = Vec::new();
        for device in &self.devices {
            let own =
                |finding: &&Finding| finding.device == device.uri && finding.verdict.outcome == Outcome::Unsupported;
            for finding in self.results.iter().filter(own) {
                let reason = finding.verdict.detail.clone().unwrap_or_default();
                let same = refusals.iter_mut().find(|(label, why, _)| *label == device.label && *why == reason);
                match same {
                    Some((_, _, probes)) => probes.push(&finding.probe),
                    None => refusals.push((device.label.clone(), reason, vec![&finding.probe])),
                }
            }
        }
        refusals
    }
}

impl Change {
    /// In a line, behind the name of the device.
    pub(crate) fn describe(&self) -> String {
        let driver = self.driver_before.as_ref().map(|driver| format!(" (before: {driver})")).unwrap_or_default();
        format!("{}: {} -> {}{driver}", self.probe, self.from.word(), self.to.word())
    }
}

/// A report for tests of what is made of it.
#[cfg(test)]
pub(super) fn example() -> Report {
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
    let finding = |device: &str, probe: &str, verdict| Finding {
        device: device.into(),
        probe: probe.into(),
        verdict,
        seconds: 0.25,
    };
    let wrong = Verdict { outcome: Outcome::Wrong, detail: Some("got <nan> | want 1".into()), excess: Some(12.0) };
    Report {
        schema: "roci.matrix",
        version: 1,
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
            finding("cpu", "cast f32 to f16", Verdict::works()),
            finding("cpu", "a<b>", Verdict::new(Outcome::Works, "no kernel")),
            finding("cpu", "mm", Verdict::works()),
            finding("vulkan://1", "cast f32 to f16", Verdict::new(Outcome::Unsupported, "no f16")),
            finding("vulkan://1", "a<b>", wrong),
            finding("vulkan://1", "mm", Verdict::new(Outcome::Hangs, "no word within 60 s")),
        ],
        changes: vec![Change {
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
        let failures: Vec<_> = report.failures().map(|(device, finding)| (&*device.label, &*finding.probe)).collect();
        assert_eq!(failures, [("vulkan:0", "a<b>"), ("vulkan:0", "mm")]);
        assert_eq!(report.counts(&report.devices[0]), [(Outcome::Works, 3)]);
        let groups: Vec<_> = report.groups().into_iter().map(|(name, probes)| (name, probes.len())).collect();
        assert_eq!(groups, [("casts", 1), ("products", 2)]);
        assert_eq!(report.refusals(), [("vulkan:0".into(), "no f16".into(), vec!["cast f32 to f16"])]);
        assert_eq!(report.changes[0].describe(), "mm: works -> hangs (before: Mesa 24)");
    }
}
