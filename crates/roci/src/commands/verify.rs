//! `roci verify-route`, and the checks of `roci doctor --verify`: runs kernels on each route to a
//! device, in child processes. [`roci_probe::verify`] has the checks.

use roci_probe::units;
use roci_probe::verify::{
    Check, CheckStatus, Event, Options, ROUTE_TIMEOUT, RouteOutcome, RouteReport, check_here, check_in_child, routes,
};
use serde::Serialize;

use crate::child;
use crate::cli::{DriverArgs, VerifyRouteArgs};
use crate::error::CliError;
use crate::exit::ExitStatus;
use crate::interrupt;
use crate::printer::{BAD, Column, GOOD, Printer};
use crate::registry::registry;

/// Checks each route in a child process, one after the other. Ctrl-C stops with the results so far.
pub(crate) fn verify(
    routes: &[String],
    options: &Options,
    drivers: &DriverArgs,
    printer: &Printer,
) -> Vec<RouteReport> {
    let launcher = child::launcher(drivers);
    let bar = printer.progress(routes.len());
    let mut reports = Vec::new();
    for uri in routes {
        if interrupt::requested() {
            break;
        }
        bar.set_message(uri.clone());
        let report = check_in_child(uri, options, &launcher, |check| bar.set_message(format!("{check} on {uri}")));
        // Ctrl-C also kills the child, which says nothing about the device.
        if !interrupt::requested() {
            reports.push(report);
        }
        bar.inc(1);
    }
    bar.finish_and_clear();
    reports
}

#[derive(Serialize)]
struct EventLine<'a> {
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

/// `roci verify-route`. With `--json` it prints one line per event, which the parent reads.
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
        let options = Options { timeout: arguments.timeout.unwrap_or(ROUTE_TIMEOUT), fault };
        let found = arguments.devices.is_empty().then(|| routes(&registry(drivers), arguments.emulated));
        let routes = verify(found.as_deref().unwrap_or(&arguments.devices), &options, drivers, printer);
        if json {
            printer.json(&Report { schema: "roci.verify", version: 2, routes: routes.clone() })?;
        }
        routes
    } else {
        let (registry, mut written) = (registry(drivers), Ok(()));
        let reports = arguments.devices.iter().map(|uri| {
            check_here(uri, fault, &registry, |event| {
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
    let line = EventLine { schema: "roci.verify-route", version: 1, event };
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
            RouteOutcome::Died { stderr_tail: Some(text), .. } => printer.note(&format!("last output: {text}")),
            _ => {}
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_cpu_passes_in_this_process() {
        let mut begun = Vec::new();
        let registry = registry(&DriverArgs::default());
        let report = check_here("cpu", None, &registry, |event| {
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
        let dot = report.checks.iter().find(|check| check.name == "dot").expect("it exists");
        assert_eq!(dot.status, CheckStatus::Pass);
    }

    #[test]
    fn the_null_device_fails() {
        let report = check_here("null", None, &registry(&DriverArgs::default()), drop);
        assert_eq!(report.outcome, RouteOutcome::Wrong);
        let failed = |start: &str| {
            let check = report.checks.iter().find(|check| check.name.starts_with(start)).expect(start);
            check.status == CheckStatus::Fail
        };
        assert!(failed("matmul_f32") && failed("reduce_sum") && !failed("copies"), "{report:?}");
    }

    #[test]
    fn an_unknown_device_is_named() {
        let report = check_here("cpu:7", None, &registry(&DriverArgs::default()), drop);
        let RouteOutcome::NotOpened { error, hint } = &report.outcome else { panic!("{report:?}") };
        assert!(error.contains("no device 7") && hint.is_some(), "{report:?}");
    }

    #[test]
    fn routes_exclude_null_devices_and_by_default_emulated_ones() {
        let registry = registry(&DriverArgs::default());
        let (real, all) = (routes(&registry, false), routes(&registry, true));
        assert!(real.iter().any(|uri| uri == "cpu") && !real.iter().any(|uri| uri.starts_with("emu")), "{real:?}");
        assert!(all.iter().any(|uri| uri == "emu://gfx1013") && !all.iter().any(|uri| uri.starts_with("null")));
    }
}
