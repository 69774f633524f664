//! Regular expressions that are parsed at load time and compiled at first use. There are hundreds
//! and a run needs few; compiling all of them dominated the run time.

use std::sync::OnceLock;

use regex::Regex;
use regex_syntax::hir::{Class, Hir, HirKind};

/// A regular expression, compiled at first use.
#[derive(Clone, Debug)]
pub(crate) struct Pattern {
    text: String,
    regex: OnceLock<Option<Regex>>,
}

impl Pattern {
    /// Parses a regular expression. The error is a message.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        Self::parse_with(text).map(|(pattern, _)| pattern)
    }

    /// Parses a regular expression and returns its syntax tree too.
    pub(crate) fn parse_with(text: &str) -> Result<(Self, Hir), String> {
        let parts = regex_syntax::Parser::new().parse(text).map_err(|error| reason(&error))?;
        let regex = OnceLock::new();
        // A pattern that may exceed the size limit is compiled now, so that the error is reported
        // at load time.
        if cost(&parts) > CHEAP {
            let compiled = Regex::new(text).map_err(|error| reason(&error))?;
            let _ = regex.set(Some(compiled));
        }
        Ok((Self { text: text.to_owned(), regex }, parts))
    }

    /// The source text.
    #[cfg(test)]
    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    /// The compiled expression. A small pattern that parses also compiles; if it failed, it would
    /// match nothing.
    pub(crate) fn regex(&self) -> Option<&Regex> {
        self.regex.get_or_init(|| Regex::new(&self.text).ok()).as_ref()
    }

    /// Whether it matches anywhere in a text.
    pub(crate) fn matches(&self, text: &str) -> bool {
        self.regex().is_some_and(|regex| regex.is_match(text))
    }
}

/// The last line of the crate's message, which has the reason.
fn reason(error: &dyn std::fmt::Display) -> String {
    error.to_string().lines().last().unwrap_or_default().trim().to_owned()
}

/// States that certainly fit: the crate's limit is 10 MiB, and a state takes less than 100 bytes.
const CHEAP: u64 = 100_000;

/// Upper bound of the states that a pattern compiles to.
fn cost(parts: &Hir) -> u64 {
    // A range of characters becomes several sequences of up to four bytes.
    const RANGE: u64 = 16;
    let sum = |parts: &[Hir]| parts.iter().map(cost).fold(2, u64::saturating_add);
    match parts.kind() {
        HirKind::Empty | HirKind::Look(_) => 1,
        HirKind::Literal(literal) => literal.0.len() as u64,
        HirKind::Class(Class::Unicode(class)) => RANGE * class.ranges().len() as u64,
        HirKind::Class(Class::Bytes(class)) => class.ranges().len() as u64,
        HirKind::Capture(capture) => cost(&capture.sub).saturating_add(2),
        HirKind::Repetition(repetition) => {
            let times = u64::from(repetition.max.unwrap_or(repetition.min).max(1)).saturating_add(1);
            cost(&repetition.sub).saturating_add(2).saturating_mul(times)
        }
        HirKind::Concat(parts) | HirKind::Alternation(parts) => sum(parts),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn invalid_patterns_are_reported_at_load_time() {
        for wrong in ["(", "a{2,1}", "\\p{Nonsense}", "\\w{500}", "(?:a{1000}){1000}", "(?-u)\\xff"] {
            let theirs = Regex::new(wrong).expect_err(wrong);
            assert_eq!(Pattern::parse(wrong).expect_err(wrong), reason(&theirs), "{wrong}");
        }
    }

    #[test]
    fn parsed_patterns_compile() {
        for right in ["", "a", "(?i)\\bRX ?5[35]00\\b.*", "\\w{4}", "[^a]{200}", "(?:\\S+ ){20}", "(?i)\\pL{8}"] {
            assert!(Pattern::parse(right).expect(right).regex().is_some(), "{right}");
        }
    }
}
