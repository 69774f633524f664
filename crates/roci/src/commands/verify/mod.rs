//! A short check of each route to a device, for `roci doctor --verify`.
//!
//! A route is a device URI. Each is checked in a child process ([`verify`]): a driver that hangs or crashes is part of the
//! answer and harms nothing else. `child` starts and watches that process, which is roci itself (`roci verify-route`);
//! `checks` is what it does, `report` what it says.
//!
//! Products, sums and their tolerances are those of `roci demo`. Convolutions: not there yet, as there is no kernel.

mod checks;
mod child;
mod copies;
mod dot;
mod report;
mod reuse;

use std::time::{Duration, Instant};

use roci_hal::{DeviceKind, Hint, Registry};
use serde::Serialize;

use crate::cli::{DriverArgs, VerifyRouteArgs};
use crate::error::CliError;
use crate::exit::ExitStatus;
use crate::interrupt;
use crate::printer::{BAD, Column, GOOD, Printer, one_line};
use crate::registry::registry;
use crate::units;

pub(crate) use checks::{Corruption, Verdict};
pub(crate) use report::{Check, CheckStatus, Event, RouteOutcome, RouteReport};

/// How long a route may take. Each wait for a device has its own, shorter limit (ROCI_TIMEOUT).
pub(crate) const DEADLINE: Duration = Duration::from_secs(120);

/// What can go wrong on purpose.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Fault {
    /// A check never ends.
    Hang,
    /// A check ends the process.
    Crash,
}

/// How routes are checked.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Options {
    /// Time for one route.
    pub(crate) deadline: Duration,
    /// What goes wrong, in tests.
    pub(crate) fault: Option<Fault>,
}

impl Default for Options {
    fn default() -> Self {
        Self { deadline: DEADLINE, fault: None }
    }
}

/// The routes that drivers find: every device but those that compute nothing, and emulated ones only if they are asked for.
pub(crate) fn routes(registry: &Registry, emulated: bool) -> Vec<String> {
    let mut routes = Vec::new();
    for found in registry.enumerate() {
        let devices = found.devices.as_deref().unwrap_or_default();
        let ours = devices.iter().enumerate().filter(|(_, info)| match info.kind {
            DeviceKind::Null => false,
            DeviceKind::Emulated => emulated,
            _ => true,
        });
        routes.extend(ours.filter_map(|(ordinal, _)| found.uri(ordinal)).map(|uri| uri.to_string()));
    }
    routes
}

/// Checks each route in a child process, one after the other. Ctrl-C ends it with what was done before.
pub(crate) fn verify(
    routes: &[String],
    options: &Options,
    drivers: &DriverArgs,
    printer: &Printer,
) -> Vec<RouteReport> {
    let bar = printer.progress(routes.len());
    let mut reports = Vec::new();
    for uri in routes {
        if interrupt::asked() {
            break;
        }
        bar.set_message(uri.clone());
        let report = child::check(uri, options, drivers, |check| bar.set_message(format!("{check} on {uri}")));
        // Ctrl-C ends the process too, which says nothing about the device.
        if !interrupt::asked() {
            reports.push(report);
        }
        bar.inc(1);
    }
    bar.finish_and_clear();
    reports
}

/// Checks a route in this process; tells what happens as it happens.
fn check_here(uri: &str, fault: Option<Fault>, drivers: &DriverArgs, mut tell: impl FnMut(Event)) -> RouteReport {
    let started = Instant::now();
    let mut report = RouteReport::new(uri);
    let registry = registry(drivers);
    let mut take = |report: &mut RouteReport, event: Event| {
        report.take(event.clone());
        tell(event);
    };
    match registry.parse(uri).and_then(|parsed| registry.open(&parsed, None)) {
        Ok(device) => {
            take(&mut report, Event::opened(device.info()));
            checks::run(&device, fault, &mut |event| take(&mut report, event));
        }
        Err(error) => {
            let (message, hint) = (one_line(&error.to_string()), error.hint());
            take(&mut report, Event::NotOpened { error: message, hint });
        }
    }
    report.end(started.elapsed());
    report
}

#[derive(Serialize)]
struct Line<'a> {
    schema: &'static str,
    version: u32,
    #[serde(flatten)]
    event: &'a Event,
}

#[derive(Serialize)]
struct Report {
    schema: &'static str,
    version: u32,
    routes: Vec<RouteReport>,
}

/// `roci verify-route`: with JSON, a line for each event, which the parent reads.
pub(crate) fn run(
    arguments: &VerifyRouteArgs,
    drivers: &DriverArgs,
    printer: &Printer,
) -> Result<ExitStatus, CliError> {
    #[cfg(debug_assertions)]
    let fault = arguments.fault;
    #[cfg(not(debug_assertions))]
    let fault = None;
    let json = arguments.format.json;
    let reports = if arguments.in_children {
        interrupt::listen();
        let options = Options { deadline: arguments.deadline.unwrap_or(DEADLINE), fault };
        let found = arguments.devices.is_empty().then(|| routes(&registry(drivers), arguments.emulated));
        let routes = verify(found.as_deref().unwrap_or(&arguments.devices), &options, drivers, printer);
        if json {
            printer.json(&Report { schema: "roci.verify", version: 1, routes: routes.clone() })?;
        }
        routes
    } else {
        let mut written = Ok(());
        let reports = arguments.devices.iter().map(|uri| {
            check_here(uri, fault, drivers, |event| {
                if json && written.is_ok() {
                    written = write(&event, printer);
                }
            })
        });
        let reports = reports.collect();
        written?;
        reports
    };
    if !json {
        print(&reports, printer)?;
    }
    let right = reports.iter().all(RouteReport::is_right);
    Ok(if right { ExitStatus::Success } else { ExitStatus::Problems })
}

fn write(event: &Event, printer: &Printer) -> Result<(), CliError> {
    let line = Line { schema: "roci.verify-route", version: 1, event };
    let text = serde_json::to_string(&line).map_err(std::io::Error::from)?;
    Ok(printer.data(&format!("{text}\n"))?)
}

fn print(reports: &[RouteReport], printer: &Printer) -> Result<(), CliError> {
    for report in reports {
        let style = if report.is_right() { GOOD } else { BAD };
        printer.data(&format!("{}: {style}{}{style:#}\n", report.uri, report.summary()))?;
        let row = |check: &Check| {
            let status = match check.status {
                CheckStatus::Pass => "pass",
                CheckStatus::Fail => "fail",
                CheckStatus::NotApplicable => "-",
            };
            let detail = check.detail.clone().unwrap_or_default();
            vec![check.name.clone(), status.into(), units::seconds(check.seconds), detail]
        };
        let columns = [Column::Text("CHECK"), Column::Text("RESULT"), Column::Number("TIME"), Column::Text("DETAIL")];
        if !report.checks.is_empty() {
            printer.table(&columns, report.checks.iter().map(row).collect())?;
        }
        match &report.outcome {
            RouteOutcome::NotOpened { hint: Some(hint), .. } => printer.note(&format!("hint: {hint}")),
            RouteOutcome::Died { last_words: Some(words), .. } => printer.note(&format!("it said: {words}")),
            _ => {}
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_processor_passes_in_this_process() {
        let mut begun = Vec::new();
        let report = check_here("cpu", None, &DriverArgs::default(), |event| {
            if let Event::Begins { check } = event {
                begun.push(check);
            }
        });
        assert!(report.is_right(), "{report:?}");
        let done: Vec<_> = report.checks.iter().map(|check| check.name.clone()).collect();
        assert_eq!(begun, done);
        for check in ["matmul_f32 67x71x73", "reduce_sum 31x[517]", "copies", "reuse", "repeat"] {
            assert!(done.iter().any(|name| name == check), "{check} of {done:?}");
        }
        let dot = report.checks.iter().find(|check| check.name == "dot").expect("it is there");
        assert_eq!(dot.status, CheckStatus::Pass);
    }

    #[test]
    fn a_device_that_computes_nothing_fails() {
        let report = check_here("null", None, &DriverArgs::default(), drop);
        assert_eq!(report.outcome, RouteOutcome::Wrong);
        let failed = |start: &str| {
            let check = report.checks.iter().find(|check| check.name.starts_with(start)).expect(start);
            check.status == CheckStatus::Fail
        };
        assert!(failed("matmul_f32") && failed("reduce_sum") && !failed("copies"), "{report:?}");
    }

    #[test]
    fn a_device_that_is_not_there_is_named() {
        let report = check_here("cpu:7", None, &DriverArgs::default(), drop);
        let RouteOutcome::NotOpened { error, hint } = &report.outcome else { panic!("{report:?}") };
        assert!(error.contains("no device 7") && hint.is_some(), "{report:?}");
    }

    #[test]
    fn routes_leave_out_what_computes_nothing_or_was_not_asked_for() {
        let registry = registry(&DriverArgs::default());
        let (real, all) = (routes(&registry, false), routes(&registry, true));
        assert!(real.iter().any(|uri| uri == "cpu") && !real.iter().any(|uri| uri.starts_with("emu")), "{real:?}");
        assert!(all.iter().any(|uri| uri == "emu://gfx1013") && !all.iter().any(|uri| uri.starts_with("null")));
    }
}
