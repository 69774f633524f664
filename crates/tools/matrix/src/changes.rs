//! Differences from the last run.

use std::collections::BTreeMap;

use roci_probe::Outcome;

use super::database::PreviousResults;
use super::report::{DeviceReport, OutcomeChange, ProbeResult};

/// The probes of all devices whose outcome changed. Skipped probes are ignored.
pub(crate) fn find(
    devices: &[DeviceReport],
    results: &[ProbeResult],
    previous: &BTreeMap<String, PreviousResults>,
) -> Vec<OutcomeChange> {
    let mut changes = Vec::new();
    for device in devices {
        let Some(previous) = previous.get(&device.uri) else { continue };
        for result in results.iter().filter(|result| result.device == device.uri) {
            let to = result.verdict.outcome;
            let from = previous.outcomes.get(&result.probe).copied().filter(|from| *from != to);
            let Some(from) = from.filter(|_| to != Outcome::NotTried) else { continue };
            changes.push(OutcomeChange {
                device: device.uri.clone(),
                probe: result.probe.clone(),
                from,
                to,
                driver_before: previous.driver.clone().filter(|driver| Some(driver) != device.driver.as_ref()),
                since: previous.started,
            });
        }
    }
    changes
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::example;

    #[test]
    fn new_and_equal_outcomes_are_not_changes() {
        let report = example();
        let outcomes = [("mm", Outcome::Works), ("a<b>", Outcome::Wrong), ("gone", Outcome::Works)];
        let previous = PreviousResults {
            outcomes: outcomes.map(|(probe, outcome)| (probe.to_owned(), outcome)).into(),
            driver: Some("Mesa 24".into()),
            started: Some(1_794_000_000),
        };
        let previous = BTreeMap::from([("vulkan://1".to_owned(), previous)]);
        assert_eq!(find(&report.devices, &report.results, &previous), report.changes);
        assert!(find(&report.devices, &report.results, &BTreeMap::new()).is_empty());
    }
}
