//! Failure as such: lines of a log that report one, whatever wrote them and whether or not a rule knows why.
//!
//! This is the layer below the rules. Without it a crash that no rule knows would pass as a healthy log. What to look for is data
//! (`table.toml`); where a rule or an event of some weight speaks about a line, that is told instead.

#[cfg(test)]
mod tests;

use std::borrow::Cow;
use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::pattern::Pattern;
use crate::rules::{LogLine, Severity};
use crate::scan::{Hit, LogPattern, Scanner, Wanted};

static TABLE: &str = include_str!("table.toml");

/// Lines that report the same kind of failure.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Failure {
    /// `segmentation-fault`.
    pub kind: String,
    /// Completes "Line 12 reports".
    pub what: String,
    /// How bad it is.
    pub severity: Severity,
    /// How many lines report it.
    pub count: usize,
    /// The first and, if there are more, the last.
    pub lines: Vec<LogLine>,
    /// What shows more about it: commands or words.
    pub collect: Vec<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Document {
    failure: Vec<Kind>,
    except: Vec<Except>,
    harmless: Vec<Harmless>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Kind {
    kind: String,
    what: String,
    severity: Severity,
    /// Names of [`Except`].
    #[serde(default)]
    except: Vec<String>,
    patterns: Vec<String>,
    /// The exit code that means the same.
    exit: Option<u8>,
    #[cfg_attr(not(test), expect(dead_code, reason = "for the tests of the table"))]
    lines: Vec<String>,
    collect: Vec<String>,
}

impl Kind {
    /// Its patterns, and those for its exit code.
    fn all_patterns(&self) -> Vec<String> {
        const WORDS: &str = r"exit(?:ed)?(?: with)?(?: code| status)|exit_?code|return ?code";
        let mut all = self.patterns.clone();
        if let Some(code) = self.exit {
            all.push(format!(r"(?i)\b(?:{WORDS}|exit|rc)\b[\s:=(]*{code}\b"));
            // Python tells the signal instead, below zero.
            all.extend(code.checked_sub(128).map(|signal| format!(r"(?i)\b(?:{WORDS})\b[\s:=(]*-{signal}\b")));
        }
        all
    }
}

/// Lines that some kinds leave out.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Except {
    name: String,
    pattern: String,
}

/// Words that look like a failure and are none.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Harmless {
    pattern: String,
    #[cfg_attr(not(test), expect(dead_code, reason = "for the tests of the table"))]
    lines: Vec<String>,
}

/// A line that reports a failure.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Reported<'t> {
    kind: usize,
    /// From 1.
    pub(crate) number: usize,
    /// The line, or a piece of a very long one.
    pub(crate) line: &'t str,
}

/// Finds lines that report a failure.
#[derive(Debug)]
pub(crate) struct Failures {
    kinds: Vec<Kind>,
    except: BTreeMap<String, Pattern>,
    harmless: Vec<Pattern>,
    scanner: Scanner,
    /// The kind that a pattern of the scanner belongs to.
    owners: Vec<usize>,
}

impl Failures {
    /// Reads the table; the text says what is wrong with it.
    pub(crate) fn new() -> Result<Self, String> {
        let Document { failure: kinds, except, harmless } =
            toml::from_str(TABLE).map_err(|error: toml::de::Error| error.to_string())?;
        let wrong = |text: &str| {
            let text = text.to_owned();
            move |reason: String| format!("{text}: {reason}")
        };
        let except = except.into_iter().map(|one| {
            let pattern = Pattern::parse(&one.pattern).map_err(wrong(&one.pattern))?;
            Ok((one.name, pattern))
        });
        let except = except.collect::<Result<BTreeMap<_, _>, String>>()?;
        if let Some(name) = kinds.iter().flat_map(|kind| &kind.except).find(|name| !except.contains_key(*name)) {
            return Err(format!("there is no [[except]] `{name}`"));
        }
        let harmless = harmless.iter().map(|one| Pattern::parse(&one.pattern).map_err(wrong(&one.pattern)));
        let harmless = harmless.collect::<Result<_, _>>()?;
        let (mut owners, mut patterns) = (Vec::new(), Vec::new());
        for (index, kind) in kinds.iter().enumerate() {
            for pattern in kind.all_patterns() {
                owners.push(index);
                patterns.push(LogPattern::parse(&pattern).map_err(wrong(&pattern))?);
            }
        }
        Ok(Self { kinds, except, harmless, scanner: Scanner::new(patterns), owners })
    }

    /// The lines that report a failure, each once, in order.
    pub(crate) fn find<'t>(&self, log: &'t str) -> Vec<Reported<'t>> {
        let mut found: Vec<Reported<'t>> = Vec::new();
        self.scanner.scan(log, |hit| {
            if self.holds(&hit) {
                let kind = self.owners[hit.pattern];
                match found.last_mut().filter(|last| last.number == hit.number) {
                    // The kind that comes first in the table knows more.
                    Some(last) => last.kind = last.kind.min(kind),
                    None => found.push(Reported { kind, number: hit.number, line: hit.line }),
                }
            }
            Wanted::Again
        });
        found
    }

    /// Whether a pattern still matches without the harmless words, and on a line that its kind does not leave out.
    fn holds(&self, hit: &Hit<'_>) -> bool {
        let except = &self.kinds[self.owners[hit.pattern]].except;
        if except.iter().any(|name| self.except[name].matches(hit.line)) {
            return false;
        }
        let mut rest = Cow::Borrowed(hit.line);
        for harmless in self.harmless.iter().filter_map(Pattern::regex) {
            if let Cow::Owned(cut) = harmless.replace_all(&rest, " ") {
                rest = Cow::Owned(cut);
            }
        }
        matches!(rest, Cow::Borrowed(_)) || self.scanner.pattern(hit.pattern).matches(&rest)
    }

    /// Lines by their kinds, the worst first, then by the first line.
    pub(crate) fn by_kind<'t>(&self, reported: impl Iterator<Item = Reported<'t>>) -> Vec<Failure> {
        let mut kinds: BTreeMap<usize, (Reported<'t>, Reported<'t>, usize)> = BTreeMap::new();
        for one in reported {
            let (_, last, count) = kinds.entry(one.kind).or_insert((one, one, 0));
            (*last, *count) = (one, *count + 1);
        }
        let failure = |(kind, (first, last, count)): (usize, (Reported<'t>, Reported<'t>, usize))| {
            let kind = &self.kinds[kind];
            let ends = [first, last];
            let lines = ends[..count.min(2)].iter().map(|one| LogLine::new(one.number, one.line)).collect();
            let (name, what, collect) = (kind.kind.clone(), kind.what.clone(), kind.collect.clone());
            Failure { kind: name, what, severity: kind.severity, count, lines, collect }
        };
        let mut failures: Vec<_> = kinds.into_iter().map(failure).collect();
        failures.sort_by_key(|failure| (failure.severity, failure.lines.first().map(|line| line.number)));
        failures
    }
}
