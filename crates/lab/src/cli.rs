//! `roci lab`: the command line as types, and what each verb does. The program only hands over its streams.

mod machine;
pub mod reading;
mod running;
mod show;

use std::collections::BTreeMap;
use std::io::Write;
use std::path::{Path, PathBuf};

use clap::{Args, Subcommand};
use serde::Serialize;

use crate::engine::{self, Again};
use crate::error::LabError;
use crate::experiment::{Experiment, ready};
use crate::guard::Machines;
use crate::live::Screen;
use crate::store::{self, ExperimentRow, Store};

pub use machine::{MachineArgs, PlaceArgs};
use running::{How, carry_on};

/// How a verb ended, for the exit code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// Everything is fine.
    Fine,
    /// The command worked, and something did not pass.
    Problems,
    /// Somebody asked to stop; nothing is lost.
    Interrupted,
}

/// What the program gives.
pub struct Io<'a> {
    /// For results.
    pub out: &'a mut dyn Write,
    /// For how it goes.
    pub err: &'a mut dyn Write,
    /// The terminal behind `err`, if it is one and may be drawn on.
    pub screen: Option<Screen>,
    /// Whether only results and errors are wanted.
    pub quiet: bool,
    /// Whether somebody asked to stop.
    pub stop: &'a dyn Fn() -> bool,
}

/// Arguments of `roci lab`.
#[derive(Debug, Args)]
pub struct LabArgs {
    /// File with the results; ROCI_LAB_DB or the user's own without it
    #[arg(long, value_name = "FILE", global = true)]
    pub db: Option<PathBuf>,
    /// Print one JSON object with `schema` and `version`, instead of text
    #[arg(long, global = true)]
    pub json: bool,
    /// What to do.
    #[command(subcommand)]
    pub command: LabCommand,
}

/// The verbs.
#[derive(Debug, Subcommand)]
pub enum LabCommand {
    /// Try every strategy of an experiment, each under a watchdog
    ///
    /// EXPERIMENT is a file, or one of those that come along (`roci lab new --list`). Exit code 0: everything passed; 1:
    /// something did not.
    ///
    /// A run that a rule of the doctor forbids on this machine, because it can freeze it, is BLOCKED and not started; only
    /// `--allow` with the rule's name starts it.
    Run(RunArgs),
    /// Go on with an experiment that was interrupted, or whose machine was changed
    ///
    /// Runs that were not done are done; those that are PENDING, BLOCKED or SKIPPED are looked at again.
    ///
    /// Examples: `roci lab resume --done rocm` after doing what the strategy `rocm` needs of a person;
    /// `roci lab resume my.toml` after a change in the file.
    Resume(ResumeArgs),
    /// List the experiments that were run
    List,
    /// Show the runs of an experiment, or one run with its output, stacks and kernel log
    Show(ShowArgs),
    /// Report on an experiment as notes would: strategies, findings, what to use, what to do next
    Report(reading::ReportArgs),
    /// Compare two experiments, strategy by strategy; only what is above the noise counts
    ///
    /// Exit code 0: nothing is worse; 1: something is.
    Diff(reading::DiffArgs),
    /// Take in results of llama-bench as an experiment
    Import(reading::ImportArgs),
    /// Check an experiment's file and show what would be run, and what the doctor's rules forbid on this machine
    ///
    /// Nothing is started.
    Check(CheckArgs),
    /// Write an experiment's file to start from
    New(NewArgs),
}

/// Arguments of `roci lab run`.
#[derive(Debug, Args)]
pub struct RunArgs {
    /// A file, or the name of an experiment that comes along
    #[arg(value_name = "EXPERIMENT")]
    pub experiment: String,
    /// Its variables.
    #[command(flatten)]
    pub variables: VariableArgs,
    /// Where it runs.
    #[command(flatten)]
    pub place: PlaceArgs,
}

/// Variables of an experiment.
#[derive(Debug, Default, Args)]
pub struct VariableArgs {
    /// Give a variable of the experiment a value; repeat for several
    #[arg(long = "set", value_name = "NAME=VALUE")]
    pub set: Vec<String>,
}

/// Arguments of `roci lab resume`.
#[derive(Debug, Args)]
pub struct ResumeArgs {
    /// An experiment's number or name, or its file if that has changed
    #[arg(value_name = "EXPERIMENT", default_value = "latest")]
    pub experiment: String,
    /// Take what this strategy needs of a person (`manual`) as done, for all that need the same; repeat for several
    #[arg(long, value_name = "STRATEGY")]
    pub done: Vec<String>,
    /// The experiment's file, changed since it was begun; what changed is said
    #[arg(long, value_name = "FILE")]
    pub file: Option<PathBuf>,
    /// Forget results of strategies whose command, environment or image the file changes, and run them again
    #[arg(long)]
    pub forget: bool,
    /// Its variables.
    #[command(flatten)]
    pub variables: VariableArgs,
    /// Results to forget and try again, beside pending, blocked and skipped: hang, crash, wrong, partial, pass
    #[arg(long, value_name = "RESULTS", value_delimiter = ',')]
    pub retry: Vec<String>,
    /// Take it away from a process that may still be at it
    #[arg(long)]
    pub steal: bool,
    /// Where it runs.
    #[command(flatten)]
    pub place: PlaceArgs,
}

/// Arguments of `roci lab show`.
#[derive(Debug, Args)]
pub struct ShowArgs {
    /// An experiment's number or name
    #[arg(value_name = "EXPERIMENT", default_value = "latest")]
    pub experiment: String,
    /// One run, by its number
    #[arg(long, value_name = "NUMBER")]
    pub run: Option<i64>,
}

/// Arguments of `roci lab check`.
#[derive(Debug, Args)]
pub struct CheckArgs {
    /// A file, or the name of an experiment that comes along
    #[arg(value_name = "EXPERIMENT")]
    pub experiment: String,
    /// Its variables.
    #[command(flatten)]
    pub variables: VariableArgs,
    /// The machine.
    #[command(flatten)]
    pub machine: MachineArgs,
}

/// Arguments of `roci lab new`.
#[derive(Debug, Args)]
pub struct NewArgs {
    /// The file to write; standard output without it
    #[arg(value_name = "FILE")]
    pub file: Option<PathBuf>,
    /// An experiment that comes along, as the start
    #[arg(long, value_name = "NAME", default_value = "template")]
    pub from: String,
    /// List those that come along
    #[arg(long)]
    pub list: bool,
}

impl LabArgs {
    /// Whether it runs for long, and ends what it is at when it is asked to stop. Other verbs just end.
    pub fn is_long(&self) -> bool {
        matches!(self.command, LabCommand::Run(_) | LabCommand::Resume(_))
    }
}

/// Does what is asked for.
///
/// # Errors
/// Those of the verb.
pub fn main(arguments: &LabArgs, io: &mut Io<'_>) -> Result<Ending, LabError> {
    let path = || -> Result<PathBuf, LabError> {
        arguments.db.clone().or_else(store::of_user).ok_or_else(|| LabError::Usage {
            reason: "there is no folder for the results: HOME is not set".into(),
            hint: "name a file with `--db`".into(),
        })
    };
    let store = || Store::open(&path()?);
    // Whoever reads makes no file: a name that is misspelt would look like an empty history.
    let known = || -> Result<Store, LabError> {
        let path = path()?;
        match path.try_exists() {
            Ok(true) | Err(_) => Store::read(&path),
            Ok(false) if arguments.db.is_none() => Store::in_memory(),
            Ok(false) => Err(LabError::Usage {
                reason: format!("there is no file `{}` with results", path.display()),
                hint: "`roci lab run` makes one; check the name behind `--db`".into(),
            }),
        }
    };
    match &arguments.command {
        LabCommand::Run(run) => {
            let (place, toml) = source(&run.experiment)?;
            let experiment = Experiment::parse(&place, &toml, &variables(&run.variables)?)?;
            warn(&experiment.check_here(&place)?, io)?;
            let (guard, facts) = (run.place.machine.guard()?, run.place.machine.snapshot()?);
            let mut machine = facts.is_none().then(engine::this_machine);
            warn(&Vec::from_iter(machine::other_targets(&experiment, facts.as_ref(), &mut machine)), io)?;
            let mut store = store()?;
            let id = engine::create(&mut store, &experiment, facts.as_ref().or(machine.as_ref()))?;
            let (assume_needs, steal, json) = (run.place.assume_needs, false, arguments.json);
            let how = How { guard, facts, machine, assume_needs, steal, json };
            carry_on(&mut store, id, Again::default(), how, io)
        }
        LabCommand::Resume(resume) => {
            let guard = resume.place.machine.guard()?;
            let mut store = store()?;
            let (row, file) = resume.what(&store)?;
            if let Some(file) = &file {
                warn(&file.check_here(&file.name)?, io)?;
            }
            let mut again = vec!["pending", "blocked", "skipped"];
            again.extend(resume.retry.iter().map(String::as_str));
            for word in &resume.retry {
                if !["hang", "crash", "wrong", "partial", "pass"].contains(&word.as_str()) {
                    let reason = format!("there is no result `{word}`");
                    return Err(LabError::Usage { reason, hint: "write hang, crash, wrong, partial or pass".into() });
                }
            }
            let facts = resume.place.machine.snapshot()?;
            let (assume_needs, steal) = (resume.place.assume_needs, resume.steal);
            let how = How { guard, facts, machine: None, assume_needs, steal, json: arguments.json };
            let again = Again { results: &again, done: &resume.done, file: file.as_ref(), forget: resume.forget };
            carry_on(&mut store, row.id, again, how, io)
        }
        LabCommand::List => show::list(&known()?, arguments.json, io.out),
        LabCommand::Show(wanted) => match wanted.run {
            Some(run) => show::run(&known()?, run, arguments.json, io.out),
            None => show::experiment(&known()?, &wanted.experiment, arguments.json, io.out),
        },
        LabCommand::Report(wanted) => reading::report(&known()?, wanted, arguments.json, io.out),
        LabCommand::Diff(wanted) => reading::diff(&known, wanted, arguments.json, io.out),
        LabCommand::Import(wanted) => reading::import(&mut store()?, wanted, arguments.json, io.out, io.err),
        LabCommand::Check(check) => {
            let (place, toml) = source(&check.experiment)?;
            let experiment = Experiment::parse(&place, &toml, &variables(&check.variables)?)?;
            let (mut guard, facts) = (check.machine.guard()?, check.machine.snapshot()?);
            let (given, mut here) = (facts.as_ref(), None);
            let mut warnings = experiment.check_here(&place)?;
            warnings.extend(machine::other_targets(&experiment, given, &mut here));
            warn(&warnings, io)?;
            let mut blocked = |strategy: &_| guard.blocked(strategy, Machines { given, here: &mut here });
            show::plan(&experiment, &warnings, &mut blocked, arguments.json, io.out)
        }
        LabCommand::New(new) => write_new(new, arguments.json, io.out),
    }
}

impl ResumeArgs {
    /// The experiment, and its file as it is now if that counts.
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
            // Variables alone make another experiment of the same text.
            let all = row.variables.clone().into_iter().chain(given.clone()).collect();
            let place = format!("experiment {}", row.id);
            let changed = (!given.is_empty()).then(|| Experiment::parse(&place, &row.toml, &all)).transpose()?;
            return Ok((row, changed));
        };
        let (place, toml) = source(&path.to_string_lossy())?;
        // A file by itself is that of the newest experiment of its name.
        let by_name = self.file.is_none() || self.experiment == "latest";
        let row = match experiment_name(&toml).filter(|_| by_name) {
            Some(name) => store.experiment(&name)?,
            None => store.experiment(&self.experiment)?,
        };
        // Variables of the beginning hold on, unless the file has them no more.
        let read = |variables: BTreeMap<_, _>| Experiment::parse(&place, &toml, &variables);
        let all = row.variables.clone().into_iter().chain(given.clone()).collect();
        let file = read(all).or_else(|error| read(given).map_err(|_| error))?;
        Ok((row, Some(file)))
    }
}

/// The name that an experiment's text gives itself, whatever else is in it.
fn experiment_name(toml: &str) -> Option<String> {
    toml::from_str::<toml::Table>(toml).ok()?.get("name")?.as_str().map(str::to_owned)
}

/// What has no effect, on standard error.
fn warn(warnings: &[String], io: &mut Io<'_>) -> Result<(), LabError> {
    for warning in warnings.iter().filter(|_| !io.quiet) {
        writeln!(io.err, "warning: {warning}")?;
    }
    Ok(())
}

fn file(verb: &'static str, path: &Path, source: std::io::Error) -> LabError {
    LabError::File { verb, path: path.to_owned(), source }
}

/// The text of an experiment, and what to call it.
fn source(name: &str) -> Result<(String, String), LabError> {
    if let Some(ready) = ready::experiment(name) {
        return Ok((name.to_owned(), ready.toml.to_owned()));
    }
    let path = Path::new(name);
    // A name without a dot or a slash was meant for one that comes along.
    if !path.exists() && !name.contains(['.', '/']) {
        let known = ready::EXPERIMENTS.iter().map(|ready| ready.name.to_owned()).collect();
        return Err(LabError::Unknown { what: "file or ready experiment", name: name.into(), known });
    }
    const LARGEST: u64 = 4 << 20;
    let about = path.metadata().map_err(|source| file("read", path, source))?;
    // To open a pipe would wait for whoever writes.
    if !about.is_file() {
        return Err(LabError::Usage { reason: format!("`{name}` is no file"), hint: "name a TOML file".into() });
    }
    if about.len() > LARGEST {
        let reason = format!("`{name}` is too large for an experiment");
        return Err(LabError::Usage { reason, hint: "name a TOML file".into() });
    }
    let bytes = std::fs::read(path).map_err(|source| file("read", path, source))?;
    let wrong = |_| LabError::Experiment {
        place: name.into(),
        reason: "it is no text".into(),
        hint: Some("name a TOML file".into()),
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

fn write_new(new: &NewArgs, json: bool, out: &mut dyn Write) -> Result<Ending, LabError> {
    if new.list {
        return show::ready(json, out);
    }
    let text = match new.from.as_str() {
        "template" => ready::TEMPLATE,
        name => {
            let known = || ready::EXPERIMENTS.iter().map(|ready| ready.name.to_owned()).collect();
            let unknown = || LabError::Unknown { what: "ready experiment", name: name.into(), known: known() };
            ready::experiment(name).ok_or_else(unknown)?.toml
        }
    };
    match &new.file {
        None => out.write_all(text.as_bytes())?,
        Some(path) => {
            // Somebody's file is not written over.
            let mut created = std::fs::File::create_new(path).map_err(|source| file("write", path, source))?;
            created.write_all(text.as_bytes()).map_err(|source| file("write", path, source))?;
            writeln!(out, "{} is written; `roci lab check {0}` shows what it would do", path.display())?;
        }
    }
    Ok(Ending::Fine)
}

/// One JSON object.
pub(crate) fn print_json(out: &mut dyn Write, value: &impl Serialize) -> Result<(), LabError> {
    let text = serde_json::to_string_pretty(value).map_err(std::io::Error::from)?;
    writeln!(out, "{text}")?;
    Ok(())
}
