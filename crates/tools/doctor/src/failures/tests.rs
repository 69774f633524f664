//! Tests of the table: its own lines, healthy logs, and logs with hidden failures.

use std::sync::LazyLock;

use super::*;

static HEALTHY: &str = include_str!("healthy.txt");
static FAILURES: LazyLock<Failures> = LazyLock::new(|| Failures::new().expect("the table is right"));

fn kinds(log: &str) -> Vec<(usize, &'static str)> {
    let kind = |one: &ReportedLine<'_>| (one.number, FAILURES.kinds[one.kind].kind.as_str());
    FAILURES.find(log).iter().map(kind).collect()
}

#[test]
fn each_kind_is_found_in_its_own_lines() {
    for kind in &FAILURES.kinds {
        for line in &kind.lines {
            assert_eq!(kinds(line), [(1, kind.kind.as_str())], "{line}");
        }
        for pattern in &kind.patterns {
            let pattern = LogPattern::parse(pattern).expect("it is a pattern");
            assert!(kind.lines.iter().any(|line| pattern.matches(line)), "{}: a pattern without a line", kind.kind);
        }
        assert!(!kind.collect.is_empty() && kind.severity <= Severity::Medium, "{}", kind.kind);
    }
}

#[test]
fn harmless_text_is_not_a_failure() {
    let document: FailureDocument = toml::from_str(TABLE).expect("the table is right");
    for harmless in &document.harmless {
        let pattern = Pattern::parse(&harmless.pattern).expect("it is a pattern");
        for line in &harmless.lines {
            assert!(pattern.matches(line), "{line}");
            assert_eq!(kinds(line), [], "{line}");
        }
    }
}

#[test]
fn lines_name_their_component() {
    let document: FailureDocument = toml::from_str(TABLE).expect("the table is right");
    for component in &document.component {
        assert!(!component.lines.is_empty(), "{}", component.name);
        for line in &component.lines {
            assert_eq!(FAILURES.component(line), Some(component.name.as_str()), "{line}");
        }
    }
    assert_eq!(FAILURES.component("Segmentation fault (core dumped)"), None);
}

#[test]
fn healthy_lines_stay_clean() {
    let alarms: Vec<_> = HEALTHY.lines().filter(|line| !kinds(line).is_empty()).collect();
    assert!(alarms.is_empty(), "{}", alarms.join("\n"));
}

#[test]
fn harmless_text_does_not_hide_failures_on_the_line() {
    for line in [
        "0 errors so far. Segmentation fault (core dumped)",
        "ignoring error: rc=139",
        "error: no kernel image is available",
        "error: 0 of 3 layers could be loaded",
        "falling back to CPU: Aborted",
        "retrying after VK_ERROR_DEVICE_LOST",
        "optional step: worker killed by signal 9",
    ] {
        assert_eq!(kinds(line).len(), 1, "{line}");
    }
}

#[test]
fn exit_codes_above_128_are_signals() {
    for (line, kind) in [
        ("probe rc=139", "segmentation-fault"),
        ("Process finished with exit code 134 (interrupted)", "abort"),
        ("exitcode: -9 (pid: 4711)", "killed"),
        ("returncode=-11", "segmentation-fault"),
        ("exit status: 124", "timeout"),
        ("exited with code 3", "exit-status"),
    ] {
        assert_eq!(kinds(line), [(1, kind)], "{line}");
    }
    assert_eq!(kinds("rc=0, 139 tokens in 134 ms"), []);
}

#[test]
fn a_complaint_counts_only_alone() {
    let kinds = |log: &str, elsewhere| {
        let failures = FAILURES.by_kind(FAILURES.find(log).into_iter(), elsewhere, &|_| 1);
        failures.into_iter().map(|failure| failure.kind).collect::<Vec<_>>()
    };
    assert_eq!(kinds("this GPU is not supported", false), ["complaint"]);
    assert_eq!(kinds("this GPU is not supported", true), [""; 0]);
    assert_eq!(kinds("this GPU is not supported\nAborted (core dumped)", false), ["abort"]);
}

#[test]
fn no_pattern_needs_every_line() {
    assert_eq!(FAILURES.scanner.without_literals().collect::<Vec<_>>(), [""; 0], "these make a long log slow");
}

#[test]
fn lines_are_grouped_by_kind_and_sorted_by_severity() {
    let log = "error: one\nerror: two\nerror: three\nSegmentation fault (core dumped)\nKernel panic - not syncing: x\n";
    let failures = FAILURES.by_kind(FAILURES.find(log).into_iter(), false, &|_| 1);
    let counts: Vec<_> = failures.iter().map(|failure| (failure.kind.as_str(), failure.count)).collect();
    assert_eq!(counts, [("kernel-crash", 1), ("segmentation-fault", 1), ("error", 3)]);
    let numbers: Vec<_> = failures[2].lines.iter().map(|line| line.number).collect();
    assert_eq!(numbers, [1, 3]);
}
