//! `--verify`: runs kernels on every device and adds the results to the verdict.

use std::time::Duration;

use roci_doctor::Diagnosis;
use roci_probe::child::{Exit, Limits};
use roci_probe::listing::{self, ListedDevice};
use roci_probe::verify::{Options, RouteOutcome, RouteReport};

use crate::child;
use crate::cli::DriverArgs;
use crate::commands::verify;
use crate::error::CliError;
use crate::interrupt;
use crate::printer::{BAD, GOOD, Printer};

/// Time limits of the enumeration; drivers may compile or map memory first.
const ENUMERATION_LIMITS: Limits =
    Limits { total: Duration::from_secs(60), silence: None, kill: Duration::from_secs(1) };

/// Verifies every device that the drivers find, except emulated ones.
pub(super) fn compute(drivers: &DriverArgs, printer: &Printer) -> Vec<RouteReport> {
    interrupt::listen();
    // In a child process, because enumeration initializes drivers.
    let (child, output) = child::launcher(drivers).output(&["devices", "--json"], ENUMERATION_LIMITS);
    let found = match child.exit {
        Exit::Code(_) => devices(&output),
        exit => {
            printer.note(&format!("cannot list devices: the process that enumerates them {}", exit.describe()));
            Vec::new()
        }
    };
    let uris: Vec<_> = found.iter().map(|device| device.uri.clone()).collect();
    let mut reports = verify::verify(&uris, &Options::default(), drivers, printer);
    for report in &mut reports {
        if let Some(device) = found.iter().find(|device| device.uri == report.uri) {
            report.pci.clone_from(&device.pci);
            report.kind = report.kind.take().or_else(|| Some(device.kind.clone()));
        }
    }
    reports
}

/// The devices of `roci devices --json`, without emulated ones.
fn devices(output: &str) -> Vec<ListedDevice> {
    let drivers = listing::parse(output).unwrap_or_default();
    drivers.into_iter().flat_map(|driver| driver.devices).filter(|device| !device.is_emulated()).collect()
}

/// A device that computes wrong results, hangs or crashes is a problem, whatever the other findings
/// are. A working CPU says nothing about a GPU.
pub(super) fn fold(diagnosis: &mut Diagnosis, reports: &[RouteReport]) {
    let is_gpu = |report: &&RouteReport| report.kind.as_deref().is_some_and(|kind| kind.contains("GPU"));
    let gpus: Vec<_> = reports.iter().filter(is_gpu).collect();
    let mut unverified = Vec::new();
    for card in &mut diagnosis.gpus {
        let own: Vec<_> = gpus.iter().filter(|report| report.pci.as_ref() == Some(&card.pci)).collect();
        card.computed = Some(match own.iter().find(|report| !report.is_right()) {
            Some(wrong) => format!("{} {}", wrong.uri, wrong.summary()),
            None if own.is_empty() => {
                unverified.push(format!(" {} was not verified.", card.name()));
                "not verified".to_owned()
            }
            None => "right".to_owned(),
        });
    }
    let right = gpus.iter().filter(|report| report.is_right()).count();
    diagnosis.healthy &= unverified.is_empty() && !gpus.is_empty() && reports.iter().all(RouteReport::is_right);
    diagnosis.verdict.push_str(&match gpus.len() {
        0 if unverified.is_empty() => " No GPU could be verified.".to_owned(),
        0 => String::new(),
        count => format!(" {right} of {count} routes to a GPU compute correct results."),
    });
    diagnosis.verdict.push_str(&unverified.concat());
}

/// One line per device for a report.
pub(super) fn line(report: &RouteReport) -> String {
    let name = report.name.as_ref().map(|name| format!(" ({name})")).unwrap_or_default();
    let output = match &report.outcome {
        RouteOutcome::Died { stderr_tail: Some(text), .. } => format!("; last output: {text}"),
        _ => String::new(),
    };
    format!("{}{name}: {}{output}", report.uri, report.summary())
}

/// One line per device.
pub(super) fn print(report: &RouteReport, printer: &Printer) -> Result<(), CliError> {
    let style = if report.is_right() { GOOD } else { BAD };
    Ok(printer.data(&format!("{}: {style}{}{style:#}\n", report.uri, report.summary()))?)
}

#[cfg(test)]
mod tests {
    use roci_doctor::{Gpu, LogReader, RuleSet, Snapshot};

    use super::*;

    #[test]
    fn the_last_output_of_a_crash_is_masked_and_printed() {
        let crashed = serde_json::json!({"uri": "vulkan:0", "name": "RX", "kind": null, "status": "died", "check": null,
            "signal": 11, "reason": "ended by signal 11", "stderr_tail": "/home/naomi/.cache: fe80::1", "checks": [],
            "seconds": 0.5});
        let report: RouteReport = serde_json::from_value(crashed).expect("it is a report");
        let masked = roci_doctor::mask(&report, &roci_doctor::Identity::default()).expect("it is one afterwards");
        let printed = line(&masked.value);
        assert_eq!(
            printed,
            "vulkan:0 (RX): crashes: ended by signal 11 at the start; last output: /home/USER/.cache: IP"
        );
    }

    #[test]
    fn emulated_devices_are_left_out() {
        let found = devices(
            r#"{"drivers":[{"devices":[{"uri":"cpu","kind":"CPU"},{"uri":"emu://gfx1010","kind":"emulated GPU"}]}]}"#,
        );
        assert_eq!(found.iter().map(|device| device.uri.as_str()).collect::<Vec<_>>(), ["cpu"]);
        assert!(devices("nonsense").is_empty());
    }

    #[test]
    fn a_gpu_is_healthy_only_if_it_was_verified() {
        let (rule_set, reader) = (RuleSet::builtin().expect("the rules"), LogReader::new().expect("the file"));
        let mut snapshot = Snapshot::default();
        snapshot.gpus.push(Gpu { pci: "0000:03:00.0".into(), pci_id: "1002:731f".into(), ..Gpu::default() });
        let report = |uri: &str, kind: &str, pci: Option<&str>, status: &str| -> RouteReport {
            let value = serde_json::json!({"uri": uri, "name": null, "kind": kind, "pci": pci, "status": status,
                "checks": [], "seconds": 0.5});
            serde_json::from_value(value).expect("it is a report")
        };
        let folded = |reports: &[RouteReport]| {
            let mut diagnosis = Diagnosis::new(&rule_set, &reader, &snapshot);
            diagnosis.healthy = true;
            fold(&mut diagnosis, reports);
            (diagnosis.healthy, diagnosis.gpus[0].computed.clone().unwrap_or_default(), diagnosis.verdict)
        };
        let cpu = report("cpu", "CPU", None, "right");
        let (healthy, computed, verdict) = folded(std::slice::from_ref(&cpu));
        assert!(!healthy && computed == "not verified" && verdict.ends_with(" was not verified."), "{verdict}");
        let gpu = |pci, status| report("vulkan:0", "discrete GPU", Some(pci), status);
        let (healthy, computed, verdict) = folded(&[cpu.clone(), gpu("0000:03:00.0", "right")]);
        assert!(healthy && computed == "right", "{verdict}");
        assert!(verdict.ends_with(" 1 of 1 routes to a GPU compute correct results."), "{verdict}");
        let (healthy, computed, _) = folded(&[cpu.clone(), gpu("0000:03:00.0", "wrong")]);
        assert!(!healthy && computed.starts_with("vulkan:0 computes wrong results"), "{computed}");
        let (healthy, computed, _) = folded(&[cpu, gpu("0000:0e:00.0", "right")]);
        assert!(!healthy && computed == "not verified", "{computed}");
    }
}
