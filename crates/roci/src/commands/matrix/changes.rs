//! What is otherwise than the last time.

use std::collections::BTreeMap;

use super::database::Before;
use super::outcome::Outcome;
use super::report::{Change, DeviceReport, Finding};

/// The changes of all devices, by what each did before. What was not tried has not changed.
pub(super) fn find(devices: &[DeviceReport], results: &[Finding], before: &BTreeMap<String, Before>) -> Vec<Change> {
    let mut changes = Vec::new();
    for device in devices {
        let Some(before) = before.get(&device.uri) else { continue };
        for finding in results.iter().filter(|finding| finding.device == device.uri) {
            let to = finding.verdict.outcome;
            let from = before.outcomes.get(&finding.probe).copied().filter(|from| *from != to);
            let Some(from) = from.filter(|_| to != Outcome::NotTried) else { continue };
            changes.push(Change {
                device: device.uri.clone(),
                probe: finding.probe.clone(),
                from,
                to,
                driver_before: before.driver.clone().filter(|driver| Some(driver) != device.driver.as_ref()),
                since: before.started,
            });
        }
    }
    changes
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::commands::matrix::report::example;

    #[test]
    fn what_is_new_or_the_same_is_no_change() {
        let report = example();
        let outcomes = [("mm", Outcome::Works), ("a<b>", Outcome::Wrong), ("gone", Outcome::Works)];
        let before = Before {
            outcomes: outcomes.map(|(probe, outcome)| (probe.to_owned(), outcome)).into(),
            driver: Some("Mesa 24".into()),
            started: Some(1_794_000_000),
        };
        let before = BTreeMap::from([("vulkan://1".to_owned(), before)]);
        assert_eq!(find(&report.devices, &report.results, &before), report.changes);
        assert!(find(&report.devices, &report.results, &BTreeMap::new()).is_empty());
    }
}
