//! Resuming an experiment: manual changes made since, and changes of its file.

use std::collections::BTreeSet;

use crate::error::LabError;
use crate::experiment::{Experiment, Need, Strategy};
use crate::outcome::Outcome;
use crate::store::{ExperimentRow, RunRow, RunState, Store};
use crate::words::{count, cut, listed};

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
        let place = format!("experiment {}", row.id);
        let before = Experiment::parse(&place, &row.toml, &row.variables)?;
        let after = self.file.unwrap_or(&before);
        // All checks come before the first change.
        let mut said = Vec::new();
        let confirmed = manual_needs(after, self.done, &mut said)?;
        let changes = match self.file {
            Some(file) => FileChanges::between(&before, file, &store.runs(row.id)?, self)?,
            None => FileChanges::default(),
        };
        store.discard_results(row.id, self.results)?;
        if let Some(file) = self.file {
            store.revise(row.id, &file.toml, &file.variables, &plan(file), &changes.forget)?;
        }
        store.confirm(row.id, &confirmed)?;
        Ok((after.clone(), changes.said.into_iter().chain(said).collect()))
    }
}

/// Manual changes that a strategy needs.
fn manual(strategy: &Strategy) -> impl Iterator<Item = &String> {
    strategy.needs.iter().filter_map(|need| match need {
        Need::Manual { change } => Some(change),
        _ => None,
    })
}

/// The manual changes of these strategies.
fn manual_needs(experiment: &Experiment, done: &[String], said: &mut Vec<String>) -> Result<Vec<String>, LabError> {
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
        said.extend(needs.iter().map(|need| format!("marked as done: {need}")));
        confirmed.extend(needs);
    }
    Ok(confirmed)
}

/// Differences between the stored and the given file of an experiment.
#[derive(Debug, Default)]
struct FileChanges {
    /// One line for each difference.
    said: Vec<String>,
    /// Strategies whose stored results no longer apply.
    forget: Vec<String>,
}

impl FileChanges {
    fn between(
        before: &Experiment,
        after: &Experiment,
        runs: &[RunRow],
        again: &ResumeOptions<'_>,
    ) -> Result<Self, LabError> {
        if before.name != after.name {
            return Err(LabError::Usage {
                reason: format!("the file belongs to another experiment: `{}`, not `{}`", after.name, before.name),
                hint: "name the experiment that it belongs to, or start a new one with `roci lab run`".into(),
            });
        }
        let mut made = Self::default();
        // Results of programs that ran and that would be kept otherwise.
        let stays = |run: &&RunRow| {
            let kept =
                |outcome: &Outcome| outcome.ran() && !again.results.contains(&outcome.word().to_lowercase().as_str());
            run.state == RunState::Done && run.outcome.as_ref().is_some_and(kept)
        };
        let kept = |name: &str| runs.iter().filter(|run| run.strategy == name).filter(stays).count();
        for strategy in &after.strategies {
            let name = cut(&strategy.name);
            let Some(old) = before.strategy(&strategy.name) else {
                made.said.push(format!("`{name}` is new: {}", count(strategy.repeats as usize, "run", "runs")));
                continue;
            };
            let (program, around) = differences(old, strategy);
            let what = [program.as_slice(), &around].concat().join(", ");
            if what.is_empty() {
                continue;
            }
            match kept(&strategy.name) {
                results if results > 0 && !program.is_empty() => {
                    let results = count(results, "result is", "results are");
                    if !again.forget {
                        return Err(LabError::Usage {
                            reason: format!("`{name}` has changed ({what}), and its {results} from before the change"),
                            hint: "give the changed strategy another name, or add `--forget` to run it again".into(),
                        });
                    }
                    made.said.push(format!("`{name}` has changed ({what}): its {results} discarded"));
                    made.forget.push(strategy.name.clone());
                }
                results if results > 0 => {
                    let results = count(results, "result stays", "results stay");
                    made.said.push(format!("`{name}` has changed ({what}): its {results}"));
                }
                _ => made.said.push(format!("`{name}` has changed ({what})")),
            }
        }
        for gone in before.strategies.iter().filter(|old| after.strategy(&old.name).is_none()) {
            let left = match kept(&gone.name) {
                0 => String::new(),
                results => format!(", and reports leave it out: {}", count(results, "result stays", "results stay")),
            };
            made.said.push(format!("`{}` is gone{left}", cut(&gone.name)));
        }
        made.said.extend(judged(before, after, runs.iter().any(|run| stays(&run))));
        if made.said.is_empty() {
            made.said.push("the file has no relevant changes".into());
        }
        Ok(made)
    }
}

/// Differences between two strategies of the same name: in what runs, and in its limits and
/// conditions.
fn differences(old: &Strategy, new: &Strategy) -> (Vec<&'static str>, Vec<&'static str>) {
    let named =
        |pairs: &[(&'static str, bool)]| pairs.iter().filter(|(_, same)| !same).map(|(name, _)| *name).collect();
    let program = named(&[
        ("command", old.command == new.command),
        ("env", old.env == new.env),
        ("unset", old.unset == new.unset),
        ("directory", old.directory == new.directory),
        ("image", old.image == new.image),
        ("executor", old.executor == new.executor),
    ]);
    let around = named(&[
        ("uses", old.uses == new.uses),
        ("needs", old.needs == new.needs),
        ("after", old.after == new.after),
        ("skip", old.skip == new.skip),
        ("repeats", old.repeats == new.repeats),
        ("limits", old.limits == new.limits),
    ]);
    (program, around)
}

/// Differences in how results are judged.
fn judged(before: &Experiment, after: &Experiment, has_results: bool) -> Option<String> {
    // Regular expressions are compared as text, since they have no equality.
    let text = |what: &dyn std::fmt::Debug| format!("{what:?}");
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
    let mut found: Vec<(&str, &str)> = Vec::new();
    let mut seen = BTreeSet::new();
    for run in runs {
        let Some(Outcome::Pending { changes }) = &run.outcome else { continue };
        let Some(strategy) = experiment.strategy(&run.strategy) else { continue };
        for change in manual(strategy).filter(|change| changes.contains(change)) {
            if seen.insert(change) {
                found.push((&strategy.name, change));
            }
        }
    }
    found
}
