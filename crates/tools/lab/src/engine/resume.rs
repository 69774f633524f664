//! Resuming an experiment: manual changes made since, and changes of its file.

use std::collections::BTreeSet;

use crate::error::LabError;
use crate::experiment::{Experiment, Requirement, Strategy};
use crate::message::{count, cut, listed};
use crate::outcome::Outcome;
use crate::store::{ExperimentRow, RunRow, RunState, Store};

use super::plan;

/// Options for resuming an experiment.
#[derive(Clone, Copy, Debug, Default)]
pub struct ResumeOptions<'a> {
    /// Outcomes to discard, by their names in lower case.
    pub results: &'a [&'a str],
    /// Strategies whose manual changes are done.
    pub done: &'a [String],
    /// The current file, if it was given.
    pub file: Option<&'a Experiment>,
    /// Whether to discard results of strategies that the file changed.
    pub forget: bool,
}

impl ResumeOptions<'_> {
    /// Updates the store. Returns the current experiment and a line for each difference.
    ///
    /// # Errors
    /// An invalid request, or an error of the store.
    pub(super) fn apply(&self, store: &mut Store, row: &ExperimentRow) -> Result<(Experiment, Vec<String>), LabError> {
        let location = format!("experiment {}", row.id);
        let before = Experiment::parse(&location, &row.toml, &row.variables)?;
        let after = self.file.unwrap_or(&before);
        // All checks come before the first change.
        let mut lines = Vec::new();
        let confirmed = manual_requirements(after, self.done, &mut lines)?;
        let changes = match self.file {
            Some(file) => FileChanges::between(&before, file, &store.runs(row.id)?, self)?,
            None => FileChanges::default(),
        };
        store.discard_results(row.id, self.results)?;
        if let Some(file) = self.file {
            store.revise(row.id, &file.toml, &file.variables, &plan(file), &changes.forget)?;
        }
        store.confirm(row.id, &confirmed)?;
        Ok((after.clone(), changes.lines.into_iter().chain(lines).collect()))
    }
}

/// Manual changes that a strategy needs.
fn manual(strategy: &Strategy) -> impl Iterator<Item = &String> {
    strategy.needs.iter().filter_map(|need| match need {
        Requirement::Manual { change } => Some(change),
        _ => None,
    })
}

/// The manual changes of these strategies.
fn manual_requirements(
    experiment: &Experiment,
    done: &[String],
    lines: &mut Vec<String>,
) -> Result<Vec<String>, LabError> {
    let mut confirmed = Vec::new();
    let waiting = experiment.strategies.iter().filter(|strategy| manual(strategy).next().is_some());
    let waiting: Vec<String> = waiting.map(|strategy| strategy.name.clone()).collect();
    for name in done {
        let strategy = experiment.strategy(name).ok_or_else(|| LabError::Unknown {
            what: "strategy",
            name: name.clone(),
            known: experiment.strategies.iter().map(|strategy| strategy.name.clone()).collect(),
        })?;
        let needs: Vec<String> = manual(strategy).cloned().collect();
        if needs.is_empty() {
            let hint = match waiting.as_slice() {
                [] => "no strategy of this experiment needs a manual change".to_owned(),
                names => format!("these need a manual change: {}", listed(names)),
            };
            return Err(LabError::Usage { reason: format!("`{}` needs no manual change", cut(name)), hint });
        }
        lines.extend(needs.iter().map(|need| format!("marked as done: {need}")));
        confirmed.extend(needs);
    }
    Ok(confirmed)
}

/// Differences between the stored and the given file of an experiment.
#[derive(Debug, Default)]
struct FileChanges {
    /// One line for each difference.
    lines: Vec<String>,
    /// Strategies whose stored results no longer apply.
    forget: Vec<String>,
}

impl FileChanges {
    fn between(
        before: &Experiment,
        after: &Experiment,
        runs: &[RunRow],
        options: &ResumeOptions<'_>,
    ) -> Result<Self, LabError> {
        if before.name != after.name {
            return Err(LabError::Usage {
                reason: format!("the file belongs to another experiment: `{}`, not `{}`", after.name, before.name),
                hint: "name the experiment that it belongs to, or start a new one with `roci lab run`".into(),
            });
        }
        let mut changes = Self::default();
        // Results of programs that ran and that would be kept otherwise.
        let is_kept = |run: &&RunRow| {
            let is_final =
                |outcome: &Outcome| outcome.ran() && !options.results.contains(&outcome.word().to_lowercase().as_str());
            run.state == RunState::Done && run.outcome.as_ref().is_some_and(is_final)
        };
        let kept_results = |name: &str| runs.iter().filter(|run| run.strategy == name).filter(is_kept).count();
        for strategy in &after.strategies {
            let name = cut(&strategy.name);
            let Some(old) = before.strategy(&strategy.name) else {
                changes.lines.push(format!("`{name}` is new: {}", count(strategy.repeats as usize, "run", "runs")));
                continue;
            };
            let (program, conditions) = differences(old, strategy);
            let parts = [program.as_slice(), &conditions].concat().join(", ");
            if parts.is_empty() {
                continue;
            }
            match kept_results(&strategy.name) {
                results if results > 0 && !program.is_empty() => {
                    let results = count(results, "result is", "results are");
                    if !options.forget {
                        return Err(LabError::Usage {
                            reason: format!("`{name}` has changed ({parts}), and its {results} from before the change"),
                            hint: "give the changed strategy another name, or add `--forget` to run it again".into(),
                        });
                    }
                    changes.lines.push(format!("`{name}` has changed ({parts}): its {results} discarded"));
                    changes.forget.push(strategy.name.clone());
                }
                results if results > 0 => {
                    let results = count(results, "result stays", "results stay");
                    changes.lines.push(format!("`{name}` has changed ({parts}): its {results}"));
                }
                _ => changes.lines.push(format!("`{name}` has changed ({parts})")),
            }
        }
        for removed in before.strategies.iter().filter(|old| after.strategy(&old.name).is_none()) {
            let kept = match kept_results(&removed.name) {
                0 => String::new(),
                results => format!(", and reports leave it out: {}", count(results, "result stays", "results stay")),
            };
            changes.lines.push(format!("`{}` is gone{kept}", cut(&removed.name)));
        }
        changes.lines.extend(judged(before, after, runs.iter().any(|run| is_kept(&run))));
        if changes.lines.is_empty() {
            changes.lines.push("the file has no relevant changes".into());
        }
        Ok(changes)
    }
}

/// Differences between two strategies of the same name: in what runs, and in its limits and
/// conditions.
fn differences(old: &Strategy, new: &Strategy) -> (Vec<&'static str>, Vec<&'static str>) {
    let changed =
        |pairs: &[(&'static str, bool)]| pairs.iter().filter(|(_, same)| !same).map(|(name, _)| *name).collect();
    let program = changed(&[
        ("command", old.command == new.command),
        ("env", old.env == new.env),
        ("unset", old.unset == new.unset),
        ("directory", old.directory == new.directory),
        ("image", old.image == new.image),
        ("executor", old.executor == new.executor),
    ]);
    let conditions = changed(&[
        ("uses", old.uses == new.uses),
        ("needs", old.needs == new.needs),
        ("after", old.after == new.after),
        ("skip", old.skip == new.skip),
        ("repeats", old.repeats == new.repeats),
        ("limits", old.limits == new.limits),
    ]);
    (program, conditions)
}

/// Differences in how results are judged.
fn judged(before: &Experiment, after: &Experiment, has_results: bool) -> Option<String> {
    // Regular expressions are compared as text, since they have no equality.
    let text = |value: &dyn std::fmt::Debug| format!("{value:?}");
    let parts = [
        ("phase", text(&before.phases) == text(&after.phases)),
        ("metric", text(&before.metrics) == text(&after.metrics)),
        ("success", text(&before.success) == text(&after.success)),
        ("baseline", before.baseline == after.baseline),
    ];
    let changed: Vec<_> = parts.iter().filter(|(_, same)| !same).map(|(name, _)| *name).collect();
    let old = if has_results { ": existing results used the old criteria, `--retry` repeats them" } else { "" };
    (!changed.is_empty()).then(|| format!("{} changed{old}", changed.join(", ")))
}

/// Unconfirmed manual changes, each with the first strategy that needs it.
pub fn unconfirmed_changes<'a>(experiment: &'a Experiment, runs: &[RunRow]) -> Vec<(&'a str, &'a str)> {
    let mut unconfirmed: Vec<(&str, &str)> = Vec::new();
    let mut seen = BTreeSet::new();
    for run in runs {
        let Some(Outcome::Pending { changes }) = &run.outcome else { continue };
        let Some(strategy) = experiment.strategy(&run.strategy) else { continue };
        for change in manual(strategy).filter(|change| changes.contains(change)) {
            if seen.insert(change) {
                unconfirmed.push((&strategy.name, change));
            }
        }
    }
    unconfirmed
}
