//! Matches many patterns against a log in one pass: searches for literals that the patterns
//! require, and matches only lines with such a literal. A very long line is matched in chunks, so
//! that the cost stays linear in its length.

use std::sync::OnceLock;

use aho_corasick::{AhoCorasick, AhoCorasickKind};
use memchr::{memchr, memrchr};
use regex_syntax::hir::{Class, Hir, HirKind};

use crate::pattern::Pattern;

/// Chunk size for long lines. Each chunk is extended by [`MARGIN`] on both sides.
const CHUNK: usize = 16 << 10;
const MARGIN: usize = 4 << 10;
/// Logs below this size, in bytes, are searched faster than the DFA for them is built.
const SHORT: usize = 1 << 20;

/// A pattern that matches within a line.
#[derive(Clone, Debug)]
pub(crate) struct LogPattern {
    pattern: Pattern,
    /// Literals of which every matching line has at least one; empty if there are none.
    words: Vec<String>,
}

impl LogPattern {
    /// Parses a regular expression. The error is a message.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let (pattern, parts) = Pattern::parse_with(text)?;
        Ok(Self { pattern, words: required_literals(&parts).unwrap_or_default() })
    }

    pub(crate) fn matches(&self, text: &str) -> bool {
        self.pattern.matches(text)
    }

    pub(crate) fn has_group(&self, name: &str) -> bool {
        self.pattern.regex().is_some_and(|regex| regex.capture_names().flatten().any(|known| known == name))
    }

    /// Named groups of the match in a line; a group that did not participate is a question mark.
    pub(crate) fn groups(&self, line: &str) -> Vec<(String, String)> {
        let Some(regex) = self.pattern.regex() else { return Vec::new() };
        let names: Vec<_> = regex.capture_names().flatten().collect();
        if names.is_empty() {
            return Vec::new();
        }
        let captures = regex.captures(line);
        let value = |name: &str| captures.as_ref().and_then(|all| all.name(name)).map_or("?", |group| group.as_str());
        names.into_iter().map(|name| (name.to_owned(), plain(value(name)))).collect()
    }
}

/// Text without control characters, which a terminal would interpret.
pub(crate) fn plain(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect()
}

/// A set of patterns that are matched together.
#[derive(Debug)]
pub(crate) struct Scanner {
    patterns: Vec<LogPattern>,
    words: Vec<String>,
    /// Finds the literals; built for the first nonempty log.
    finder: OnceLock<Option<AhoCorasick>>,
    /// The same for short logs.
    short_finder: OnceLock<Option<AhoCorasick>>,
    /// For each literal, the patterns that require it.
    owners: Vec<Vec<usize>>,
    /// Patterns without a literal; they are tried on every line.
    without_literals: Vec<usize>,
}

/// Whether to keep matching a pattern.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Scan {
    Continue,
    Stop,
}

/// A line that a pattern matched.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PatternMatch<'t> {
    /// Index of the pattern.
    pub(crate) pattern: usize,
    /// Line number, from 1.
    pub(crate) number: usize,
    /// The line, or a chunk of it.
    pub(crate) line: &'t str,
    /// The rest of the log after it.
    pub(crate) rest: &'t str,
}

impl Scanner {
    pub(crate) fn new(patterns: Vec<LogPattern>) -> Self {
        let mut words: Vec<String> = Vec::new();
        let (mut owners, mut without_literals): (Vec<Vec<_>>, _) = (Vec::new(), Vec::new());
        for (index, pattern) in patterns.iter().enumerate() {
            if pattern.words.is_empty() {
                without_literals.push(index);
            }
            for word in &pattern.words {
                let at = words.iter().position(|known| known == word).unwrap_or_else(|| {
                    words.push(word.clone());
                    owners.push(Vec::new());
                    words.len() - 1
                });
                owners[at].push(index);
            }
        }
        Self { patterns, words, finder: OnceLock::new(), short_finder: OnceLock::new(), owners, without_literals }
    }

    /// The searcher for a log of this many bytes.
    fn finder(&self, length: usize) -> Option<&AhoCorasick> {
        // The DFA searches twice as fast as an NFA, but takes ten times as long to build. Building
        // it fails only if the patterns exceed memory.
        let (finder, kind) = match length < SHORT {
            true => (&self.short_finder, AhoCorasickKind::NoncontiguousNFA),
            false => (&self.finder, AhoCorasickKind::DFA),
        };
        let mut builder = AhoCorasick::builder();
        builder.ascii_case_insensitive(true).kind(Some(kind));
        finder.get_or_init(|| builder.build(&self.words).ok()).as_ref()
    }

    /// Patterns that are tried on every line.
    #[cfg(test)]
    pub(crate) fn without_literals(&self) -> impl Iterator<Item = &str> {
        self.without_literals.iter().map(|index| self.patterns[*index].pattern.text())
    }

    /// All patterns, by index.
    pub(crate) fn patterns(&self) -> &[LogPattern] {
        &self.patterns
    }

    pub(crate) fn pattern(&self, index: usize) -> &LogPattern {
        &self.patterns[index]
    }

    /// Calls `found` for each matching line in order, until it returns [`Scan::Stop`] for the
    /// pattern.
    pub(crate) fn scan<'t>(&self, log: &'t str, mut found: impl FnMut(PatternMatch<'t>) -> Scan) {
        if log.is_empty() {
            return;
        }
        // A chunk with several literals of a pattern is tried once.
        let mut tried = vec![usize::MAX; self.patterns.len()];
        let mut enough = vec![false; self.patterns.len()];
        let mut try_chunk = |pattern: usize, chunk: Chunk<'t>| {
            if enough[pattern] || std::mem::replace(&mut tried[pattern], chunk.start) == chunk.start {
                return;
            }
            if self.patterns[pattern].matches(chunk.text) {
                let rest = &log[chunk.end..];
                let hit = PatternMatch { pattern, number: chunk.number, line: chunk.text, rest };
                enough[pattern] = found(hit) == Scan::Stop;
            }
        };
        let mut lines = LineCursor::of(log);
        if self.without_literals.is_empty() {
            for hit in self.finder(log.len()).into_iter().flat_map(|finder| finder.find_overlapping_iter(log)) {
                let chunk = lines.chunk(hit.start());
                self.owners[hit.pattern().as_usize()].iter().for_each(|index| try_chunk(*index, chunk));
            }
            return;
        }
        // With a pattern that needs every line, go line by line to keep the order.
        let finder = self.finder(log.len());
        let mut start = 0;
        while start < log.len() {
            let end = memchr(b'\n', &log.as_bytes()[start..]).map_or(log.len(), |end| start + end);
            for at in (start..=end).step_by(CHUNK) {
                self.without_literals.iter().for_each(|index| try_chunk(*index, lines.chunk(at)));
            }
            for hit in finder.into_iter().flat_map(|finder| finder.find_overlapping_iter(&log[start..end])) {
                let chunk = lines.chunk(start + hit.start());
                self.owners[hit.pattern().as_usize()].iter().for_each(|index| try_chunk(*index, chunk));
            }
            start = end + 1;
        }
    }
}

/// A line, or a chunk of a very long one.
#[derive(Clone, Copy)]
struct Chunk<'t> {
    start: usize,
    end: usize,
    number: usize,
    text: &'t str,
}

/// Maps ascending offsets to lines, in one pass.
struct LineCursor<'t> {
    log: &'t str,
    start: usize,
    /// Offset of the line's end.
    end: usize,
    number: usize,
}

impl<'t> LineCursor<'t> {
    fn of(log: &'t str) -> Self {
        Self { log, start: 0, end: memchr(b'\n', log.as_bytes()).unwrap_or(log.len()), number: 1 }
    }

    /// The line or chunk at an offset.
    fn chunk(&mut self, at: usize) -> Chunk<'t> {
        let bytes = self.log.as_bytes();
        if at > self.end {
            let start = memrchr(b'\n', &bytes[self.end..at]).map_or(self.end, |end| self.end + end) + 1;
            self.number += memchr::memchr_iter(b'\n', &bytes[self.end..start]).count();
            self.start = start;
            self.end = memchr(b'\n', &bytes[at..]).map_or(bytes.len(), |end| at + end);
        }
        let (mut start, mut end) = (self.start, self.end);
        if end - start > CHUNK + MARGIN {
            let chunk = start + (at - start) / CHUNK * CHUNK;
            let is_first = chunk == start;
            start = self.log.floor_char_boundary(if is_first { chunk } else { chunk - MARGIN });
            end = self.log.floor_char_boundary((chunk + CHUNK + MARGIN).min(end));
        }
        Chunk { start, end, number: self.number, text: self.log[start..end].trim_end_matches('\r') }
    }
}

/// Maximum number of strings that a pattern is expanded to.
const MAX_LITERALS: usize = 32;

/// Literals of at least three characters, one of which is in every text that the pattern matches;
/// `None` if there are none.
fn required_literals(hir: &Hir) -> Option<Vec<String>> {
    if let Some(all) = expand(hir).filter(|all| is_selective(all)) {
        return Some(all);
    }
    match hir.kind() {
        HirKind::Capture(capture) => required_literals(&capture.sub),
        HirKind::Repetition(repetition) if repetition.min > 0 => {
            let sub = expand(&repetition.sub);
            let row =
                sub.and_then(|sub| (1..repetition.min.min(8)).try_fold(sub.clone(), |row, _| concatenate(&row, &sub)));
            row.filter(|row| is_selective(row)).or_else(|| required_literals(&repetition.sub))
        }
        HirKind::Alternation(parts) => {
            let parts = parts.iter().map(required_literals).collect::<Option<Vec<_>>>()?;
            Some(parts.concat())
        }
        // Among adjacent literals, take the set with the longest shortest member.
        HirKind::Concat(parts) => {
            let mut found: Vec<Vec<String>> = Vec::new();
            let mut row = vec![String::new()];
            for part in parts {
                let longer = expand(part).and_then(|texts| concatenate(&row, &texts));
                row = longer.unwrap_or_else(|| {
                    found.extend(required_literals(part));
                    found.push(std::mem::take(&mut row));
                    expand(part).unwrap_or_else(|| vec![String::new()])
                });
            }
            found.push(row);
            found.retain(|words| is_selective(words));
            found.into_iter().rev().max_by_key(|words| words.iter().map(String::len).min())
        }
        _ => None,
    }
}

/// All texts that a pattern matches, in lower case, if they are few.
fn expand(hir: &Hir) -> Option<Vec<String>> {
    let nothing = || vec![String::new()];
    match hir.kind() {
        HirKind::Empty | HirKind::Look(_) => Some(nothing()),
        HirKind::Literal(literal) => Some(vec![std::str::from_utf8(&literal.0).ok()?.to_ascii_lowercase()]),
        HirKind::Class(Class::Unicode(class)) => {
            let few = class.iter().map(|range| range.len()).sum::<usize>() <= MAX_LITERALS;
            let letters = few.then(|| class.iter().flat_map(|range| range.start()..=range.end()))?;
            // Case-insensitive classes include characters such as the Kelvin sign, which no log
            // has.
            let plain = |letter: char| letter.to_lowercase().chain(letter.to_uppercase()).find(char::is_ascii);
            let small = |letter: char| plain(letter).unwrap_or(letter).to_ascii_lowercase().to_string();
            let mut texts: Vec<_> = letters.map(small).collect();
            texts.sort_unstable();
            texts.dedup();
            Some(texts)
        }
        HirKind::Class(Class::Bytes(_)) => None,
        HirKind::Capture(capture) => expand(&capture.sub),
        HirKind::Repetition(repetition) => {
            let sub = expand(&repetition.sub)?;
            let least = (0..repetition.min.min(8)).try_fold(nothing(), |row, _| concatenate(&row, &sub))?;
            match repetition.max {
                Some(max) if max == repetition.min && max <= 8 => Some(least),
                Some(1) => Some([nothing(), sub].concat()),
                _ => None,
            }
        }
        HirKind::Alternation(parts) => {
            let all = parts.iter().map(expand).collect::<Option<Vec<_>>>()?.concat();
            (all.len() <= MAX_LITERALS).then_some(all)
        }
        HirKind::Concat(parts) => parts.iter().try_fold(nothing(), |row, part| concatenate(&row, &expand(part)?)),
    }
}

/// All concatenations of both lists, unless there are too many.
fn concatenate(row: &[String], texts: &[String]) -> Option<Vec<String>> {
    let all = row.iter().flat_map(|start| texts.iter().map(move |end| format!("{start}{end}")));
    (row.len() * texts.len() <= MAX_LITERALS).then(|| all.collect())
}

/// Whether literals are long enough to search for. The search ignores case only for ASCII, and a
/// line has no line end in it.
fn is_selective(words: &[String]) -> bool {
    words.iter().all(|word| word.len() >= 3 && word.is_ascii() && !word.contains('\n'))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(pattern: &str) -> Vec<String> {
        LogPattern::parse(pattern).expect("it is a pattern").words
    }

    #[test]
    fn the_longest_required_literal_is_used() {
        assert_eq!(words("ring (gfx|comp)_\\S+ timeout, signaled"), [" timeout, signaled"]);
        assert_eq!(words("(?i)\\bRX ?5[35]00\\b.*"), ["rx5300", "rx5500", "rx 5300", "rx 5500"]);
        assert_eq!(words("a[0-9]*bc(d|e)f?"), ["bcd", "bcdf", "bce", "bcef"]);
        assert_eq!(words("(page fault|no-retry)"), ["page fault", "no-retry"]);
        assert_eq!(words("a?[0-9]+"), Vec::<String>::new());
        assert_eq!(words("\\?{12,}"), ["????????"]);
        assert_eq!(words("MES failed (to )?respond"), ["mes failed respond", "mes failed to respond"]);
        assert_eq!(words("(?i)kernel"), ["kernel"]);
    }

    fn hits(patterns: &[&str], log: &str) -> Vec<(usize, usize)> {
        let patterns = patterns.iter().map(|text| LogPattern::parse(text).expect("it is a pattern")).collect();
        let mut hits = Vec::new();
        Scanner::new(patterns).scan(log, |hit| {
            hits.push((hit.pattern, hit.number));
            Scan::Continue
        });
        hits
    }

    #[test]
    fn lines_are_counted_and_each_is_tried_once() {
        let log = "one\n\nword word\r\nlast wor\nword$";
        assert_eq!(hits(&["word"], log), [(0, 3), (0, 5)]);
        assert_eq!(hits(&["word$"], log), [(0, 3)]);
        assert_eq!(hits(&["^.n.$", "last"], log), [(0, 1), (1, 4)]);
        assert_eq!(hits(&["word"], ""), []);
    }

    #[test]
    fn a_long_line_is_matched_in_pieces() {
        let long = format!("{}alpha{}omega\nalpha", "é".repeat(CHUNK), "x".repeat(9 * CHUNK));
        assert_eq!(hits(&["alpha"], &long).first(), Some(&(0, 1)));
        assert_eq!(hits(&["alpha"], &long).last(), Some(&(0, 2)));
        assert_eq!(hits(&["omega$"], &long), [(0, 1)]);
        assert_eq!(hits(&["^alpha"], &long), [(0, 2)], "a chunk is not the start of a line");
    }
}
