//! An experiment is taken up again: what a person has done meanwhile, and what changed in its file.

use std::collections::BTreeSet;

use crate::error::LabError;
use crate::experiment::{Experiment, Need, Strategy};
use crate::outcome::Outcome;
use crate::store::{ExperimentRow, RunRow, RunState, Store};
use crate::words::{count, cut, listed};

use super::plan;

/// What is asked of an experiment that is taken up again.
#[derive(Clone, Copy, Debug, Default)]
pub struct Again<'a> {
    /// Results to forget, by their words in lower case.
    pub results: &'a [&'a str],
    /// Strategies for which a person has done what only a person can do.
    pub done: &'a [String],
    /// Its file as it is now, if that counts.
    pub file: Option<&'a Experiment>,
    /// Forgets results of strategies that the file changed.
    pub forget: bool,
}

impl Again<'_> {
    /// Notes all of it in the store, whose row of the experiment this is; the experiment as it is now, and a line for each
    /// thing that is otherwise.
    ///
    /// # Errors
    /// Something that makes no sense, and those of the store.
    pub(super) fn apply(&self, store: &mut Store, row: &ExperimentRow) -> Result<(Experiment, Vec<String>), LabError> {
        let place = format!("experiment {}", row.id);
        let before = Experiment::parse(&place, &row.toml, &row.variables)?;
        let after = self.file.unwrap_or(&before);
        // All that can be refused comes before anything is changed.
        let mut said = Vec::new();
        let confirmed = manual_needs(after, self.done, &mut said)?;
        let changes = match self.file {
            Some(file) => Changes::between(&before, file, &store.runs(row.id)?, self)?,
            None => Changes::default(),
        };
        store.reopen(row.id, self.results)?;
        if let Some(file) = self.file {
            store.revise(row.id, &file.toml, &file.variables, &plan(file), &changes.forget)?;
        }
        store.confirm(row.id, &confirmed)?;
        Ok((after.clone(), changes.said.into_iter().chain(said).collect()))
    }
}

/// What strategies need of a person.
fn manual(strategy: &Strategy) -> impl Iterator<Item = &String> {
    strategy.needs.iter().filter_map(|need| match need {
        Need::Manual { change } => Some(change),
        _ => None,
    })
}

/// What is done when a person says so of these strategies.
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
                [] => "no strategy of this experiment waits for a person".to_owned(),
                names => format!("these wait for a person: {}", listed(names)),
            };
            return Err(LabError::Usage { reason: format!("`{}` has no need of the kind `manual`", cut(name)), hint });
        }
        said.extend(needs.iter().map(|need| format!("taken as done: {need}")));
        confirmed.extend(needs);
    }
    Ok(confirmed)
}

/// What a file changes.
#[derive(Debug, Default)]
struct Changes {
    /// A line each.
    said: Vec<String>,
    /// Strategies whose results are of something else.
    forget: Vec<String>,
}

impl Changes {
    fn between(before: &Experiment, after: &Experiment, runs: &[RunRow], again: &Again<'_>) -> Result<Self, LabError> {
        if before.name != after.name {
            return Err(LabError::Usage {
                reason: format!("the file is of another experiment: `{}`, not `{}`", after.name, before.name),
                hint: "name the experiment that it belongs to, or begin a new one with `roci lab run`".into(),
            });
        }
        let mut made = Self::default();
        // Results that stay: neither forgotten anyway nor of a program that never ran.
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
                            reason: format!("`{name}` has changed ({what}), and its {results} of what it was"),
                            hint: "give the changed one another name, or add `--forget` to run it again".into(),
                        });
                    }
                    made.said.push(format!("`{name}` has changed ({what}): its {results} forgotten"));
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
            made.said.push("the file has not changed in anything that counts".into());
        }
        Ok(made)
    }
}

/// In what two of the same name differ: what is run, and what is around it.
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

/// What changed in how results are judged.
fn judged(before: &Experiment, after: &Experiment, has_results: bool) -> Option<String> {
    // Patterns are compared as they are written; nothing else of these has an equality.
    let text = |what: &dyn std::fmt::Debug| format!("{what:?}");
    let parts = [
        ("phase", text(&before.phases) == text(&after.phases)),
        ("metric", text(&before.metrics) == text(&after.metrics)),
        ("success", text(&before.success) == text(&after.success)),
        ("baseline", before.baseline == after.baseline),
    ];
    let changed: Vec<_> = parts.iter().filter(|(_, same)| !same).map(|(name, _)| *name).collect();
    let old = if has_results { ": results so far were judged by the old ones, `--retry` does them again" } else { "" };
    (!changed.is_empty()).then(|| format!("{} changed{old}", changed.join(", ")))
}

/// What only a person can do and has not said to have done, with the first strategy that waits for it.
pub fn by_hand<'a>(experiment: &'a Experiment, runs: &[RunRow]) -> Vec<(&'a str, &'a str)> {
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
