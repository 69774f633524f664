//! Detects lines that report a failure, whatever program wrote them and whether or not a rule
//! explains them.
//!
//! This layer is below the rules: without it, a log with an unknown crash would look healthy. The
//! patterns are data (`table.toml`). A line that a rule or an important event covers is reported
//! through that instead.

#[cfg(test)]
mod tests;

use std::borrow::Cow;
use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::pattern::Pattern;
use crate::rules::{LogLine, Severity};
use crate::scan::{LogPattern, PatternMatch, Scan, Scanner};

static TABLE: &str = include_str!("table.toml");

/// Lines that report the same kind of failure.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Failure {
    /// `segmentation-fault`.
    pub kind: String,
    /// Completes the sentence "Line 12 reports …".
    pub what: String,
    /// Part of the system that the first line is about; empty if unknown: `kernel driver`, `HIP`.
    pub component: String,
    /// Severity of the kind.
    pub severity: Severity,
    /// Number of lines.
    pub count: usize,
    /// The first line and, if there are more, the last.
    pub lines: Vec<LogLine>,
    /// Commands or hints that collect more information.
    pub collect: Vec<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct FailureDocument {
    failure: Vec<Kind>,
    component: Vec<ComponentDocument>,
    except: Vec<ExceptionDocument>,
    harmless: Vec<HarmlessPattern>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Kind {
    kind: String,
    what: String,
    severity: Severity,
    /// Names of [`ExceptionDocument`] entries.
    #[serde(default)]
    except: Vec<String>,
    /// Whether it is reported only if nothing else is.
    #[serde(default)]
    last_resort: bool,
    patterns: Vec<String>,
    /// Exit code with the same meaning.
    exit: Option<u8>,
    #[cfg_attr(not(test), expect(dead_code, reason = "for the tests of the table"))]
    lines: Vec<String>,
    collect: Vec<String>,
}

impl Kind {
    /// Its patterns, plus those for its exit code.
    fn all_patterns(&self) -> Vec<String> {
        const WORDS: &str = r"exit(?:ed)?(?: with)?(?: code| status)|exit_?code|return ?code";
        let mut all = self.patterns.clone();
        if let Some(code) = self.exit {
            all.push(format!(r"(?i)\b(?:{WORDS}|exit|rc)\b[\s:=(]*{code}\b"));
            // Python reports the signal as a negative number.
            all.extend(code.checked_sub(128).map(|signal| format!(r"(?i)\b(?:{WORDS})\b[\s:=(]*-{signal}\b")));
        }
        all
    }
}

/// Lines that some kinds ignore.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ExceptionDocument {
    name: String,
    pattern: String,
}

/// A part of the system, by words in its lines.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ComponentDocument {
    name: String,
    pattern: String,
    #[cfg_attr(not(test), expect(dead_code, reason = "for the tests of the table"))]
    lines: Vec<String>,
}

/// Text that looks like a failure but is harmless.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct HarmlessPattern {
    pattern: String,
    #[cfg_attr(not(test), expect(dead_code, reason = "for the tests of the table"))]
    lines: Vec<String>,
}

/// A line that reports a failure.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ReportedLine<'t> {
    kind: usize,
    /// Line number, from 1.
    pub(crate) number: usize,
    /// The line, or a chunk of a very long one.
    pub(crate) line: &'t str,
}

/// Finds lines that report a failure.
#[derive(Debug)]
pub(crate) struct Failures {
    kinds: Vec<Kind>,
    components: Vec<(String, Pattern)>,
    except: BTreeMap<String, Pattern>,
    harmless: Vec<Pattern>,
    scanner: Scanner,
    /// For each pattern of the scanner, its kind.
    owners: Vec<usize>,
}

impl Failures {
    /// Parses the table. The error is a message.
    pub(crate) fn new() -> Result<Self, String> {
        let FailureDocument { failure: kinds, component, except, harmless } =
            toml::from_str(TABLE).map_err(|error: toml::de::Error| error.to_string())?;
        let wrong = |text: &str| {
            let text = text.to_owned();
            move |reason: String| format!("{text}: {reason}")
        };
        let components = component.into_iter().map(|one| {
            let pattern = Pattern::parse(&one.pattern).map_err(wrong(&one.pattern))?;
            Ok((one.name, pattern))
        });
        let components = components.collect::<Result<Vec<_>, String>>()?;
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
        Ok(Self { kinds, components, except, harmless, scanner: Scanner::new(patterns), owners })
    }

    /// Part of the system that a line is about.
    fn component(&self, line: &str) -> Option<&str> {
        let named = self.components.iter().find(|(_, pattern)| pattern.matches(line));
        named.map(|(name, _)| name.as_str())
    }

    /// Lines that report a failure, each once, in order.
    pub(crate) fn find<'t>(&self, log: &'t str) -> Vec<ReportedLine<'t>> {
        let mut found: Vec<ReportedLine<'t>> = Vec::new();
        self.scanner.scan(log, |hit| {
            if self.holds(&hit) {
                let kind = self.owners[hit.pattern];
                match found.last_mut().filter(|last| last.number == hit.number) {
                    // Earlier kinds in the table are more specific.
                    Some(last) => last.kind = last.kind.min(kind),
                    None => found.push(ReportedLine { kind, number: hit.number, line: hit.line }),
                }
            }
            Scan::Continue
        });
        found
    }

    /// Patterns of all kinds.
    pub(crate) fn patterns(&self) -> &[LogPattern] {
        self.scanner.patterns()
    }

    /// Whether a line that a pattern matches reports a failure.
    pub(crate) fn is_reported(&self, pattern: usize, line: &str) -> bool {
        self.holds(&PatternMatch { pattern, number: 0, line, rest: "" })
    }

    /// Whether a pattern still matches without the harmless text, and its kind does not ignore the
    /// line.
    fn holds(&self, hit: &PatternMatch<'_>) -> bool {
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

    /// Groups lines by kind, the most severe kind first, then by first line. Kinds of last resort are
    /// left out if there is another kind, or if `elsewhere` says that something else is reported. A
    /// line counts as often as `weight` of its number says.
    pub(crate) fn by_kind<'t>(
        &self,
        reported: impl Iterator<Item = ReportedLine<'t>>,
        elsewhere: bool,
        weight: &dyn Fn(usize) -> usize,
    ) -> Vec<Failure> {
        let mut kinds: BTreeMap<usize, (ReportedLine<'t>, ReportedLine<'t>, usize)> = BTreeMap::new();
        for one in reported {
            let (_, last, count) = kinds.entry(one.kind).or_insert((one, one, 0));
            (*last, *count) = (one, *count + weight(one.number));
        }
        if elsewhere || kinds.keys().any(|kind| !self.kinds[*kind].last_resort) {
            kinds.retain(|kind, _| !self.kinds[*kind].last_resort);
        }
        let failure = |(kind, (first, last, count)): (usize, (ReportedLine<'t>, ReportedLine<'t>, usize))| {
            let kind = &self.kinds[kind];
            let ends = [first, last];
            let shown = if first.number == last.number { 1 } else { 2 };
            let lines = ends[..shown].iter().map(|one| LogLine::new(one.number, one.line)).collect();
            let (name, what, collect) = (kind.kind.clone(), kind.what.clone(), kind.collect.clone());
            let component = self.component(first.line).unwrap_or_default().to_owned();
            Failure { kind: name, what, component, severity: kind.severity, count, lines, collect }
        };
        let mut failures: Vec<_> = kinds.into_iter().map(failure).collect();
        failures.sort_by_key(|failure| (failure.severity, failure.lines.first().map(|line| line.number)));
        failures
    }
}
