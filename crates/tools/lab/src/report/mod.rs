//! Report on an experiment: a table of strategies, findings, changes compared with the baseline,
//! the recommended configuration, and next steps.
//!
//! [`Report::read`] loads it from the store (`gather.rs`) and derives the conclusions
//! (`findings.rs`, `changes.rs`, `recommend.rs`, `next.rs`). Three formats have the same content:
//! [`markdown`], [`html`], and JSON, which is [`Report`] itself. [`diff`] compares two reports.
//! `series.rs` has the rule for significant differences.

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

#[cfg(test)]
mod example;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, HashMap};

use roci_base::renamed_key;
use serde::Serialize;

use crate::outcome::{Outcome, Stack};

pub use changes::MetricChange;
pub use next::NextStep;
pub use recommend::Recommendation;
pub use sentence::Sentence;
pub use series::{RULE, Series, Verdict};

renamed_key!(state: "state", formerly "word");
renamed_key!(timeline: "timeline", formerly "track");

/// Schema name in JSON.
pub const SCHEMA: &str = "roci.lab.report";
/// Schema version.
pub const VERSION: u32 = 2;

/// All that `roci lab report` says, as data.
#[derive(Clone, Debug, Serialize)]
pub struct Report {
    /// Name of the JSON format, [`SCHEMA`].
    pub schema: &'static str,
    /// Version of the JSON format, [`VERSION`].
    pub version: u32,
    /// What was run, and on what.
    pub experiment: ExperimentInfo,
    /// Overall status.
    pub status: Status,
    /// What results are compared with.
    pub baseline: Option<BaselineReport>,
    /// Metrics, in the order of the experiment.
    pub metrics: Vec<MetricReport>,
    /// Phases, in order.
    pub phases: Vec<String>,
    /// Strategies, in the order of the experiment.
    pub strategies: Vec<StrategyReport>,
    /// Conclusions, in sentences.
    pub findings: Vec<Sentence>,
    /// Changes compared with the baseline.
    pub changes: Vec<MetricChange>,
    /// The rule for significant [`changes`](Self::changes).
    pub rule: &'static str,
    /// Recommended configuration.
    pub recommendation: Option<Recommendation>,
    /// What to do after this experiment.
    pub next: Vec<NextStep>,
}

/// The experiment that a report is about.
#[derive(Clone, Debug, Serialize)]
pub struct ExperimentInfo {
    /// Number in the store.
    pub id: i64,
    /// As the experiment's file or the import names it.
    pub name: String,
    /// Title in one line.
    pub title: String,
    /// Question that it answers.
    pub goal: Option<String>,
    /// Notes of the experiment.
    pub notes: Vec<String>,
    /// Creation time in milliseconds since 1970.
    pub created: i64,
    /// `run`, or `import FILE`.
    pub source: String,
    /// Number of runs with a result.
    pub done: usize,
    /// Number of runs without a result.
    pub open: usize,
}

/// Overall status of an experiment.
#[derive(Clone, Debug, Serialize)]
pub struct Status {
    /// `WORKS`, `BLOCKED`, `PENDING`, `UNFINISHED`.
    #[serde(flatten, serialize_with = "state::serialize")]
    pub state: &'static str,
    /// Reason.
    pub why: String,
}

/// What other strategies are compared with.
#[derive(Clone, Debug, Serialize)]
pub struct BaselineReport {
    /// How the report refers to it.
    pub label: String,
    /// Its strategy, if it is one.
    pub strategy: Option<String>,
    /// Its metrics, from its runs or given in the experiment.
    pub metrics: BTreeMap<String, Series>,
}

/// A metric that the experiment measures.
#[derive(Clone, Debug, Serialize)]
pub struct MetricReport {
    /// As the experiment names it.
    pub name: String,
    /// Unit of its values, for display.
    pub unit: String,
    /// Whether higher values are better.
    pub higher_is_better: bool,
}

/// Results of a strategy.
#[derive(Clone, Debug, Serialize)]
pub struct StrategyReport {
    /// As the experiment names it.
    pub name: String,
    /// Why it may work.
    pub hypothesis: Option<String>,
    /// Container image.
    pub image: Option<String>,
    /// Key changes.
    pub changes: String,
    /// Requirements, in a few words each.
    pub needs: Vec<String>,
    /// Variables that are set.
    pub env: BTreeMap<String, String>,
    /// Variables that are unset.
    pub unset: Vec<String>,
    /// Program and arguments.
    pub command: Vec<String>,
    /// Overall outcome: a pass if all runs passed, otherwise the most frequent failure; `None` if
    /// no run has ended.
    pub result: Option<Outcome>,
    /// An earlier strategy with the same failure.
    pub same_as: Option<String>,
    /// Number of runs by outcome.
    pub counts: BTreeMap<&'static str, usize>,
    /// Number of runs without a result.
    pub open: usize,
    /// Furthest phase of any run.
    pub furthest: Option<String>,
    /// Metrics of passed runs.
    pub metrics: BTreeMap<String, Series>,
    /// The representative run: the last one with the overall outcome.
    pub run: Option<i64>,
    /// Phases of that run, in the order in which it reached them.
    #[serde(flatten, serialize_with = "timeline::serialize")]
    pub timeline: Vec<ReachedPhase>,
    /// Duration of that run in seconds.
    pub seconds: Option<f64>,
    /// Kernel log lines of all runs, with similar ones merged.
    pub kernel: Vec<KernelReport>,
    /// Number of GPU resets.
    pub resets: usize,
    /// End of that run's output, if it failed.
    pub tail: String,
}

/// A row of a table: a strategy, or several with the same result.
pub(crate) struct Row<'a> {
    /// The first of the strategies.
    pub(crate) first: &'a StrategyReport,
    /// Names of all the strategies.
    pub(crate) names: Vec<&'a str>,
}

/// A phase that a run reached.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ReachedPhase {
    /// Seconds since its start.
    pub at: f64,
    /// Name of the phase that was reached.
    pub phase: String,
}

/// A kernel log line.
#[derive(Clone, Debug, Serialize)]
pub struct KernelReport {
    /// The first such line.
    pub line: String,
    /// The doctor's explanation.
    pub finding: Option<String>,
    /// Number of lines that differ only in numbers.
    pub count: usize,
}

/// Untrusted text as one line without terminal escapes.
pub fn one_line(untrusted: &str) -> String {
    text::line(untrusted)
}

/// Quotes a word for a POSIX shell.
pub(crate) fn shell_word(word: &str) -> String {
    text::shell(word)
}

impl Report {
    /// As JSON, with `schema` and `version`.
    pub fn json(&self) -> String {
        // Cannot fail: keys are strings and values are finite.
        serde_json::to_string_pretty(self).unwrap_or_default()
    }

    /// Whether any strategy has an image; otherwise tables have no such column.
    pub(crate) fn has_images(&self) -> bool {
        self.strategies.iter().any(|strategy| strategy.image.is_some())
    }

    /// Rows of tables: many strategies that were not run for the same reason share one.
    pub(crate) fn rows(&self) -> Vec<Row<'_>> {
        /// Maximum number of equal rows that are listed one by one.
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

    /// `None` if the report has no such strategy.
    pub fn strategy(&self, name: &str) -> Option<&StrategyReport> {
        self.strategies.iter().find(|strategy| strategy.name == name)
    }
}

impl StrategyReport {
    /// Whether all its runs passed.
    pub fn passed(&self) -> bool {
        self.result == Some(Outcome::Pass)
    }

    /// Number of runs with a result.
    pub fn done(&self) -> usize {
        self.counts.values().sum()
    }

    /// The result for tables: `PARTIAL - past async uploads, hung at graph_reserve`, `SAME as
    /// sdma-off - hung at graph_reserve`, `PASS (3 of 3)`.
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

    /// Stacks of its threads when it hung, one line per thread.
    pub fn waits(&self) -> Vec<String> {
        const MAX_ENTRIES: usize = 4;
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
        stack.iter().filter(|thread| !thread.frames.is_empty()).take(MAX_ENTRIES).map(wait).collect()
    }
}
