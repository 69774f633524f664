//! The events of the checking process, and the result of a route.

use std::time::Duration;

use roci_base::renamed_key;
use roci_hal::DeviceInfo;
use serde::{Deserialize, Serialize};

renamed_key!(optional stderr_tail: "stderr_tail", formerly "last_words");

/// An event of the checking process.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "kebab-case")]
pub enum Event {
    /// The device is open.
    Opened {
        /// Name of the device.
        name: String,
        /// Kind of the device.
        kind: String,
    },
    /// The device cannot be opened.
    NotOpened {
        /// Why it cannot be opened, in one line.
        error: String,
        /// The remedy.
        hint: Option<String>,
    },
    /// A check begins.
    Begins {
        /// Name of the check.
        check: String,
    },
    /// A check has ended.
    Checked(Check),
    /// All checks have ended.
    Done,
}

impl Event {
    pub(crate) fn opened(info: &DeviceInfo) -> Self {
        let first = info.physical.first();
        Self::Opened {
            name: first.map(|one| one.name.clone()).unwrap_or_default(),
            kind: first.map_or("", |one| one.kind.describe()).into(),
        }
    }
}

/// A check and its result.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Check {
    /// Name of the check.
    pub name: String,
    /// Whether it passed.
    pub status: CheckStatus,
    /// The first difference, the error, or why the check does not apply.
    pub detail: Option<String>,
    /// Duration of the check.
    pub seconds: f64,
}

/// The status of a check.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum CheckStatus {
    /// The results match.
    Pass,
    /// The results differ, or the device failed.
    Fail,
    /// The device has nothing to check.
    NotApplicable,
}

/// The result of a route.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "status", rename_all = "kebab-case")]
pub enum RouteOutcome {
    /// Every check passes or does not apply.
    Right,
    /// A check fails.
    Wrong,
    /// The device cannot be opened.
    NotOpened {
        /// Why it cannot be opened, in one line.
        error: String,
        /// The remedy.
        hint: Option<String>,
    },
    /// The process did not exit in time.
    Hangs {
        /// The running check; null before the first.
        check: Option<String>,
        /// The time limit.
        after_seconds: f64,
        /// Whether it could be killed; a process that is blocked in a kernel driver cannot.
        killed: bool,
    },
    /// The process died.
    Died {
        /// The running check; null before the first.
        check: Option<String>,
        /// The signal that killed it; null if it exited.
        signal: Option<i32>,
        /// How it ended, as text.
        reason: String,
        /// The end of its standard error.
        #[serde(flatten, with = "stderr_tail")]
        stderr_tail: Option<String>,
    },
}

/// The report of one route.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RouteReport {
    /// The device's URI.
    pub uri: String,
    /// Name of the device; null if it was not opened.
    pub name: Option<String>,
    /// Kind of the device; null if it was not opened.
    pub kind: Option<String>,
    /// The PCI address, if `roci devices` reports one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pci: Option<String>,
    /// Result of all checks.
    #[serde(flatten)]
    pub outcome: RouteOutcome,
    /// The checks that ran.
    pub checks: Vec<Check>,
    /// Total duration, with the start of the process.
    pub seconds: f64,
    /// The running check.
    #[serde(skip)]
    pub(crate) running: Option<String>,
}

impl RouteReport {
    pub(crate) fn new(uri: &str) -> Self {
        let outcome = RouteOutcome::Right;
        let (name, kind, pci) = (None, None, None);
        Self { uri: uri.into(), name, kind, pci, outcome, checks: Vec::new(), seconds: 0.0, running: None }
    }

    /// Applies an event.
    pub(crate) fn apply(&mut self, event: Event) {
        match event {
            Event::Opened { name, kind } => (self.name, self.kind) = (Some(name), Some(kind)),
            Event::NotOpened { error, hint } => self.outcome = RouteOutcome::NotOpened { error, hint },
            Event::Begins { check } => self.running = Some(check),
            Event::Checked(check) => {
                if check.status == CheckStatus::Fail {
                    self.outcome = RouteOutcome::Wrong;
                }
                self.checks.push(check);
                self.running = None;
            }
            Event::Done => {}
        }
    }

    pub(crate) fn end(&mut self, time: Duration) {
        self.seconds = time.as_secs_f64();
    }

    /// Whether all checks passed.
    pub fn is_right(&self) -> bool {
        self.outcome == RouteOutcome::Right
    }

    /// The result as one line.
    pub fn summary(&self) -> String {
        let at = |check: &Option<String>| check.as_deref().unwrap_or("the start").to_owned();
        match &self.outcome {
            RouteOutcome::Right => {
                let passed = self.checks.iter().filter(|check| check.status == CheckStatus::Pass).count();
                format!("computes correct results: {passed} checks passed")
            }
            RouteOutcome::Wrong => {
                let failed: Vec<_> = self.checks.iter().filter(|check| check.status == CheckStatus::Fail).collect();
                let names: Vec<_> = failed.iter().map(|check| check.name.as_str()).collect();
                let first = failed.first().and_then(|check| check.detail.as_deref()).unwrap_or_default();
                format!("computes wrong results: {} ({first})", names.join(", "))
            }
            RouteOutcome::NotOpened { error, .. } => format!("cannot be opened: {error}"),
            RouteOutcome::Hangs { check, after_seconds, killed } => {
                let rest = if *killed { "" } else { ", and its process cannot be killed: restart the machine" };
                format!("hangs: no result of {} within {after_seconds:.0} s{rest}", at(check))
            }
            RouteOutcome::Died { check, reason, .. } => format!("crashes: {reason} at {}", at(check)),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{from_value, json, to_value};

    use super::*;

    #[test]
    fn the_renamed_key_of_a_crash_is_written_and_read_under_both_names() {
        let mut report = RouteReport::new("vulkan:0");
        let stderr_tail = Some("assertion failed".to_owned());
        report.outcome =
            RouteOutcome::Died { check: None, signal: Some(6), reason: "ended by signal 6".into(), stderr_tail };
        let written = to_value(&report).expect("it is JSON");
        for (current, old) in [("stderr_tail", "last_words")] {
            assert_eq!((&written[current], &written[old]), (&json!("assertion failed"), &json!("assertion failed")));
            for missing in [current, old] {
                let mut one = written.clone();
                one.as_object_mut().expect("an object").remove(missing);
                assert_eq!(from_value::<RouteReport>(one).expect("it is a report"), report, "without {missing}");
            }
        }
        assert_eq!(from_value::<RouteReport>(written).expect("it is a report"), report);
    }
}
