//! Failures that neither a rule nor an important event explains.

use std::collections::BTreeSet;

use crate::failures::{Failure, ReportedLine};
use crate::logs::{Log, LogReader, Vendor};
use crate::rules::{RuleMatches, RuleSet, Severity};

use super::Cause;

/// Sorted numbers of the lines that a cause, a finding below it, or an important event covers.
pub(super) fn explained<'c>(
    rule_set: &RuleSet,
    hits: &[RuleMatches],
    read: &Log,
    causes: impl Iterator<Item = &'c Cause>,
) -> Vec<usize> {
    let ids: BTreeSet<&str> = causes
        .flat_map(|cause| cause.explains.iter().map(|explained| explained.id.as_str()).chain([cause.id.as_str()]))
        .collect();
    let rules = rule_set.rules().iter().zip(hits).filter(|(rule, _)| ids.contains(rule.id.as_str()));
    let events = read.events.iter().filter(|event| event.severity <= Severity::Medium);
    let mut lines: Vec<usize> =
        rules.flat_map(|(_, hits)| &hits.numbers).chain(events.flat_map(|event| &event.numbers)).copied().collect();
    lines.sort_unstable();
    lines
}

/// Failures on all other lines; `elsewhere` tells that something else is reported. On a machine with
/// an AMD GPU, failures of another vendor's GPU are ignored.
pub(super) fn failures(
    reader: &LogReader,
    vendor: Vendor,
    reported: Vec<ReportedLine<'_>>,
    explained: &[usize],
    elsewhere: bool,
    weight: &dyn Fn(usize) -> usize,
) -> Vec<Failure> {
    let others = |one: &ReportedLine<'_>| vendor == Vendor::Amd && reader.is_other_vendor(one.line);
    let unexplained = reported.into_iter().filter(|one| explained.binary_search(&one.number).is_err() && !others(one));
    reader.failures.by_kind(unexplained, elsewhere, weight)
}

#[cfg(test)]
mod tests {
    use super::super::tests::conclude;
    use crate::LogLine;

    #[test]
    fn a_failure_that_no_rule_explains_is_a_problem() {
        let healthy = "  Device 0: AMD Radeon RX 7900 XTX, gfx1100 (0x1100), VMM: no, Wave Size: 32\n";
        for line in [
            "Segmentation fault (core dumped)",
            "Aborted",
            "Bus error",
            "free(): invalid pointer",
            "terminate called after throwing an instance of 'std::runtime_error'",
            "thread 'main' panicked at src/main.rs:7:5:",
            "amdgpu 0000:03:00.0: Unable to change power state from D3cold to D0, device inaccessible",
            "exit code 139",
        ] {
            // In a log of a known program, and in text of unknown origin.
            for log in [format!("{healthy}{line}\n"), format!("first line\n{line}\n")] {
                let conclusion = conclude(&log);
                let [failure] = conclusion.failures.as_slice() else { panic!("{log}{:?}", conclusion.failures) };
                assert_eq!(failure.lines, [LogLine { number: 2, text: line.to_owned() }]);
                let text = conclusion.text(false);
                assert!(conclusion.problems() && text.starts_with("Line 2 reports "), "{text}");
                assert!(text.contains(line) && text.contains("Collect: "), "{text}");
                assert!(!text.to_lowercase().contains("no known problem"), "{text}");
            }
        }
    }

    #[test]
    fn a_rule_replaces_the_generic_failure_of_its_line() {
        let conclusion = conclude("RuntimeError: HIP error: invalid device function\nAborted (core dumped)\n");
        assert_eq!(conclusion.causes[0].id, "LIB-02");
        let failures: Vec<_> =
            conclusion.failures.iter().map(|failure| (failure.kind.as_str(), failure.lines[0].number)).collect();
        assert_eq!(failures, [("abort", 2)], "the first line has its rule");
        assert!(conclusion.text(false).starts_with("Most likely cause"), "{}", conclusion.text(false));
    }
}
