//! Reads logs of any length in constant memory.
//!
//! One pass selects the lines that a pattern matches. Of lines that the same patterns match, the
//! first and the last ones are kept and the others counted. The log of these lines is then read as
//! a short one is, and gets the numbers of the original lines.

mod blocks;
mod renumber;

use std::borrow::Cow;
use std::collections::{HashMap, HashSet, VecDeque};
use std::io::{Cursor, Read};

use crate::conclusion::Conclusion;
use crate::logs::LogReader;
use crate::rules::RuleSet;
use crate::scan::{Scan, Scanner};

use blocks::Blocks;

/// Logs up to this size, in bytes, are read as a whole.
const SHORT: u64 = 16 << 20;
/// Lines that are kept of those with the same matches: at the start, and at the end of the log.
const FIRST: usize = 256;
const LAST: usize = 32;
/// Maximum length of a kept line, in bytes. Output shows less.
const LONGEST: usize = 8 << 10;
/// Maximum size of all kept lines. Beyond it only the last ones are kept.
const MAX_KEPT: usize = 64 << 20;
/// Maximum number of different sets of matches. More are counted as the last one.
const MAX_SETS: usize = 10_000;

impl Conclusion {
    /// Reads a log of any length and applies the rules. Memory does not grow with the length.
    ///
    /// # Errors
    /// If reading fails.
    pub fn of_stream(reader: &LogReader, rule_set: &RuleSet, mut log: impl Read) -> std::io::Result<Self> {
        let mut start = Vec::new();
        log.by_ref().take(SHORT).read_to_end(&mut start)?;
        if (start.len() as u64) < SHORT {
            return Ok(Self::of(reader, rule_set, &LogReader::decode(&start)));
        }
        let digest = Digest::of(reader, rule_set, Blocks::new(Cursor::new(start).chain(log)))?;
        Ok(digest.conclude(reader, rule_set))
    }
}

/// In place of a pattern: the line is about another vendor's GPU.
const OTHER: u32 = u32::MAX;

/// Lines of a log that matter.
#[derive(Debug)]
struct Digest {
    lines: Vec<KeptLine>,
}

/// A line of the log, with what it stands for.
#[derive(Debug)]
struct KeptLine {
    /// Line number in the log, from 1.
    number: usize,
    text: String,
    /// Number of lines with the same matches that it stands for.
    weight: usize,
}

/// A matched line of a block.
struct Match {
    /// Line number in the block, from 1.
    number: usize,
    /// Sorted numbers of patterns, and whether it is about another vendor's GPU.
    matches: Vec<u32>,
    text: String,
    next: Option<String>,
}

/// Lines with the same matches.
#[derive(Debug, Default)]
struct Set {
    first: Vec<(usize, String, Option<String>)>,
    last: VecDeque<(usize, String, Option<String>)>,
    dropped: usize,
}

/// Finds the lines that matter. All patterns are searched for together.
struct Selector<'r> {
    reader: &'r LogReader,
    scanner: Scanner,
    /// Number of the reader's patterns, which come first; those of failures come next.
    facts: usize,
    failures: usize,
}

/// Matches of a block.
struct Selected {
    matches: Vec<Match>,
    /// Line ends in the block.
    lines: usize,
    /// The last line with text, with its number.
    last: Option<(usize, String)>,
}

impl<'r> Selector<'r> {
    fn new(reader: &'r LogReader, rule_set: &RuleSet) -> Self {
        let (facts, failures) = (reader.patterns(), reader.failures.patterns());
        let all = [facts, failures, rule_set.patterns()].concat();
        Self { reader, scanner: Scanner::new(all), facts: facts.len(), failures: failures.len() }
    }

    /// Whether a pattern matters only the first time that it matches.
    fn once(&self, pattern: u32) -> bool {
        (pattern as usize) < self.facts && self.reader.once(pattern as usize)
    }

    fn select(&self, block: &str) -> Selected {
        let block: Cow<'_, str> = LogReader::plain(block);
        let block = LogReader::normalize(&block);
        let mut matches: Vec<Match> = Vec::new();
        self.scanner.scan(&block, |hit| {
            let index = hit.pattern;
            let is_fact = index < self.facts;
            let is_failure = !is_fact && index < self.facts + self.failures;
            if is_failure && !self.reader.failures.is_reported(index - self.facts, hit.line) {
                return Scan::Continue;
            }
            let next = (is_fact && self.reader.needs_next_line(index))
                .then(|| cut(hit.rest.lines().nth(1).unwrap_or_default()).to_owned());
            match matches.last_mut().filter(|last| last.number == hit.number) {
                Some(last) => {
                    last.matches.push(index as u32);
                    last.next = last.next.take().or(next);
                }
                None => {
                    let other = self.reader.is_other_vendor(hit.line).then_some(OTHER);
                    let matches_of_line = other.into_iter().chain([index as u32]).collect();
                    let text = cut(hit.line).to_owned();
                    matches.push(Match { number: hit.number, matches: matches_of_line, text, next });
                }
            }
            if self.once(index as u32) { Scan::Stop } else { Scan::Continue }
        });
        matches.iter_mut().for_each(|one| {
            one.matches.sort_unstable();
            one.matches.dedup();
        });
        let lines = memchr::memchr_iter(b'\n', block.as_bytes()).count();
        let number = lines + usize::from(!block.ends_with('\n'));
        let has_text = |line: &str| !matches!(line.trim(), "" | "^C" | "```");
        let mut back = block.lines().rev().enumerate();
        let last = back.find(|(_, line)| has_text(line)).map(|(behind, line)| (number - behind, cut(line).to_owned()));
        Selected { matches, lines, last }
    }
}

/// The start of a line, for lines that are longer than what is shown or matched.
fn cut(line: &str) -> &str {
    &line[..line.floor_char_boundary(LONGEST)]
}

impl Digest {
    fn of(reader: &LogReader, rule_set: &RuleSet, mut blocks: Blocks<impl Read>) -> std::io::Result<Self> {
        let selector = Selector::new(reader, rule_set);
        let mut sets: HashMap<Vec<u32>, usize> = HashMap::new();
        let mut kept: Vec<Set> = Vec::new();
        // Patterns that matter only the first time and matched already.
        let mut known = HashSet::new();
        let (mut base, mut size, mut last_line) = (0, 0, None);
        let threads = std::thread::available_parallelism().map_or(1, usize::from).min(4);
        loop {
            let mut batch = Vec::new();
            while batch.len() < threads {
                match blocks.next()? {
                    Some(block) => batch.push(block),
                    None => break,
                }
            }
            if batch.is_empty() {
                break;
            }
            let selected: Vec<Selected> = std::thread::scope(|scope| {
                let all: Vec<_> = batch.iter().map(|block| scope.spawn(|| selector.select(block))).collect();
                let join = |one: std::thread::ScopedJoinHandle<'_, Selected>| {
                    one.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
                };
                all.into_iter().map(join).collect()
            });
            for block in selected {
                for mut one in block.matches {
                    one.matches.retain(|pattern| !selector.once(*pattern) || known.insert(*pattern));
                    if one.matches.iter().all(|pattern| *pattern == OTHER) {
                        continue;
                    }
                    let next_set = sets.len();
                    let at = match next_set < MAX_SETS {
                        true => *sets.entry(one.matches).or_insert(next_set),
                        false => sets.get(&one.matches).copied().unwrap_or(MAX_SETS - 1),
                    };
                    if at == kept.len() {
                        kept.push(Set::default());
                    }
                    size += kept[at].add(base + one.number, one.text, one.next, size < MAX_KEPT);
                }
                last_line = block.last.map(|(number, text)| (base + number, text)).or(last_line);
                base += block.lines;
            }
        }
        let mut lines: Vec<KeptLine> = kept.into_iter().flat_map(Set::lines).collect();
        lines.extend(last_line.map(|(number, text)| KeptLine { number, text, weight: 1 }));
        // A line that is kept twice, for its own match and as the line after another, counts once.
        lines.sort_by_key(|line| (line.number, std::cmp::Reverse(line.weight)));
        lines.dedup_by_key(|line| line.number);
        Ok(Self { lines })
    }

    /// The conclusion from the kept lines, with the numbers and counts of the whole log.
    fn conclude(&self, reader: &LogReader, rule_set: &RuleSet) -> Conclusion {
        let text: String = self.lines.iter().flat_map(|line| [line.text.as_str(), "\n"]).collect();
        let line = |number: usize| number.checked_sub(1).and_then(|index| self.lines.get(index));
        let weight = |number: usize| line(number).map_or(1, |line| line.weight);
        let mut conclusion = Conclusion::weighted(reader, rule_set, &text, &weight);
        renumber::renumber(&mut conclusion, &|number| line(number).map_or(number, |line| line.number));
        conclusion
    }
}

impl Set {
    /// Adds a line. Returns by how many bytes the kept lines grow.
    fn add(&mut self, number: usize, text: String, next: Option<String>, has_room: bool) -> usize {
        let size = text.len() + next.as_ref().map_or(0, String::len);
        if self.first.is_empty() || has_room && self.first.len() < FIRST {
            self.first.push((number, text, next));
            return size;
        }
        self.last.push_back((number, text, next));
        let limit = if has_room { LAST } else { 1 };
        let mut grown = size;
        while self.last.len() > limit {
            let old = self.last.pop_front();
            let old = old.map_or(0, |(_, text, next)| text.len() + next.map_or(0, |next| next.len()));
            grown = grown.saturating_sub(old);
            self.dropped += 1;
        }
        grown
    }

    /// The kept lines, and those after them where they matter. The last one stands for those that
    /// were dropped.
    fn lines(self) -> Vec<KeptLine> {
        let dropped = self.dropped;
        let mut lines = Vec::new();
        let count = self.first.len() + self.last.len();
        for (index, (number, text, next)) in self.first.into_iter().chain(self.last).enumerate() {
            let weight = if index + 1 == count { 1 + dropped } else { 1 };
            lines.push(KeptLine { number, text, weight });
            lines.extend(next.map(|text| KeptLine { number: number + 1, text, weight: 0 }));
        }
        lines
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn parts() -> (LogReader, RuleSet) {
        (LogReader::new().expect("the files are right"), RuleSet::builtin().expect("the rules are right"))
    }

    /// The conclusion of a log that is read in small blocks.
    fn digested(reader: &LogReader, rule_set: &RuleSet, log: &str) -> (Conclusion, usize) {
        let blocks = Blocks::with_size(log.as_bytes(), 4 << 10);
        let digest = Digest::of(reader, rule_set, blocks).expect("memory is readable");
        (digest.conclude(reader, rule_set), digest.lines.len())
    }

    fn json(conclusion: &Conclusion) -> serde_json::Value {
        serde_json::to_value(conclusion).expect("it is data")
    }

    #[test]
    fn a_long_log_gives_the_same_conclusion_as_a_short_one() {
        let (reader, rule_set) = parts();
        let folder = fs::read_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/logs")).expect("the logs are there");
        for file in folder {
            let path = file.expect("a file").path();
            let bytes = fs::read(&path).expect("a file");
            let log = LogReader::decode(&bytes);
            // With prose around, of which nothing is kept.
            let prose = "a line without any meaning\n".repeat(300);
            let log = format!("{prose}{log}\n{prose}");
            let (expected, (found, _)) = (Conclusion::of(&reader, &rule_set, &log), digested(&reader, &rule_set, &log));
            assert_eq!(json(&found), json(&expected), "{}", path.display());
        }
    }

    #[test]
    fn a_stream_beyond_the_limit_is_read_in_blocks() {
        let (reader, rule_set) = parts();
        let prose = "a line without any meaning\n";
        let before = prose.repeat((SHORT as usize + (1 << 20)) / prose.len());
        let log = format!("{before}Segmentation fault (core dumped)\n{prose}");
        let found = Conclusion::of_stream(&reader, &rule_set, log.as_bytes()).expect("memory is readable");
        assert_eq!(found.failures.len(), 1);
        assert_eq!(found.failures[0].lines[0].number, before.len() / prose.len() + 1);
    }

    #[test]
    fn repeated_lines_are_counted_and_not_kept() {
        let (reader, rule_set) = parts();
        let timeout = "[   12.5] amdgpu 0000:03:00.0: amdgpu: ring gfx_0.0.0 timeout, signaled seq=9, emitted seq=11\n";
        let crash = "Segmentation fault (core dumped)\n";
        let log = format!("{timeout}{}{}", crash.repeat(2000), timeout.repeat(2999));
        let (expected, (found, kept)) = (Conclusion::of(&reader, &rule_set, &log), digested(&reader, &rule_set, &log));
        assert!(kept < 2 * (FIRST + LAST) + 2, "{kept} lines are kept");
        assert_eq!(json(&found), json(&expected));
        assert!(
            found.events.iter().any(|event| event.count == 3000 && event.lines[1].number == 5000),
            "{:?}",
            found.events
        );
        assert!(found.failures.iter().any(|failure| failure.count == 2000), "{:?}", found.failures);
    }

    #[test]
    fn what_is_kept_does_not_grow_with_the_log() {
        let (reader, rule_set) = parts();
        let kept = |lines: usize| {
            let line = |number| {
                format!("amdgpu 0000:03:00.0: amdgpu: [gfxhub] page fault {number} (src_id:0)\nerror: {number}\n")
            };
            let log: String = (0..lines).map(line).collect();
            digested(&reader, &rule_set, &log).1
        };
        assert_eq!(kept(2000), kept(6000));
    }

    #[test]
    fn a_failure_between_harmless_lines_is_kept() {
        let (reader, rule_set) = parts();
        let harmless = "max error: 1e-6\n".repeat(1000);
        let log = format!("{harmless}error: out of luck\n{harmless}");
        let (expected, (found, _)) = (Conclusion::of(&reader, &rule_set, &log), digested(&reader, &rule_set, &log));
        assert_eq!(json(&found), json(&expected));
        assert_eq!(found.failures[0].lines[0].number, 1001);
    }
}
