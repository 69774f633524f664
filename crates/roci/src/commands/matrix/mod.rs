//! `roci matrix`: every operation on every device, and what comes of it.
//!
//! `probes/` is what is tried, `devices` where. A process of its own tries probes on one device (`worker`), and says what it
//! does (`event`); `supervise` listens, and gives a fresh process the rest when one dies or hangs. `compare` decides what is
//! right, `outcome` has the words for how a probe can end. Results are kept in a `database`, so that `changes` can tell what
//! is otherwise than the last time. A `report` is shown as a `table`, as JSON, as `markdown` or as an `html` page.

mod changes;
mod compare;
mod database;
mod date;
mod devices;
mod error;
mod event;
mod html;
mod markdown;
mod outcome;
mod probes;
mod report;
mod supervise;
mod table;
mod worker;

use std::collections::{BTreeMap, VecDeque};
use std::path::Path;
use std::sync::mpsc::{self, Receiver};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

pub(crate) use error::MatrixError;
pub(crate) use probes::Group;
pub(crate) use worker::run as probe;

use crate::cli::{DriverArgs, MatrixArgs};
use crate::error::CliError;
use crate::exit::ExitStatus;
use crate::interrupt;
use crate::printer::{Column, Printer};
use crate::registry::registry;
use database::{Before, Database};
use devices::Wanted;
use probes::Probe;
use report::{DeviceReport, Finding, ProbeReport, Report};
use supervise::Heard;

/// Processes at a time.
const TOGETHER: usize = 2;
/// How long a probe may take. Emulated GPUs on a busy machine are slow.
const DEADLINE: Duration = Duration::from_secs(60);

/// Tries everything, keeps the results and shows them.
pub(crate) fn run(arguments: &MatrixArgs, drivers: &DriverArgs, printer: &Printer) -> Result<ExitStatus, CliError> {
    let to_stdout = arguments.markdown.as_deref() == Some(Path::new("-"));
    if arguments.format.json && to_stdout {
        return Err(MatrixError::TwoAnswers.into());
    }
    let probes = select(arguments)?;
    // What is no URI is a slip of the pen, whatever else is named.
    let drivers_there = registry(drivers);
    arguments.devices.iter().try_for_each(|uri| drivers_there.parse(uri).map(drop))?;
    if arguments.list {
        let row = |probe: &Probe| vec![probe.group.name(), probe.name.clone()];
        printer.table(&[Column::Text("GROUP"), Column::Text("PROBE")], probes.iter().map(row).collect())?;
        return Ok(ExitStatus::Success);
    }
    // Before anything runs: whoever named a file wants the results to be in it.
    let database = match arguments.database.clone().or_else(database::of_user) {
        Some(path) => Some(Database::open(&path)?),
        None => {
            printer.note("results are not kept: neither XDG_DATA_HOME nor HOME is set");
            None
        }
    };
    interrupt::listen();
    let (wanted, notes) = devices::choose(&arguments.devices, drivers);
    notes.iter().for_each(|note| printer.note(note));
    let report = gather(&wanted, &probes, arguments.deadline.unwrap_or(DEADLINE), database.as_ref(), drivers, printer);
    let absent = |device: &DeviceReport| device.error.clone().filter(|_| !device.died);
    let errors: Vec<String> = report.devices.iter().filter_map(absent).collect();
    // Where nothing was tried there is no table to show.
    if let Some(first) =
        errors.first().filter(|_| !arguments.devices.is_empty() && errors.len() == report.devices.len())
    {
        return Err(MatrixError::no_device(first).into());
    }
    show(&report, arguments, to_stdout, printer)?;
    Ok(status(&report, !arguments.devices.is_empty()))
}

/// The probes that were asked for.
fn select(arguments: &MatrixArgs) -> Result<Vec<Probe>, MatrixError> {
    let mut probes = probes::all();
    #[cfg(debug_assertions)]
    if arguments.faults {
        probes = probes::faults().into_iter().chain(probes).collect();
    }
    let fits = |probe: &Probe, text: &String| probe.name.to_lowercase().contains(&text.to_lowercase());
    for text in &arguments.only {
        if !probes.iter().any(|probe| fits(probe, text)) {
            return Err(MatrixError::NoProbe(text.clone()));
        }
    }
    let all = arguments.only.is_empty() && arguments.groups.is_empty();
    probes.retain(|probe| {
        all || arguments.groups.contains(&probe.group) || arguments.only.iter().any(|text| fits(probe, text))
    });
    Ok(probes)
}

/// Runs everything, some processes at a time, and takes in what they say.
fn gather(
    wanted: &[Wanted],
    probes: &[Probe],
    deadline: Duration,
    database: Option<&Database>,
    drivers: &DriverArgs,
    printer: &Printer,
) -> Report {
    let started = Instant::now();
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
    let names: Vec<String> = probes.iter().map(|probe| probe.name.clone()).collect();
    let queue = Mutex::new(VecDeque::from(devices::order(wanted)));
    let (sender, receiver) = mpsc::channel();
    let mut collected = Collected::new(wanted);
    std::thread::scope(|scope| {
        for _ in 0..TOGETHER {
            let (sender, queue, names) = (sender.clone(), &queue, &names);
            scope.spawn(move || {
                loop {
                    let next = queue.lock().unwrap_or_else(PoisonError::into_inner).pop_front();
                    let Some(index) = next.filter(|_| !interrupt::asked()) else { return };
                    supervise::run(&wanted[index].uri, names, deadline, drivers, &mut |heard| {
                        // Whoever listens has gone only when all is over.
                        let _ = sender.send((index, heard));
                    });
                }
            });
        }
        drop(sender);
        collected.listen(&receiver, probes.len(), database, printer);
    });
    collected.report(probes, since, started.elapsed())
}

/// What was heard so far.
struct Collected {
    devices: Vec<DeviceReport>,
    results: Vec<Finding>,
    before: BTreeMap<String, Before>,
    /// The file of results has failed, which was said.
    unkept: bool,
}

impl Collected {
    fn new(wanted: &[Wanted]) -> Self {
        let device = |wanted: &Wanted| DeviceReport {
            uri: wanted.uri.clone(),
            label: wanted.label.clone(),
            name: None,
            kind: None,
            driver: None,
            identity: None,
            error: None,
            died: false,
        };
        let devices = wanted.iter().map(device).collect();
        Self { devices, results: Vec::new(), before: BTreeMap::new(), unkept: false }
    }

    /// Takes in everything until the last process has ended.
    fn listen(
        &mut self,
        receiver: &Receiver<(usize, Heard)>,
        probes: usize,
        database: Option<&Database>,
        printer: &Printer,
    ) {
        let bar = printer.progress(self.devices.len() * probes);
        for (index, heard) in receiver {
            match &heard {
                Heard::Begins(probe) => bar.set_message(format!("{probe} on {}", self.devices[index].label)),
                Heard::Ended { .. } => bar.inc(1),
                Heard::NotOpened { .. } => bar.inc(probes as u64),
                Heard::Opened(_) => {}
            }
            if let Err(error) = self.take(index, heard, database)
                && !std::mem::replace(&mut self.unkept, true)
            {
                // The run goes on: what it finds is shown, if not kept.
                printer.note(&error.to_string());
            }
        }
        bar.finish_and_clear();
    }

    fn take(&mut self, index: usize, heard: Heard, database: Option<&Database>) -> Result<(), MatrixError> {
        let device = &mut self.devices[index];
        match heard {
            Heard::Opened(identity) => {
                // A fresh process opens it once more.
                let first = device.identity.is_none();
                device.name = Some(identity.name.clone());
                device.kind = Some(identity.kind.clone());
                device.driver = Some(identity.driver.clone());
                device.identity = Some(identity.identity.clone());
                if let Some(database) = database.filter(|_| first) {
                    self.before.insert(device.uri.clone(), database.before(&identity.identity)?);
                    database.device(&device.uri, &identity)?;
                }
            }
            Heard::NotOpened { error, died } => (device.error, device.died) = (Some(error), died),
            Heard::Begins(_) => {}
            Heard::Ended { probe, verdict, seconds } => {
                let finding = Finding { device: device.uri.clone(), probe, verdict, seconds };
                let identity = device.identity.clone();
                self.results.push(finding.clone());
                if let (Some(database), Some(identity)) = (database, identity) {
                    database.result(&identity, &finding.probe, &finding.verdict, seconds)?;
                }
            }
        }
        Ok(())
    }

    fn report(self, probes: &[Probe], started: u64, time: Duration) -> Report {
        let changes = changes::find(&self.devices, &self.results, &self.before);
        let probe = |probe: &Probe| ProbeReport { group: probe.group.name(), name: probe.name.clone() };
        Report {
            schema: "roci.matrix",
            version: 1,
            roci: env!("CARGO_PKG_VERSION"),
            started,
            seconds: time.as_secs_f64(),
            interrupted: interrupt::asked(),
            devices: self.devices,
            probes: probes.iter().map(probe).collect(),
            results: self.results,
            changes,
        }
    }
}

fn show(report: &Report, arguments: &MatrixArgs, to_stdout: bool, printer: &Printer) -> Result<(), CliError> {
    let write = |path: &Path, text: &str| {
        std::fs::write(path, text).map_err(|source| CliError::File { path: path.to_owned(), source })
    };
    if let Some(path) = &arguments.html {
        write(path, &html::render(report))?;
        printer.note(&format!("the page is in {}", path.display()));
    }
    if let Some(path) = arguments.markdown.as_deref().filter(|_| !to_stdout) {
        write(path, &markdown::render(report))?;
        printer.note(&format!("the table is in {}", path.display()));
    }
    if arguments.format.json {
        printer.json(report)?;
    } else if to_stdout {
        printer.data(&markdown::render(report))?;
    } else {
        printer.data(&table::render(report))?;
    }
    Ok(())
}

/// What is broken is a problem; what a device refuses is none. A device that was named must be there.
fn status(report: &Report, named: bool) -> ExitStatus {
    let broken = report.failures().next().is_some() || report.devices.iter().any(|device| device.died);
    let absent = named && report.devices.iter().any(|device| device.error.is_some() && !device.died);
    let mut status = if broken { ExitStatus::Problems } else { ExitStatus::Success };
    if absent {
        status = status.and(ExitStatus::NoDevice);
    }
    if report.interrupted { ExitStatus::Interrupted } else { status }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::commands::matrix::outcome::{Outcome, Verdict};

    #[test]
    fn unsupported_is_no_problem_and_a_named_device_must_be_there() {
        let mut report = report::example();
        assert_eq!(status(&report, false), ExitStatus::Problems);
        report.results.retain(|finding| !finding.verdict.outcome.is_bad());
        assert_eq!(status(&report, false), ExitStatus::Success);
        assert_eq!(status(&report, true), ExitStatus::NoDevice);
        report.devices[2].died = true;
        assert_eq!(status(&report, false), ExitStatus::Problems);
    }

    #[test]
    fn what_is_heard_is_kept() {
        let folder = tempfile::tempdir().expect("a folder");
        let database = Database::open(&folder.path().join("matrix.sqlite")).expect("it opens");
        let (wanted, _) = devices::choose(&["cpu".into()], &DriverArgs::default());
        let mut collected = Collected::new(&wanted);
        let identity = event::Identity {
            identity: "cpu: Xeon".into(),
            name: "Xeon".into(),
            kind: "CPU".into(),
            driver: "1".into(),
        };
        let ended = |outcome| Heard::Ended { probe: "mm".into(), verdict: Verdict::new(outcome, "so"), seconds: 0.5 };
        for heard in [Heard::Opened(identity), Heard::Begins("mm".into()), ended(Outcome::Wrong)] {
            collected.take(0, heard, Some(&database)).expect("it is kept");
        }
        let report = collected.report(&[], 0, Duration::from_secs(1));
        assert_eq!((report.devices[0].name.as_deref(), report.results.len()), (Some("Xeon"), 1));
        drop(database);
        let later = Database::open(&folder.path().join("matrix.sqlite")).expect("it opens");
        let before = later.before("cpu: Xeon").expect("it reads");
        assert_eq!(before.outcomes.get("mm"), Some(&Outcome::Wrong));
    }
}
