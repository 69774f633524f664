//! What is said about a route: by the process that checks it, event by event, and in the end.

use std::time::Duration;

use roci_hal::DeviceInfo;
use serde::{Deserialize, Serialize};

/// What happened, as the checking process tells it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "kebab-case")]
pub(crate) enum Event {
    /// The device is open.
    Opened {
        /// Its name.
        name: String,
        /// What kind of thing it is.
        kind: String,
    },
    /// The device cannot be opened.
    NotOpened {
        /// Why.
        error: String,
        /// What to do.
        hint: Option<String>,
    },
    /// A check begins.
    Begins {
        /// Which.
        check: String,
    },
    /// A check has ended.
    Checked(Check),
    /// All have.
    Done,
}

impl Event {
    pub(super) fn opened(info: &DeviceInfo) -> Self {
        let first = info.physical.first();
        Self::Opened {
            name: first.map(|one| one.name.clone()).unwrap_or_default(),
            kind: first.map_or("", |one| one.kind.describe()).into(),
        }
    }
}

/// A check and how it ended.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Check {
    /// Which.
    pub(crate) name: String,
    /// How it ended.
    pub(crate) status: CheckStatus,
    /// The first difference, the error, or why it does not apply.
    pub(crate) detail: Option<String>,
    /// How long it took.
    pub(crate) seconds: f64,
}

/// How a check ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum CheckStatus {
    /// The results are right.
    Pass,
    /// They are not, or the device failed.
    Fail,
    /// The device has nothing to check.
    NotApplicable,
}

/// How a route fares.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "status", rename_all = "kebab-case")]
pub(crate) enum RouteOutcome {
    /// Every check passes or does not apply.
    Right,
    /// A check fails.
    Wrong,
    /// The device cannot be opened.
    NotOpened {
        /// Why.
        error: String,
        /// What to do.
        hint: Option<String>,
    },
    /// The process did not end in time.
    Hangs {
        /// The check that it was at; null before the first.
        check: Option<String>,
        /// How long it had.
        after_seconds: f64,
        /// Whether it could be ended; one that waits for the kernel's driver cannot.
        killed: bool,
    },
    /// The process ended before its time.
    Died {
        /// The check that it was at; null before the first.
        check: Option<String>,
        /// The signal that ended it.
        signal: Option<i32>,
        /// How it ended, in words.
        reason: String,
        /// What it said last on standard error.
        last_words: Option<String>,
    },
}

/// All about one route.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct RouteReport {
    /// The device.
    pub(crate) uri: String,
    /// Its name, once it was open.
    pub(crate) name: Option<String>,
    /// What kind of thing it is.
    pub(crate) kind: Option<String>,
    /// Its place on the bus, where whoever lists devices told it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) pci: Option<String>,
    /// How it fares.
    #[serde(flatten)]
    pub(crate) outcome: RouteOutcome,
    /// The checks that were made.
    pub(crate) checks: Vec<Check>,
    /// How long all took.
    pub(crate) seconds: f64,
    /// The check under way.
    #[serde(skip)]
    pub(super) under_way: Option<String>,
}

impl RouteReport {
    pub(super) fn new(uri: &str) -> Self {
        let outcome = RouteOutcome::Right;
        let (name, kind, pci) = (None, None, None);
        Self { uri: uri.into(), name, kind, pci, outcome, checks: Vec::new(), seconds: 0.0, under_way: None }
    }

    /// Takes in what happened.
    pub(super) fn take(&mut self, event: Event) {
        match event {
            Event::Opened { name, kind } => (self.name, self.kind) = (Some(name), Some(kind)),
            Event::NotOpened { error, hint } => self.outcome = RouteOutcome::NotOpened { error, hint },
            Event::Begins { check } => self.under_way = Some(check),
            Event::Checked(check) => {
                if check.status == CheckStatus::Fail {
                    self.outcome = RouteOutcome::Wrong;
                }
                self.checks.push(check);
                self.under_way = None;
            }
            Event::Done => {}
        }
    }

    pub(super) fn end(&mut self, time: Duration) {
        self.seconds = time.as_secs_f64();
    }

    /// Whether nothing is wrong.
    pub(crate) fn is_right(&self) -> bool {
        self.outcome == RouteOutcome::Right
    }

    /// The answer in one line.
    pub(crate) fn summary(&self) -> String {
        let at = |check: &Option<String>| check.as_deref().unwrap_or("the start").to_owned();
        match &self.outcome {
            RouteOutcome::Right => {
                let passed = self.checks.iter().filter(|check| check.status == CheckStatus::Pass).count();
                format!("computes right, {passed} checks pass")
            }
            RouteOutcome::Wrong => {
                let failed: Vec<_> = self.checks.iter().filter(|check| check.status == CheckStatus::Fail).collect();
                let names: Vec<_> = failed.iter().map(|check| check.name.as_str()).collect();
                let first = failed.first().and_then(|check| check.detail.as_deref()).unwrap_or_default();
                format!("does not compute right: {} ({first})", names.join(", "))
            }
            RouteOutcome::NotOpened { error, .. } => format!("cannot be opened: {error}"),
            RouteOutcome::Hangs { check, after_seconds, killed } => {
                let rest = if *killed { "" } else { ", and its process cannot be ended: restart the machine" };
                format!("hangs: at {} when {after_seconds:.0} s were over{rest}", at(check))
            }
            RouteOutcome::Died { check, reason, .. } => format!("crashes: {reason} at {}", at(check)),
        }
    }
}
