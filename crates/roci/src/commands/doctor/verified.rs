//! `--verify`: every device computes, and the verdict says whether that is right.

use std::time::Duration;

use roci_doctor::Diagnosis;
use serde_json::Value;

use crate::child::{self, End, Limits};
use crate::cli::DriverArgs;
use crate::commands::verify::{self, Options, RouteOutcome, RouteReport};
use crate::error::CliError;
use crate::interrupt;
use crate::printer::{BAD, GOOD, Printer};

/// Drivers may compile or map much before they can tell what they have.
const PATIENT: Limits = Limits { run: Duration::from_secs(60), death: Duration::from_secs(1) };

/// Lets every device that the drivers find compute.
pub(super) fn compute(drivers: &DriverArgs, printer: &Printer) -> Vec<RouteReport> {
    interrupt::listen();
    // Looking for devices starts drivers too, so that it is not done here.
    let (left, output) = child::roci_output(&["devices", "--json"], drivers, PATIENT);
    let found = match left.end {
        End::Ended(_) => devices(&output),
        end => {
            printer.note(&format!("no device can be looked for: the process that does it {}", end.describe()));
            Vec::new()
        }
    };
    verify::verify(&found, &Options::default(), drivers, printer)
}

/// The devices that `roci devices --json` lists, without emulated ones.
fn devices(output: &str) -> Vec<String> {
    let report: Value = serde_json::from_str(output).unwrap_or_default();
    let drivers = report["drivers"].as_array().into_iter().flatten();
    let devices = drivers.flat_map(|driver| driver["devices"].as_array().into_iter().flatten());
    let real = devices.filter(|device| device["kind"].as_str().is_some_and(|kind| !kind.contains("emulated")));
    real.filter_map(|device| device["uri"].as_str().map(str::to_owned)).collect()
}

/// A device that computes wrong, hangs or crashes is a problem, whatever files say of it.
pub(super) fn fold(diagnosis: &mut Diagnosis, reports: &[RouteReport]) {
    let right = reports.iter().filter(|report| report.is_right()).count();
    diagnosis.healthy &= !reports.is_empty() && right == reports.len();
    diagnosis.verdict.push_str(&match reports.len() {
        0 => " No device could be tried.".to_owned(),
        count => format!(" {right} of {count} devices compute right."),
    });
}

/// A line a device for a report.
pub(super) fn line(report: &RouteReport) -> String {
    let name = report.name.as_ref().map(|name| format!(" ({name})")).unwrap_or_default();
    let words = match &report.outcome {
        RouteOutcome::Died { last_words: Some(words), .. } => format!("; it said: {words}"),
        _ => String::new(),
    };
    format!("{}{name}: {}{words}", report.uri, report.summary())
}

/// One line a device.
pub(super) fn print(report: &RouteReport, printer: &Printer) -> Result<(), CliError> {
    let style = if report.is_right() { GOOD } else { BAD };
    Ok(printer.data(&format!("{}: {style}{}{style:#}\n", report.uri, report.summary()))?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn last_words_are_masked_and_told() {
        let crashed = serde_json::json!({"uri": "vulkan:0", "name": "RX", "kind": null, "status": "died", "check": null,
            "signal": 11, "reason": "ended by signal 11", "last_words": "/home/naomi/.cache: fe80::1", "checks": [],
            "seconds": 0.5});
        let report: RouteReport = serde_json::from_value(crashed).expect("it is a report");
        let masked = roci_doctor::mask(&report, &roci_doctor::Identity::default()).expect("it is one afterwards");
        let told = line(&masked.value);
        assert_eq!(told, "vulkan:0 (RX): crashes: ended by signal 11 at the start; it said: /home/USER/.cache: IP");
    }

    #[test]
    fn emulated_devices_are_left_out() {
        let found = devices(
            r#"{"drivers":[{"devices":[{"uri":"cpu","kind":"CPU"},{"uri":"emu://gfx1010","kind":"emulated GPU"}]}]}"#,
        );
        assert_eq!(found, ["cpu"]);
        assert!(devices("nonsense").is_empty());
    }
}
