//! Rules laid over facts and a log.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::facts::Facts;
use crate::scan::plain;
use crate::secrets;

use super::book::Book;
use super::condition::Condition;
use super::rule::{Rule, Step};
use super::system::of_system;

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
    /// The line, without its end; a very long one is cut.
    pub text: String,
}

impl LogLine {
    /// A line as it is shown: what a terminal would take for a command is left out, and what nobody would read; secrets are masked.
    pub(crate) fn new(number: usize, line: &str) -> Self {
        const LONGEST: usize = 400;
        let end = line.char_indices().nth(LONGEST).map_or(line.len(), |(end, _)| end);
        let cut = if end < line.len() { "…" } else { "" };
        Self { number, text: plain(&secrets::masked(&line[..end])) + cut }
    }
}

/// The lines that a rule's patterns match.
#[derive(Clone, Debug, Default)]
pub(crate) struct Hits {
    /// The first and the last.
    pub(super) lines: Vec<LogLine>,
    /// The numbers of all.
    pub(crate) numbers: Vec<usize>,
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
    /// Whether all that speaks for it is certain, and only what could be an exception is unknown.
    pub likely: bool,
    /// The GPU it is about.
    pub gpu: Option<usize>,
    /// The facts it rests on.
    pub evidence: Vec<Evidence>,
    /// The facts that would decide it, where they are unknown.
    pub unknown: Vec<String>,
    /// The lines it rests on: the first and, if there are more, the last.
    pub lines: Vec<LogLine>,
    /// How many lines match.
    pub count: usize,
    /// What stands for the words in braces.
    words: BTreeMap<String, String>,
    /// The system and those that it is made from, as they name themselves.
    systems: Vec<String>,
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

    /// The steps for the system at hand: those for others are left out.
    pub fn steps_here(&self) -> Vec<Step> {
        of_system(self.steps(), &self.systems)
    }

    /// How to make it last, with what was found in it.
    pub fn lasts(&self) -> Option<String> {
        self.rule.lasts.as_deref().map(|text| self.filled(text))
    }

    /// Named groups of the pattern and names of facts; what is not known is a question mark.
    fn filled(&self, text: &str) -> String {
        let fill = |text: String, (name, value): (&String, &String)| text.replace(&format!("{{{name}}}"), value);
        self.words.iter().fold(text.to_owned(), fill)
    }
}

/// A rule whose lines are in the log, but which the facts rule out.
#[derive(Clone, Debug)]
pub struct Exclusion<'a> {
    /// The rule.
    pub rule: &'a Rule,
    /// The facts that rule it out.
    pub because: Vec<Evidence>,
    /// The lines that it would rest on.
    pub lines: Vec<LogLine>,
}

/// What came of laying the rules over facts and a log.
#[derive(Clone, Debug, Default)]
pub struct Judgement<'a> {
    /// What fires, the worst first, what is certain before what may be.
    pub findings: Vec<Finding<'a>>,
    /// What the log alone would suggest and the facts rule out.
    pub excluded: Vec<Exclusion<'a>>,
}

impl Book {
    /// Lays every rule over the facts and the text of a log: what fires, the worst first, what is certain before what may be.
    pub fn judge(&self, facts: &Facts, log: &str) -> Vec<Finding<'_>> {
        self.weigh(facts, log).findings
    }

    /// The same, with what is ruled out.
    pub fn weigh(&self, facts: &Facts, log: &str) -> Judgement<'_> {
        self.lay(facts, &self.scan(log))
    }

    /// Lays the rules over facts and the lines that they match.
    pub(crate) fn lay(&self, facts: &Facts, hits: &[Hits]) -> Judgement<'_> {
        let mut judgement = Judgement::default();
        for (rule, hits) in self.rules().iter().zip(hits) {
            if !rule.log.is_empty() && hits.numbers.is_empty() {
                continue;
            }
            let before = judgement.findings.len();
            judgement.findings.extend(gpus(rule, facts).filter_map(|gpu| judge(rule, facts, gpu, hits, rule.likely)));
            if judgement.findings.len() == before && !rule.log.is_empty() {
                let because = against(rule, facts, gpus(rule, facts).next().flatten());
                judgement.excluded.push(Exclusion { rule, because, lines: hits.lines.clone() });
            }
        }
        let order =
            |finding: &Finding<'_>| (finding.truth == Truth::Maybe, finding.rule.severity, finding.rule.confidence);
        judgement.findings.sort_by_key(order);
        judgement
    }
}

/// Whether a rule fires, by the lines that its patterns match.
pub(super) fn fires(rule: &Rule, facts: &Facts, hits: &Hits) -> bool {
    (rule.log.is_empty() || !hits.numbers.is_empty())
        && gpus(rule, facts).any(|gpu| judge(rule, facts, gpu, hits, rule.likely).is_some())
}

/// The GPUs that a rule is tried on; none where it is about the machine, or no GPU is known.
pub(super) fn gpus(rule: &Rule, facts: &Facts) -> impl Iterator<Item = Option<usize>> {
    let count = if rule.is_about_gpus() { facts.gpus.len() } else { 0 };
    (0..count.max(1)).map(move |gpu| (count > 0).then_some(gpu))
}

/// The finding of one rule on one GPU, or on the machine. With `likely` it also speaks where only an exception is unknown.
pub(super) fn judge<'a>(
    rule: &'a Rule,
    facts: &Facts,
    gpu: Option<usize>,
    hits: &Hits,
    likely: bool,
) -> Option<Finding<'a>> {
    let for_it = rule.when.holds(facts, gpu).and(match rule.any.as_slice() {
        [] => Truth::Yes,
        any => any.iter().map(|condition| condition.holds(facts, gpu)).fold(Truth::No, Truth::or),
    });
    let none_of = rule.none.iter().map(|condition| condition.holds(facts, gpu)).fold(Truth::No, Truth::or);
    let truth = for_it.and(none_of.not());
    // Facts alone must be certain; a line of a log is worth a question.
    let says_likely = likely && for_it == Truth::Yes;
    if truth == Truth::No || truth == Truth::Maybe && rule.log.is_empty() && !says_likely {
        return None;
    }
    let holds = |condition: &&Condition, wanted: Truth| condition.holds(facts, gpu) == wanted;
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

/// What rules it out.
fn against(rule: &Rule, facts: &Facts, gpu: Option<usize>) -> Vec<Evidence> {
    let mut because: Vec<Evidence> = rule.when.against(facts, gpu).collect();
    if rule.any.iter().all(|condition| condition.holds(facts, gpu) == Truth::No) {
        because.extend(rule.any.iter().flat_map(|condition| condition.against(facts, gpu)));
    }
    let exceptions = rule.none.iter().filter(|condition| condition.holds(facts, gpu) == Truth::Yes);
    because.extend(exceptions.flat_map(|condition| condition.evidence(facts, gpu)));
    because.dedup();
    because
}

/// The facts that a rule's texts name in braces: names with a dot.
fn named_facts(rule: &Rule, facts: &Facts, gpu: Option<usize>) -> Vec<(String, String)> {
    // A rule on lines alone speaks of the GPU too where there is but one.
    let gpu = gpu.or((facts.gpus.len() == 1).then_some(0));
    // In a command a word to put something for is better than a question mark.
    let unknown = |name: &str| if name == "gpu.target" { "TARGET" } else { "?" };
    let value = |name: &str| facts.get(gpu, name).first().map_or(unknown(name), |fact| fact.value.as_str()).to_owned();
    let names = rule.words().into_iter().filter(|name| name.contains('.'));
    names.map(|name| (name.to_owned(), value(name))).collect()
}
