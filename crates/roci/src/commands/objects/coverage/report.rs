//! What is said about libraries: a verdict, a table, JSON.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use roci_codeobj::TargetId;
use serde::Serialize;

use super::super::report::ProblemReport;
use super::super::table::shown;
use super::names::LibraryKey;
use super::part::Part;
use crate::error::CliError;
use crate::printer::{BAD, Column, FAINT, GOOD, Printer};
use crate::units;

/// Targets that the table lists.
const LISTED: usize = 6;

#[derive(Serialize)]
pub(super) struct Report {
    schema: &'static str,
    version: u32,
    /// The chip that was asked for.
    target: String,
    verdict: String,
    /// Every library has kernels that run.
    runs: bool,
    libraries: Vec<LibraryReport>,
    /// What was looked at.
    files: u64,
    bytes: u64,
    problems: Vec<ProblemReport>,
}

#[derive(Serialize)]
struct LibraryReport {
    name: String,
    folder: String,
    /// Every part that is there for kernels has some that run.
    runs: bool,
    parts: Vec<PartReport>,
}

#[derive(Serialize)]
struct PartReport {
    path: String,
    kind: &'static str,
    runs: bool,
    /// The best of its targets' fits; `none` if there are no kernels.
    fit: &'static str,
    files: u64,
    targets: Vec<TargetReport>,
    notes: Vec<String>,
}

#[derive(Serialize)]
struct TargetReport {
    target: String,
    /// `exact`, `generic` and `portable` run; `sibling`, `mismatch`, `unusable` and `other` do not.
    fit: &'static str,
    objects: u64,
    bytes: u64,
}

impl Report {
    pub(super) fn new(
        device: TargetId,
        libraries: BTreeMap<LibraryKey, BTreeMap<PathBuf, Part>>,
        problems: Vec<ProblemReport>,
        files: u64,
        bytes: u64,
    ) -> Self {
        let libraries: Vec<_> =
            libraries.into_iter().map(|(key, parts)| LibraryReport::new(key, parts, &device)).collect();
        let runs = !libraries.is_empty() && libraries.iter().all(|library| library.runs);
        let verdict = verdict(&device, &libraries);
        let target = device.to_string();
        Self { schema: "roci.objects.for", version: 1, target, verdict, runs, libraries, files, bytes, problems }
    }

    /// Whether nothing is wrong or unknown.
    pub(super) fn is_good(&self) -> bool {
        self.runs && self.problems.is_empty()
    }

    pub(super) fn print(&self, printer: &Printer) -> Result<(), CliError> {
        let style = if self.runs { GOOD } else { BAD };
        printer.data(&format!("{style}{}{style:#}\n", self.verdict))?;
        let columns = [
            Column::Text("LIBRARY"),
            Column::Text("RUNS"),
            Column::Text("BY"),
            Column::Number("OBJECTS"),
            Column::Number("SIZE"),
            Column::Text("TARGETS"),
            Column::Text("WHERE"),
        ];
        let parts = || self.libraries.iter().flat_map(|library| library.parts.iter().map(move |part| (library, part)));
        let rows: Vec<_> = parts().map(|(library, part)| part.cells(&library.name)).collect();
        if !rows.is_empty() {
            printer.table(&columns, rows)?;
        }
        for (library, part) in parts() {
            for note in &part.notes {
                let file = part.path.rsplit('/').next().unwrap_or_default();
                printer.data(&format!(
                    "{FAINT}{}, {}: {}{FAINT:#}\n",
                    shown(&library.name),
                    shown(file),
                    shown(note)
                ))?;
            }
        }
        Ok(())
    }

    /// How much was looked at.
    pub(super) fn print_effort(&self, time: Duration, printer: &Printer) {
        let plural = if self.files == 1 { "" } else { "s" };
        let (size, time) = (units::bytes(self.bytes), units::seconds(time.as_secs_f64()));
        printer.note(&format!("looked at {} file{plural} of {size} in {time}", self.files));
    }
}

impl LibraryReport {
    fn new(key: LibraryKey, parts: BTreeMap<PathBuf, Part>, device: &TargetId) -> Self {
        // Measurements alone are nothing that could run.
        let mut kernels = parts.values().filter(|part| part.has_kernels()).peekable();
        let runs = kernels.peek().is_some() && kernels.all(Part::runs);
        let parts = parts.into_iter().map(|(path, part)| PartReport::new(path, &part, device)).collect();
        Self { name: key.name, folder: key.folder.display().to_string(), runs, parts }
    }
}

impl PartReport {
    fn new(path: PathBuf, part: &Part, device: &TargetId) -> Self {
        let targets = part.targets.iter().map(|(target, one)| TargetReport {
            target: target.clone(),
            fit: one.fit.name(),
            objects: one.objects,
            bytes: one.bytes,
        });
        Self {
            path: path.display().to_string(),
            kind: part.describe(),
            runs: part.runs(),
            fit: part.fit(),
            files: part.files,
            targets: targets.collect(),
            notes: part.notes(device),
        }
    }

    fn cells(&self, library: &str) -> Vec<String> {
        let running = |one: &&TargetReport| one.fit == self.fit;
        let by = self.targets.iter().find(running).filter(|_| self.runs).map_or("-", |one| one.target.as_str());
        let mut targets: Vec<_> = self.targets.iter().take(LISTED).map(|one| shown(&one.target)).collect();
        if self.targets.len() > LISTED {
            targets.push(format!("+{}", self.targets.len() - LISTED));
        }
        let sum = |of: fn(&TargetReport) -> u64| self.targets.iter().map(of).sum::<u64>();
        vec![
            shown(library),
            if self.runs { "yes" } else { "no" }.into(),
            shown(by),
            sum(|one| one.objects).to_string(),
            units::bytes(sum(|one| one.bytes)),
            if targets.is_empty() { "-".into() } else { targets.join(",") },
            shown(&self.path),
        ]
    }
}

/// The answer in one sentence.
fn verdict(device: &TargetId, libraries: &[LibraryReport]) -> String {
    let (all, good) = (libraries.len(), libraries.iter().filter(|library| library.runs).count());
    let runs_partly = |library: &LibraryReport| library.parts.iter().any(|part| part.runs);
    if let [library] = libraries {
        let name = shown(&library.name);
        return match (library.runs, runs_partly(library)) {
            (true, _) => format!("{name} has kernels that run on {device}"),
            (false, true) => format!("only some parts of {name} have kernels that run on {device}"),
            (false, false) => format!("{name} has no kernels that run on {device}"),
        };
    }
    let names = |partly: bool| {
        let lacking = libraries.iter().filter(|library| !library.runs && runs_partly(library) == partly);
        lacking.map(|library| shown(&library.name)).collect::<Vec<_>>()
    };
    let mut text = match (good, all) {
        (_, 0) => return format!("no AMD GPU code was found, so none for {device}"),
        (good, all) if good == all => return format!("all {all} libraries have kernels that run on {device}"),
        (good, all) => format!("{good} of {all} libraries have kernels that run on {device}"),
    };
    let (none, partly) = (names(false), names(true));
    if !none.is_empty() {
        text.push_str(&format!("; none in {}", none.join(", ")));
    }
    if !partly.is_empty() {
        text.push_str(&format!("; only in some parts of {}", partly.join(", ")));
    }
    text
}
