//! Which libraries have kernels that run on a chip, for `roci objects --for`.
//!
//! `walk` finds files, `names` assigns a file to a library and a component of it, `component`
//! collects the component's kernels, `report` has the result. Only headers are read.

mod component;
mod names;
mod report;
mod walk;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use roci_codeobj::{FileError, FileSummary, Processor, TargetError, TargetId};

use crate::error::ObjectError;
use crate::report::ProblemReport;
use component::Component;
use names::{FileKind, LibraryKey};
pub use report::{ComponentReport, CoverageReport, LibraryReport, TargetReport};
use walk::FileWalk;

/// Why a name is not that of a chip.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ChipError {
    /// The name is not that of an AMD chip.
    #[error("{source}")]
    Unknown {
        /// What is wrong with the name.
        source: TargetError,
        /// Chips with similar names.
        similar: Vec<&'static str>,
    },
    /// A generic target.
    #[error("{name} is a generic target for code; name a chip instead")]
    Generic {
        /// The target.
        name: &'static str,
        /// The chips that it covers.
        chips: Vec<&'static str>,
    },
}

impl roci_base::Hint for ChipError {
    fn hint(&self) -> Option<String> {
        Some(match self {
            Self::Unknown { source: TargetError::Processor { .. }, similar } => {
                format!("chips with similar names: {}", similar.join(", "))
            }
            Self::Unknown { .. } => "give only the chip, such as `gfx1013`".into(),
            Self::Generic { chips, .. } => format!("it covers these chips: {}", chips.join(", ")),
        })
    }
}

/// Parses the name of a chip.
pub fn parse_chip(text: &str) -> Result<TargetId, ChipError> {
    let device: TargetId = text.parse().map_err(|source| ChipError::Unknown { source, similar: similar(text) })?;
    if device.processor.is_generic() {
        let chips = device.processor.covers().map(Processor::name).collect();
        return Err(ChipError::Generic { name: device.processor.name(), chips });
    }
    Ok(device)
}

/// The chips with the most similar names.
fn similar(text: &str) -> Vec<&'static str> {
    let name = text.split(':').next().unwrap_or_default().to_lowercase();
    let chips = Processor::all().filter(|one| !one.is_generic()).map(Processor::name);
    let mut chips: Vec<_> = chips.map(|chip| (strsim::levenshtein(&name, chip), chip)).collect();
    chips.sort();
    chips.into_iter().take(4).map(|(_, chip)| chip).collect()
}

/// Scans files and folders. `on_problem` gets each file or part that cannot be analyzed; the scan
/// continues.
pub fn scan(device: TargetId, paths: &[PathBuf], on_problem: impl FnMut(&ObjectError)) -> CoverageReport {
    let mut scan = Scan { device, on_problem, libraries: BTreeMap::new(), problems: Vec::new(), files: 0, bytes: 0 };
    let mut walk = FileWalk::new(paths);
    while let Some(found) = walk.next_file() {
        match found {
            Ok(file) => scan.file(&file.path, &file.file, file.bytes, file.named),
            Err(error) => scan.problem(&error),
        }
    }
    let Scan { libraries, problems, files, bytes, .. } = scan;
    CoverageReport::new(device, libraries, problems, files, bytes)
}

/// The state of a scan.
struct Scan<F> {
    device: TargetId,
    on_problem: F,
    libraries: BTreeMap<LibraryKey, BTreeMap<PathBuf, Component>>,
    problems: Vec<ProblemReport>,
    /// Number and total size of the files.
    files: u64,
    bytes: u64,
}

impl<F: FnMut(&ObjectError)> Scan<F> {
    /// Assigns a file to its component. `named`: the file was given explicitly, not found in a
    /// folder.
    fn file(&mut self, path: &Path, file: &std::fs::File, bytes: u64, named: bool) {
        self.files += 1;
        self.bytes += bytes;
        let device = self.device;
        let kind = names::kind(path);
        if kind == FileKind::Index(None) && !names::is_whole_index(path) {
            return;
        }
        if let FileKind::Index(target) | FileKind::Tuning(target) | FileKind::Database(target) = kind {
            self.component(path, kind).name_only(kind, target, bytes, &device);
            return;
        }
        let summary = match FileSummary::of_file(file) {
            Ok(summary) => summary,
            // Files in folders may have any format.
            Err(FileError::UnknownFormat) if !named => return,
            Err(source) => return self.problem(&ObjectError::File { path: path.into(), source }),
        };
        for problem in &summary.problems {
            let (location, source) = (problem.location.to_string(), problem.error.clone());
            self.problem(&ObjectError::Part { path: path.into(), location, source });
        }
        if !summary.images.is_empty() {
            self.component(path, kind).add(path, &summary.images, &device);
        }
    }

    /// The component of a library that a file belongs to.
    fn component(&mut self, path: &Path, kind: FileKind) -> &mut Component {
        let location = if kind == FileKind::Code { path } else { names::folder(path) };
        let components = self.libraries.entry(LibraryKey::of(path)).or_default();
        components.entry(location.to_owned()).or_insert_with(|| Component::new(kind))
    }

    fn problem(&mut self, error: &ObjectError) {
        (self.on_problem)(error);
        self.problems.push(ProblemReport::new(error));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chips_with_similar_names_are_suggested() {
        assert!(similar("gfx1014").contains(&"gfx1013"));
        assert!(similar("GFX1031:xnack-")[0] == "gfx1031");
    }
}
