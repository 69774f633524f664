//! `roci matrix`: tests every operation on every device. [`roci_matrix`] runs the probes; this file
//! selects them and prints the results.

mod error;

use std::path::{Path, PathBuf};
use std::time::Duration;

use roci_matrix::worker::{self, Job, WorkerEnd};
use roci_matrix::{Database, DeviceSelection, Progress, Report, Settings, html, markdown, table};
use roci_probe::probes::{self, Probe};

pub(crate) use error::MatrixError;

use crate::child;
use crate::cli::{DriverArgs, MatrixArgs, MatrixProbeArgs};
use crate::error::CliError;
use crate::exit::ExitStatus;
use crate::folders;
use crate::interrupt;
use crate::printer::{BAD, Column, FAINT, GOOD, Printer};
use crate::registry::registry;

/// Default time limit of a probe. Emulated GPUs on a busy machine are slow.
const PROBE_TIMEOUT: Duration = Duration::from_secs(60);
/// Default time limit of a submission in `roci matrix-probe`.
const SUBMISSION_TIMEOUT: Duration = Duration::from_secs(20);

/// Runs the probes, stores the results and prints them.
pub(crate) fn run(arguments: &MatrixArgs, drivers: &DriverArgs, printer: &Printer) -> Result<ExitStatus, CliError> {
    let to_stdout = arguments.markdown.as_deref() == Some(Path::new("-"));
    if arguments.format.json && to_stdout {
        return Err(MatrixError::OutputConflict.into());
    }
    let probes = select(arguments)?;
    // An invalid URI is an error, even if other devices are valid.
    let registry = registry(drivers);
    arguments.devices.iter().try_for_each(|uri| registry.parse(uri).map(drop))?;
    if arguments.list {
        let row = |probe: &Probe| vec![probe.group.name().to_owned(), probe.name.clone()];
        printer.table(&[Column::Text("GROUP"), Column::Text("PROBE")], probes.iter().map(row).collect())?;
        return Ok(ExitStatus::Success);
    }
    // Opened before anything runs, so that an unusable file is reported at once.
    let database = match arguments.database.clone().or_else(default_database) {
        Some(path) => Some(Database::open(&path).map_err(MatrixError::from)?),
        None => {
            printer.note("results are not stored: neither XDG_DATA_HOME nor HOME is set");
            None
        }
    };
    interrupt::listen();
    let launcher = child::launcher(drivers);
    let selection = DeviceSelection::new(&arguments.devices, &launcher);
    selection.note.iter().for_each(|note| printer.note(note));
    let bar = printer.progress(selection.devices.len() * probes.len());
    let settings = Settings {
        devices: &selection.devices,
        probes: &probes,
        timeout: arguments.timeout.unwrap_or(PROBE_TIMEOUT),
        database: database.as_ref(),
        launcher: &launcher,
    };
    let report = roci_matrix::run(&settings, |progress| match progress {
        Progress::Begins { probe, device } => bar.set_message(format!("{probe} on {device}")),
        Progress::Ended(count) => bar.inc(count as u64),
        Progress::NotStored(error) => printer.note(&error.to_string()),
    });
    bar.finish_and_clear();
    let named = !arguments.devices.is_empty();
    if named {
        report.check_devices().map_err(MatrixError::from)?;
    }
    show(&report, arguments, to_stdout, printer)?;
    Ok(status(&report, named))
}

/// `roci matrix-probe`: runs probes on one device in this process and prints events.
pub(crate) fn probe(
    arguments: &MatrixProbeArgs,
    drivers: &DriverArgs,
    printer: &Printer,
) -> Result<ExitStatus, CliError> {
    let job = Job {
        device: &arguments.device,
        probes: &arguments.probes,
        timeout: arguments.timeout.unwrap_or(SUBMISSION_TIMEOUT),
        memory: arguments.memory,
    };
    Ok(match worker::run(&job, &registry(drivers), |line| printer.data(line))? {
        WorkerEnd::Done => ExitStatus::Success,
        WorkerEnd::NotOpened(error) => ExitStatus::from(&error),
        WorkerEnd::DeviceLost => ExitStatus::DeviceFailed,
    })
}

/// `$XDG_DATA_HOME/roci/matrix.sqlite`; `None` if there is no data folder.
fn default_database() -> Option<PathBuf> {
    Some(folders::data()?.join("matrix.sqlite"))
}

fn select(arguments: &MatrixArgs) -> Result<Vec<Probe>, MatrixError> {
    #[cfg(debug_assertions)]
    let faults = if arguments.faults { probes::faults() } else { Vec::new() };
    #[cfg(not(debug_assertions))]
    let faults = Vec::new();
    let probes = faults.into_iter().chain(probes::all()).collect();
    Ok(roci_matrix::select(probes, &arguments.groups, &arguments.only)?)
}

fn show(report: &Report, arguments: &MatrixArgs, to_stdout: bool, printer: &Printer) -> Result<(), CliError> {
    let write = |path: &Path, text: &str| {
        std::fs::write(path, text).map_err(|source| CliError::File { path: path.to_owned(), source })
    };
    if let Some(path) = &arguments.html {
        write(path, &html::render(report))?;
        printer.note(&format!("wrote {}", path.display()));
    }
    if let Some(path) = arguments.markdown.as_deref().filter(|_| !to_stdout) {
        write(path, &markdown::render(report))?;
        printer.note(&format!("wrote {}", path.display()));
    }
    if arguments.format.json {
        printer.json(report)?;
    } else if to_stdout {
        printer.data(&markdown::render(report))?;
    } else {
        printer.data(&table::render(report, &table::Styles { good: GOOD, bad: BAD, faint: FAINT }))?;
    }
    Ok(())
}

/// Broken probes are problems, unsupported ones are not. `named`: devices on the command line must
/// be available.
fn status(report: &Report, named: bool) -> ExitStatus {
    if report.interrupted {
        return ExitStatus::Interrupted;
    }
    let status = if report.has_failures() { ExitStatus::Problems } else { ExitStatus::Success };
    if named && report.has_unavailable_device() { status.and(ExitStatus::NoDevice) } else { status }
}
