//! `roci objects --for`: which libraries have kernels that run on a chip.

use std::time::{Duration, Instant};

use roci_objects::coverage::{self, ComponentReport, CoverageReport, TargetReport};
use roci_objects::escaped;
use roci_probe::units;

use crate::cli::ObjectsArgs;
use crate::error::CliError;
use crate::exit::ExitStatus;
use crate::printer::{BAD, Column, FAINT, GOOD, Printer};

/// Targets of a component that the table lists.
const MAX_LISTED_TARGETS: usize = 6;

/// Scans files and folders.
pub(super) fn run(chip: &str, arguments: &ObjectsArgs, printer: &Printer) -> Result<ExitStatus, CliError> {
    let device = coverage::parse_chip(chip)?;
    let started = Instant::now();
    let report = coverage::scan(device, &arguments.files, |error| printer.error(error));
    if arguments.format.json {
        printer.json(&report)?;
    } else {
        print(&report, printer)?;
        print_statistics(&report, started.elapsed(), printer);
    }
    Ok(if report.is_good() { ExitStatus::Success } else { ExitStatus::Problems })
}

fn print(report: &CoverageReport, printer: &Printer) -> Result<(), CliError> {
    let style = if report.runs { GOOD } else { BAD };
    printer.data(&format!("{style}{}{style:#}\n", report.verdict))?;
    let columns = [
        Column::Text("LIBRARY"),
        Column::Text("RUNS"),
        Column::Text("BY"),
        Column::Number("OBJECTS"),
        Column::Number("SIZE"),
        Column::Text("TARGETS"),
        Column::Text("WHERE"),
    ];
    let libraries = report.libraries.iter();
    let components: Vec<_> =
        libraries.flat_map(|library| library.components.iter().map(move |one| (library.name.as_str(), one))).collect();
    let rows: Vec<_> = components.iter().map(|(library, component)| cells(library, component)).collect();
    if !rows.is_empty() {
        printer.table(&columns, rows)?;
    }
    for (library, component) in components {
        let file = escaped(component.path.rsplit('/').next().unwrap_or_default());
        for note in &component.notes {
            let library = escaped(library);
            printer.data(&format!("{FAINT}{library}, {file}: {}{FAINT:#}\n", escaped(note)))?;
        }
    }
    Ok(())
}

/// Prints the number and size of the scanned files.
fn print_statistics(report: &CoverageReport, time: Duration, printer: &Printer) {
    let plural = if report.files == 1 { "" } else { "s" };
    let (size, time) = (units::bytes(report.bytes), units::seconds(time.as_secs_f64()));
    printer.note(&format!("scanned {} file{plural} of {size} in {time}", report.files));
}

fn cells(library: &str, component: &ComponentReport) -> Vec<String> {
    let running = |target: &&TargetReport| target.compatibility == component.compatibility;
    let by = component.targets.iter().find(running).filter(|_| component.runs).map_or("-", |one| one.target.as_str());
    let listed = component.targets.iter().take(MAX_LISTED_TARGETS);
    let mut targets: Vec<_> = listed.map(|one| escaped(&one.target)).collect();
    if component.targets.len() > MAX_LISTED_TARGETS {
        targets.push(format!("+{}", component.targets.len() - MAX_LISTED_TARGETS));
    }
    let sum = |of: fn(&TargetReport) -> u64| component.targets.iter().map(of).sum::<u64>();
    vec![
        escaped(library),
        if component.runs { "yes" } else { "no" }.into(),
        escaped(by),
        sum(|one| one.objects).to_string(),
        units::bytes(sum(|one| one.bytes)),
        if targets.is_empty() { "-".into() } else { targets.join(",") },
        escaped(&component.path),
    ]
}
