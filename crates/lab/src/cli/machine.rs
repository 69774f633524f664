//! The machine that runs happen on, as the command line names it.

use std::path::PathBuf;

use clap::Args;
use roci_doctor::{Book, Snapshot};

use crate::engine;
use crate::error::LabError;
use crate::experiment::Experiment;
use crate::guard::Guard;

use super::file;

/// The machine that runs happen on, and what is allowed on it.
#[derive(Debug, Default, Args)]
pub struct MachineArgs {
    /// The doctor's snapshot of the machine that runs happen on, if it is another one
    #[arg(long, value_name = "FILE")]
    pub facts: Option<PathBuf>,
    /// Start runs that this rule of the doctor forbids (such as BC-08); repeat for several
    ///
    /// A rule forbids what can freeze the machine or take it down. `roci doctor explain RULE` says why, and `roci lab check`
    /// shows which runs it would stop.
    #[arg(long, value_name = "RULE")]
    pub allow: Vec<String>,
}

/// Where runs happen.
#[derive(Debug, Default, Args)]
pub struct PlaceArgs {
    /// The machine.
    #[command(flatten)]
    pub machine: MachineArgs,
    /// Take for granted what strategies need; what a rule of the doctor forbids stays forbidden
    #[arg(long)]
    pub assume_needs: bool,
}

impl MachineArgs {
    /// The snapshot that was named.
    pub(super) fn snapshot(&self) -> Result<Option<Snapshot>, LabError> {
        let Some(path) = &self.facts else { return Ok(None) };
        let bytes = std::fs::read(path).map_err(|source| file("read", path, source))?;
        let wrong = |reason: String| LabError::Usage {
            reason: format!("`{}` is no snapshot: {reason}", path.display()),
            hint: "make one there with `roci doctor --capture FILE`".into(),
        };
        Snapshot::parse(&bytes).map(Some).map_err(wrong)
    }

    /// The guard by the rules that `roci doctor` goes by.
    pub(super) fn guard(&self) -> Result<Guard, LabError> {
        Guard::new(Book::of_user(&engine::environment())?, &self.allow)
    }
}

/// That an experiment is for other chips than those of the machine that it would run on, where that is known.
pub(super) fn other_targets(
    experiment: &Experiment,
    given: Option<&Snapshot>,
    here: &mut Option<Snapshot>,
) -> Option<String> {
    let is_here = experiment.strategies.iter().any(|strategy| strategy.executor.kind.is_here());
    match given {
        Some(machine) => experiment.other_targets(machine),
        None if is_here && !experiment.targets.is_empty() => {
            experiment.other_targets(here.get_or_insert_with(engine::this_machine))
        }
        None => None,
    }
}
