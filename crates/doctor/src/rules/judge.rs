//! Rules laid over facts and a log.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::facts::Facts;

use super::book::Book;
use super::rule::{Rule, Step};

/// Whether something is so. What was not looked for may be so.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Truth {
    /// It is not.
    No,
    /// Too little is known.
    Maybe,
    /// It is.
    Yes,
}

impl Truth {
    pub(super) fn of(holds: bool) -> Self {
        if holds { Self::Yes } else { Self::No }
    }

    pub(super) fn and(self, other: Self) -> Self {
        self.min(other)
    }

    pub(super) fn or(self, other: Self) -> Self {
        self.max(other)
    }

    pub(super) fn not(self) -> Self {
        match self {
            Self::No => Self::Yes,
            Self::Maybe => Self::Maybe,
            Self::Yes => Self::No,
        }
    }
}

/// A fact that a finding rests on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Evidence {
    /// Its name.
    pub name: String,
    /// What it is; nothing if it is absent.
    pub value: Option<String>,
    /// Where it was read.
    pub place: String,
}

/// A line of a log that a finding rests on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct LogLine {
    /// From 1.
    pub number: usize,
    /// The line, without its end.
    pub text: String,
}

/// The lines that a rule's patterns match.
#[derive(Clone, Debug, Default)]
pub(super) struct Hits {
    pub(super) count: usize,
    /// The first and the last.
    pub(super) lines: Vec<LogLine>,
    /// Named groups of the first.
    pub(super) captures: BTreeMap<String, String>,
}

/// A rule that fired.
#[derive(Clone, Debug)]
pub struct Finding<'a> {
    /// The rule.
    pub rule: &'a Rule,
    /// [`Truth::Maybe`] where a condition could not be looked at.
    pub truth: Truth,
    /// The GPU it is about.
    pub gpu: Option<usize>,
    /// The facts it rests on.
    pub evidence: Vec<Evidence>,
    /// The lines it rests on: the first and, if there are more, the last.
    pub lines: Vec<LogLine>,
    /// How many lines match.
    pub count: usize,
    captures: BTreeMap<String, String>,
}

impl Finding<'_> {
    /// The title, with what was found in it.
    pub fn title(&self) -> String {
        self.filled(&self.rule.title)
    }

    /// The meaning, with what was found in it.
    pub fn meaning(&self) -> String {
        self.filled(&self.rule.meaning)
    }

    /// The steps, with what was found in them.
    pub fn steps(&self) -> Vec<Step> {
        let fill = |step: &Step| match step {
            Step::Run(text) => Step::Run(self.filled(text)),
            Step::Say(text) => Step::Say(self.filled(text)),
        };
        self.rule.steps.iter().map(fill).collect()
    }

    /// Named groups of the pattern; what did not take part in the match is a question mark.
    fn filled(&self, text: &str) -> String {
        let fill = |text: String, (name, value): (&String, &String)| text.replace(&format!("{{{name}}}"), value);
        self.captures.iter().fold(text.to_owned(), fill)
    }
}

impl Book {
    /// Lays every rule over the facts and the text of a log: what fires, the worst first, what is certain before what may be.
    pub fn judge(&self, facts: &Facts, log: &str) -> Vec<Finding<'_>> {
        let hits = self.scan(log);
        let mut findings = Vec::new();
        for (index, rule) in self.rules().iter().enumerate() {
            let lines = &hits[index];
            if !rule.log.is_empty() && lines.count == 0 {
                continue;
            }
            if rule.is_about_gpus() && !facts.gpus.is_empty() {
                findings.extend((0..facts.gpus.len()).filter_map(|gpu| judge(rule, facts, Some(gpu), lines)));
            } else {
                findings.extend(judge(rule, facts, None, lines));
            }
        }
        findings.sort_by_key(|finding| (finding.truth == Truth::Maybe, finding.rule.severity, finding.rule.confidence));
        findings
    }
}

fn judge<'a>(rule: &'a Rule, facts: &Facts, gpu: Option<usize>, hits: &Hits) -> Option<Finding<'a>> {
    let mut truth = rule.when.holds(facts, gpu);
    let one_of = rule.any.iter().map(|condition| condition.holds(facts, gpu));
    if !rule.any.is_empty() {
        truth = truth.and(one_of.fold(Truth::No, Truth::or));
    }
    let none_of = rule.none.iter().map(|condition| condition.holds(facts, gpu)).fold(Truth::No, Truth::or);
    truth = truth.and(none_of.not());
    // Facts alone must be certain; a line of a log is worth a question.
    if truth == Truth::No || truth == Truth::Maybe && rule.log.is_empty() {
        return None;
    }
    let held = rule.any.iter().filter(|condition| condition.holds(facts, gpu) == Truth::Yes);
    let evidence = [&rule.when].into_iter().chain(held).flat_map(|condition| condition.evidence(facts, gpu)).collect();
    let Hits { lines, count, captures } = hits.clone();
    Some(Finding { rule, truth, gpu, evidence, lines, count, captures })
}
