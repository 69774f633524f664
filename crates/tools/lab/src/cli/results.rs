//! Subcommands that read results: `report`, `diff`, `import`.

use std::io::Write;
use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use serde::Serialize;

use crate::error::LabError;
use crate::import;
use crate::message::{count, listed};
use crate::report::diff::Diff;
use crate::report::{Report, html, markdown};
use crate::store::Store;

use super::{CommandOutcome, file, print_json};

/// Arguments of `roci lab report`.
#[derive(Debug, Args)]
pub struct ReportArgs {
    /// Number or name of an experiment
    #[arg(value_name = "EXPERIMENT", default_value = "latest")]
    pub experiment: String,
    /// Write the report as Markdown to a file instead of standard output
    #[arg(long, value_name = "FILE")]
    pub markdown: Option<PathBuf>,
    /// Write the report as a self-contained HTML page with charts
    #[arg(long, value_name = "FILE")]
    pub html: Option<PathBuf>,
    /// Print only the recommended configuration
    #[arg(long, value_name = "FORM")]
    pub recommended: Option<ConfigFormat>,
}

/// Output form of the recommended configuration.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ConfigFormat {
    /// Shell script.
    Script,
    /// Kubernetes Job.
    Kubernetes,
    /// Compose file.
    Compose,
}

/// Arguments of `roci lab diff`.
#[derive(Debug, Args)]
pub struct DiffArgs {
    /// First experiment: number or name, or FILE#EXPERIMENT for one in another database
    #[arg(value_name = "BEFORE")]
    pub before: String,
    /// Second experiment
    #[arg(value_name = "AFTER")]
    pub after: String,
}

/// Arguments of `roci lab import`.
#[derive(Debug, Args)]
pub struct ImportArgs {
    /// Output of `llama-bench -o jsonl`; `-o json` and its table also work
    #[arg(value_name = "FILE", required = true)]
    pub files: Vec<PathBuf>,
    /// Name of the experiment [default: name of the first file]
    #[arg(long, value_name = "NAME")]
    pub name: Option<String>,
}

/// Prints a report on an experiment.
pub(super) fn report(
    store: &Store,
    arguments: &ReportArgs,
    json: bool,
    out: &mut dyn Write,
) -> Result<CommandOutcome, LabError> {
    let report = Report::load(store, &arguments.experiment)?;
    if let Some(form) = arguments.recommended {
        let nothing = || LabError::Usage {
            reason: "nothing to recommend: no strategy passed every run".into(),
            hint: format!("`roci lab report {}` shows the result of each", report.experiment.id),
        };
        let recommended = report.recommendation.as_ref().ok_or_else(nothing)?;
        let text = match form {
            ConfigFormat::Script => &recommended.script,
            ConfigFormat::Kubernetes => &recommended.kubernetes,
            ConfigFormat::Compose => &recommended.compose,
        };
        out.write_all(text.as_bytes())?;
        return Ok(CommandOutcome::Fine);
    }
    let files = [(&arguments.markdown, markdown::render as fn(&Report) -> String), (&arguments.html, html::render)];
    for (path, render) in files {
        let Some(path) = path else { continue };
        std::fs::write(path, render(&report)).map_err(|source| file("write", path, source))?;
        if !json {
            writeln!(out, "{} is written", path.display())?;
        }
    }
    if json {
        writeln!(out, "{}", report.json())?;
    } else if arguments.markdown.is_none() && arguments.html.is_none() {
        out.write_all(markdown::render(&report).as_bytes())?;
    }
    Ok(CommandOutcome::Fine)
}

/// Compares two experiments; returns `Problems` if the second is worse.
pub(super) fn diff(
    store: &dyn Fn() -> Result<Store, LabError>,
    arguments: &DiffArgs,
    json: bool,
    out: &mut dyn Write,
) -> Result<CommandOutcome, LabError> {
    let side = |which: &str| match which.rsplit_once('#') {
        Some((path, which)) => {
            Report::load(&other_store(Path::new(path))?, if which.is_empty() { "latest" } else { which })
        }
        None => Report::load(&store()?, which),
    };
    let (before, after) = (side(&arguments.before)?, side(&arguments.after)?);
    let diff = Diff::of(&before, &after);
    if !diff.has_common() {
        let names = |report: &Report| {
            let names: Vec<_> = report.strategies.iter().map(|strategy| strategy.name.as_str()).collect();
            listed(&names)
        };
        return Err(LabError::Usage {
            reason: "the experiments have no strategy in common".into(),
            hint: format!("strategies are compared by name: {}; and {}", names(&before), names(&after)),
        });
    }
    if json {
        writeln!(out, "{}", diff.json())?;
    } else {
        out.write_all(diff.markdown().as_bytes())?;
    }
    Ok(if diff.is_worse() { CommandOutcome::Problems } else { CommandOutcome::Fine })
}

/// Opens an existing database: a misspelled path must not create an empty one.
fn other_store(path: &Path) -> Result<Store, LabError> {
    path.metadata().map_err(|source| file("read", path, source))?;
    Store::read(path)
}

#[derive(Serialize)]
struct ImportDocument<'a> {
    schema: &'static str,
    version: u32,
    #[serde(flatten)]
    imported: &'a import::ImportSummary,
}

/// Imports results of llama-bench.
pub(super) fn import(
    store: &mut Store,
    arguments: &ImportArgs,
    json: bool,
    out: &mut dyn Write,
    err: &mut dyn Write,
) -> Result<CommandOutcome, LabError> {
    let imported = import::files(store, &arguments.files, arguments.name.as_deref())?;
    if json {
        print_json(out, &ImportDocument { schema: "roci.lab.import", version: 1, imported: &imported })?;
        return Ok(CommandOutcome::Fine);
    }
    for note in &imported.notes {
        writeln!(err, "note: {}", crate::report::one_line(note))?;
    }
    let import::ImportSummary { experiment, name, strategies, runs, .. } = &imported;
    writeln!(
        out,
        "experiment {experiment} ({name}): {} of {}; `roci lab report {experiment}` shows them",
        count(*runs, "run", "runs"),
        count(*strategies, "strategy", "strategies")
    )?;
    Ok(CommandOutcome::Fine)
}
