//! Command-line options for the machine of the runs.

use std::path::PathBuf;

use clap::Args;
use roci_doctor::{RuleSet, Snapshot};

use crate::engine;
use crate::error::LabError;
use crate::experiment::Experiment;
use crate::guard::RuleGuard;

use super::file;

/// The machine of the runs, and what is allowed on it.
#[derive(Debug, Default, Args)]
pub struct MachineArgs {
    /// Doctor snapshot of the machine of the runs, if it is not this one
    #[arg(long, value_name = "FILE")]
    pub facts: Option<PathBuf>,
    /// Start runs although this rule of the doctor (such as BC-08) forbids them; can be repeated
    ///
    /// A rule forbids what can freeze or crash the machine. `roci doctor explain RULE` says why,
    /// and `roci lab check` shows which runs it stops.
    #[arg(long, value_name = "RULE")]
    pub allow: Vec<String>,
}

/// Where runs happen.
#[derive(Debug, Default, Args)]
pub struct ConditionArgs {
    /// Machine of the runs.
    #[command(flatten)]
    pub machine: MachineArgs,
    /// Assume that the needs of strategies are met; the doctor's rules still apply
    #[arg(long)]
    pub assume_needs: bool,
}

impl MachineArgs {
    /// The given snapshot.
    pub(super) fn snapshot(&self) -> Result<Option<Snapshot>, LabError> {
        let Some(path) = &self.facts else { return Ok(None) };
        let bytes = std::fs::read(path).map_err(|source| file("read", path, source))?;
        let wrong = |reason: String| LabError::Usage {
            reason: format!("`{}` is not a snapshot: {reason}", path.display()),
            hint: "create one on that machine with `roci doctor --capture FILE`".into(),
        };
        Snapshot::parse(&bytes).map(Some).map_err(wrong)
    }

    /// A guard with the rules of `roci doctor`.
    pub(super) fn guard(&self) -> Result<RuleGuard, LabError> {
        RuleGuard::new(RuleSet::of_user(&engine::environment())?, &self.allow)
    }
}

/// A warning if the experiment targets other chips than those of the machine, if known.
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
