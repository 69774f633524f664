//! The report on libraries: a verdict, and the code of each component.

use std::collections::BTreeMap;
use std::path::PathBuf;

use roci_base::renamed_key;
use roci_codeobj::TargetId;
use serde::Serialize;

use super::component::Component;
use super::names::LibraryKey;
use crate::report::{ProblemReport, escaped};

renamed_key!(components: "components", formerly "parts");
renamed_key!(compatibility: "compatibility", formerly "fit");

/// Which libraries have kernels that run on a chip, as `roci objects --for --json` prints it.
#[derive(Clone, Debug, Serialize)]
pub struct CoverageReport {
    schema: &'static str,
    version: u32,
    /// The requested chip.
    pub target: String,
    /// The answer in one sentence.
    pub verdict: String,
    /// Whether every library has kernels that run.
    pub runs: bool,
    /// Libraries by name and installation prefix.
    pub libraries: Vec<LibraryReport>,
    /// Number of scanned files.
    pub files: u64,
    /// Total size of the scanned files.
    pub bytes: u64,
    /// Files or parts that could not be analyzed.
    pub problems: Vec<ProblemReport>,
}

/// A library in one installation.
#[derive(Clone, Debug, Serialize)]
pub struct LibraryReport {
    /// Name of the library.
    pub name: String,
    /// Installation prefix.
    pub folder: String,
    /// Whether every component that should contain kernels has some that run.
    pub runs: bool,
    /// Components, by path.
    #[serde(flatten, serialize_with = "components::serialize")]
    pub components: Vec<ComponentReport>,
}

/// A component of a library: a file with code, a Tensile folder, or a folder of MIOpen databases.
#[derive(Clone, Debug, Serialize)]
pub struct ComponentReport {
    /// Path of the file or folder.
    pub path: String,
    /// Kind of component.
    pub kind: &'static str,
    /// Whether it has kernels that run.
    pub runs: bool,
    /// The best compatibility of its targets; `none` if there are no kernels.
    #[serde(flatten, serialize_with = "compatibility::serialize")]
    pub compatibility: &'static str,
    /// Number of files.
    pub files: u64,
    /// Code by target.
    pub targets: Vec<TargetReport>,
    /// Details, one sentence each.
    pub notes: Vec<String>,
}

/// The code of a component for one target.
#[derive(Clone, Debug, Serialize)]
pub struct TargetReport {
    /// Target ID of the code.
    pub target: String,
    /// `exact`, `generic` and `portable` run; `sibling`, `mismatch`, `unusable` and `other` do not.
    #[serde(flatten, serialize_with = "compatibility::serialize")]
    pub compatibility: &'static str,
    /// Number of code objects.
    pub objects: u64,
    /// Total size of the code objects.
    pub bytes: u64,
}

impl CoverageReport {
    pub(crate) fn new(
        device: TargetId,
        libraries: BTreeMap<LibraryKey, BTreeMap<PathBuf, Component>>,
        problems: Vec<ProblemReport>,
        files: u64,
        bytes: u64,
    ) -> Self {
        let libraries: Vec<_> =
            libraries.into_iter().map(|(key, components)| LibraryReport::new(key, components, &device)).collect();
        let runs = !libraries.is_empty() && libraries.iter().all(|library| library.runs);
        let verdict = verdict(&device, &libraries);
        let target = device.to_string();
        Self { schema: "roci.objects.for", version: 2, target, verdict, runs, libraries, files, bytes, problems }
    }

    /// Whether every library has kernels that run, and every file could be analyzed.
    pub fn is_good(&self) -> bool {
        self.runs && self.problems.is_empty()
    }
}

impl LibraryReport {
    fn new(key: LibraryKey, components: BTreeMap<PathBuf, Component>, device: &TargetId) -> Self {
        // A component that only has tuning data has nothing to run.
        let mut kernels = components.values().filter(|component| component.has_kernels()).peekable();
        let runs = kernels.peek().is_some() && kernels.all(Component::runs);
        let components =
            components.into_iter().map(|(path, component)| ComponentReport::new(path, &component, device)).collect();
        Self { name: key.name, folder: key.folder.display().to_string(), runs, components }
    }
}

impl ComponentReport {
    fn new(path: PathBuf, component: &Component, device: &TargetId) -> Self {
        let targets = component.targets.iter().map(|(target, one)| TargetReport {
            target: target.clone(),
            compatibility: one.compatibility.name(),
            objects: one.objects,
            bytes: one.bytes,
        });
        Self {
            path: path.display().to_string(),
            kind: component.describe(),
            runs: component.runs(),
            compatibility: component.compatibility(),
            files: component.files,
            targets: targets.collect(),
            notes: component.notes(device),
        }
    }
}

/// The answer in one sentence.
fn verdict(device: &TargetId, libraries: &[LibraryReport]) -> String {
    let (all, good) = (libraries.len(), libraries.iter().filter(|library| library.runs).count());
    let runs_partly = |library: &LibraryReport| library.components.iter().any(|component| component.runs);
    if let [library] = libraries {
        let name = escaped(&library.name);
        return match (library.runs, runs_partly(library)) {
            (true, _) => format!("{name} has kernels that run on {device}"),
            (false, true) => format!("only some components of {name} have kernels that run on {device}"),
            (false, false) => format!("{name} has no kernels that run on {device}"),
        };
    }
    let names = |partly: bool| {
        let lacking = libraries.iter().filter(|library| !library.runs && runs_partly(library) == partly);
        lacking.map(|library| escaped(&library.name)).collect::<Vec<_>>()
    };
    let mut text = match (good, all) {
        (_, 0) => return format!("no AMD GPU code was found: nothing runs on {device}"),
        (good, all) if good == all => return format!("all {all} libraries have kernels that run on {device}"),
        (good, all) => format!("{good} of {all} libraries have kernels that run on {device}"),
    };
    let (none, partly) = (names(false), names(true));
    if !none.is_empty() {
        text.push_str(&format!("; none in {}", none.join(", ")));
    }
    if !partly.is_empty() {
        text.push_str(&format!("; only in some components of {}", partly.join(", ")));
    }
    text
}
