//! `roci doctor`: diagnoses this machine, another machine's snapshot, or a log.

mod error;
mod fix;
mod print;
mod probes;
mod report;
mod rules;
mod verify;
mod watch;

use std::collections::BTreeMap;
use std::path::Path;

use roci_doctor::{Conclusion, Diagnosis, Identity, LogReader, Root, RuleSet, Snapshot};
use roci_probe::verify::RouteReport;
use serde::Serialize;

use crate::cli::{DoctorArgs, DoctorCommand, DriverArgs};
use crate::error::CliError;
use crate::exit::ExitStatus;
use crate::input;
use crate::interrupt;
use crate::printer::Printer;
pub(crate) use error::DoctorError;

#[derive(Serialize)]
struct Report<'a> {
    schema: &'static str,
    version: u32,
    #[serde(flatten)]
    diagnosis: &'a Diagnosis,
    /// The results of `--verify`; null without it.
    verified: Option<&'a [RouteReport]>,
}

/// The analysis of a log as JSON.
#[derive(Serialize)]
struct LogReport<'a> {
    schema: &'static str,
    version: u32,
    #[serde(flatten)]
    conclusion: &'a Conclusion,
}

const PROGRAM: &str = concat!("roci ", env!("CARGO_PKG_VERSION"));

/// Analyzes a machine, a snapshot or a log, or prints rules.
pub(crate) fn run(arguments: &DoctorArgs, drivers: &DriverArgs, printer: &Printer) -> Result<ExitStatus, CliError> {
    if let Some(option) = arguments.misplaced_option() {
        return Err(DoctorError::MisplacedOption { option }.into());
    }
    let environment = environment();
    // Drivers take longest to answer; meanwhile files are read.
    let asks = arguments.command.is_none()
        && [&arguments.log, &arguments.snapshot, &arguments.root].iter().all(|path| path.is_none());
    if asks && (arguments.deep || arguments.verify) {
        printer.note(
            "starting OpenCL and HSA in child processes; on a BC-250 with a stock kernel, HSA can freeze the whole machine: \
             roci does not start it there unless ROCI_ALLOW_HSA=1 is set",
        );
    }
    std::thread::scope(|scope| {
        let probes = asks.then(|| scope.spawn(|| probes::query(arguments.deep || arguments.verify, drivers)));
        let reader = scope.spawn(LogReader::new);
        let rule_set = rule_set(arguments, &environment)?;
        let reader = || reader.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        match &arguments.command {
            Some(DoctorCommand::Rules(list)) => rules::list(&rule_set, list, arguments.json(), printer),
            Some(DoctorCommand::Explain(ids)) => rules::explain(&rule_set, ids, arguments.json(), printer),
            Some(DoctorCommand::Fix(fix)) => {
                let reader = reader().map_err(DoctorError::Internal)?;
                fix::run(&rule_set, &reader, &environment, arguments, fix, printer)
            }
            Some(DoctorCommand::Watch(watched)) => {
                let reader = reader().map_err(DoctorError::Internal)?;
                watch::run(&rule_set, &reader, &environment, watched, printer)
            }
            None => {
                let mut snapshot = snapshot(arguments, &environment)?;
                let reader = reader().map_err(DoctorError::Internal)?;
                if let Some(path) = &arguments.log {
                    return log(&rule_set, &reader, path, arguments, printer);
                }
                if let Some(probes) = probes.and_then(|probes| probes.join().ok()) {
                    snapshot.probes = probes;
                }
                diagnose(&rule_set, &reader, snapshot, &environment, arguments, drivers, printer)
            }
        }
    })
}

/// Prints the diagnosis of a machine, and writes the files that are asked for.
fn diagnose(
    rule_set: &RuleSet,
    reader: &LogReader,
    snapshot: Snapshot,
    environment: &BTreeMap<String, String>,
    arguments: &DoctorArgs,
    drivers: &DriverArgs,
    printer: &Printer,
) -> Result<ExitStatus, CliError> {
    if let Some(path) = &arguments.capture {
        let identity = identity(arguments, environment);
        let masked = roci_doctor::mask(&snapshot, &identity).map_err(DoctorError::Internal)?;
        save(path, &json(&masked.value)?)?;
        printer.note(&format!("wrote `{}`; {}", path.display(), masked.describe()));
    }
    let mut diagnosis = Diagnosis::new(rule_set, reader, &snapshot);
    let verified = arguments.verify.then(|| verify::compute(drivers, printer));
    if let Some(reports) = &verified {
        verify::fold(&mut diagnosis, reports);
    }
    if arguments.report.is_some() || arguments.html.is_some() {
        let identity = identity(arguments, environment);
        report::write(arguments, rule_set, reader, &snapshot, &identity, verified.as_deref(), printer)?;
    }
    if arguments.format.json {
        let verified = verified.as_deref();
        printer.json(&Report { schema: "roci.doctor", version: 2, diagnosis: &diagnosis, verified })?;
    } else {
        print::diagnosis(&diagnosis, &snapshot, arguments.verbose, printer)?;
        verified.iter().flatten().try_for_each(|report| verify::print(report, printer))?;
    }
    if interrupt::requested() {
        return Ok(ExitStatus::Interrupted);
    }
    Ok(if diagnosis.healthy { ExitStatus::Success } else { ExitStatus::Problems })
}

fn environment() -> BTreeMap<String, String> {
    let text = |value: std::ffi::OsString| value.to_string_lossy().into_owned();
    std::env::vars_os().map(|(name, value)| (text(name), text(value))).collect()
}

/// The built-in rules and the user's rules.
fn rule_set(arguments: &DoctorArgs, environment: &BTreeMap<String, String>) -> Result<RuleSet, DoctorError> {
    if let Some(folder) = arguments.rules.as_ref().filter(|folder| !folder.is_dir()) {
        return Err(DoctorError::NoRulesFolder { path: folder.clone() });
    }
    Ok(match &arguments.rules {
        Some(folder) => RuleSet::with_folder(folder)?,
        None => RuleSet::of_user(environment)?,
    })
}

/// The snapshot to analyze. Drivers are not asked here.
fn snapshot(arguments: &DoctorArgs, environment: &BTreeMap<String, String>) -> Result<Snapshot, CliError> {
    if arguments.log.is_some() {
        return Ok(Snapshot::default());
    }
    if let Some(path) = &arguments.snapshot {
        let unreadable = |source| DoctorError::Unreadable { path: path.clone(), source };
        let bytes = read(path).map_err(unreadable)?;
        let invalid = |reason: String| DoctorError::InvalidSnapshot { path: path.clone(), reason };
        return Ok(Snapshot::parse(&bytes).map_err(invalid)?);
    }
    if let Some(root) = &arguments.root {
        check_root(root)?;
        // The environment of this shell does not apply to another machine.
        return Ok(Snapshot::gather_copy(&Root::at(root)));
    }
    Ok(Snapshot::gather(&Root::system(), environment.clone().into_iter()))
}

/// Checks that a folder can be read and has files of a machine.
fn check_root(root: &Path) -> Result<(), DoctorError> {
    if !root.is_dir() {
        return Err(DoctorError::NotAFolder { path: root.into() });
    }
    let unreadable = |source| DoctorError::UnreadableFolder { path: root.into(), source };
    let names = std::fs::read_dir(root).map_err(unreadable)?;
    let is_tree = |name: &std::ffi::OsStr| TREES.iter().any(|tree| name == *tree);
    for entry in names {
        if is_tree(&entry.map_err(unreadable)?.file_name()) {
            return Ok(());
        }
    }
    Err(DoctorError::NoMachine { path: root.into() })
}

/// Folders of which the copy of a machine has at least one.
const TREES: &[&str] = &["boot", "dev", "etc", "opt", "proc", "sys", "usr", "var"];

/// Identifying data to mask in files. A snapshot was masked when it was captured.
fn identity(arguments: &DoctorArgs, environment: &BTreeMap<String, String>) -> Identity {
    Identity::gather(&arguments.root.as_ref().map_or_else(Root::system, Root::at), environment)
}

/// Analyzes a log.
fn log(
    rule_set: &RuleSet,
    reader: &LogReader,
    path: &Path,
    arguments: &DoctorArgs,
    printer: &Printer,
) -> Result<ExitStatus, CliError> {
    let unreadable = |source| DoctorError::Unreadable { path: path.into(), source };
    let conclusion = match path == Path::new("-") {
        true => Conclusion::of_stream(reader, rule_set, std::io::stdin().lock()),
        false => input::open(path).and_then(|log| Conclusion::of_stream(reader, rule_set, log)),
    };
    let conclusion = conclusion.map_err(unreadable)?;
    if arguments.format.json {
        printer.json(&LogReport { schema: "roci.doctor.log", version: 2, conclusion: &conclusion })?;
    } else {
        printer.data(&conclusion.text(arguments.verbose))?;
    }
    Ok(if conclusion.problems() { ExitStatus::Problems } else { ExitStatus::Success })
}

/// Reads a file, or standard input for `-`.
fn read(path: &Path) -> std::io::Result<Vec<u8>> {
    if path == Path::new("-") {
        return input::read_stdin();
    }
    input::read(path)
}

fn json(value: &impl Serialize) -> Result<String, CliError> {
    let text = serde_json::to_string_pretty(value).map_err(|error| DoctorError::Internal(error.to_string()))?;
    Ok(text + "\n")
}

fn save(path: &Path, text: &str) -> Result<(), CliError> {
    std::fs::write(path, text).map_err(|source| CliError::File { path: path.into(), source })
}
