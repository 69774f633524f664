//! Many patterns over a log in one pass: words that a pattern needs are looked for all at once, and only lines
//! with such a word are matched.

use aho_corasick::AhoCorasick;
use memchr::{memchr, memrchr};
use regex::{Captures, Regex};
use regex_syntax::hir::{Hir, HirKind};

/// A pattern over one line.
#[derive(Clone, Debug)]
pub(crate) struct LogPattern {
    regex: Regex,
    /// Words of which one is in every line that matches; empty where there are none to look for.
    words: Vec<String>,
}

impl LogPattern {
    /// Reads a regular expression; the text says what is wrong with it.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        // The last line of what the crate says has the reason.
        let reason = |error: regex::Error| error.to_string().lines().last().unwrap_or_default().trim().to_owned();
        Ok(Self { regex: Regex::new(text).map_err(reason)?, words: words(text) })
    }

    /// The named groups of a match; what took no part in it is a question mark.
    pub(crate) fn groups(&self, captures: &Captures<'_>) -> Vec<(String, String)> {
        let value = |name: &str| captures.name(name).map_or("?", |group| group.as_str()).to_owned();
        self.regex.capture_names().flatten().map(|name| (name.to_owned(), value(name))).collect()
    }
}

/// Patterns that are tried together.
#[derive(Debug)]
pub(crate) struct Scanner {
    patterns: Vec<LogPattern>,
    words: Option<AhoCorasick>,
    /// For each word the patterns that need it.
    owners: Vec<Vec<usize>>,
    /// Patterns without a word; every line is tried.
    wordless: Vec<usize>,
}

impl Scanner {
    pub(crate) fn new(patterns: Vec<LogPattern>) -> Self {
        let mut words: Vec<String> = Vec::new();
        let (mut owners, mut wordless): (Vec<Vec<_>>, _) = (Vec::new(), Vec::new());
        for (index, pattern) in patterns.iter().enumerate() {
            if pattern.words.is_empty() {
                wordless.push(index);
            }
            for wanted in &pattern.words {
                let at = words.iter().position(|word| word == wanted).unwrap_or_else(|| {
                    words.push(wanted.clone());
                    owners.push(Vec::new());
                    words.len() - 1
                });
                owners[at].push(index);
            }
        }
        // It fails only for more patterns than memory holds.
        let words = AhoCorasick::builder().ascii_case_insensitive(true).build(&words).ok();
        Self { patterns, words, owners, wordless }
    }

    /// A pattern by its number.
    pub(crate) fn pattern(&self, index: usize) -> &LogPattern {
        &self.patterns[index]
    }

    /// Calls back for each line that a pattern matches: which pattern, the number of the line, the line, the match.
    pub(crate) fn scan<'t>(&self, log: &'t str, mut found: impl FnMut(usize, usize, &'t str, &Captures<'t>)) {
        // A line with several words of a pattern is tried once.
        let mut tried = vec![usize::MAX; self.patterns.len()];
        let mut try_line = |index: usize, start: usize, number: usize| {
            if std::mem::replace(&mut tried[index], start) == start {
                return;
            }
            let line = line_at(log, start);
            if let Some(captures) = self.patterns[index].regex.captures(line) {
                found(index, number, line, &captures);
            }
        };
        let mut lines = Lines { log, counted: 0, number: 1 };
        for hit in self.words.iter().flat_map(|words| words.find_overlapping_iter(log)) {
            let start = memrchr(b'\n', &log.as_bytes()[..hit.start()]).map_or(0, |end| end + 1);
            let number = lines.number_of(start);
            self.owners[hit.pattern().as_usize()].iter().for_each(|index| try_line(*index, start, number));
        }
        if !self.wordless.is_empty() {
            let mut start = 0;
            let mut number = 1;
            while start < log.len() {
                self.wordless.iter().for_each(|index| try_line(*index, start, number));
                start = memchr(b'\n', &log.as_bytes()[start..]).map_or(log.len(), |end| start + end + 1);
                number += 1;
            }
        }
    }
}

/// Counts lines as the search goes on.
struct Lines<'a> {
    log: &'a str,
    counted: usize,
    number: usize,
}

impl Lines<'_> {
    /// The number of the line that starts here. The searches come in the order of their ends, so that a start may lie behind.
    fn number_of(&mut self, start: usize) -> usize {
        if start < self.counted {
            return self.number - memchr::memchr_iter(b'\n', &self.log.as_bytes()[start..self.counted]).count();
        }
        self.number += memchr::memchr_iter(b'\n', &self.log.as_bytes()[self.counted..start]).count();
        self.counted = start;
        self.number
    }
}

fn line_at(log: &str, start: usize) -> &str {
    let rest = &log[start..];
    rest[..memchr(b'\n', rest.as_bytes()).unwrap_or(rest.len())].trim_end_matches('\r')
}

/// Words of which one is in every text that a pattern matches, none shorter than three letters; empty if there are none.
fn words(pattern: &str) -> Vec<String> {
    let parsed = regex_syntax::ParserBuilder::new().build().parse(pattern).ok();
    parsed.and_then(|hir| needed(&hir)).unwrap_or_default()
}

fn needed(hir: &Hir) -> Option<Vec<String>> {
    match hir.kind() {
        HirKind::Literal(literal) => {
            let text = std::str::from_utf8(&literal.0).ok()?;
            (text.len() >= 3).then(|| vec![text.to_lowercase()])
        }
        HirKind::Capture(capture) => needed(&capture.sub),
        HirKind::Repetition(repetition) if repetition.min > 0 => needed(&repetition.sub),
        HirKind::Alternation(parts) => {
            let parts = parts.iter().map(needed).collect::<Option<Vec<_>>>()?;
            Some(parts.concat())
        }
        // Of the words in a row, those that are longest even in the worst case.
        HirKind::Concat(parts) => {
            let shortest = |words: &Vec<String>| words.iter().map(String::len).min();
            parts.iter().filter_map(needed).max_by_key(shortest)
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_needed_word_is_looked_for() {
        assert_eq!(words("ring (gfx|comp)_\\S+ timeout, signaled"), [" timeout, signaled"]);
        assert_eq!(words("(page fault|no-retry)"), ["page fault", "no-retry"]);
        assert_eq!(words("a?[0-9]+"), Vec::<String>::new());
        assert_eq!(words("MES failed (to )?respond"), ["mes failed "]);
    }
}
