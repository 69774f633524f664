//! What came of an experiment, as the notes of somebody who did it by hand: a table of strategies, what was found, what
//! changed against the baseline, what to use, what to do next.
//!
//! [`Report::read`] gathers it from the store (`gather.rs`) and draws the conclusions (`findings.rs`, `changes.rs`, `recommend.rs`,
//! `next.rs`). Three renderings say the same: [`markdown`], [`html`], and JSON, which is [`Report`] itself.
//! [`diff`] compares two reports. `series.rs` has the rule by which a difference counts.

mod changes;
mod date;
pub mod diff;
mod findings;
mod gather;
pub mod html;
pub mod markdown;
mod next;
mod plot;
mod recommend;
mod sentence;
mod series;
mod snippets;
mod text;
mod yaml;

#[cfg(test)]
mod example;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, HashMap};

use serde::Serialize;

use crate::outcome::{Outcome, Stack};

pub use changes::Change;
pub use next::Step;
pub use recommend::Recommendation;
pub use sentence::Sentence;
pub use series::{RULE, Series, Verdict};

/// The name that JSON carries.
pub const SCHEMA: &str = "roci.lab.report";
/// Its version.
pub const VERSION: u32 = 1;

/// All that a report says.
#[derive(Clone, Debug, Serialize)]
pub struct Report {
    /// [`SCHEMA`].
    pub schema: &'static str,
    /// [`VERSION`].
    pub version: u32,
    /// Which experiment.
    pub experiment: Heading,
    /// Where it stands.
    pub status: Status,
    /// What results are compared with.
    pub baseline: Option<BaselineReport>,
    /// The figures, in the order of the experiment.
    pub metrics: Vec<MetricReport>,
    /// The phases, in their order.
    pub phases: Vec<String>,
    /// The strategies, in the order of the experiment.
    pub strategies: Vec<StrategyReport>,
    /// What follows from them, in sentences.
    pub findings: Vec<Sentence>,
    /// How figures differ from the baseline's.
    pub changes: Vec<Change>,
    /// The rule by which [`changes`](Self::changes) are flagged.
    pub rule: &'static str,
    /// What to use.
    pub recommendation: Option<Recommendation>,
    /// What to do.
    pub next: Vec<Step>,
}

/// Which experiment a report is about.
#[derive(Clone, Debug, Serialize)]
pub struct Heading {
    /// Its number in the store.
    pub id: i64,
    /// Its name.
    pub name: String,
    /// One line for people.
    pub title: String,
    /// What it is to find out.
    pub goal: Option<String>,
    /// Things to know beside the results.
    pub notes: Vec<String>,
    /// When it was begun, in milliseconds since 1970.
    pub created: i64,
    /// `run`, or `import FILE`.
    pub source: String,
    /// Runs that have a result.
    pub done: usize,
    /// Runs that have none yet.
    pub open: usize,
}

/// Where an experiment stands.
#[derive(Clone, Debug, Serialize)]
pub struct Status {
    /// `WORKS`, `BLOCKED`, `PENDING`, `UNFINISHED`.
    pub word: &'static str,
    /// Why.
    pub why: String,
}

/// What results are compared with.
#[derive(Clone, Debug, Serialize)]
pub struct BaselineReport {
    /// What to call it.
    pub label: String,
    /// The strategy that it is, if it is one.
    pub strategy: Option<String>,
    /// Its figures: those of the strategy's runs, else those that the experiment gives.
    pub metrics: BTreeMap<String, Series>,
}

/// A figure.
#[derive(Clone, Debug, Serialize)]
pub struct MetricReport {
    /// Its name.
    pub name: String,
    /// Its unit.
    pub unit: String,
    /// Which way is better.
    pub higher_is_better: bool,
}

/// What came of a strategy.
#[derive(Clone, Debug, Serialize)]
pub struct StrategyReport {
    /// Its name.
    pub name: String,
    /// Why it may work.
    pub hypothesis: Option<String>,
    /// The container's image.
    pub image: Option<String>,
    /// What is special about it.
    pub changes: String,
    /// What had to hold first, in a few words each.
    pub needs: Vec<String>,
    /// Variables that were set.
    pub env: BTreeMap<String, String>,
    /// Variables that were taken away.
    pub unset: Vec<String>,
    /// Program and arguments.
    pub command: Vec<String>,
    /// The outcome that stands for all its runs: a pass if all passed, else the most frequent failure; nothing if no
    /// run has ended.
    pub result: Option<Outcome>,
    /// An earlier strategy that failed in the same way.
    pub same_as: Option<String>,
    /// How many runs ended with which word.
    pub counts: BTreeMap<&'static str, usize>,
    /// Runs that have no result yet.
    pub open: usize,
    /// The furthest phase that any run reached.
    pub furthest: Option<String>,
    /// Figures of the runs that passed.
    pub metrics: BTreeMap<String, Series>,
    /// The run that the rest is about: the last one with that outcome.
    pub run: Option<i64>,
    /// When that run was in which phase.
    pub track: Vec<Reached>,
    /// How long it took, in seconds.
    pub seconds: Option<f64>,
    /// What the kernel wrote during all runs, alike lines once.
    pub kernel: Vec<KernelReport>,
    /// How many times the GPU was reset meanwhile.
    pub resets: usize,
    /// The end of that run's output, where it failed.
    pub tail: String,
}

/// A row of a table: a strategy, or many to which the same happened.
pub(crate) struct Row<'a> {
    /// The first of them.
    pub(crate) first: &'a StrategyReport,
    /// Their names.
    pub(crate) names: Vec<&'a str>,
}

/// A phase that a run reached.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Reached {
    /// In seconds since its start.
    pub at: f64,
    /// The phase.
    pub phase: String,
}

/// A line of the kernel's log.
#[derive(Clone, Debug, Serialize)]
pub struct KernelReport {
    /// The line, as it came first.
    pub line: String,
    /// What the doctor says to it.
    pub finding: Option<String>,
    /// How many lines were like it but for numbers.
    pub count: usize,
}

/// One line of text from outside without anything that a terminal obeys.
pub fn one_line(said: &str) -> String {
    text::line(said)
}

/// One word of a POSIX shell.
pub(crate) fn shell_word(word: &str) -> String {
    text::shell(word)
}

impl Report {
    /// As JSON, with `schema` and `version`.
    pub fn json(&self) -> String {
        // Keys are strings and figures are finite by construction, so that there is nothing to fail.
        serde_json::to_string_pretty(self).unwrap_or_default()
    }

    /// Whether any strategy has an image; without one, tables have no column for it.
    pub(crate) fn has_images(&self) -> bool {
        self.strategies.iter().any(|strategy| strategy.image.is_some())
    }

    /// The strategies as tables have them: many that were not run for the same reason are one row.
    pub(crate) fn rows(&self) -> Vec<Row<'_>> {
        /// So many are still read one by one.
        const FEW: usize = 3;
        let never = |strategy: &StrategyReport| strategy.result.as_ref().is_some_and(|result| !result.ran());
        let mut alike: HashMap<String, Vec<&str>> = HashMap::new();
        for strategy in self.strategies.iter().filter(|strategy| never(strategy)) {
            alike.entry(strategy.result_text()).or_default().push(&strategy.name);
        }
        let mut rows = Vec::new();
        for strategy in &self.strategies {
            let group = if never(strategy) { alike.get(&strategy.result_text()) } else { None };
            match group.filter(|names| names.len() > FEW) {
                Some(names) if names.first() == Some(&strategy.name.as_str()) => {
                    rows.push(Row { first: strategy, names: names.clone() });
                }
                Some(_) => {}
                None => rows.push(Row { first: strategy, names: vec![&strategy.name] }),
            }
        }
        rows
    }

    /// A strategy by its name.
    pub fn strategy(&self, name: &str) -> Option<&StrategyReport> {
        self.strategies.iter().find(|strategy| strategy.name == name)
    }
}

impl StrategyReport {
    /// Whether all runs that were made passed.
    pub fn passed(&self) -> bool {
        self.result == Some(Outcome::Pass)
    }

    /// The runs that have a result.
    pub fn done(&self) -> usize {
        self.counts.values().sum()
    }

    /// The result in the words of the table: `PARTIAL - past async uploads, hung at graph_reserve`, `SAME as sdma-off - hung at
    /// graph_reserve`, `PASS (3 of 3)`.
    pub fn result_text(&self) -> String {
        let Some(result) = &self.result else { return "not run yet".to_owned() };
        let share = match (self.counts.get(result.word()).copied().unwrap_or(0), self.done()) {
            (_, 1) => String::new(),
            (some, all) => format!(" ({some} of {all})"),
        };
        match &self.same_as {
            Some(other) => format!("SAME as {other}{share} - {}", gather::ending(result)),
            None => match result.detail() {
                detail if detail.is_empty() => format!("{}{share}", result.word()),
                detail => format!("{}{share} - {detail}", result.word()),
            },
        }
    }

    /// What its threads waited for when it hung, one line a thread.
    pub fn waits(&self) -> Vec<String> {
        const MOST: usize = 4;
        const FRAMES: usize = 4;
        let stack = match &self.result {
            Some(Outcome::Hang { stack, .. }) => stack.as_slice(),
            Some(Outcome::Partial { end: Some(end), .. }) => match end.as_ref() {
                Outcome::Hang { stack, .. } => stack.as_slice(),
                _ => &[],
            },
            _ => &[],
        };
        let wait = |thread: &Stack| {
            let frames: Vec<_> = thread.frames.iter().take(FRAMES).map(String::as_str).collect();
            format!("{} ({}): {}", thread.name, thread.state, frames.join(" < "))
        };
        stack.iter().filter(|thread| !thread.frames.is_empty()).take(MOST).map(wait).collect()
    }
}
