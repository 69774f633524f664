//! `roci doctor`: what is wrong with this machine, what to do, and is it true.

mod error;
mod print;
mod probes;
mod rules;
mod verified;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use roci_doctor::{Book, Conclusion, Diagnosis, Identity, Reader, Root, Snapshot};
use serde::Serialize;

use super::verify::RouteReport;
use crate::cli::{DoctorArgs, DoctorCommand, DriverArgs};
use crate::error::CliError;
use crate::exit::ExitStatus;
use crate::input;
use crate::interrupt;
use crate::printer::Printer;
pub(crate) use error::DoctorError;

/// What is printed as JSON.
#[derive(Serialize)]
struct Report<'a> {
    schema: &'static str,
    version: u32,
    #[serde(flatten)]
    diagnosis: &'a Diagnosis,
    /// What each device computed; null where that was not asked for.
    verified: Option<&'a [RouteReport]>,
}

/// What is printed of a log as JSON.
#[derive(Serialize)]
struct LogReport<'a> {
    schema: &'static str,
    version: u32,
    #[serde(flatten)]
    conclusion: &'a Conclusion,
}

/// The report for a bug tracker as JSON.
#[derive(Serialize)]
struct BugReport<'a> {
    schema: &'static str,
    version: u32,
    program: &'static str,
    #[serde(flatten)]
    diagnosis: &'a Diagnosis,
    /// What each device computed; null where that was not asked for.
    verified: Option<&'a [RouteReport]>,
    snapshot: &'a Snapshot,
}

const PROGRAM: &str = concat!("roci ", env!("CARGO_PKG_VERSION"));

/// Examines a machine, a snapshot or a log, or tells of rules.
pub(crate) fn run(arguments: &DoctorArgs, drivers: &DriverArgs, printer: &Printer) -> Result<ExitStatus, CliError> {
    if let Some(option) = arguments.out_of_place() {
        return Err(DoctorError::OutOfPlace { option }.into());
    }
    let environment = environment();
    let book = book(arguments, &environment)?;
    let as_json = arguments.json();
    match &arguments.command {
        Some(DoctorCommand::Rules(arguments)) => return rules::list(&book, arguments, as_json, printer),
        Some(DoctorCommand::Explain(arguments)) => return rules::explain(&book, arguments, as_json, printer),
        None => {}
    }
    let reader = Reader::new().map_err(DoctorError::Fault)?;
    if let Some(path) = &arguments.log {
        return log(&book, &reader, path, arguments, printer);
    }
    let snapshot = snapshot(arguments, drivers, &environment, printer)?;
    if let Some(path) = &arguments.capture {
        let identity = identity(arguments, &environment);
        let masked = roci_doctor::mask(&snapshot, &identity).map_err(DoctorError::Fault)?;
        write(path, &json(&masked.value)?)?;
        printer.note(&format!("`{}` written; {}", path.display(), masked.describe()));
    }
    let mut diagnosis = Diagnosis::new(&book, &reader, &snapshot);
    let verified = arguments.verify.then(|| verified::compute(drivers, printer));
    if let Some(reports) = &verified {
        verified::fold(&mut diagnosis, reports);
    }
    if let Some(path) = &arguments.report {
        let identity = identity(arguments, &environment);
        report(path, &book, &reader, &snapshot, &identity, verified.as_deref(), printer)?;
    }
    if arguments.format.json {
        let verified = verified.as_deref();
        printer.json(&Report { schema: "roci.doctor", version: 1, diagnosis: &diagnosis, verified })?;
    } else {
        print::diagnosis(&diagnosis, arguments.verbose, printer)?;
        verified.iter().flatten().try_for_each(|report| verified::print(report, printer))?;
    }
    if interrupt::asked() {
        return Ok(ExitStatus::Interrupted);
    }
    Ok(if diagnosis.healthy { ExitStatus::Success } else { ExitStatus::Problems })
}

fn environment() -> BTreeMap<String, String> {
    let text = |value: std::ffi::OsString| value.to_string_lossy().into_owned();
    std::env::vars_os().map(|(name, value)| (text(name), text(value))).collect()
}

/// The rules that come along, and those of the user's.
fn book(arguments: &DoctorArgs, environment: &BTreeMap<String, String>) -> Result<Book, DoctorError> {
    if let Some(folder) = arguments.rules.as_ref().filter(|folder| !folder.is_dir()) {
        return Err(DoctorError::NoRules { path: folder.clone() });
    }
    Ok(match &arguments.rules {
        Some(folder) => Book::with_folder(folder)?,
        None => Book::of_user(environment)?,
    })
}

fn snapshot(
    arguments: &DoctorArgs,
    drivers: &DriverArgs,
    environment: &BTreeMap<String, String>,
    printer: &Printer,
) -> Result<Snapshot, CliError> {
    if let Some(path) = &arguments.snapshot {
        let unreadable = |source| DoctorError::Unreadable { path: path.clone(), source };
        let bytes = read(path).map_err(unreadable)?;
        let wrong = |reason: String| DoctorError::NoSnapshot { path: path.clone(), reason };
        return Ok(Snapshot::parse(&bytes).map_err(wrong)?);
    }
    if let Some(root) = &arguments.root {
        if !root.is_dir() {
            return Err(DoctorError::NoFolder { path: root.clone() }.into());
        }
        // The variables of this shell say nothing of another machine.
        return Ok(Snapshot::gather_copy(&Root::at(root)));
    }
    if arguments.deep || arguments.verify {
        printer.note(
            "This starts OpenCL and HSA, each in a process of its own. On a BC-250 with a stock kernel HSA can freeze the \
             whole machine; roci refuses it there unless ROCI_ALLOW_HSA=1 is set.",
        );
    }
    Ok(std::thread::scope(|scope| {
        let asked = scope.spawn(|| probes::ask(arguments.deep, drivers));
        let mut snapshot = Snapshot::gather(&Root::system(), environment.clone().into_iter());
        snapshot.probes = asked.join().unwrap_or_default();
        snapshot
    }))
}

/// What would tell the reader of a file whose machine it was. A snapshot of another machine was masked there.
fn identity(arguments: &DoctorArgs, environment: &BTreeMap<String, String>) -> Identity {
    Identity::gather(&arguments.root.as_ref().map_or_else(Root::system, Root::at), environment)
}

/// Judges a log that somebody pasted.
fn log(
    book: &Book,
    reader: &Reader,
    path: &Path,
    arguments: &DoctorArgs,
    printer: &Printer,
) -> Result<ExitStatus, CliError> {
    let unreadable = |source| DoctorError::Unreadable { path: path.into(), source };
    let bytes = read(path).map_err(unreadable)?;
    let conclusion = Conclusion::of(reader, book, &Reader::decode(&bytes));
    if arguments.format.json {
        printer.json(&LogReport { schema: "roci.doctor.log", version: 1, conclusion: &conclusion })?;
    } else {
        printer.data(&conclusion.text(arguments.verbose))?;
    }
    Ok(if conclusion.problems() { ExitStatus::Problems } else { ExitStatus::Success })
}

/// A file, or standard input where it is `-`.
fn read(path: &Path) -> std::io::Result<Vec<u8>> {
    if path == Path::new("-") {
        return input::read_stdin();
    }
    input::read(path)
}

/// Writes the report twice: for people, and for programs beside it.
fn report(
    path: &Path,
    book: &Book,
    reader: &Reader,
    snapshot: &Snapshot,
    identity: &Identity,
    verified: Option<&[RouteReport]>,
    printer: &Printer,
) -> Result<(), CliError> {
    // What a process said before it died may name anybody, too.
    let both = (snapshot.clone(), verified.map(<[RouteReport]>::to_vec));
    let masked = roci_doctor::mask(&both, identity).map_err(DoctorError::Fault)?;
    let (snapshot, verified) = &masked.value;
    let mut diagnosis = Diagnosis::new(book, reader, snapshot);
    if let Some(reports) = verified {
        verified::fold(&mut diagnosis, reports);
    }
    let computed = verified.as_ref().map(|reports| reports.iter().map(verified::line).collect::<Vec<_>>());
    let name = path.to_string_lossy();
    let stem = name.strip_suffix(".md").or_else(|| name.strip_suffix(".json")).unwrap_or(&name);
    let (markdown, beside) = (PathBuf::from(format!("{stem}.md")), PathBuf::from(format!("{stem}.json")));
    write(&markdown, &roci_doctor::markdown(snapshot, &diagnosis, computed.as_deref(), PROGRAM))?;
    let whole = BugReport {
        schema: "roci.doctor.report",
        version: 1,
        program: PROGRAM,
        diagnosis: &diagnosis,
        verified: verified.as_deref(),
        snapshot,
    };
    write(&beside, &json(&whole)?)?;
    printer.note(&format!("`{}` and `{}` written; {}", markdown.display(), beside.display(), masked.describe()));
    Ok(())
}

fn json(value: &impl Serialize) -> Result<String, CliError> {
    let text = serde_json::to_string_pretty(value).map_err(|error| DoctorError::Fault(error.to_string()))?;
    Ok(text + "\n")
}

fn write(path: &Path, text: &str) -> Result<(), CliError> {
    std::fs::write(path, text).map_err(|source| CliError::File { path: path.into(), source })
}
