//! Parses pasted logs: the program that wrote them, facts and events. The patterns are data:
//! `facts.toml`, `names.toml` (chips by product name) and `events.toml`.

mod decode;
mod gpus;
mod normalize;
mod vendor;

use std::borrow::Cow;
use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::facts::Facts;
use crate::failures::Failures;
use crate::rules::{LogLine, Severity};
use crate::scan::{LogPattern, PatternMatch, Scan, Scanner, plain};
use crate::{command_line, secrets};

use gpus::GpuAssembler;
pub use vendor::Vendor;
use vendor::VendorDetector;

static FACTS: &str = include_str!("facts.toml");
static NAMES: &str = include_str!("names.toml");
static EVENTS: &str = include_str!("events.toml");

/// Maximum number of values of a fact; more indicate a misread log.
const MAX_VALUES: usize = 64;

/// Parser of logs.
#[derive(Debug)]
pub struct LogReader {
    entries: Vec<Entry>,
    scanner: Scanner,
    names: Vec<(LogPattern, String)>,
    vendors: VendorDetector,
    /// Patterns of failures.
    pub(crate) failures: Failures,
}

/// Contents of a log.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct Log {
    /// Programs that wrote it: `rocminfo`, `dmesg`, `llama.cpp` and others.
    pub kinds: Vec<String>,
    /// Facts about the machine. Facts that the log does not have are unknown.
    pub facts: Facts,
    /// Events, ordered by their first line.
    pub events: Vec<Event>,
    /// Vendor of the GPU that it is about.
    pub vendor: Vendor,
}

/// A kind of message in a log, with its first and last line.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Event {
    /// Name such as `page-fault`.
    pub name: String,
    /// Description in one line.
    pub what: String,
    /// Severity of the event.
    pub severity: Severity,
    /// Number of lines.
    pub count: usize,
    /// The first line and, if there are more, the last.
    pub lines: Vec<LogLine>,
    /// Command that shows more.
    pub next: String,
    /// Numbers of all lines.
    #[serde(skip)]
    pub(crate) numbers: Vec<usize>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct FactsDocument {
    read: Vec<FactPattern>,
}

/// A line pattern with facts.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct FactPattern {
    /// Program that writes such lines; empty if any program can.
    #[serde(default)]
    kind: String,
    pattern: String,
    /// Facts. Names and values can have named groups of the pattern in braces; `{next}` is the
    /// following line.
    #[serde(default)]
    facts: BTreeMap<String, String>,
    /// Whether these lines list all GPUs of the machine.
    #[serde(default)]
    lists: bool,
}

impl FactPattern {
    /// Whether it says the same about all lines: it has no placeholders.
    fn is_constant(&self) -> bool {
        let has = |text: &String| text.contains('{');
        !self.facts.iter().any(|(name, value)| name.starts_with("gpu.") || has(name) || has(value))
    }
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
    /// Description in one line, with named groups in braces.
    what: String,
    severity: Severity,
    next: String,
    /// Reported only if no other event matches the line.
    #[serde(default)]
    beside: bool,
    /// Not reported if one of these events is.
    #[serde(default)]
    unless: Vec<String>,
}

/// What a pattern of the scanner is for.
#[derive(Debug)]
enum Entry {
    Facts(FactPattern),
    /// A chip mentioned anywhere in the text.
    Mention(String),
    Event(EventKind),
    /// A GPU of another vendor.
    Other,
}

impl LogReader {
    /// Loads the patterns of all known logs.
    ///
    /// # Errors
    /// If a built-in file is invalid; a test checks them.
    pub fn new() -> Result<Self, String> {
        let wrong = |error: toml::de::Error| error.to_string();
        let FactsDocument { read } = toml::from_str(FACTS).map_err(wrong)?;
        let NamesDocument { name: names } = toml::from_str(NAMES).map_err(wrong)?;
        let EventsDocument { event: events } = toml::from_str(EVENTS).map_err(wrong)?;
        let mut entries: Vec<(String, Entry)> =
            read.into_iter().map(|read| (read.pattern.clone(), Entry::Facts(read))).collect();
        entries.extend(names.iter().map(|name| (name.pattern.clone(), Entry::Mention(name.target.clone()))));
        entries.push((vendor::OTHER.to_owned(), Entry::Other));
        for event in events {
            entries.extend(event.patterns.iter().map(|pattern| (pattern.clone(), Entry::Event(event.clone()))));
        }
        let pattern = |text: &String| LogPattern::parse(text).map_err(|reason| format!("{text}: {reason}"));
        let patterns = entries.iter().map(|(text, _)| pattern(text)).collect::<Result<_, _>>()?;
        let names = names.into_iter().map(|name| Ok((pattern(&name.pattern)?, name.target)));
        Ok(Self {
            names: names.collect::<Result<_, String>>()?,
            entries: entries.into_iter().map(|(_, entry)| entry).collect(),
            scanner: Scanner::new(patterns),
            vendors: VendorDetector::new()?,
            failures: Failures::new()?,
        })
    }

    /// Removes what surrounds the lines of a log, and translates messages of shells.
    pub(crate) fn normalize(log: &str) -> Cow<'_, str> {
        normalize::normalize(log)
    }

    /// Decodes a log to text. Removes terminal escapes and NUL bytes.
    pub fn decode(bytes: &[u8]) -> Cow<'_, str> {
        decode::decode(bytes)
    }

    /// Text of a log that is decoded already, without terminal escapes and NUL bytes.
    pub(crate) fn plain(text: &str) -> Cow<'_, str> {
        decode::plain(text)
    }

    /// Parses a log.
    pub fn read(&self, log: &str) -> Log {
        let mut found = Log::default();
        let mut gpus = GpuAssembler::default();
        let mut happened = Vec::new();
        self.scanner.scan(log, |hit| match &self.entries[hit.pattern] {
            Entry::Facts(read) => self.add_facts(read, hit, &mut found, &mut gpus),
            Entry::Mention(target) => {
                gpus.mention(target, hit.number);
                Scan::Stop
            }
            Entry::Event(kind) => self.add_event(kind, hit, &mut happened),
            Entry::Other => {
                found.facts.machine.add("log.other", true, format!("line {}", hit.number));
                Scan::Stop
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
        self.remove_covered(&mut found.events);
        if found.kinds.is_empty() {
            // Prose, not a log: chips and events in it are not those of this machine.
            gpus.forget_mentions();
            found.events.clear();
        }
        // Every line was parsed; only the vendor of the GPU can be unknown.
        found.facts.is_complete("log");
        found.facts.is_unknown("log.amd");
        ttm_percent(&mut found.facts);
        gpus.finish(&mut found.facts, |name| self.chip(name));
        found.vendor = self.vendors.of_log(&found);
        match found.vendor {
            Vendor::Amd => {}
            Vendor::Other => found.events.clear(),
            // A note that may not be about an AMD GPU.
            Vendor::Unknown => {
                found.events.iter_mut().for_each(|event| event.severity = event.severity.max(Severity::Low));
            }
        }
        found
    }

    /// All patterns.
    pub(crate) fn patterns(&self) -> &[LogPattern] {
        self.scanner.patterns()
    }

    /// Whether a pattern matters only the first time that it matches.
    pub(crate) fn once(&self, pattern: usize) -> bool {
        match &self.entries[pattern] {
            Entry::Facts(read) => read.is_constant(),
            Entry::Mention(_) | Entry::Other => true,
            Entry::Event(_) => false,
        }
    }

    /// Whether facts of a pattern are on the line after the one that it matches.
    pub(crate) fn needs_next_line(&self, pattern: usize) -> bool {
        match &self.entries[pattern] {
            Entry::Facts(read) => read.facts.values().any(|value| value.contains("{next}")),
            _ => false,
        }
    }

    /// Whether a line is about a GPU of another vendor.
    pub(crate) fn is_other_vendor(&self, line: &str) -> bool {
        self.vendors.of_line(line) == Vendor::Other
    }

    /// Vendor of the GPU in these lines: AMD if one line is; otherwise that of the log.
    pub(crate) fn vendor_of(&self, lines: &[LogLine], log: Vendor) -> Vendor {
        let mut of: Vec<_> = lines.iter().map(|line| self.vendors.of_line(&line.text)).collect();
        of.dedup();
        match of.as_slice() {
            of if of.contains(&Vendor::Amd) => Vendor::Amd,
            [Vendor::Other] => Vendor::Other,
            _ => log,
        }
    }

    /// Removes events that another event covers better.
    fn remove_covered(&self, events: &mut Vec<Event>) {
        let kind = |name: &str| {
            self.entries.iter().find_map(|entry| match entry {
                Entry::Event(kind) if kind.name == name => Some(kind),
                _ => None,
            })
        };
        let beside = |name: &str| kind(name).is_some_and(|kind| kind.beside);
        let found_events: Vec<_> = events.iter().map(|event| (event.name.clone(), event.lines[0].number)).collect();
        events.retain(|event| {
            let Some(kind) = kind(&event.name) else { return true };
            let better = |(name, line): &(String, usize)| {
                kind.unless.contains(name) || kind.beside && !beside(name) && *line == event.lines[0].number
            };
            !found_events.iter().any(better)
        });
    }

    /// Target of a chip by product name.
    fn chip(&self, name: &str) -> Option<&str> {
        self.names.iter().find(|(pattern, _)| pattern.matches(name)).map(|(_, target)| target.as_str())
    }

    fn add_facts(&self, read: &FactPattern, hit: PatternMatch<'_>, found: &mut Log, gpus: &mut GpuAssembler) -> Scan {
        if !read.kind.is_empty() && !found.kinds.contains(&read.kind) {
            found.kinds.push(read.kind.clone());
        }
        gpus.listed |= read.lists;
        if read.facts.is_empty() {
            return Scan::Stop;
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
        if read.is_constant() { Scan::Stop } else { Scan::Continue }
    }

    fn add_event<'t>(
        &self,
        kind: &EventKind,
        hit: PatternMatch<'t>,
        happened: &mut Vec<(Event, PatternMatch<'t>)>,
    ) -> Scan {
        if self.vendors.of_line(hit.line) == Vendor::Other {
            return Scan::Continue;
        }
        if let Some((event, last)) = happened.iter_mut().find(|(event, _)| event.name == kind.name) {
            // Another pattern of the event may have matched the line.
            if last.number != hit.number {
                event.count += 1;
                event.numbers.push(hit.number);
            }
            *last = hit;
            return Scan::Continue;
        }
        let what = filled(&kind.what, &self.scanner.pattern(hit.pattern).groups(hit.line));
        let lines = vec![LogLine::new(hit.number, hit.line)];
        let (name, next) = (kind.name.clone(), kind.next.clone());
        let numbers = vec![hit.number];
        happened.push((Event { name, what, severity: kind.severity, count: 1, lines, next, numbers }, hit));
        Scan::Continue
    }
}

fn filled(template: &str, groups: &[(String, String)]) -> String {
    let fill = |text: String, (name, value): &(String, String)| text.replace(&format!("{{{name}}}"), value);
    groups.iter().fold(template.to_owned(), fill)
}

/// The share of RAM that GPUs may use, if the log has both numbers.
fn ttm_percent(facts: &mut Facts) {
    let number = |name: &str| crate::value::number(facts.machine.first(name)?);
    if let (Some(pages), Some(ram @ 1..)) = (number("param.ttm.pages_limit"), number("memory.ram")) {
        let percent = u128::from(pages) * 4096 * 100 / u128::from(ram);
        facts.machine.add("memory.ttm_percent", percent, "follows from both");
    }
}

/// Adds a fact about the machine.
fn add(facts: &mut Facts, name: &str, value: &str, place: &str) {
    match name {
        // `cmdline` is a list of parameters.
        "cmdline" => {
            for (name, value) in command_line::words(value) {
                facts.machine.add(format!("cmdline.{name}"), &value, place);
                if let Some((module, parameter)) = name.split_once('.') {
                    facts.machine.add(format!("configured.{module}.{parameter}"), value, place);
                }
            }
            facts.is_complete("cmdline");
        }
        // Number of devices that the next line counts.
        _ if name.starts_with("count.") => {
            if let Some(count) = value.strip_prefix("Number of devices") {
                facts.machine.add(&name["count.".len()..], count.trim_start_matches(':').trim(), place);
            }
        }
        _ => {
            // Prefix `each.`: a list of words, one value each.
            let (name, values) = match name.strip_prefix("each.") {
                Some(name) => (name, value.split([' ', ',', '\'', '"']).filter(|word| !word.is_empty()).collect()),
                None => (name, vec![value]),
            };
            for value in values {
                if facts.machine.get(name).len() < MAX_VALUES && !value.is_empty() {
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
        LogReader::new().expect("the files are right").read(text)
    }

    #[test]
    fn no_pattern_needs_every_line() {
        let reader = LogReader::new().expect("the files are right");
        assert_eq!(reader.scanner.without_literals().collect::<Vec<_>>(), [""; 0], "these make a long log slow");
    }

    #[test]
    fn a_kernel_log_gives_kernel_and_chip() {
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
    fn the_product_name_reveals_the_chip_under_an_override() {
        let log = read("  Device 0: AMD Radeon RX 5500 XT, gfx1030 (0x1030), VMM: no, Wave Size: 32\n");
        assert_eq!(log.facts.gpus.len(), 1);
        assert_eq!(log.facts.gpus[0].first("gpu.target"), Some("gfx1012"));
        assert_eq!(log.facts.gpus[0].first("gpu.forced"), Some("gfx1030"));
        assert_eq!(log.facts.gpus[0].first("gpu.forced_family"), Some("RDNA2"));
    }

    #[test]
    fn the_override_target_is_not_the_chip() {
        let log = read("$ HSA_OVERRIDE_GFX_VERSION=10.3.0 rocminfo\n  Name:                    gfx1030\n");
        assert_eq!(log.facts.gpus[0].first("gpu.target"), None);
        assert_eq!(log.facts.gpus[0].first("gpu.forced"), Some("gfx1030"));
    }
}
