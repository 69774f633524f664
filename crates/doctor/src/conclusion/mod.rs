//! What a log amounts to: what happened, the likeliest cause with its evidence, what to do, what is ruled out, and
//! what to look at next.
//!
//! A wrong cause is worse than none. What is certain comes first; what would be so only if the machine were one
//! that the log does not tell of is a question, never a verdict. That something failed is said in any case.

#[cfg(test)]
mod tests;
mod text;
mod unexplained;

use serde::{Deserialize, Serialize};

use crate::failures::Failure;
use crate::logs::{Event, Log, Reader, Whose};
use crate::rules::{Book, Confidence, Evidence, Exclusion, Finding, LogLine, Reboot, Severity, Step, Truth};

static LOOK: &str = include_str!("look.toml");

/// Bytes from which on a log is gone through by several threads.
const LONG: usize = 1 << 20;

/// How sure a cause is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Sureness {
    /// All that the rule asks for is in the log.
    Certain,
    /// All that speaks for it is in the log; only what could be an exception is not.
    Likely,
    /// The line is in the log; the rest is not.
    Possible,
}

/// A cause that the log points to.
#[derive(Clone, Debug, Serialize)]
pub struct Cause {
    /// The rule's name.
    pub id: String,
    /// One line.
    pub title: String,
    /// The GPUs it is about: places on the bus, or of a log their numbers.
    pub gpus: Vec<String>,
    /// How sure it is.
    pub sureness: Sureness,
    /// How bad it is.
    pub severity: Severity,
    /// How sure the rule's sources are.
    pub confidence: Confidence,
    /// The lines it rests on: the first and, if there are more, the last.
    pub lines: Vec<LogLine>,
    /// How many lines match.
    pub count: usize,
    /// The facts it rests on.
    pub evidence: Vec<Evidence>,
    /// The facts that would decide it.
    pub unknown: Vec<String>,
    /// What happens and why.
    pub meaning: String,
    /// What to do, in order.
    pub steps: Vec<Step>,
    /// The steps for the system at hand.
    #[serde(skip)]
    pub steps_here: Vec<Step>,
    /// What it takes for the steps to work.
    pub reboot: Reboot,
    /// How to make it last.
    pub lasts: Option<String>,
    /// Old advice that is retired.
    pub expired: Option<String>,
    /// Who says so.
    pub sources: Vec<String>,
    /// Other findings that follow from this one.
    pub explains: Vec<Explained>,
}

impl Cause {
    /// Whether it calls for a remedy.
    pub fn is_a_problem(&self) -> bool {
        self.sureness <= Sureness::Likely && self.severity <= Severity::Medium
    }
}

/// A finding that another one explains.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Explained {
    /// The rule's name.
    pub id: String,
    /// One line.
    pub title: String,
}

/// A cause that the log alone would suggest and the facts rule out.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Excluded {
    /// The rule's name.
    pub id: String,
    /// One line.
    pub title: String,
    /// What rules it out.
    pub because: Vec<Evidence>,
}

/// Something to look at.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Look {
    /// The command that shows it.
    pub run: String,
    /// The facts that it shows.
    pub facts: Vec<String>,
    /// The causes that it decides.
    pub decides: Vec<String>,
}

/// A fact that the log tells.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Told {
    /// Its name.
    pub name: String,
    /// What it is.
    pub value: String,
    /// Where it stands.
    pub place: String,
}

/// What a log amounts to.
#[derive(Clone, Debug, Serialize)]
pub struct Conclusion {
    /// The programs that wrote it; empty if none is known.
    pub kinds: Vec<String>,
    /// Whose GPU it is about.
    pub whose: Whose,
    /// What it tells of the machine.
    pub facts: Vec<Told>,
    /// What happened, by the log's own words.
    pub events: Vec<Event>,
    /// What it comes from, the likeliest first.
    pub causes: Vec<Cause>,
    /// What could be the cause, were the machine one that the log does not tell of.
    pub possible: Vec<Cause>,
    /// Good to know; nothing is wrong with it.
    pub notes: Vec<Cause>,
    /// Lines that report a failure which neither a cause nor an event of some weight is about, the worst first.
    pub failures: Vec<Failure>,
    /// What is ruled out, and by what.
    pub excluded: Vec<Excluded>,
    /// What to look at next.
    pub next: Vec<Look>,
}

impl Conclusion {
    /// Reads a log and lays the rules over it. [`Reader::decode`] makes the text of bytes.
    pub fn of(reader: &Reader, book: &Book, log: &str) -> Self {
        // The passes over the log are independent; a short one is not worth a thread.
        let (read, hits, reported) = if log.len() < LONG {
            (reader.read(log), book.scan(log), reader.failures.find(log))
        } else {
            std::thread::scope(|scope| {
                let hits = scope.spawn(|| book.scan(log));
                let reported = scope.spawn(|| reader.failures.find(log));
                let read = reader.read(log);
                (read, joined(hits), joined(reported))
            })
        };
        let judgement = book.lay(&read.facts, &hits);
        let facts = told(&read);
        let (mut causes, mut possible, mut notes) = (Vec::new(), Vec::new(), Vec::new());
        for mut cause in ranked(&judgement.findings, &|gpu| format!("GPU {gpu}")) {
            let whose = reader.whose(&cause.lines, read.whose);
            // Text that no program wrote is talk, unless a line of it is AMD's own. What it mentions is no machine's.
            let is_note = cause.severity == Severity::Info;
            let talk = read.kinds.is_empty() && (is_note || cause.lines.is_empty() || whose != Whose::Amd);
            if talk || whose == Whose::Other {
                continue;
            }
            if whose == Whose::Unknown && !cause.lines.is_empty() {
                cause.sureness = Sureness::Possible;
                cause.unknown.push("gpus.amd".to_owned());
            }
            match (cause.severity, cause.sureness) {
                (Severity::Info, Sureness::Certain) => notes.push(cause),
                // A question about something small is no help.
                (Severity::Info, _) | (Severity::Low, Sureness::Possible) => {}
                (_, Sureness::Possible) => possible.push(cause),
                _ => causes.push(cause),
            }
        }
        // A question without anything that went wrong would be a false alarm, unless it is about the very line.
        let happened = read.events.iter().any(|event| event.severity <= Severity::Medium);
        if causes.is_empty() && !happened {
            let lines: Vec<_> = read.events.iter().flat_map(|event| &event.lines).map(|line| line.number).collect();
            possible.retain(|cause: &Cause| cause.lines.iter().any(|line| lines.contains(&line.number)));
        }
        let explained = unexplained::explained(book, &hits, &read, causes.iter().chain(&notes));
        let failures = unexplained::failures(reader, read.whose, reported, &explained);
        // What weighs more is asked first.
        possible.sort_by_key(|cause: &Cause| cause.severity > Severity::High);
        let talk = read.kinds.is_empty() || read.whose == Whose::Other;
        let excluded =
            judgement.excluded.iter().filter(|exclusion| !talk && exclusion.rule.severity <= Severity::Medium);
        let mut conclusion = Self {
            kinds: read.kinds,
            whose: read.whose,
            facts,
            events: read.events,
            causes,
            possible,
            notes,
            failures,
            excluded: excluded.map(excluded_by).collect(),
            next: Vec::new(),
        };
        conclusion.next = conclusion.look_next();
        conclusion
    }

    /// Whether the log shows a problem: a cause that is certain or likely, or something that happened, of some weight; or a failure
    /// that neither explains.
    pub fn problems(&self) -> bool {
        let happened = self.events.iter().any(|event| event.severity <= Severity::Medium);
        happened || self.causes.iter().any(Cause::is_a_problem) || !self.failures.is_empty()
    }

    /// What to look at, what decides most first.
    fn look_next(&self) -> Vec<Look> {
        let mut next: Vec<Look> = Vec::new();
        let mut add = |run: String, fact: Option<&str>, decides: Option<&str>| {
            let at = next.iter().position(|look| look.run == run).unwrap_or_else(|| {
                next.push(Look { run, facts: Vec::new(), decides: Vec::new() });
                next.len() - 1
            });
            let look = &mut next[at];
            for (list, word) in [(&mut look.facts, fact), (&mut look.decides, decides)] {
                if let Some(word) = word.filter(|word| !list.iter().any(|known| known == word)) {
                    list.push(word.to_owned());
                }
            }
        };
        // Without a word about faults in the log that the kernel writes, that is where the story goes on.
        if !self.kinds.iter().any(|kind| kind == "dmesg") {
            self.events.iter().map(|event| event.next.clone()).for_each(|run| add(run, None, None));
        }
        for cause in self.possible.iter().chain(&self.causes) {
            for fact in &cause.unknown {
                if let Some(run) = command(fact) {
                    add(run, Some(fact), Some(&cause.id));
                }
            }
        }
        next.sort_by_key(|look| std::cmp::Reverse(look.decides.len()));
        next
    }
}

fn joined<T>(thread: std::thread::ScopedJoinHandle<'_, T>) -> T {
    thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}

/// Findings as causes, the likeliest first. What a surer finding explains stands below it.
pub(crate) fn ranked(findings: &[Finding<'_>], place: &dyn Fn(usize) -> String) -> Vec<Cause> {
    let mut findings: Vec<&Finding<'_>> = findings.iter().collect();
    findings.sort_by_key(|finding| {
        // What knows the machine is nearer to the cause than what knows a line alone.
        let general = finding.evidence.is_empty();
        let is_info = finding.rule.severity == Severity::Info;
        let sureness = sureness(finding);
        let possible = sureness == Sureness::Possible;
        let open = if possible { finding.unknown.len() } else { 0 };
        // Nothing that is only likely comes before what surely stops everything.
        let lesser = !(sureness == Sureness::Certain && finding.rule.severity == Severity::Blocker);
        (possible, is_info, open, lesser, general, finding.rule.severity, sureness, finding.rule.confidence)
    });
    let mut causes: Vec<Cause> = Vec::new();
    for finding in &findings {
        if let Some(same) = causes.iter_mut().find(|cause| cause.id == finding.rule.id) {
            same.gpus.extend(finding.gpu.map(place));
            continue;
        }
        let explains = |other: &&&Finding<'_>| {
            sureness(other) <= Sureness::Likely
                && other.rule.severity != Severity::Info
                && other.rule.explains.contains(&finding.rule.id)
        };
        match findings.iter().find(explains) {
            Some(_) => {}
            None => causes.push(cause_of(finding, place)),
        }
    }
    for cause in &mut causes {
        let Some(rule) = findings.iter().find(|finding| finding.rule.id == cause.id).map(|finding| finding.rule) else {
            continue;
        };
        let follows =
            |finding: &&&Finding<'_>| rule.explains.contains(&finding.rule.id) && sureness(finding) <= Sureness::Likely;
        for finding in findings.iter().filter(follows) {
            let explained = Explained { id: finding.rule.id.clone(), title: finding.title() };
            if !cause.explains.contains(&explained) {
                cause.explains.push(explained);
            }
        }
    }
    causes
}

fn sureness(finding: &Finding<'_>) -> Sureness {
    match finding.truth {
        Truth::Yes => Sureness::Certain,
        _ if finding.likely => Sureness::Likely,
        _ => Sureness::Possible,
    }
}

fn cause_of(finding: &Finding<'_>, place: &dyn Fn(usize) -> String) -> Cause {
    let rule = finding.rule;
    Cause {
        id: rule.id.clone(),
        title: finding.title(),
        gpus: finding.gpu.map(place).into_iter().collect(),
        sureness: sureness(finding),
        severity: rule.severity,
        confidence: rule.confidence,
        lines: finding.lines.clone(),
        count: finding.count,
        evidence: finding.evidence.clone(),
        unknown: finding.unknown.clone(),
        meaning: finding.meaning(),
        steps: finding.steps(),
        steps_here: finding.steps_here(),
        reboot: rule.reboot,
        lasts: finding.lasts(),
        expired: rule.expired.clone(),
        sources: rule.sources.clone(),
        explains: Vec::new(),
    }
}

fn excluded_by(exclusion: &Exclusion<'_>) -> Excluded {
    // A title with words to be filled in is about lines that do not count.
    let title = exclusion.rule.title.split(['{', '}']).collect::<Vec<_>>().concat();
    Excluded { id: exclusion.rule.id.clone(), title, because: exclusion.because.clone() }
}

fn told(log: &Log) -> Vec<Told> {
    let tables = [&log.facts.machine].into_iter().chain(&log.facts.gpus);
    let mut told: Vec<Told> = Vec::new();
    for (name, facts) in tables.flat_map(|table| table.iter()) {
        if name.starts_with("log.") {
            continue;
        }
        for fact in facts {
            let one = Told { name: name.to_owned(), value: fact.value.clone(), place: fact.place.clone() };
            if !told.contains(&one) {
                told.push(one);
            }
        }
    }
    told
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Document {
    look: Vec<Shown>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Shown {
    fact: String,
    run: String,
}

/// The command that shows a fact.
fn command(fact: &str) -> Option<String> {
    let document: Document = toml::from_str(LOOK).ok()?;
    document.look.iter().find_map(|shown| {
        let rest = match shown.fact.strip_suffix('*') {
            Some(start) => fact.strip_prefix(start)?,
            None => (shown.fact == fact).then_some("")?,
        };
        let path = rest.replacen('.', "/parameters/", 1);
        Some(shown.run.replace("{}", rest).replace("{path}", &path))
    })
}
