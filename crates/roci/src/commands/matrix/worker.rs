//! The process that probes one device: `roci matrix-probe`.

use std::time::{Duration, Instant};

use roci_hal::error::LossReason;
use roci_hal::{Device, DeviceInfo, Hint};
use roci_runtime::{Error, Note, Session};

use super::compare::compare;
use super::event::{Event, Identity};
use super::outcome::{Outcome, Verdict};
use super::probes::{self, Case, Probe, Work};
use crate::cli::{DriverArgs, MatrixProbeArgs};
use crate::commands::verify;
use crate::error::CliError;
use crate::exit::ExitStatus;
use crate::printer::{Printer, one_line};
use crate::registry::registry;

/// Tries what was asked for, in turn, and tells of everything before and after.
pub(crate) fn run(
    arguments: &MatrixProbeArgs,
    drivers: &DriverArgs,
    printer: &Printer,
) -> Result<ExitStatus, CliError> {
    limit_memory(arguments.memory);
    let tell = |event: Event| -> Result<(), CliError> {
        let text = serde_json::to_string(&event).map_err(std::io::Error::from)?;
        Ok(printer.data(&format!("{text}\n"))?)
    };
    let registry = registry(drivers);
    let timeout = arguments.timeout.unwrap_or(Duration::from_secs(20));
    let device = match registry.parse(&arguments.device).and_then(|uri| registry.open(&uri, Some(timeout))) {
        Ok(device) => device,
        Err(error) => {
            tell(Event::NotOpened { error: one_line(&error.to_string()), hint: error.hint() })?;
            return Ok(ExitStatus::from(&error));
        }
    };
    tell(Event::Opened(identity(device.info())))?;
    let known = known();
    for name in &arguments.probes {
        let Some(probe) = known.iter().find(|probe| probe.name == *name) else { continue };
        tell(Event::Begins { probe: name.clone() })?;
        let started = Instant::now();
        let verdict = attempt(probe, &device);
        tell(Event::Ended { probe: name.clone(), verdict, seconds: started.elapsed().as_secs_f64() })?;
        if device.loss().is_some() {
            tell(Event::Lost)?;
            return Ok(ExitStatus::DeviceFailed);
        }
    }
    tell(Event::Done)?;
    Ok(ExitStatus::Success)
}

fn known() -> Vec<Probe> {
    #[cfg(debug_assertions)]
    let more = probes::faults();
    #[cfg(not(debug_assertions))]
    let more = Vec::new();
    probes::all().into_iter().chain(more).collect()
}

/// A device driver that goes astray must not take the machine's memory: allocations fail instead, which ends this process.
///
/// Data is what counts: address space is taken in advance by many a driver, and costs nothing.
fn limit_memory(bytes: Option<u64>) {
    if let Some(bytes) = bytes {
        let limit = rustix::process::Rlimit { current: Some(bytes), maximum: Some(bytes) };
        // Where there is no such limit, there is none.
        let _ = rustix::process::setrlimit(rustix::process::Resource::Data, limit);
    }
}

fn identity(info: &DeviceInfo) -> Identity {
    let joined = |part: &dyn Fn(&roci_hal::PhysicalInfo) -> String| {
        let mut parts: Vec<_> = info.physical.iter().map(part).collect();
        parts.dedup();
        parts.join(" + ")
    };
    let card = |one: &roci_hal::PhysicalInfo| {
        let place = one.uuid.clone().or_else(|| one.pci.map(|pci| pci.to_string())).unwrap_or_default();
        format!("{} {place}", one.name).trim_end().to_owned()
    };
    let options: String = info.uri.parameters().iter().map(|(key, value)| format!(" {key}={value}")).collect();
    let version = concat!("roci ", env!("CARGO_PKG_VERSION"));
    Identity {
        identity: format!("{}: {}{options}", info.uri.scheme(), joined(&card)),
        name: joined(&|one| one.name.clone()),
        kind: joined(&|one| one.kind.describe().to_owned()),
        driver: joined(&|one| one.runtime.clone().unwrap_or_else(|| version.to_owned())),
    }
}

fn attempt(probe: &Probe, device: &Device) -> Verdict {
    let verdict = match &probe.work {
        Work::Graph(draft) => match draft.case() {
            Ok(case) => graph(case, device),
            Err(error) => Verdict::new(Outcome::NotTried, format!("the probe itself is wrong: {error}")),
        },
        Work::Corruption(corruption) => match corruption.check(device) {
            verify::Verdict::Pass => Verdict::works(),
            verify::Verdict::Fail(detail) => Verdict::new(Outcome::Wrong, detail),
            verify::Verdict::NotApplicable(detail) => Verdict::new(Outcome::Unsupported, detail),
        },
        #[cfg(debug_assertions)]
        Work::Fault(fault) => go_wrong(*fault),
    };
    // Whatever the probe made of it: a lost device tells best what happened.
    match device.loss() {
        None => verdict,
        Some(loss) => {
            let hung = matches!(loss.reason, LossReason::Hang { .. });
            Verdict::new(if hung { Outcome::Hangs } else { Outcome::Crashes }, one_line(&loss.to_string()))
        }
    }
}

/// Runs a graph twice: the first run makes it ready, the second replays what was recorded.
fn graph(case: Case, device: &Device) -> Verdict {
    let Case { graph, inputs, tolerance } = case;
    let want = match roci_graph::run(&graph, inputs.clone()) {
        Ok(want) => want,
        Err(error) => return Verdict::new(Outcome::NotTried, format!("the probe itself is wrong: {error}")),
    };
    let mut session = Session::new(graph, device.clone());
    let mut worst: Option<f64> = None;
    for run in ["first", "second"] {
        let got = match session.run(&inputs) {
            Ok(got) => got,
            Err(error) => return failed(&error),
        };
        let verdict = compare(&got, &want, tolerance);
        if verdict.outcome != Outcome::Works {
            let detail = verdict.detail.map(|detail| format!("{run} run, {detail}"));
            return Verdict { detail, ..verdict };
        }
        worst = worst.into_iter().chain(verdict.excess).reduce(f64::max);
    }
    Verdict { outcome: Outcome::Works, detail: remark(session.notes()), excess: worst }
}

fn failed(error: &Error) -> Verdict {
    let text = one_line(&error.to_string());
    match error {
        Error::Unsupported { reason, .. } => Verdict::new(Outcome::Unsupported, one_line(reason)),
        Error::Kernel(_) => Verdict::new(Outcome::Unsupported, text),
        Error::Hal(roci_hal::Error::Timeout { .. }) => Verdict::new(Outcome::Hangs, text),
        _ => Verdict::new(Outcome::Crashes, text),
    }
}

/// What is to be known of results that are right.
fn remark(notes: &[Note]) -> Option<String> {
    let reference = notes.iter().find_map(|note| match note {
        Note::Reference { op, .. } => Some(format!("no kernel: {op} is evaluated by its definition")),
        _ => None,
    });
    reference.or_else(|| notes.iter().any(|note| matches!(note, Note::Narrowed(_))).then(|| "f64 in f32".into()))
}

/// Does what a broken driver may do.
#[cfg(debug_assertions)]
fn go_wrong(fault: probes::Fault) -> Verdict {
    match fault {
        probes::Fault::Crash => std::process::abort(),
        probes::Fault::Hang => loop {
            std::thread::park();
        },
        probes::Fault::Panic => panic!("on purpose"),
    }
}
