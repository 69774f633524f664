//! Logs that people paste: what program wrote them, the facts in them, and what happened. What to look for is data:
//! `facts.toml`, `names.toml` (chips by what they are sold as) and `events.toml`.

mod decode;
mod gpus;
mod whose;

use std::borrow::Cow;
use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::facts::Facts;
use crate::failures::Failures;
use crate::rules::{LogLine, Severity};
use crate::scan::{Hit, LogPattern, Scanner, Wanted, plain};
use crate::{command_line, secrets};

use gpus::Gpus;
use whose::Vendors;
pub use whose::Whose;

static FACTS: &str = include_str!("facts.toml");
static NAMES: &str = include_str!("names.toml");
static EVENTS: &str = include_str!("events.toml");

/// A fact has no more values than this; a log that seems to have more is not what it seems.
const MOST_VALUES: usize = 64;

/// Reads logs.
#[derive(Debug)]
pub struct Reader {
    wanted: Vec<Entry>,
    scanner: Scanner,
    names: Vec<(LogPattern, String)>,
    vendors: Vendors,
    /// What a failure looks like.
    pub(crate) failures: Failures,
}

/// What was found in a log.
#[derive(Clone, Debug, Default)]
pub struct Log {
    /// The programs that wrote it: `rocminfo`, `dmesg`, `llama.cpp` and so on.
    pub kinds: Vec<String>,
    /// What it tells of the machine. What it does not tell is unknown.
    pub facts: Facts,
    /// What happened, in the order of the first lines.
    pub events: Vec<Event>,
    /// Whose GPU it is about.
    pub whose: Whose,
}

/// Something that happened, by the log's own words.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Event {
    /// What it is: `page-fault`.
    pub name: String,
    /// One line for people.
    pub what: String,
    /// How bad it is.
    pub severity: Severity,
    /// How many lines say so.
    pub count: usize,
    /// The first and, if there are more, the last.
    pub lines: Vec<LogLine>,
    /// Where more of it can be seen.
    pub next: String,
    /// The numbers of all lines.
    #[serde(skip)]
    pub(crate) numbers: Vec<usize>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct FactsDocument {
    read: Vec<Read>,
}

/// A line to look for.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Read {
    /// Who writes such lines; empty where anybody could.
    #[serde(default)]
    kind: String,
    pattern: String,
    /// What it tells, with named groups of the pattern in braces, in names too; `{next}` is the line after it.
    #[serde(default)]
    facts: BTreeMap<String, String>,
    /// Whether such lines list all GPUs that there are.
    #[serde(default)]
    lists: bool,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct NamesDocument {
    name: Vec<Name>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Name {
    target: String,
    pattern: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct EventsDocument {
    event: Vec<EventKind>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct EventKind {
    name: String,
    patterns: Vec<String>,
    /// One line, with named groups in braces.
    what: String,
    severity: Severity,
    next: String,
    /// Whether it is told only where no other event is on the line.
    #[serde(default)]
    beside: bool,
    /// Events that make this one no news.
    #[serde(default)]
    unless: Vec<String>,
}

/// What a pattern of the scanner is looked for.
#[derive(Debug)]
enum Entry {
    Read(Read),
    /// A chip that the text names somewhere.
    Mention(String),
    Event(EventKind),
    /// A GPU of another vendor.
    Other,
}

impl Reader {
    /// A reader of every kind of log that is known.
    ///
    /// # Errors
    /// A fault in the files that come along, which the tests do not let through.
    pub fn new() -> Result<Self, String> {
        let wrong = |error: toml::de::Error| error.to_string();
        let FactsDocument { read } = toml::from_str(FACTS).map_err(wrong)?;
        let NamesDocument { name: names } = toml::from_str(NAMES).map_err(wrong)?;
        let EventsDocument { event: events } = toml::from_str(EVENTS).map_err(wrong)?;
        let mut wanted: Vec<(String, Entry)> =
            read.into_iter().map(|read| (read.pattern.clone(), Entry::Read(read))).collect();
        wanted.extend(names.iter().map(|name| (name.pattern.clone(), Entry::Mention(name.target.clone()))));
        wanted.push((whose::OTHER.to_owned(), Entry::Other));
        for event in events {
            wanted.extend(event.patterns.iter().map(|pattern| (pattern.clone(), Entry::Event(event.clone()))));
        }
        let pattern = |text: &String| LogPattern::parse(text).map_err(|reason| format!("{text}: {reason}"));
        let patterns = wanted.iter().map(|(text, _)| pattern(text)).collect::<Result<_, _>>()?;
        let names = names.into_iter().map(|name| Ok((pattern(&name.pattern)?, name.target)));
        Ok(Self {
            names: names.collect::<Result<_, String>>()?,
            wanted: wanted.into_iter().map(|(_, entry)| entry).collect(),
            scanner: Scanner::new(patterns),
            vendors: Vendors::new()?,
            failures: Failures::new()?,
        })
    }

    /// The text of a log: other encodings are read, colours and NULs left out.
    pub fn decode(bytes: &[u8]) -> Cow<'_, str> {
        decode::decode(bytes)
    }

    /// What a log tells.
    pub fn read(&self, log: &str) -> Log {
        let mut found = Log::default();
        let mut gpus = Gpus::default();
        let mut happened = Vec::new();
        self.scanner.scan(log, |hit| match &self.wanted[hit.pattern] {
            Entry::Read(read) => self.tell(read, hit, &mut found, &mut gpus),
            Entry::Mention(target) => {
                gpus.mention(target, hit.number);
                Wanted::Enough
            }
            Entry::Event(kind) => self.happened(kind, hit, &mut happened),
            Entry::Other => {
                found.facts.machine.add("log.other", true, format!("line {}", hit.number));
                Wanted::Enough
            }
        });
        for kind in &found.kinds {
            found.facts.machine.add("log.kind", kind, "");
        }
        let last = log.lines().rev().map(str::trim).find(|line| !matches!(*line, "" | "^C" | "```"));
        if let Some(last) = last {
            found.facts.machine.add("log.last", LogLine::new(0, last).text, "the last line");
        }
        for (mut event, last) in happened {
            if event.count > 1 {
                event.lines.push(LogLine::new(last.number, last.line));
            }
            found.events.push(event);
        }
        self.leave_out_repeats(&mut found.events);
        if found.kinds.is_empty() {
            // No log: what it names is talk, and what it tells happened to somebody else.
            gpus.forget_mentions();
            found.events.clear();
        }
        // Every line was seen. Only whose GPU it is may be left untold.
        found.facts.is_complete("log");
        found.facts.is_unknown("log.amd");
        limit_of_pages(&mut found.facts);
        gpus.finish(&mut found.facts, |name| self.chip(name));
        found.whose = self.vendors.of_log(&found);
        match found.whose {
            Whose::Amd => {}
            Whose::Other => found.events.clear(),
            // Good to know. Whether it is an AMD GPU's, nothing tells.
            Whose::Unknown => {
                found.events.iter_mut().for_each(|event| event.severity = event.severity.max(Severity::Low));
            }
        }
        found
    }

    /// Whether a line is about the GPU of another vendor.
    pub(crate) fn is_others(&self, line: &str) -> bool {
        self.vendors.of_line(line) == Whose::Other
    }

    /// Whose GPU lines are about: AMD's if one is; what they do not tell, the log does.
    pub(crate) fn whose(&self, lines: &[LogLine], log: Whose) -> Whose {
        let mut of: Vec<_> = lines.iter().map(|line| self.vendors.of_line(&line.text)).collect();
        of.dedup();
        match of.as_slice() {
            of if of.contains(&Whose::Amd) => Whose::Amd,
            [Whose::Other] => Whose::Other,
            _ => log,
        }
    }

    /// Leaves out what another event tells better.
    fn leave_out_repeats(&self, events: &mut Vec<Event>) {
        let kind = |name: &str| {
            self.wanted.iter().find_map(|entry| match entry {
                Entry::Event(kind) if kind.name == name => Some(kind),
                _ => None,
            })
        };
        let beside = |name: &str| kind(name).is_some_and(|kind| kind.beside);
        let told: Vec<_> = events.iter().map(|event| (event.name.clone(), event.lines[0].number)).collect();
        events.retain(|event| {
            let Some(kind) = kind(&event.name) else { return true };
            let better = |(name, line): &(String, usize)| {
                kind.unless.contains(name) || kind.beside && !beside(name) && *line == event.lines[0].number
            };
            !told.iter().any(better)
        });
    }

    /// The target of a chip by what it is sold as.
    fn chip(&self, name: &str) -> Option<&str> {
        self.names.iter().find(|(pattern, _)| pattern.matches(name)).map(|(_, target)| target.as_str())
    }

    fn tell(&self, read: &Read, hit: Hit<'_>, found: &mut Log, gpus: &mut Gpus) -> Wanted {
        if !read.kind.is_empty() && !found.kinds.contains(&read.kind) {
            found.kinds.push(read.kind.clone());
        }
        gpus.listed |= read.lists;
        if read.facts.is_empty() {
            return Wanted::Enough;
        }
        let mut groups = self.scanner.pattern(hit.pattern).groups(hit.line);
        groups.push(("next".to_owned(), plain(hit.rest.lines().nth(1).unwrap_or_default().trim())));
        let place = format!("line {}", hit.number);
        for (name, value) in &read.facts {
            let (name, value) = (filled(name, &groups), filled(value, &groups));
            let value = value.trim();
            if let Some(name) = name.strip_prefix("gpu.") {
                gpus.add(name, value, hit.number, &place);
            } else {
                add(&mut found.facts, &name, value, &place);
            }
        }
        // What is the same in every such line is told once.
        let same = |(name, value): (&String, &String)| {
            !(name.starts_with("gpu.") || name.contains('{') || value.contains('{'))
        };
        if read.facts.iter().all(same) { Wanted::Enough } else { Wanted::Again }
    }

    fn happened<'t>(&self, kind: &EventKind, hit: Hit<'t>, happened: &mut Vec<(Event, Hit<'t>)>) -> Wanted {
        if self.vendors.of_line(hit.line) == Whose::Other {
            return Wanted::Again;
        }
        if let Some((event, last)) = happened.iter_mut().find(|(event, _)| event.name == kind.name) {
            // Another pattern of the event may have found the line.
            if last.number != hit.number {
                event.count += 1;
                event.numbers.push(hit.number);
            }
            *last = hit;
            return Wanted::Again;
        }
        let what = filled(&kind.what, &self.scanner.pattern(hit.pattern).groups(hit.line));
        let lines = vec![LogLine::new(hit.number, hit.line)];
        let (name, next) = (kind.name.clone(), kind.next.clone());
        let numbers = vec![hit.number];
        happened.push((Event { name, what, severity: kind.severity, count: 1, lines, next, numbers }, hit));
        Wanted::Again
    }
}

fn filled(template: &str, groups: &[(String, String)]) -> String {
    let fill = |text: String, (name, value): &(String, String)| text.replace(&format!("{{{name}}}"), value);
    groups.iter().fold(template.to_owned(), fill)
}

/// How much of the memory the GPUs may use, where both numbers are told.
fn limit_of_pages(facts: &mut Facts) {
    let number = |name: &str| crate::value::number(facts.machine.first(name)?);
    if let (Some(pages), Some(ram @ 1..)) = (number("param.ttm.pages_limit"), number("memory.ram")) {
        let percent = u128::from(pages) * 4096 * 100 / u128::from(ram);
        facts.machine.add("memory.ttm_percent", percent, "follows from both");
    }
}

/// Adds a fact of the machine.
fn add(facts: &mut Facts, name: &str, value: &str, place: &str) {
    match name {
        // `cmdline` is a line of words.
        "cmdline" => {
            for (name, value) in command_line::words(value) {
                facts.machine.add(format!("cmdline.{name}"), &value, place);
                if let Some((module, parameter)) = name.split_once('.') {
                    facts.machine.add(format!("configured.{module}.{parameter}"), value, place);
                }
            }
            facts.is_complete("cmdline");
        }
        // How many devices the line below counts.
        _ if name.starts_with("count.") => {
            if let Some(count) = value.strip_prefix("Number of devices") {
                facts.machine.add(&name["count.".len()..], count.trim_start_matches(':').trim(), place);
            }
        }
        _ => {
            // `each.` in front: a list of words, a value each.
            let (name, values) = match name.strip_prefix("each.") {
                Some(name) => (name, value.split([' ', ',', '\'', '"']).filter(|word| !word.is_empty()).collect()),
                None => (name, vec![value]),
            };
            for value in values {
                if facts.machine.get(name).len() < MOST_VALUES && !value.is_empty() {
                    facts.machine.add(name, secrets::masked(value), place);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Log {
        Reader::new().expect("the files are right").read(text)
    }

    #[test]
    fn no_pattern_needs_every_line() {
        let reader = Reader::new().expect("the files are right");
        assert_eq!(reader.scanner.wordless().collect::<Vec<_>>(), [""; 0], "these make a long log slow");
    }

    #[test]
    fn a_kernel_log_tells_of_kernel_and_chip() {
        let log = read(
            "[    0.000000] Linux version 6.19.14-200.fc43.x86_64 (mockbuild)\n\
             [    0.000000] Command line: root=UUID=1 ro amdgpu.cwsr_enable=0 nomodeset\n\
             [    5.8] amdgpu 0000:01:00.0: amdgpu: initializing kernel modesetting (CYAN_SKILLFISH 0x1002:0x13FE 0x1022:0x0000 0x00).\n",
        );
        assert_eq!(log.kinds, ["dmesg"]);
        assert_eq!(log.facts.machine.first("kernel.release"), Some("6.19.14-200.fc43.x86_64"));
        assert_eq!(log.facts.machine.first("cmdline.nomodeset"), Some(""));
        assert_eq!(log.facts.machine.first("configured.amdgpu.cwsr_enable"), Some("0"));
        assert_eq!(log.facts.gpus[0].first("gpu.target"), Some("gfx1013"));
    }

    #[test]
    fn two_chips_are_two_gpus() {
        let log = read(
            "  Device 0: AMD Radeon RX 7900 XTX, gfx1100 (0x1100), VMM: no, Wave Size: 32\n\
             \x20 Device 1: AMD Radeon Graphics, gfx1036 (0x1036), VMM: no, Wave Size: 32\n",
        );
        let targets: Vec<_> = log.facts.gpus.iter().filter_map(|gpu| gpu.first("gpu.target")).collect();
        assert_eq!(targets, ["gfx1100", "gfx1036"]);
        assert_eq!(log.kinds, ["llama.cpp"]);
        assert_eq!(log.facts.machine.first("gpus.discrete"), Some("1"));
    }

    #[test]
    fn a_name_tells_what_an_override_hides() {
        let log = read("  Device 0: AMD Radeon RX 5500 XT, gfx1030 (0x1030), VMM: no, Wave Size: 32\n");
        assert_eq!(log.facts.gpus.len(), 1);
        assert_eq!(log.facts.gpus[0].first("gpu.target"), Some("gfx1012"));
        assert_eq!(log.facts.gpus[0].first("gpu.forced"), Some("gfx1030"));
        assert_eq!(log.facts.gpus[0].first("gpu.forced_family"), Some("RDNA2"));
    }

    #[test]
    fn what_the_override_made_is_not_the_chip() {
        let log = read("$ HSA_OVERRIDE_GFX_VERSION=10.3.0 rocminfo\n  Name:                    gfx1030\n");
        assert_eq!(log.facts.gpus[0].first("gpu.target"), None);
        assert_eq!(log.facts.gpus[0].first("gpu.forced"), Some("gfx1030"));
    }
}
