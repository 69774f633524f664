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
const PATIENT: Limits = Limits { run: Duration::from_secs(60), silence: None, death: Duration::from_secs(1) };

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

/// A device that is to compute.
#[derive(Debug, PartialEq)]
struct Listed {
    uri: String,
    kind: String,
    pci: Option<String>,
}

/// The devices that `roci devices --json` lists, without emulated ones.
fn devices(output: &str) -> Vec<Listed> {
    let report: Value = serde_json::from_str(output).unwrap_or_default();
    let drivers = report["drivers"].as_array().into_iter().flatten();
    let devices = drivers.flat_map(|driver| driver["devices"].as_array().into_iter().flatten());
    let text = |value: &Value| value.as_str().map(str::to_owned);
    let listed = |device: &Value| {
        Some(Listed { uri: text(&device["uri"])?, kind: text(&device["kind"])?, pci: text(&device["pci"]) })
    };
    devices.filter_map(listed).filter(|device| !device.kind.contains("emulated")).collect()
}

/// A device that computes wrong, hangs or crashes is a problem, whatever files say of it. That the processor computes
/// says nothing of a GPU.
pub(super) fn fold(diagnosis: &mut Diagnosis, reports: &[RouteReport]) {
    let is_gpu = |report: &&RouteReport| report.kind.as_deref().is_some_and(|kind| kind.contains("GPU"));
    let gpus: Vec<_> = reports.iter().filter(is_gpu).collect();
    let mut untried = Vec::new();
    for card in &mut diagnosis.gpus {
        let own: Vec<_> = gpus.iter().filter(|report| report.pci.as_ref() == Some(&card.pci)).collect();
        card.computed = Some(match own.iter().find(|report| !report.is_right()) {
            Some(wrong) => format!("{} {}", wrong.uri, wrong.summary()),
            None if own.is_empty() => {
                untried.push(format!(" {} itself was not tried.", card.name()));
                "not tried".to_owned()
            }
            None => "right".to_owned(),
        });
    }
    let right = gpus.iter().filter(|report| report.is_right()).count();
    diagnosis.healthy &= untried.is_empty() && !gpus.is_empty() && reports.iter().all(RouteReport::is_right);
    diagnosis.verdict.push_str(&match gpus.len() {
        0 if untried.is_empty() => " No GPU could be tried.".to_owned(),
        0 => String::new(),
        count => format!(" {right} of {count} ways to a GPU compute right."),
    });
    diagnosis.verdict.push_str(&untried.concat());
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
    use roci_doctor::{Book, Gpu, Reader, Snapshot};

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
        assert_eq!(found, [Listed { uri: "cpu".into(), kind: "CPU".into(), pci: None }]);
        assert!(devices("nonsense").is_empty());
    }

    #[test]
    fn a_gpu_is_well_only_if_it_computed_itself() {
        let (book, reader) = (Book::builtin().expect("the rules"), Reader::new().expect("the file"));
        let mut snapshot = Snapshot::default();
        snapshot.gpus.push(Gpu { pci: "0000:03:00.0".into(), pci_id: "1002:731f".into(), ..Gpu::default() });
        let report = |uri: &str, kind: &str, pci: Option<&str>, status: &str| -> RouteReport {
            let value = serde_json::json!({"uri": uri, "name": null, "kind": kind, "pci": pci, "status": status,
                "checks": [], "seconds": 0.5});
            serde_json::from_value(value).expect("it is a report")
        };
        let folded = |reports: &[RouteReport]| {
            let mut diagnosis = Diagnosis::new(&book, &reader, &snapshot);
            diagnosis.healthy = true;
            fold(&mut diagnosis, reports);
            (diagnosis.healthy, diagnosis.gpus[0].computed.clone().unwrap_or_default(), diagnosis.verdict)
        };
        let cpu = report("cpu", "CPU", None, "right");
        let (healthy, computed, verdict) = folded(std::slice::from_ref(&cpu));
        assert!(!healthy && computed == "not tried" && verdict.ends_with(" itself was not tried."), "{verdict}");
        let gpu = |pci, status| report("vulkan:0", "discrete GPU", Some(pci), status);
        let (healthy, computed, verdict) = folded(&[cpu.clone(), gpu("0000:03:00.0", "right")]);
        assert!(healthy && computed == "right", "{verdict}");
        assert!(verdict.ends_with(" 1 of 1 ways to a GPU compute right."), "{verdict}");
        let (healthy, computed, _) = folded(&[cpu.clone(), gpu("0000:03:00.0", "wrong")]);
        assert!(!healthy && computed.starts_with("vulkan:0 does not compute right"), "{computed}");
        let (healthy, computed, _) = folded(&[cpu, gpu("0000:0e:00.0", "right")]);
        assert!(!healthy && computed == "not tried", "{computed}");
    }
}
