//! `roci lab`: the command-line types, and what each subcommand does. The caller provides the
//! streams.

mod machine;
pub mod results;
mod run;
mod show;

use std::collections::BTreeMap;
use std::io::Write;
use std::path::{Path, PathBuf};

use clap::{Args, Subcommand};
use serde::Serialize;

use crate::engine::{self, ResumeOptions};
use crate::error::LabError;
use crate::experiment::{Experiment, builtin};
use crate::guard::MachineSnapshots;
use crate::progress_display::TerminalSize;
use crate::store::{self, ExperimentRow, Store};

pub use machine::{ConditionArgs, MachineArgs};
use run::{RunOptions, continue_experiment};

/// Result of a subcommand, for the exit code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CommandOutcome {
    /// Everything passed, or nothing was to be judged.
    Fine,
    /// The command worked, but something did not pass.
    Problems,
    /// The user asked to stop; no result is lost.
    Interrupted,
}

/// Streams and settings of the caller.
pub struct Io<'a> {
    /// Results.
    pub out: &'a mut dyn Write,
    /// Progress and warnings.
    pub err: &'a mut dyn Write,
    /// Terminal behind `err`, if it is one and may be redrawn.
    pub screen: Option<TerminalSize>,
    /// Print only results and errors.
    pub quiet: bool,
    /// Whether the user asked to stop.
    pub stop: &'a dyn Fn() -> bool,
}

impl std::fmt::Debug for Io<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Io").field("quiet", &self.quiet).finish_non_exhaustive()
    }
}

/// Arguments of `roci lab`.
#[derive(Debug, Args)]
pub struct LabArgs {
    /// Results database [default: $ROCI_LAB_DB, or lab.db in the user's data folder]
    #[arg(long, value_name = "FILE", global = true)]
    pub db: Option<PathBuf>,
    /// Print one JSON object with `schema` and `version`, instead of text
    #[arg(long, global = true)]
    pub json: bool,
    /// Subcommand.
    #[command(subcommand)]
    pub command: LabCommand,
}

/// Subcommands of `roci lab`.
#[derive(Debug, Subcommand)]
pub enum LabCommand {
    /// Run every strategy of an experiment, each under a watchdog
    ///
    /// EXPERIMENT is a file or the name of a built-in experiment (`roci lab new --list`). Exit code
    /// 0: everything passed; 1: something did not.
    ///
    /// A run that a rule of the doctor forbids on this machine, because it can freeze it, is
    /// BLOCKED and not started. Only `--allow` with the rule's ID starts it.
    Run(RunArgs),
    /// Continue an experiment after an interruption or a change of the machine
    ///
    /// Runs without a result are started; PENDING, BLOCKED and SKIPPED runs are checked again.
    ///
    /// Examples: `roci lab resume --done rocm` after making the manual change that the strategy
    /// `rocm` needs; `roci lab resume my.toml` after editing the file.
    Resume(ResumeArgs),
    /// List experiments in the database
    List,
    /// Show the runs of an experiment, or one run with its output, stacks and kernel log
    Show(ShowArgs),
    /// Report on an experiment: strategies, findings, recommended configuration, next steps
    Report(results::ReportArgs),
    /// Compare two experiments, strategy by strategy; only changes above the noise count
    ///
    /// Exit code 0: nothing is worse; 1: something is.
    Diff(results::DiffArgs),
    /// Import results of llama-bench as an experiment
    Import(results::ImportArgs),
    /// Check an experiment file and show what would run, and what the doctor's rules forbid on this
    /// machine
    ///
    /// Nothing is started.
    Check(CheckArgs),
    /// Write an experiment file to start from
    New(NewArgs),
}

/// Arguments of `roci lab run`.
#[derive(Debug, Args)]
pub struct RunArgs {
    /// A file, or the name of a built-in experiment
    #[arg(value_name = "EXPERIMENT")]
    pub experiment: String,
    /// Variables of the experiment.
    #[command(flatten)]
    pub variables: VariableArgs,
    /// Executor and machine.
    #[command(flatten)]
    pub conditions: ConditionArgs,
}

/// Variables of an experiment.
#[derive(Debug, Default, Args)]
pub struct VariableArgs {
    /// Set a variable of the experiment; can be repeated
    #[arg(long = "set", value_name = "NAME=VALUE")]
    pub set: Vec<String>,
}

/// Arguments of `roci lab resume`.
#[derive(Debug, Args)]
pub struct ResumeArgs {
    /// Number, name or changed file of an experiment
    #[arg(value_name = "EXPERIMENT", default_value = "latest")]
    pub experiment: String,
    /// Mark the manual change that this strategy needs as done, for all strategies that need the
    /// same; can be repeated
    #[arg(long, value_name = "STRATEGY")]
    pub done: Vec<String>,
    /// Changed file of the experiment; differences are reported
    #[arg(long, value_name = "FILE")]
    pub file: Option<PathBuf>,
    /// Discard results of strategies whose command, environment or image the file changes, and run
    /// them again
    #[arg(long)]
    pub forget: bool,
    /// Variables of the experiment.
    #[command(flatten)]
    pub variables: VariableArgs,
    /// Results to discard and repeat in addition to pending, blocked and skipped: hang, crash,
    /// wrong, partial, pass
    #[arg(long, value_name = "RESULTS", value_delimiter = ',')]
    pub retry: Vec<String>,
    /// Take the experiment over from a process that may still be running it
    #[arg(long)]
    pub steal: bool,
    /// Executor and machine.
    #[command(flatten)]
    pub conditions: ConditionArgs,
}

/// Arguments of `roci lab show`.
#[derive(Debug, Args)]
pub struct ShowArgs {
    /// Number or name of an experiment
    #[arg(value_name = "EXPERIMENT", default_value = "latest")]
    pub experiment: String,
    /// Number of a run
    #[arg(long, value_name = "NUMBER")]
    pub run: Option<i64>,
}

/// Arguments of `roci lab check`.
#[derive(Debug, Args)]
pub struct CheckArgs {
    /// A file, or the name of a built-in experiment
    #[arg(value_name = "EXPERIMENT")]
    pub experiment: String,
    /// Variables of the experiment.
    #[command(flatten)]
    pub variables: VariableArgs,
    /// Machine of the runs.
    #[command(flatten)]
    pub machine: MachineArgs,
}

/// Arguments of `roci lab new`.
#[derive(Debug, Args)]
pub struct NewArgs {
    /// File to write [default: standard output]
    #[arg(value_name = "FILE")]
    pub file: Option<PathBuf>,
    /// Built-in experiment to copy
    #[arg(long, value_name = "NAME", default_value = "template")]
    pub from: String,
    /// List the built-in experiments
    #[arg(long)]
    pub list: bool,
}

impl LabArgs {
    /// Whether it runs for long and handles a request to stop. Other subcommands simply terminate.
    pub fn is_long(&self) -> bool {
        matches!(self.command, LabCommand::Run(_) | LabCommand::Resume(_))
    }
}

/// Executes the subcommand.
///
/// # Errors
/// Errors of the subcommand.
pub fn main(arguments: &LabArgs, io: &mut Io<'_>) -> Result<CommandOutcome, LabError> {
    let path = || -> Result<PathBuf, LabError> {
        arguments.db.clone().or_else(store::of_user).ok_or_else(|| LabError::Usage {
            reason: "there is no folder for the results database: HOME is not set".into(),
            hint: "choose a file with `--db`".into(),
        })
    };
    let store = || Store::open(&path()?);
    // Reading commands create no database: a misspelled path would look like an empty history.
    let known = || -> Result<Store, LabError> {
        let path = path()?;
        match path.try_exists() {
            Ok(true) | Err(_) => Store::read(&path),
            Ok(false) if arguments.db.is_none() => Store::in_memory(),
            Ok(false) => Err(LabError::Usage {
                reason: format!("there is no results database `{}`", path.display()),
                hint: "`roci lab run` creates one; check the path after `--db`".into(),
            }),
        }
    };
    match &arguments.command {
        LabCommand::Run(run) => {
            let (location, toml) = source(&run.experiment)?;
            let experiment = Experiment::parse(&location, &toml, &variables(&run.variables)?)?;
            warn(&experiment.check_here(&location)?, io)?;
            let (guard, facts) = (run.conditions.machine.guard()?, run.conditions.machine.snapshot()?);
            let mut machine = facts.is_none().then(engine::this_machine);
            warn(&Vec::from_iter(machine::other_targets(&experiment, facts.as_ref(), &mut machine)), io)?;
            let mut store = store()?;
            let id = engine::create(&mut store, &experiment, facts.as_ref().or(machine.as_ref()))?;
            let (assume_needs, steal, json) = (run.conditions.assume_needs, false, arguments.json);
            let how = RunOptions { guard, facts, machine, assume_needs, steal, json };
            continue_experiment(&mut store, id, ResumeOptions::default(), how, io)
        }
        LabCommand::Resume(resume) => {
            let guard = resume.conditions.machine.guard()?;
            let mut store = store()?;
            let (row, file) = resume.what(&store)?;
            if let Some(file) = &file {
                warn(&file.check_here(&file.name)?, io)?;
            }
            let mut again = vec!["pending", "blocked", "skipped"];
            again.extend(resume.retry.iter().map(String::as_str));
            for word in &resume.retry {
                if !["hang", "crash", "wrong", "partial", "pass"].contains(&word.as_str()) {
                    let reason = format!("there is no outcome `{word}`");
                    return Err(LabError::Usage {
                        reason,
                        hint: "outcomes are: hang, crash, wrong, partial, pass".into(),
                    });
                }
            }
            let facts = resume.conditions.machine.snapshot()?;
            let (assume_needs, steal) = (resume.conditions.assume_needs, resume.steal);
            let how = RunOptions { guard, facts, machine: None, assume_needs, steal, json: arguments.json };
            let again =
                ResumeOptions { results: &again, done: &resume.done, file: file.as_ref(), forget: resume.forget };
            continue_experiment(&mut store, row.id, again, how, io)
        }
        LabCommand::List => show::list(&known()?, arguments.json, io.out),
        LabCommand::Show(show) => match show.run {
            Some(run) => show::run(&known()?, run, arguments.json, io.out),
            None => show::experiment(&known()?, &show.experiment, arguments.json, io.out),
        },
        LabCommand::Report(options) => results::report(&known()?, options, arguments.json, io.out),
        LabCommand::Diff(options) => results::diff(&known, options, arguments.json, io.out),
        LabCommand::Import(options) => results::import(&mut store()?, options, arguments.json, io.out, io.err),
        LabCommand::Check(check) => {
            let (location, toml) = source(&check.experiment)?;
            let experiment = Experiment::parse(&location, &toml, &variables(&check.variables)?)?;
            let (mut guard, facts) = (check.machine.guard()?, check.machine.snapshot()?);
            let (given, mut here) = (facts.as_ref(), None);
            let mut warnings = experiment.check_here(&location)?;
            warnings.extend(machine::other_targets(&experiment, given, &mut here));
            warn(&warnings, io)?;
            let mut blocked = |strategy: &_| guard.blocked(strategy, MachineSnapshots { given, here: &mut here });
            show::plan(&experiment, &warnings, &mut blocked, arguments.json, io.out)
        }
        LabCommand::New(new) => write_new(new, arguments.json, io.out),
    }
}

impl ResumeArgs {
    /// The experiment, and its current file if that was given.
    fn what(&self, store: &Store) -> Result<(ExperimentRow, Option<Experiment>), LabError> {
        let given = variables(&self.variables)?;
        let is_file = |name: &str| name.contains(['.', '/']) && Path::new(name).is_file();
        let path = match store.experiment(&self.experiment) {
            Err(LabError::Unknown { .. }) if self.file.is_none() && is_file(&self.experiment) => {
                Some(PathBuf::from(&self.experiment))
            }
            _ => self.file.clone(),
        };
        let Some(path) = path else {
            let row = store.experiment(&self.experiment)?;
            // Variables alone change the experiment, too.
            let all = row.variables.clone().into_iter().chain(given.clone()).collect();
            let location = format!("experiment {}", row.id);
            let changed = (!given.is_empty()).then(|| Experiment::parse(&location, &row.toml, &all)).transpose()?;
            return Ok((row, changed));
        };
        let (location, toml) = source(&path.to_string_lossy())?;
        // A file alone selects the newest experiment with its name.
        let by_name = self.file.is_none() || self.experiment == "latest";
        let row = match experiment_name(&toml).filter(|_| by_name) {
            Some(name) => store.experiment(&name)?,
            None => store.experiment(&self.experiment)?,
        };
        // Variables of the original run stay in effect, unless the file no longer has them.
        let read = |variables: BTreeMap<_, _>| Experiment::parse(&location, &toml, &variables);
        let all = row.variables.clone().into_iter().chain(given.clone()).collect();
        let file = read(all).or_else(|error| read(given).map_err(|_| error))?;
        Ok((row, Some(file)))
    }
}

/// The name in an experiment's text, even if the rest is invalid.
fn experiment_name(toml: &str) -> Option<String> {
    toml::from_str::<toml::Table>(toml).ok()?.get("name")?.as_str().map(str::to_owned)
}

/// Prints settings without effect to standard error.
fn warn(warnings: &[String], io: &mut Io<'_>) -> Result<(), LabError> {
    for warning in warnings.iter().filter(|_| !io.quiet) {
        writeln!(io.err, "warning: {warning}")?;
    }
    Ok(())
}

fn file(verb: &'static str, path: &Path, source: std::io::Error) -> LabError {
    LabError::File { verb, path: path.to_owned(), source }
}

/// The text of an experiment file, and its name for errors.
fn source(name: &str) -> Result<(String, String), LabError> {
    if let Some(ready) = builtin::experiment(name) {
        return Ok((name.to_owned(), ready.toml.to_owned()));
    }
    let path = Path::new(name);
    // A name without a dot or a slash is a built-in experiment.
    if !path.exists() && !name.contains(['.', '/']) {
        let known = builtin::EXPERIMENTS.iter().map(|file| file.name.to_owned()).collect();
        return Err(LabError::Unknown { what: "file or built-in experiment", name: name.into(), known });
    }
    const MAX_BYTES: u64 = 4 << 20;
    let about = path.metadata().map_err(|source| file("read", path, source))?;
    // Opening a pipe would block until a writer opens it.
    if !about.is_file() {
        return Err(LabError::Usage {
            reason: format!("`{name}` is not a regular file"),
            hint: "give the path of a TOML file".into(),
        });
    }
    if about.len() > MAX_BYTES {
        let reason = format!("`{name}` is too large for an experiment file");
        return Err(LabError::Usage { reason, hint: "give the path of a TOML file".into() });
    }
    let bytes = std::fs::read(path).map_err(|source| file("read", path, source))?;
    let wrong = |_| LabError::Experiment {
        location: name.into(),
        reason: "it is not UTF-8 text".into(),
        hint: Some("give the path of a TOML file".into()),
    };
    Ok((name.to_owned(), String::from_utf8(bytes).map_err(wrong)?))
}

fn variables(arguments: &VariableArgs) -> Result<BTreeMap<String, String>, LabError> {
    let pair = |text: &String| match text.split_once('=') {
        Some((name, value)) if !name.is_empty() => Ok((name.to_owned(), value.to_owned())),
        _ => Err(LabError::Usage {
            reason: format!("`--set {text}` has no name or no value"),
            hint: "write `--set model=/models/a.gguf`".into(),
        }),
    };
    arguments.set.iter().map(pair).collect()
}

fn write_new(new: &NewArgs, json: bool, out: &mut dyn Write) -> Result<CommandOutcome, LabError> {
    if new.list {
        return show::builtins(json, out);
    }
    let text = match new.from.as_str() {
        "template" => builtin::TEMPLATE,
        name => {
            let known = || builtin::EXPERIMENTS.iter().map(|file| file.name.to_owned()).collect();
            let unknown = || LabError::Unknown { what: "built-in experiment", name: name.into(), known: known() };
            builtin::experiment(name).ok_or_else(unknown)?.toml
        }
    };
    match &new.file {
        None => out.write_all(text.as_bytes())?,
        Some(path) => {
            // Existing files are not overwritten.
            let mut created = std::fs::File::create_new(path).map_err(|source| file("write", path, source))?;
            created.write_all(text.as_bytes()).map_err(|source| file("write", path, source))?;
            writeln!(out, "wrote {}; `roci lab check {0}` shows what it would run", path.display())?;
        }
    }
    Ok(CommandOutcome::Fine)
}

/// Prints one JSON object.
pub(crate) fn print_json(out: &mut dyn Write, value: &impl Serialize) -> Result<(), LabError> {
    let text = serde_json::to_string_pretty(value).map_err(std::io::Error::from)?;
    writeln!(out, "{text}")?;
    Ok(())
}
