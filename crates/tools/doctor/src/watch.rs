//! Explains log lines as they appear: each problem once, and afterwards only counted.

use std::collections::BTreeMap;

use crate::conclusion::{Certainty, ranked};
use crate::facts::Facts;
use crate::finding_text;
use crate::logs::{LogReader, Vendor};
use crate::rules::{LogLine, RuleSet, Severity};
use crate::snapshot::Snapshot;

/// Maximum length of a line that waits for its end, in bytes.
const LONGEST: usize = 64 << 10;

/// A problem that a line shows.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Explanation {
    /// Rule, name of the event, or kind of the failure.
    pub id: String,
    /// Summary in one line.
    pub title: String,
    /// Severity.
    pub severity: Severity,
    /// The line, its meaning and the remedy.
    pub text: String,
}

/// Explains the lines of several sources on one machine.
#[derive(Debug)]
pub struct Watcher<'r> {
    reader: &'r LogReader,
    rule_set: &'r RuleSet,
    facts: Facts,
    /// Unfinished line and number of finished lines, by source.
    sources: BTreeMap<&'static str, (Vec<u8>, usize)>,
    /// How often each problem was seen, by ID.
    seen: BTreeMap<String, usize>,
}

impl<'r> Watcher<'r> {
    /// Watches logs of the machine of a snapshot.
    pub fn new(reader: &'r LogReader, rule_set: &'r RuleSet, snapshot: &Snapshot) -> Self {
        Self { reader, rule_set, facts: snapshot.facts(), sources: BTreeMap::new(), seen: BTreeMap::new() }
    }

    /// Takes bytes of a source, in any pieces. Returns the problems that were not seen before.
    pub fn feed(&mut self, source: &'static str, bytes: &[u8]) -> Vec<Explanation> {
        let (rest, _) = self.sources.entry(source).or_default();
        rest.extend_from_slice(bytes);
        let end = match memchr::memrchr(b'\n', rest) {
            Some(end) => end + 1,
            None if rest.len() > LONGEST => rest.len(),
            None => return Vec::new(),
        };
        let lines: Vec<u8> = rest.drain(..end).collect();
        self.explain(source, &lines)
    }

    /// Takes the last line of a source, which has no end.
    pub fn finish(&mut self, source: &'static str) -> Vec<Explanation> {
        let rest = self.sources.get_mut(source).map(|(rest, _)| std::mem::take(rest)).unwrap_or_default();
        if rest.is_empty() { Vec::new() } else { self.explain(source, &rest) }
    }

    /// How often each problem was seen.
    pub fn seen(&self) -> &BTreeMap<String, usize> {
        &self.seen
    }

    fn explain(&mut self, source: &'static str, bytes: &[u8]) -> Vec<Explanation> {
        let text = LogReader::decode(bytes);
        let text = LogReader::normalize(&text);
        let base = self.sources.get(source).map_or(0, |(_, lines)| *lines);
        if let Some((_, lines)) = self.sources.get_mut(source) {
            *lines += memchr::memchr_iter(b'\n', bytes).count();
        }
        let log = self.reader.read(&text);
        for (name, values) in log.facts.machine.iter().filter(|(name, _)| name.starts_with("log.")) {
            values.iter().for_each(|fact| self.facts.machine.add(name, &fact.value, fact.location.clone()));
        }
        let place = |line: &LogLine| format!("   {source}, line {}: {}\n", base + line.number, line.text.trim());
        let mut explained = Vec::new();
        let mut new = Vec::new();
        let hits = self.rule_set.scan(&text);
        let evaluation = self.rule_set.apply(&self.facts, &hits);
        for mut cause in ranked(&evaluation.findings, &|gpu| format!("GPU {gpu}")) {
            let lines = std::mem::take(&mut cause.lines);
            // Without a line it is about the machine: `roci doctor` shows that.
            let is_problem = cause.certainty <= Certainty::Likely && cause.severity <= Severity::Medium;
            if lines.is_empty() || !is_problem || self.reader.vendor_of(&lines, Vendor::Amd) == Vendor::Other {
                continue;
            }
            let rules = self.rule_set.rules().iter().zip(&hits).filter(|(rule, _)| {
                rule.id == cause.id || cause.explains.iter().any(|explained| explained.id == rule.id)
            });
            explained.extend(rules.flat_map(|(_, hits)| hits.numbers.iter().copied()));
            let count = std::mem::take(&mut cause.count);
            if add(&mut self.seen, &cause.id, count) {
                let text = lines.iter().take(1).map(place).collect::<String>() + &cause.text(false);
                new.push(Explanation { id: cause.id, title: cause.title, severity: cause.severity, text });
            }
        }
        let is_explained = |number: &usize| explained.contains(number);
        for event in log.events.iter().filter(|event| event.severity <= Severity::Medium) {
            let open = event.numbers.iter().filter(|number| !is_explained(number)).count();
            if open > 0 && add(&mut self.seen, &event.name, open) {
                let text = event.lines.iter().take(1).map(place).collect::<String>()
                    + &finding_text::indented(&format!("More: {}", event.next), "   ");
                let (id, title) = (event.name.clone(), event.what.trim_end_matches('.').to_owned());
                new.push(Explanation { id, title, severity: event.severity, text });
            }
        }
        let events = log.events.iter().filter(|event| event.severity <= Severity::Medium);
        explained.extend(events.flat_map(|event| event.numbers.iter().copied()));
        let is_open = |number: &usize| !explained.contains(number);
        let reported = self.reader.failures.find(&text).into_iter();
        let open = reported.filter(|one| is_open(&one.number) && !self.reader.is_other_vendor(one.line));
        for failure in self.reader.failures.by_kind(open, !new.is_empty(), &|_| 1) {
            if add(&mut self.seen, &failure.kind, failure.count) {
                let mut text = failure.lines.iter().take(1).map(place).collect::<String>();
                for more in &failure.collect {
                    text.push_str(&finding_text::indented(&format!("Collect: {more}"), "   "));
                }
                let title = format!("The line reports {}. No rule explains it", failure.what);
                new.push(Explanation { id: failure.kind, title, severity: failure.severity, text });
            }
        }
        new
    }
}

/// Counts a problem. Returns whether it is new.
fn add(seen: &mut BTreeMap<String, usize>, id: &str, count: usize) -> bool {
    let known = seen.contains_key(id);
    *seen.entry(id.to_owned()).or_default() += count;
    !known
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_problem_is_explained_once_and_then_counted() {
        let (reader, rule_set) =
            (LogReader::new().expect("the files are right"), RuleSet::builtin().expect("the rules are right"));
        let mut watcher = Watcher::new(&reader, &rule_set, &Snapshot::default());
        let line = "RuntimeError: HIP error: invalid device function\n";
        assert_eq!(watcher.feed("output", b"all is well\nloading\n"), []);
        // A line that comes in two pieces.
        let (front, back) = line.as_bytes().split_at(20);
        assert_eq!(watcher.feed("output", front), []);
        let found = watcher.feed("output", back);
        assert_eq!(found.iter().map(|one| one.id.as_str()).collect::<Vec<_>>(), ["LIB-02"]);
        assert!(found[0].text.starts_with("   output, line 3: RuntimeError"), "{}", found[0].text);
        assert_eq!(watcher.feed("output", line.repeat(3).as_bytes()), []);
        assert_eq!(watcher.seen()["LIB-02"], 4);
        // The last line has no end, and no rule.
        assert_eq!(watcher.feed("output", b"Segmentation fault (core dumped)"), []);
        let last = watcher.finish("output");
        assert!(last[0].title.contains("segmentation fault") && last[0].text.contains("line 7"), "{last:?}");
        assert_eq!(watcher.finish("output"), []);
    }

    #[test]
    fn kernel_messages_are_explained_with_what_is_known_about_the_machine() {
        let (reader, rule_set) =
            (LogReader::new().expect("the files are right"), RuleSet::builtin().expect("the rules are right"));
        let mut watcher = Watcher::new(&reader, &rule_set, &Snapshot::default());
        let line = b"amdgpu 0000:03:00.0: amdgpu: [gfxhub] page fault (src_id:0 ring:24 vmid:8 pasid:32770)\n";
        let found = watcher.feed("kernel", line);
        assert!(found.iter().any(|one| one.id == "FLT-01"), "{found:?}");
        let other = b"NVRM: Xid (PCI:0000:01:00): 31, pid=1, name=x, MMU Fault\n";
        assert_eq!(watcher.feed("kernel", other), []);
    }
}
