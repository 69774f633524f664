//! Checks a route in a child process, which is killed after the time limit.

use std::time::Instant;

use super::Options;
use super::report::{Event, RouteOutcome, RouteReport};
use crate::child::{Exit, Launcher, Limits};
use crate::text::one_line;

/// How long a killed process may take to exit before it counts as unkillable.
const KILL_TIMEOUT: std::time::Duration = std::time::Duration::from_secs(5);

/// Checks a route in a child process, `roci verify-route`. `on_check` gets the name of every check
/// that begins.
pub fn check_in_child(
    uri: &str,
    options: &Options,
    launcher: &Launcher<'_>,
    mut on_check: impl FnMut(&str),
) -> RouteReport {
    let started = Instant::now();
    let mut report = RouteReport::new(uri);
    let mut arguments = vec!["verify-route", "--json", "--color=never"];
    if let Some(fault) = options.fault {
        arguments.extend(["--fault", fault.name()]);
    }
    // `--`, because a URI may start with a dash.
    arguments.extend(["--", uri]);
    let limits = Limits { total: options.timeout, silence: None, kill: KILL_TIMEOUT };
    let mut done = false;
    let child = launcher.run(&arguments, limits, |line| {
        let Ok(event) = serde_json::from_str::<Event>(line) else { return };
        if let Event::Begins { check } = &event {
            on_check(check);
        }
        done |= matches!(event, Event::Done | Event::NotOpened { .. });
        report.apply(event);
    });
    let check = report.running.clone();
    let signal = if let Exit::Signal(signal) = child.exit { Some(signal) } else { None };
    match child.exit {
        Exit::Code(_) if done => {}
        Exit::Code(_) | Exit::Signal(_) => {
            let reason = child.exit.describe();
            let stderr_tail = Some(one_line(&child.stderr)).filter(|text| !text.is_empty());
            report.outcome = RouteOutcome::Died { check, signal, reason, stderr_tail };
        }
        Exit::Hung { killed } => {
            let check = check.or_else(|| done.then(|| "the exit".into()));
            report.outcome = RouteOutcome::Hangs { check, after_seconds: options.timeout.as_secs_f64(), killed };
        }
        Exit::NotStarted(error) => {
            let error = format!("no process can be started for it: {error}");
            report.outcome = RouteOutcome::NotOpened { error, hint: None };
        }
    }
    report.end(started.elapsed());
    report
}
