//! `run` and `resume`: execute the remaining runs and print the results.

use std::collections::{BTreeMap, BTreeSet};

use roci_doctor::Snapshot;
use serde::Serialize;

use crate::engine::{self, Completion, EngineContext, ResumeOptions};
use crate::error::LabError;
use crate::executor;
use crate::experiment::Experiment;
use crate::guard::RuleGuard;
use crate::kernel_log;
use crate::outcome::Outcome;
use crate::progress_display::{NoProgress, ProgressDisplay, ProgressObserver};
use crate::report::one_line;
use crate::store::Store;

use super::{CommandOutcome, Io, print_json};

#[derive(Serialize)]
struct Summary {
    schema: &'static str,
    version: u32,
    experiment: i64,
    name: String,
    complete: bool,
    counts: BTreeMap<&'static str, usize>,
    /// The doctor's rules that forbid runs.
    rules: BTreeSet<String>,
}

/// Options for continuing an experiment.
pub(super) struct RunOptions {
    pub(super) guard: RuleGuard,
    pub(super) facts: Option<Snapshot>,
    pub(super) machine: Option<Snapshot>,
    pub(super) assume_needs: bool,
    pub(super) steal: bool,
    pub(super) json: bool,
}

/// Executes the remaining runs of an experiment and prints all results.
pub(super) fn continue_experiment(
    store: &mut Store,
    id: i64,
    again: ResumeOptions<'_>,
    how: RunOptions,
    io: &mut Io<'_>,
) -> Result<CommandOutcome, LabError> {
    let RunOptions { guard, facts, machine, assume_needs, steal, json } = how;
    let mut live = ProgressDisplay::new(io.err, io.screen);
    let mut silent = NoProgress;
    let observer: &mut dyn ProgressObserver = if io.quiet { &mut silent } else { &mut live };
    let around = EngineContext {
        open: &executor::open,
        log: kernel_log::of_machine(),
        stop: io.stop,
        observer,
        guard,
        facts,
        machine,
        assume_needs,
        steal,
    };
    let left = engine::resume(store, id, again, around)?;
    let row = store.experiment(&id.to_string())?;
    let experiment = Experiment::parse(&format!("experiment {id}"), &row.toml, &row.variables)?;
    let mut counts: BTreeMap<&'static str, usize> = BTreeMap::new();
    let mut runs = store.runs(id)?;
    // Strategies that a changed file no longer has do not count.
    runs.retain(|run| experiment.strategy(&run.strategy).is_some());
    let outcomes = || runs.iter().filter_map(|run| run.outcome.as_ref());
    for outcome in outcomes() {
        *counts.entry(outcome.word()).or_default() += 1;
    }
    let rules: BTreeSet<String> = outcomes().flat_map(Outcome::rules).cloned().collect();
    let complete = left == Completion::Complete;
    if json {
        let (schema, version, name) = ("roci.lab.run", 1, row.name);
        print_json(io.out, &Summary { schema, version, experiment: id, name, complete, counts, rules })?;
    } else {
        let words: Vec<_> = counts.iter().map(|(word, count)| format!("{count} {word}")).collect();
        let next = if complete {
            format!("`roci lab report {id}` shows the report")
        } else {
            format!("interrupted; no result is lost: `roci lab resume {id}` continues")
        };
        writeln!(
            io.out,
            "experiment {id} ({}): {}\n{next}",
            row.name,
            if words.is_empty() { "no results".into() } else { words.join(", ") }
        )?;
        let forbidden: BTreeSet<String> =
            outcomes().filter(|outcome| !outcome.rules().is_empty()).map(ToString::to_string).collect();
        for outcome in forbidden {
            writeln!(io.out, "{outcome}")?;
        }
        for (strategy, change) in engine::unconfirmed_changes(&experiment, &runs) {
            let name = crate::report::shell_word(strategy);
            writeln!(
                io.out,
                "after this change, continue with `roci lab resume {id} --done {name}`: {}",
                one_line(change)
            )?;
        }
    }
    let passed = |outcome: &Option<Outcome>| matches!(outcome, Some(Outcome::Pass | Outcome::Skipped { .. }));
    Ok(match complete {
        false => CommandOutcome::Interrupted,
        true if runs.iter().all(|run| passed(&run.outcome)) => CommandOutcome::Fine,
        true => CommandOutcome::Problems,
    })
}
