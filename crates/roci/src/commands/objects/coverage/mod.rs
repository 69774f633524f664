//! `roci objects --for`: which libraries have kernels that run on a chip.
//!
//! `walk` finds the files, `names` says which library one belongs to and which part of it, `part` collects what there is,
//! `report` shows it.

mod names;
mod part;
mod report;
mod walk;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Instant;

use roci_codeobj::{FileError, Processor, Survey, TargetId};

use super::error::ObjectsError;
use super::report::ProblemReport;
use crate::cli::ObjectsArgs;
use crate::error::CliError;
use crate::exit::ExitStatus;
use crate::printer::Printer;
use names::{Kind, LibraryKey};
use part::Part;
use report::Report;
use walk::Walk;

/// Goes through files and folders.
pub(super) fn run(chip: &str, arguments: &ObjectsArgs, printer: &Printer) -> Result<ExitStatus, CliError> {
    let device = device(chip)?;
    let started = Instant::now();
    let mut session = Session { device, printer, libraries: BTreeMap::new(), problems: Vec::new(), files: 0, bytes: 0 };
    let mut walk = Walk::new(&arguments.files);
    while let Some(found) = walk.next() {
        match found {
            Ok(file) => session.file(&file.path, &file.file, file.bytes, file.named),
            Err(error) => session.problem(&error),
        }
    }
    let Session { libraries, problems, files, bytes, .. } = session;
    let report = Report::new(device, libraries, problems, files, bytes);
    if arguments.format.json {
        printer.json(&report)?;
    } else {
        report.print(printer)?;
        report.print_effort(started.elapsed(), printer);
    }
    Ok(if report.is_good() { ExitStatus::Success } else { ExitStatus::Problems })
}

/// The chip that code is to run on.
fn device(text: &str) -> Result<TargetId, CliError> {
    let device: TargetId = text.parse().map_err(|source| CliError::Target { source, near: near(text) })?;
    if device.processor.is_generic() {
        let chips = device.processor.covers().map(Processor::name).collect();
        return Err(CliError::GenericTarget { name: device.processor.name(), chips });
    }
    Ok(device)
}

/// The chips whose names are most like this one.
fn near(text: &str) -> Vec<&'static str> {
    let mut names: Vec<_> = Processor::all().filter(|one| !one.is_generic()).map(|one| (0, one.name())).collect();
    let wanted = text.split(':').next().unwrap_or_default().to_lowercase();
    names.iter_mut().for_each(|(distance, name)| *distance = edits(&wanted, name));
    names.sort();
    names.into_iter().take(4).map(|(_, name)| name).collect()
}

/// How many letters must be changed, added or taken away.
fn edits(from: &str, to: &str) -> usize {
    let to: Vec<_> = to.chars().collect();
    let mut row: Vec<_> = (0..=to.len()).collect();
    // No chip has a name this long.
    for (index, letter) in from.chars().take(32).enumerate() {
        let mut diagonal = row[0];
        row[0] = index + 1;
        for (column, other) in to.iter().enumerate() {
            let changed = diagonal + usize::from(letter != *other);
            diagonal = row[column + 1];
            row[column + 1] = changed.min(row[column] + 1).min(diagonal + 1);
        }
    }
    row[to.len()]
}

/// One run of the command.
struct Session<'a> {
    device: TargetId,
    printer: &'a Printer,
    libraries: BTreeMap<LibraryKey, BTreeMap<PathBuf, Part>>,
    problems: Vec<ProblemReport>,
    /// What was looked at.
    files: u64,
    bytes: u64,
}

impl Session<'_> {
    /// Puts a file where it belongs. `named` is one that somebody asked for by its name.
    fn file(&mut self, path: &Path, file: &std::fs::File, bytes: u64, named: bool) {
        self.files += 1;
        self.bytes += bytes;
        let kind = names::kind(path);
        if kind == Kind::Index(None) && !names::is_whole_index(path) {
            return;
        }
        if let Kind::Index(target) | Kind::Tuning(target) | Kind::Database(target) = kind {
            let device = self.device;
            self.part(path, kind).name_only(kind, target, bytes, &device);
            return;
        }
        let survey = match Survey::of_file(file) {
            Ok(survey) => survey,
            // Folders hold all kinds of files.
            Err(FileError::UnknownFormat) if !named => return,
            Err(source) => return self.problem(&ObjectsError::File { path: path.into(), source }),
        };
        for problem in &survey.problems {
            let (place, source) = (problem.place.to_string(), problem.error.clone());
            self.problem(&ObjectsError::Part { path: path.into(), place, source });
        }
        if !survey.pieces.is_empty() {
            let device = self.device;
            self.part(path, kind).add(path, &survey.pieces, &device);
        }
    }

    /// The part of a library that a file belongs to.
    fn part(&mut self, path: &Path, kind: Kind) -> &mut Part {
        let place = if kind == Kind::Code { path } else { names::folder(path) };
        let parts = self.libraries.entry(LibraryKey::of(path)).or_default();
        parts.entry(place.to_owned()).or_insert_with(|| Part::new(kind))
    }

    fn problem(&mut self, error: &ObjectsError) {
        self.printer.error(error);
        self.problems.push(ProblemReport::new(error));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chips_with_names_alike_are_near() {
        assert_eq!(edits("gfx1013", "gfx1013"), 0);
        assert_eq!((edits("gfx1014", "gfx1013"), edits("gfx103", "gfx1030"), edits("", "gfx")), (1, 1, 3));
        assert!(near("gfx1014").contains(&"gfx1013"));
        assert!(near("GFX1031:xnack-")[0] == "gfx1031");
    }
}
