//! Many patterns over a log in one pass: words that a pattern needs are looked for all at once, and only lines
//! with such a word are matched. A very long line is matched in pieces, so that its length costs no more than once.

use std::sync::OnceLock;

use aho_corasick::{AhoCorasick, AhoCorasickKind};
use memchr::{memchr, memrchr};
use regex_syntax::hir::{Class, Hir, HirKind};

use crate::pattern::Pattern;

/// Longer lines are matched in pieces of this length, each with [`MARGIN`] around it.
const PIECE: usize = 16 << 10;
const MARGIN: usize = 4 << 10;

/// A pattern over one line.
#[derive(Clone, Debug)]
pub(crate) struct LogPattern {
    pattern: Pattern,
    /// Words of which one is in every line that matches; empty where there are none to look for.
    words: Vec<String>,
}

impl LogPattern {
    /// Reads a regular expression; the text says what is wrong with it.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let (pattern, parts) = Pattern::parse_with(text)?;
        Ok(Self { pattern, words: needed(&parts).unwrap_or_default() })
    }

    /// Whether it matches a text.
    pub(crate) fn matches(&self, text: &str) -> bool {
        self.pattern.matches(text)
    }

    /// Whether it has a group of this name.
    pub(crate) fn has_group(&self, name: &str) -> bool {
        self.pattern.regex().is_some_and(|regex| regex.capture_names().flatten().any(|known| known == name))
    }

    /// The named groups of the match in a line; what took no part in it is a question mark.
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

/// A text without what a terminal would take for a command.
pub(crate) fn plain(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect()
}

/// Patterns that are tried together.
#[derive(Debug)]
pub(crate) struct Scanner {
    patterns: Vec<LogPattern>,
    words: Vec<String>,
    /// Finds the words; made for the first log that is not empty.
    finder: OnceLock<Option<AhoCorasick>>,
    /// For each word the patterns that need it.
    owners: Vec<Vec<usize>>,
    /// Patterns without a word; every line is tried.
    wordless: Vec<usize>,
}

/// Whether a pattern is still looked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wanted {
    Again,
    Enough,
}

/// A line that a pattern matched.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Hit<'t> {
    /// The pattern's number.
    pub(crate) pattern: usize,
    /// The number of the line, from 1.
    pub(crate) number: usize,
    /// The line, or a piece of it.
    pub(crate) line: &'t str,
    /// What comes after it in the log.
    pub(crate) rest: &'t str,
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
        Self { patterns, words, finder: OnceLock::new(), owners, wordless }
    }

    fn finder(&self) -> Option<&AhoCorasick> {
        // The large table is twice as fast. It fails only for more patterns than memory holds.
        let mut builder = AhoCorasick::builder();
        builder.ascii_case_insensitive(true).kind(Some(AhoCorasickKind::DFA));
        self.finder.get_or_init(|| builder.build(&self.words).ok()).as_ref()
    }

    /// Patterns that every line is tried with.
    #[cfg(test)]
    pub(crate) fn wordless(&self) -> impl Iterator<Item = &str> {
        self.wordless.iter().map(|index| self.patterns[*index].pattern.text())
    }

    /// A pattern by its number.
    pub(crate) fn pattern(&self, index: usize) -> &LogPattern {
        &self.patterns[index]
    }

    /// Calls back for each line that a pattern matches, line by line, as long as the pattern is wanted.
    pub(crate) fn scan<'t>(&self, log: &'t str, mut found: impl FnMut(Hit<'t>) -> Wanted) {
        if log.is_empty() {
            return;
        }
        // A piece with several words of a pattern is tried once.
        let mut tried = vec![usize::MAX; self.patterns.len()];
        let mut enough = vec![false; self.patterns.len()];
        let mut try_piece = |pattern: usize, piece: Piece<'t>| {
            if enough[pattern] || std::mem::replace(&mut tried[pattern], piece.start) == piece.start {
                return;
            }
            if self.patterns[pattern].matches(piece.text) {
                let rest = &log[piece.end..];
                let hit = Hit { pattern, number: piece.number, line: piece.text, rest };
                enough[pattern] = found(hit) == Wanted::Enough;
            }
        };
        let mut lines = Lines::of(log);
        if self.wordless.is_empty() {
            for hit in self.finder().into_iter().flat_map(|finder| finder.find_overlapping_iter(log)) {
                let piece = lines.piece(hit.start());
                self.owners[hit.pattern().as_usize()].iter().for_each(|index| try_piece(*index, piece));
            }
            return;
        }
        // With a pattern that needs every line the order of lines is kept by going line by line.
        let mut start = 0;
        while start < log.len() {
            let end = memchr(b'\n', &log.as_bytes()[start..]).map_or(log.len(), |end| start + end);
            for at in (start..=end).step_by(PIECE) {
                self.wordless.iter().for_each(|index| try_piece(*index, lines.piece(at)));
            }
            for hit in self.finder().into_iter().flat_map(|finder| finder.find_overlapping_iter(&log[start..end])) {
                let piece = lines.piece(start + hit.start());
                self.owners[hit.pattern().as_usize()].iter().for_each(|index| try_piece(*index, piece));
            }
            start = end + 1;
        }
    }
}

/// A line, or a piece of a very long one.
#[derive(Clone, Copy)]
struct Piece<'t> {
    start: usize,
    end: usize,
    number: usize,
    text: &'t str,
}

/// Finds the lines of places that come in order, each line once.
struct Lines<'t> {
    log: &'t str,
    start: usize,
    /// Where the line's end is.
    end: usize,
    number: usize,
}

impl<'t> Lines<'t> {
    fn of(log: &'t str) -> Self {
        Self { log, start: 0, end: memchr(b'\n', log.as_bytes()).unwrap_or(log.len()), number: 1 }
    }

    /// The line that this place is in.
    fn piece(&mut self, at: usize) -> Piece<'t> {
        let bytes = self.log.as_bytes();
        if at > self.end {
            let start = memrchr(b'\n', &bytes[self.end..at]).map_or(self.end, |end| self.end + end) + 1;
            self.number += memchr::memchr_iter(b'\n', &bytes[self.end..start]).count();
            self.start = start;
            self.end = memchr(b'\n', &bytes[at..]).map_or(bytes.len(), |end| at + end);
        }
        let (mut start, mut end) = (self.start, self.end);
        if end - start > PIECE + MARGIN {
            let piece = start + (at - start) / PIECE * PIECE;
            let is_first = piece == start;
            start = self.log.floor_char_boundary(if is_first { piece } else { piece - MARGIN });
            end = self.log.floor_char_boundary((piece + PIECE + MARGIN).min(end));
        }
        Piece { start, end, number: self.number, text: self.log[start..end].trim_end_matches('\r') }
    }
}

/// A pattern with more texts than these is not spelt out.
const MOST_WORDS: usize = 32;

/// Words of which one is in every text that a pattern matches, none shorter than three letters; nothing if there are
/// none.
fn needed(hir: &Hir) -> Option<Vec<String>> {
    if let Some(all) = spelt_out(hir).filter(|all| is_worth_it(all)) {
        return Some(all);
    }
    match hir.kind() {
        HirKind::Capture(capture) => needed(&capture.sub),
        HirKind::Repetition(repetition) if repetition.min > 0 => {
            let sub = spelt_out(&repetition.sub);
            let row = sub.and_then(|sub| (1..repetition.min.min(8)).try_fold(sub.clone(), |row, _| joined(&row, &sub)));
            row.filter(|row| is_worth_it(row)).or_else(|| needed(&repetition.sub))
        }
        HirKind::Alternation(parts) => {
            let parts = parts.iter().map(needed).collect::<Option<Vec<_>>>()?;
            Some(parts.concat())
        }
        // Of the words in a row, those that are longest even in the worst case.
        HirKind::Concat(parts) => {
            let mut found: Vec<Vec<String>> = Vec::new();
            let mut row = vec![String::new()];
            for part in parts {
                let longer = spelt_out(part).and_then(|texts| joined(&row, &texts));
                row = longer.unwrap_or_else(|| {
                    found.extend(needed(part));
                    found.push(std::mem::take(&mut row));
                    spelt_out(part).unwrap_or_else(|| vec![String::new()])
                });
            }
            found.push(row);
            found.retain(|words| is_worth_it(words));
            found.into_iter().rev().max_by_key(|words| words.iter().map(String::len).min())
        }
        _ => None,
    }
}

/// Every text that a pattern matches, in small letters, if they are few.
fn spelt_out(hir: &Hir) -> Option<Vec<String>> {
    let nothing = || vec![String::new()];
    match hir.kind() {
        HirKind::Empty | HirKind::Look(_) => Some(nothing()),
        HirKind::Literal(literal) => Some(vec![std::str::from_utf8(&literal.0).ok()?.to_ascii_lowercase()]),
        HirKind::Class(Class::Unicode(class)) => {
            let few = class.iter().map(|range| range.len()).sum::<usize>() <= MOST_WORDS;
            let letters = few.then(|| class.iter().flat_map(|range| range.start()..=range.end()))?;
            // Without regard to case there are letters such as the Kelvin sign among them, which no log has.
            let plain = |letter: char| letter.to_lowercase().chain(letter.to_uppercase()).find(char::is_ascii);
            let small = |letter: char| plain(letter).unwrap_or(letter).to_ascii_lowercase().to_string();
            let mut texts: Vec<_> = letters.map(small).collect();
            texts.sort_unstable();
            texts.dedup();
            Some(texts)
        }
        HirKind::Class(Class::Bytes(_)) => None,
        HirKind::Capture(capture) => spelt_out(&capture.sub),
        HirKind::Repetition(repetition) => {
            let sub = spelt_out(&repetition.sub)?;
            let least = (0..repetition.min.min(8)).try_fold(nothing(), |row, _| joined(&row, &sub))?;
            match repetition.max {
                Some(max) if max == repetition.min && max <= 8 => Some(least),
                Some(1) => Some([nothing(), sub].concat()),
                _ => None,
            }
        }
        HirKind::Alternation(parts) => {
            let all = parts.iter().map(spelt_out).collect::<Option<Vec<_>>>()?.concat();
            (all.len() <= MOST_WORDS).then_some(all)
        }
        HirKind::Concat(parts) => parts.iter().try_fold(nothing(), |row, part| joined(&row, &spelt_out(part)?)),
    }
}

/// Each text with each of the others behind it, if they are not too many.
fn joined(row: &[String], texts: &[String]) -> Option<Vec<String>> {
    let all = row.iter().flat_map(|start| texts.iter().map(move |end| format!("{start}{end}")));
    (row.len() * texts.len() <= MOST_WORDS).then(|| all.collect())
}

/// Whether words are long enough to look for. Other letters than those of ASCII have capitals that the search does
/// not know; a line has no line end in it.
fn is_worth_it(words: &[String]) -> bool {
    words.iter().all(|word| word.len() >= 3 && word.is_ascii() && !word.contains('\n'))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(pattern: &str) -> Vec<String> {
        LogPattern::parse(pattern).expect("it is a pattern").words
    }

    #[test]
    fn the_longest_needed_word_is_looked_for() {
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
            Wanted::Again
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
        let long = format!("{}alpha{}omega\nalpha", "é".repeat(PIECE), "x".repeat(9 * PIECE));
        assert_eq!(hits(&["alpha"], &long).first(), Some(&(0, 1)));
        assert_eq!(hits(&["alpha"], &long).last(), Some(&(0, 2)));
        assert_eq!(hits(&["omega$"], &long), [(0, 1)]);
        assert_eq!(hits(&["^alpha"], &long), [(0, 2)], "a piece is no beginning of a line");
    }
}
