//! Conclusion from a log: what happened, the most likely cause with its evidence, the remedy, what
//! is ruled out, and what to check next.
//!
//! A wrong cause is worse than none. Certain causes come first. A cause that depends on facts
//! missing from the log is reported as a question, never as a verdict. Failures are always
//! reported.

mod rank;
#[cfg(test)]
mod tests;
mod text;
mod unexplained;

use roci_base::renamed_key;
use serde::{Deserialize, Serialize};

use crate::failures::Failure;
use crate::fix::Change;
use crate::logs::{Event, Log, LogReader, Vendor};
use crate::rules::{Confidence, Evidence, ExcludedRule, LogLine, Reboot, RuleSet, Severity, Step};

pub(crate) use rank::ranked;

static FACT_COMMANDS: &str = include_str!("fact_commands.toml");

renamed_key!(certainty: "certainty", formerly "sureness");
renamed_key!(programs: "programs", formerly "kinds");
renamed_key!(vendor: "vendor", formerly "whose");
renamed_key!(persistence: "persistence", formerly "lasts");
renamed_key!(outdated_advice: "outdated_advice", formerly "expired");
renamed_key!(evidence: "evidence", formerly "because");
renamed_key!(location: "location", formerly "place");

/// Logs of at least this many bytes are scanned by several threads.
const LONG: usize = 1 << 20;

/// How sure a cause is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum Certainty {
    /// The log has everything that the rule requires.
    Certain,
    /// The log has everything in favor; only possible exceptions are unknown.
    Likely,
    /// The log has the line; other conditions are unknown.
    Possible,
}

/// A cause found in a log.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct Cause {
    /// ID of the rule.
    pub id: String,
    /// Summary in one line.
    pub title: String,
    /// PCI addresses of the affected GPUs, or their numbers in a log.
    pub gpus: Vec<String>,
    /// How certain the cause is.
    #[serde(flatten, serialize_with = "certainty::serialize")]
    pub certainty: Certainty,
    /// Severity of the rule.
    pub severity: Severity,
    /// Quality of the rule's sources.
    pub confidence: Confidence,
    /// Matching lines: the first and, if there are more, the last.
    pub lines: Vec<LogLine>,
    /// Number of matching lines.
    pub count: usize,
    /// Facts that support it.
    pub evidence: Vec<Evidence>,
    /// Unknown facts that would decide it.
    pub unknown: Vec<String>,
    /// Explanation of the problem.
    pub meaning: String,
    /// Remedy, in order.
    pub steps: Vec<Step>,
    /// Steps for the distribution of this machine.
    #[serde(skip)]
    pub steps_here: Vec<Step>,
    /// Changes that `roci doctor fix` can make.
    pub fix: Vec<Change>,
    /// What is needed for the steps to take effect.
    pub reboot: Reboot,
    /// How to make the remedy permanent.
    #[serde(flatten, serialize_with = "persistence::serialize")]
    pub persistence: Option<String>,
    /// Outdated advice that this rule replaces.
    #[serde(flatten, serialize_with = "outdated_advice::serialize")]
    pub outdated_advice: Option<String>,
    /// Sources of the rule.
    pub sources: Vec<String>,
    /// Findings that this one explains.
    pub explains: Vec<ExplainedCause>,
}

impl Cause {
    /// Whether it needs a remedy.
    pub fn is_a_problem(&self) -> bool {
        self.certainty <= Certainty::Likely && self.severity <= Severity::Medium
    }
}

/// A finding that follows from another one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct ExplainedCause {
    /// ID of the rule.
    pub id: String,
    /// Summary in one line.
    pub title: String,
}

/// A cause that the log alone suggests but the facts rule out.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct ExcludedCause {
    /// ID of the rule.
    pub id: String,
    /// Summary in one line.
    pub title: String,
    /// Facts that rule it out.
    #[serde(flatten, serialize_with = "evidence::serialize")]
    pub evidence: Vec<Evidence>,
}

/// A suggestion what to check next.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct NextCheck {
    /// Command to run.
    pub run: String,
    /// Facts that the command shows.
    pub facts: Vec<String>,
    /// IDs of the rules that these facts decide.
    pub decides: Vec<String>,
}

/// A fact found in a log.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct LogFact {
    /// Key as in conditions of rules.
    pub name: String,
    /// Text as rules compare it.
    pub value: String,
    /// Where the log has it.
    #[serde(flatten, serialize_with = "location::serialize")]
    pub location: String,
}

/// Conclusion from a log.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct Conclusion {
    /// Programs that wrote the log; empty if unknown.
    #[serde(flatten, serialize_with = "programs::serialize")]
    pub programs: Vec<String>,
    /// Vendor of the GPU that the log is about.
    #[serde(flatten, serialize_with = "vendor::serialize")]
    pub vendor: Vendor,
    /// Facts about the machine.
    pub facts: Vec<LogFact>,
    /// Events, from the log's messages.
    pub events: Vec<Event>,
    /// Causes, the most likely first.
    pub causes: Vec<Cause>,
    /// Causes that depend on facts that the log does not have.
    pub possible: Vec<Cause>,
    /// Notes that are not problems.
    pub notes: Vec<Cause>,
    /// Lines with a failure that no cause and no important event covers, the most severe first.
    pub failures: Vec<Failure>,
    /// Causes that the facts rule out.
    pub excluded: Vec<ExcludedCause>,
    /// What to check next.
    pub next: Vec<NextCheck>,
    /// Whether the log shows that a GPU worked, so that its silence means something.
    #[serde(skip)]
    works: bool,
}

impl Conclusion {
    /// Reads a log and applies the rules. Use [`LogReader::decode`] to get text from bytes.
    pub fn of(reader: &LogReader, rule_set: &RuleSet, log: &str) -> Self {
        Self::weighted(reader, rule_set, &LogReader::normalize(log), &|_| 1)
    }

    /// Like [`Self::of`], for a normalized log of which each line stands for several.
    pub(crate) fn weighted(reader: &LogReader, rule_set: &RuleSet, log: &str, weight: &dyn Fn(usize) -> usize) -> Self {
        // The passes over the log are independent; a short log is not worth a thread.
        let (mut read, hits, reported) = if log.len() < LONG {
            (reader.read(log), rule_set.scan(log), reader.failures.find(log))
        } else {
            std::thread::scope(|scope| {
                let hits = scope.spawn(|| rule_set.scan(log));
                let reported = scope.spawn(|| reader.failures.find(log));
                let read = reader.read(log);
                (read, joined(hits), joined(reported))
            })
        };
        let count = |numbers: &[usize]| numbers.iter().map(|number| weight(*number)).sum::<usize>();
        read.events.iter_mut().for_each(|event| event.count = count(&event.numbers));
        let mut evaluation = rule_set.apply(&read.facts, &hits);
        for finding in &mut evaluation.findings {
            let rule = rule_set.rules().iter().position(|rule| rule.id == finding.rule.id);
            finding.count = rule.map_or(finding.count, |rule| count(&hits[rule].numbers));
        }
        let facts = log_facts(&read);
        let (mut causes, mut possible, mut notes) = (Vec::new(), Vec::new(), Vec::new());
        for mut cause in ranked(&evaluation.findings, &|gpu| format!("GPU {gpu}")) {
            let vendor = reader.vendor_of(&cause.lines, read.vendor);
            // Text of an unknown program is prose unless a line is from AMD software. Chips
            // mentioned in prose are not those of this machine.
            let is_note = cause.severity == Severity::Info;
            let strong = !cause.lines.is_empty() && rule_set.find(&cause.id).is_some_and(|rule| rule.strong);
            let talk = read.kinds.is_empty() && !strong && (is_note || cause.lines.is_empty() || vendor != Vendor::Amd);
            if talk || vendor == Vendor::Other {
                continue;
            }
            if vendor == Vendor::Unknown && strong {
                cause.certainty = cause.certainty.max(Certainty::Likely);
            } else if vendor == Vendor::Unknown && !cause.lines.is_empty() {
                cause.certainty = Certainty::Possible;
                cause.unknown.push("gpus.amd".to_owned());
            }
            match (cause.severity, cause.certainty) {
                (Severity::Info, Certainty::Certain) => notes.push(cause),
                // Questions of low severity do not help.
                (Severity::Info, _) | (Severity::Low, Certainty::Possible) => {}
                (_, Certainty::Possible) => possible.push(cause),
                _ => causes.push(cause),
            }
        }
        // Without an event, a question would be a false alarm, unless it is about exactly that
        // line.
        let happened = read.events.iter().any(|event| event.severity <= Severity::Medium);
        if causes.is_empty() && !happened {
            let lines: Vec<_> = read.events.iter().flat_map(|event| &event.lines).map(|line| line.number).collect();
            possible.retain(|cause: &Cause| cause.lines.iter().any(|line| lines.contains(&line.number)));
        }
        let explained = unexplained::explained(rule_set, &hits, &read, causes.iter().chain(&notes));
        let elsewhere = happened || causes.iter().any(Cause::is_a_problem);
        let failures = unexplained::failures(reader, read.vendor, reported, &explained, elsewhere, weight);
        // What depends on a chip or a system that the log does not name is rarely true: it is only a
        // reason for a check.
        let (unnamed, mut possible): (Vec<_>, Vec<_>) = possible.into_iter().partition(needs_identity);
        // Questions of higher severity come first.
        possible.sort_by_key(|cause: &Cause| cause.severity > Severity::High);
        let talk = read.kinds.is_empty() || read.vendor == Vendor::Other;
        let excluded =
            evaluation.excluded.iter().filter(|exclusion| !talk && exclusion.rule.severity <= Severity::Medium);
        let mut conclusion = Self {
            programs: read.kinds,
            vendor: read.vendor,
            facts,
            events: read.events,
            causes,
            possible,
            notes,
            failures,
            excluded: excluded.map(excluded_by).collect(),
            next: Vec::new(),
            works: !read.facts.machine.get("log.works").is_empty(),
        };
        conclusion.next = conclusion.next_checks(&unnamed);
        conclusion
    }

    /// Whether the log shows a problem: a certain or likely cause, an important event, or an
    /// unexplained failure.
    pub fn problems(&self) -> bool {
        let happened = self.events.iter().any(|event| event.severity <= Severity::Medium);
        happened || self.causes.iter().any(Cause::is_a_problem) || !self.failures.is_empty()
    }

    /// What to check next. The check that decides the most causes comes first.
    fn next_checks(&self, unnamed: &[Cause]) -> Vec<NextCheck> {
        let mut next: Vec<NextCheck> = Vec::new();
        let mut add = |run: String, fact: Option<&str>, decides: Option<&str>| {
            let at = next.iter().position(|check| check.run == run).unwrap_or_else(|| {
                next.push(NextCheck { run, facts: Vec::new(), decides: Vec::new() });
                next.len() - 1
            });
            let check = &mut next[at];
            for (list, word) in [(&mut check.facts, fact), (&mut check.decides, decides)] {
                if let Some(word) = word.filter(|word| !list.iter().any(|known| known == word)) {
                    list.push(word.to_owned());
                }
            }
        };
        // A log without kernel messages about a fault: the kernel log has the details.
        if !self.programs.iter().any(|kind| kind == "dmesg") {
            self.events.iter().map(|event| event.next.clone()).for_each(|run| add(run, None, None));
        }
        for cause in self.possible.iter().chain(unnamed).chain(&self.causes) {
            for fact in &cause.unknown {
                if let Some(run) = command(fact) {
                    add(run, Some(fact), Some(&cause.id));
                }
            }
        }
        next.sort_by_key(|check| std::cmp::Reverse(check.decides.len()));
        next
    }
}

fn joined<T>(thread: std::thread::ScopedJoinHandle<'_, T>) -> T {
    thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}

/// Whether it is about one kind of chip or system, and the log does not say which this is.
fn needs_identity(cause: &Cause) -> bool {
    const IDENTITY: &[&str] = &["gpu.target", "gpu.apu", "gpu.device", "gpus.discrete", "virtual_machine", "wsl"];
    cause.unknown.iter().any(|fact| IDENTITY.contains(&fact.as_str()))
}

fn excluded_by(exclusion: &ExcludedRule<'_>) -> ExcludedCause {
    // The count of lines is omitted if the title has placeholders: it would be wrong for them.
    let title = exclusion.rule.title.split(['{', '}']).collect::<Vec<_>>().concat();
    ExcludedCause { id: exclusion.rule.id.clone(), title, evidence: exclusion.evidence.clone() }
}

fn log_facts(log: &Log) -> Vec<LogFact> {
    let tables = [&log.facts.machine].into_iter().chain(&log.facts.gpus);
    let mut log_facts: Vec<LogFact> = Vec::new();
    for (name, facts) in tables.flat_map(|table| table.iter()) {
        if name.starts_with("log.") {
            continue;
        }
        for fact in facts {
            let one = LogFact { name: name.to_owned(), value: fact.value.clone(), location: fact.location.clone() };
            if !log_facts.contains(&one) {
                log_facts.push(one);
            }
        }
    }
    log_facts
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct FactCommandsDocument {
    command: Vec<FactCommand>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct FactCommand {
    fact: String,
    run: String,
}

/// The command that shows a fact.
fn command(fact: &str) -> Option<String> {
    let document: FactCommandsDocument = toml::from_str(FACT_COMMANDS).ok()?;
    document.command.iter().find_map(|shown| {
        let rest = match shown.fact.strip_suffix('*') {
            Some(start) => fact.strip_prefix(start)?,
            None => (shown.fact == fact).then_some("")?,
        };
        let path = rest.replacen('.', "/parameters/", 1);
        Some(shown.run.replace("{}", rest).replace("{path}", &path))
    })
}
