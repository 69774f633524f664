//! The process that checks one route: started, listened to, and ended if it does not end itself.

use std::time::{Duration, Instant};

use super::Options;
use super::report::{Event, RouteOutcome, RouteReport};
use crate::child::{self, End, Limits};
use crate::cli::DriverArgs;
use crate::printer::one_line;

/// How long a process that was killed may take to end, before it is said that it cannot be.
const DEATH: Duration = Duration::from_secs(5);

/// Checks a route; `tell` hears of every check that begins.
pub(super) fn check(uri: &str, options: &Options, drivers: &DriverArgs, mut tell: impl FnMut(&str)) -> RouteReport {
    let started = Instant::now();
    let mut report = RouteReport::new(uri);
    let mut arguments = vec!["verify-route", "--json", "--color=never"];
    let fault = options.fault.as_ref().and_then(clap::ValueEnum::to_possible_value);
    if let Some(fault) = &fault {
        arguments.extend(["--fault", fault.get_name()]);
    }
    // A name that starts with a dash is no option.
    arguments.extend(["--", uri]);
    let limits = Limits { run: options.deadline, silence: None, death: DEATH };
    let mut done = false;
    let left = child::roci(&arguments, drivers, limits, |line| {
        let Ok(event) = serde_json::from_str::<Event>(line) else { return };
        if let Event::Begins { check } = &event {
            tell(check);
        }
        done |= matches!(event, Event::Done | Event::NotOpened { .. });
        report.take(event);
    });
    let check = report.under_way.clone();
    let signal = if let End::Killed(signal) = left.end { Some(signal) } else { None };
    match left.end {
        End::Ended(_) if done => {}
        End::Ended(_) | End::Killed(_) => {
            let reason = left.end.describe();
            let last_words = Some(one_line(&left.last_words)).filter(|words| !words.is_empty());
            report.outcome = RouteOutcome::Died { check, signal, reason, last_words };
        }
        End::Hung { killed } => {
            let check = check.or_else(|| done.then(|| "its end".into()));
            report.outcome = RouteOutcome::Hangs { check, after_seconds: options.deadline.as_secs_f64(), killed };
        }
        End::NotStarted(error) => {
            let error = format!("no process can be started for it: {error}");
            report.outcome = RouteOutcome::NotOpened { error, hint: None };
        }
    }
    report.end(started.elapsed());
    report
}
