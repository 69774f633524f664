//! Comparison of two reports: the same strategies, before and after.

use std::fmt::Write;

use serde::Serialize;

use super::gather::{ending, failure_kind};
use super::series::Verdict;
use super::text::{code, prose};
use super::{MetricChange, RULE, Report, StrategyReport, date, markdown};

/// Schema name in JSON.
pub const SCHEMA: &str = "roci.lab.diff";
/// Schema version.
pub const VERSION: u32 = 2;

/// Differences between two experiments.
#[derive(Clone, Debug, Serialize)]
pub struct Diff {
    /// Name of the JSON format, [`SCHEMA`].
    pub schema: &'static str,
    /// Version of the JSON format, [`VERSION`].
    pub version: u32,
    /// First experiment.
    pub before: ExperimentRef,
    /// Second experiment.
    pub after: ExperimentRef,
    /// Strategies whose outcome changed.
    pub outcomes: Vec<OutcomeChange>,
    /// Metrics of strategies that both have.
    pub changes: Vec<MetricChange>,
    /// The rule for significant changes.
    pub rule: &'static str,
    /// Number of strategies with the same outcome.
    pub unchanged: usize,
    /// Strategies only in the first.
    pub only_before: Vec<String>,
    /// Strategies only in the second.
    pub only_after: Vec<String>,
}

/// One of the two experiments.
#[derive(Clone, Debug, Serialize)]
pub struct ExperimentRef {
    /// Number of the experiment.
    pub id: i64,
    /// As the experiment's file or the import names it.
    pub name: String,
    /// Creation time in milliseconds since 1970.
    pub created: i64,
}

/// A strategy whose outcome changed.
#[derive(Clone, Debug, Serialize)]
pub struct OutcomeChange {
    /// Name of a strategy that both experiments have.
    pub strategy: String,
    /// Outcome in the first experiment.
    pub before: String,
    /// Outcome in the second experiment.
    pub after: String,
    /// Whether it is better, worse or just different.
    pub verdict: Verdict,
}

impl Diff {
    /// Compares the strategies that both have, by name.
    pub fn of(before: &Report, after: &Report) -> Self {
        let side = |report: &Report| ExperimentRef {
            id: report.experiment.id,
            name: report.experiment.name.clone(),
            created: report.experiment.created,
        };
        let known: std::collections::HashMap<_, _> =
            before.strategies.iter().map(|strategy| (strategy.name.as_str(), strategy)).collect();
        let mut diff = Self {
            schema: SCHEMA,
            version: VERSION,
            before: side(before),
            after: side(after),
            outcomes: Vec::new(),
            changes: Vec::new(),
            rule: RULE,
            unchanged: 0,
            only_before: Vec::new(),
            only_after: Vec::new(),
        };
        for now in &after.strategies {
            let Some(then) = known.get(now.name.as_str()) else {
                diff.only_after.push(now.name.clone());
                continue;
            };
            match outcome_change(&before.phases, then, now) {
                Some(change) => diff.outcomes.push(change),
                None => diff.unchanged += 1,
            }
            let both = after.metrics.iter().filter_map(|metric| {
                Some(MetricChange::new(
                    &now.name,
                    metric,
                    then.metrics.get(&metric.name)?,
                    now.metrics.get(&metric.name)?,
                ))
            });
            diff.changes.extend(both);
        }
        let names: std::collections::HashSet<_> =
            after.strategies.iter().map(|strategy| strategy.name.as_str()).collect();
        let removed = before.strategies.iter().filter(|strategy| !names.contains(strategy.name.as_str()));
        diff.only_before = removed.map(|strategy| strategy.name.clone()).collect();
        diff
    }

    /// Whether they have strategies in common.
    pub fn has_common(&self) -> bool {
        self.unchanged > 0 || !self.outcomes.is_empty()
    }

    /// Whether anything is worse, for the exit code.
    pub fn is_worse(&self) -> bool {
        let outcomes = self.outcomes.iter().any(|change| change.verdict == Verdict::Worse);
        outcomes || self.changes.iter().any(|change| change.verdict == Verdict::Worse)
    }

    /// As JSON, with `schema` and `version`.
    pub fn json(&self) -> String {
        serde_json::to_string_pretty(self).unwrap_or_default()
    }

    /// As Markdown, which is also readable on a terminal.
    pub fn markdown(&self) -> String {
        let (before, after) = (label(&self.before), label(&self.after));
        let mut text = format!("# {after} against {before}\n");
        if !self.outcomes.is_empty() {
            text.push_str("\n## Outcomes\n\n| Strategy | Before | After | |\n| --- | --- | --- | --- |\n");
            for change in &self.outcomes {
                let bold = if change.verdict == Verdict::Unknown { "" } else { "**" };
                let word = if change.verdict == Verdict::Unknown { "other" } else { change.verdict.word() };
                let (strategy, before, after) = (code(&change.strategy), prose(&change.before), prose(&change.after));
                let _ = writeln!(text, "| {strategy} | {before} | {after} | {bold}{word}{bold} |");
            }
        }
        let _ = match self.unchanged {
            1 => writeln!(text, "\n1 strategy has the same outcome."),
            count => writeln!(text, "\n{count} strategies have the same outcome."),
        };
        if !self.changes.is_empty() {
            let _ = writeln!(
                text,
                "\n## Figures\n\n{}\n\n{}",
                prose(self.rule),
                markdown::change_table(&self.changes).trim_end()
            );
        }
        for (title, names) in [("Only before", &self.only_before), ("Only after", &self.only_after)] {
            if !names.is_empty() {
                let names: Vec<_> = names.iter().map(|name| code(name)).collect();
                let _ = writeln!(text, "\n{title}: {}", names.join(", "));
            }
        }
        text
    }
}

fn label(side: &ExperimentRef) -> String {
    format!("{} (number {}, {})", code(&side.name), side.id, date::utc(side.created))
}

/// `None` if the outcome is the same, whatever its details.
fn outcome_change(phases: &[String], before: &StrategyReport, after: &StrategyReport) -> Option<OutcomeChange> {
    let (then, now) = (before.result.as_ref(), after.result.as_ref());
    let same = match (then, now) {
        (Some(then), Some(now)) => then.word() == now.word() && failure_kind(then) == failure_kind(now),
        (None, None) => true,
        _ => false,
    };
    let passes = |strategy: &StrategyReport| {
        let passed = strategy.counts.get("PASS").copied().unwrap_or(0);
        (strategy.passed(), passed > 0)
    };
    if same && passes(before) == passes(after) {
        return None;
    }
    let ran = |strategy: &StrategyReport| strategy.result.as_ref().is_some_and(crate::Outcome::ran);
    let verdict = if ran(before) && ran(after) {
        match super::findings::progress(phases, after).cmp(&super::findings::progress(phases, before)) {
            std::cmp::Ordering::Greater => Verdict::Better,
            std::cmp::Ordering::Less => Verdict::Worse,
            std::cmp::Ordering::Equal => Verdict::Unknown,
        }
    } else {
        Verdict::Unknown
    };
    let outcome_text = |strategy: &StrategyReport| match &strategy.result {
        Some(result) if result.ran() => format!("{} - {}", result.word(), ending(result)),
        Some(result) => result.to_string(),
        None => "not run yet".to_owned(),
    };
    Some(OutcomeChange {
        strategy: after.name.clone(),
        before: outcome_text(before),
        after: outcome_text(after),
        verdict,
    })
}
