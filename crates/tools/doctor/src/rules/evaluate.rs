//! Applies rules to facts and a log.

use std::collections::BTreeMap;

use roci_base::renamed_key;
use serde::Serialize;

use crate::facts::Facts;
use crate::fix::Change;
use crate::scan::plain;
use crate::secrets;

use super::condition::Condition;
use super::rule::{Rule, Step};
use super::rule_set::RuleSet;
use super::system::for_distribution;

renamed_key!(location: "location", formerly "place");

/// Whether a condition holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Truth {
    /// It does not hold.
    No,
    /// Facts are unknown.
    Maybe,
    /// It holds.
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

/// A fact that supports a finding.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Evidence {
    /// Name of the fact.
    pub name: String,
    /// Value; `None` if the fact is absent.
    pub value: Option<String>,
    /// Where it was read.
    #[serde(flatten, serialize_with = "location::serialize")]
    pub location: String,
}

/// A log line that supports a finding.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct LogLine {
    /// Line number, from 1.
    pub number: usize,
    /// The line without its line end; a very long one is cut.
    pub text: String,
}

impl LogLine {
    /// A line prepared for output: without terminal escapes, shortened, with secrets masked.
    pub(crate) fn new(number: usize, line: &str) -> Self {
        const LONGEST: usize = 400;
        let end = line.char_indices().nth(LONGEST).map_or(line.len(), |(end, _)| end);
        let cut = if end < line.len() { "…" } else { "" };
        Self { number, text: plain(&secrets::masked(&line[..end])) + cut }
    }
}

/// Lines that a rule's patterns match.
#[derive(Clone, Debug, Default)]
pub(crate) struct RuleMatches {
    /// The first and the last line.
    pub(super) lines: Vec<LogLine>,
    /// Numbers of all lines.
    pub(crate) numbers: Vec<usize>,
    /// Named groups of the first match.
    pub(super) captures: BTreeMap<String, String>,
}

/// A rule that fired.
#[derive(Clone, Debug)]
pub struct Finding<'a> {
    /// Rule whose conditions hold, or may hold.
    pub rule: &'a Rule,
    /// [`Truth::Maybe`] if facts of a condition are unknown.
    pub truth: Truth,
    /// Whether everything in favor is certain and only exceptions are unknown.
    pub likely: bool,
    /// Index of the affected GPU.
    pub gpu: Option<usize>,
    /// Facts that support it.
    pub evidence: Vec<Evidence>,
    /// Unknown facts that would decide it.
    pub unknown: Vec<String>,
    /// Matching lines: the first and, if there are more, the last.
    pub lines: Vec<LogLine>,
    /// Number of matching lines.
    pub count: usize,
    /// Values of placeholders.
    words: BTreeMap<String, String>,
    /// The distribution and those it is based on, by their `os-release` IDs.
    systems: Vec<String>,
}

impl Finding<'_> {
    /// Title with placeholders filled.
    pub fn title(&self) -> String {
        self.filled(&self.rule.title)
    }

    /// Meaning with placeholders filled.
    pub fn meaning(&self) -> String {
        self.filled(&self.rule.meaning)
    }

    /// Steps with placeholders filled.
    pub fn steps(&self) -> Vec<Step> {
        let fill = |step: &Step| match step {
            Step::Run(text) => Step::Run(self.filled(text)),
            Step::Say(text) => Step::Say(self.filled(text)),
        };
        self.rule.steps.iter().map(fill).collect()
    }

    /// Steps for this distribution; those for others are omitted.
    pub fn steps_here(&self) -> Vec<Step> {
        for_distribution(self.steps(), &self.systems)
    }

    /// How to make it permanent, with placeholders filled.
    pub fn persistence(&self) -> Option<String> {
        self.rule.persistence.as_deref().map(|text| self.filled(text))
    }

    /// Changes with placeholders filled.
    pub fn fix(&self) -> Vec<Change> {
        self.rule.fix.iter().map(|change| change.map(|text| self.filled(text))).collect()
    }

    /// Fills in named groups and facts; an unknown one becomes a question mark.
    fn filled(&self, text: &str) -> String {
        let fill = |text: String, (name, value): (&String, &String)| text.replace(&format!("{{{name}}}"), value);
        self.words.iter().fold(text.to_owned(), fill)
    }
}

/// A rule with matching log lines that the facts rule out.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ExcludedRule<'a> {
    /// Rule that does not apply.
    pub rule: &'a Rule,
    /// Facts that rule it out.
    pub evidence: Vec<Evidence>,
    /// The matching lines.
    pub lines: Vec<LogLine>,
}

/// Result of applying rules to facts and a log.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct Evaluation<'a> {
    /// Findings, the most severe first, certain before uncertain.
    pub findings: Vec<Finding<'a>>,
    /// Rules that the log alone suggests but the facts rule out.
    pub excluded: Vec<ExcludedRule<'a>>,
}

impl RuleSet {
    /// Applies every rule to the facts and the log. Findings are sorted by severity, certain before
    /// uncertain.
    pub fn findings(&self, facts: &Facts, log: &str) -> Vec<Finding<'_>> {
        self.evaluate(facts, log).findings
    }

    /// Like [`Self::findings`], plus the rules that the facts rule out.
    pub fn evaluate(&self, facts: &Facts, log: &str) -> Evaluation<'_> {
        self.apply(facts, &self.scan(log))
    }

    /// The changes that a rule states as its remedy, with facts filled in; `None` without such a
    /// rule.
    pub fn changes(&self, id: &str, facts: &Facts) -> Option<Vec<Change>> {
        let rule = self.find(id)?;
        let words = named_facts(rule, facts, None);
        let fill = |text: &str| {
            words.iter().fold(text.to_owned(), |text, (name, value)| text.replace(&format!("{{{name}}}"), value))
        };
        Some(rule.fix.iter().map(|change| change.map(fill)).collect())
    }

    /// Applies the rules to facts and matching lines.
    pub(crate) fn apply(&self, facts: &Facts, hits: &[RuleMatches]) -> Evaluation<'_> {
        let mut evaluation = Evaluation::default();
        for (rule, hits) in self.rules().iter().zip(hits) {
            if !rule.log.is_empty() && hits.numbers.is_empty() {
                continue;
            }
            let before = evaluation.findings.len();
            evaluation
                .findings
                .extend(gpus(rule, facts).filter_map(|gpu| evaluate_rule(rule, facts, gpu, hits, rule.likely)));
            if evaluation.findings.len() == before && !rule.log.is_empty() {
                let evidence = against(rule, facts, gpus(rule, facts).next().flatten());
                evaluation.excluded.push(ExcludedRule { rule, evidence, lines: hits.lines.clone() });
            }
        }
        let order =
            |finding: &Finding<'_>| (finding.truth == Truth::Maybe, finding.rule.severity, finding.rule.confidence);
        evaluation.findings.sort_by_key(order);
        evaluation
    }
}

/// Whether a rule fires, given the lines that its patterns match.
pub(super) fn fires(rule: &Rule, facts: &Facts, hits: &RuleMatches) -> bool {
    (rule.log.is_empty() || !hits.numbers.is_empty())
        && gpus(rule, facts).any(|gpu| evaluate_rule(rule, facts, gpu, hits, rule.likely).is_some())
}

/// The GPUs to apply a rule to; none if it is about the machine, or if no GPU is known.
pub(super) fn gpus(rule: &Rule, facts: &Facts) -> impl Iterator<Item = Option<usize>> {
    let count = if rule.is_about_gpus() { facts.gpus.len() } else { 0 };
    (0..count.max(1)).map(move |gpu| (count > 0).then_some(gpu))
}

/// The finding of a rule for one GPU or for the machine. With `likely`, unknown exceptions do not
/// prevent it.
pub(super) fn evaluate_rule<'a>(
    rule: &'a Rule,
    facts: &Facts,
    gpu: Option<usize>,
    hits: &RuleMatches,
    likely: bool,
) -> Option<Finding<'a>> {
    let for_it = rule.when.holds(facts, gpu).and(match rule.any.as_slice() {
        [] => Truth::Yes,
        any => any.iter().map(|condition| condition.holds(facts, gpu)).fold(Truth::No, Truth::or),
    });
    let none_of = rule.none.iter().map(|condition| condition.holds(facts, gpu)).fold(Truth::No, Truth::or);
    let truth = for_it.and(none_of.not());
    // Without a log line, facts must be certain; with one, an uncertain finding is a useful
    // question.
    let says_likely = likely && for_it == Truth::Yes;
    if truth == Truth::No || truth == Truth::Maybe && rule.log.is_empty() && !says_likely {
        return None;
    }
    let holds = |condition: &&Condition, expected: Truth| condition.holds(facts, gpu) == expected;
    let held = rule.any.iter().filter(|condition| holds(condition, Truth::Yes));
    let evidence = [&rule.when].into_iter().chain(held).flat_map(|condition| condition.evidence(facts, gpu)).collect();
    let mut open: Vec<&Condition> = rule.none.iter().filter(|condition| holds(condition, Truth::Maybe)).collect();
    if for_it == Truth::Maybe {
        open.push(&rule.when);
        open.extend(rule.any.iter().filter(|condition| holds(condition, Truth::Maybe)));
    }
    let mut unknown: Vec<String> = Vec::new();
    for name in open.iter().flat_map(|condition| condition.unknown(facts, gpu)) {
        if !unknown.iter().any(|known| known == name) {
            unknown.push(name.to_owned());
        }
    }
    let (lines, count, captures) = (hits.lines.clone(), hits.numbers.len(), hits.captures.clone());
    let words = captures.into_iter().chain(named_facts(rule, facts, gpu)).collect();
    let systems = ["os.id", "os.like"].iter().flat_map(|name| facts.machine.get(name));
    let systems = systems.map(|fact| fact.value.clone()).collect();
    Some(Finding { rule, truth, likely: for_it == Truth::Yes, gpu, evidence, unknown, lines, count, words, systems })
}

/// The facts that rule out the rule.
fn against(rule: &Rule, facts: &Facts, gpu: Option<usize>) -> Vec<Evidence> {
    let mut evidence: Vec<Evidence> = rule.when.against(facts, gpu).collect();
    if rule.any.iter().all(|condition| condition.holds(facts, gpu) == Truth::No) {
        evidence.extend(rule.any.iter().flat_map(|condition| condition.against(facts, gpu)));
    }
    let exceptions = rule.none.iter().filter(|condition| condition.holds(facts, gpu) == Truth::Yes);
    evidence.extend(exceptions.flat_map(|condition| condition.evidence(facts, gpu)));
    evidence.dedup();
    evidence
}

/// Facts that a rule's texts name in braces: names with a dot.
fn named_facts(rule: &Rule, facts: &Facts, gpu: Option<usize>) -> Vec<(String, String)> {
    // A rule without conditions on GPUs refers to the only GPU, if there is one.
    let gpu = gpu.or((facts.gpus.len() == 1).then_some(0));
    // In a command, a placeholder word is better than a question mark.
    let unknown = |name: &str| if name == "gpu.target" { "TARGET" } else { "?" };
    let value = |name: &str| facts.get(gpu, name).first().map_or(unknown(name), |fact| fact.value.as_str()).to_owned();
    let names = rule.words().into_iter().filter(|name| name.contains('.'));
    names.map(|name| (name.to_owned(), value(name))).collect()
}
