//! Logs that people paste: what program wrote them, and the facts in them. What to look for is data, in `facts.toml`.

use std::collections::BTreeMap;

use serde::Deserialize;

use crate::facts::{Facts, Table};
use crate::scan::{LogPattern, Scanner};
use crate::snapshot::Target;

static FACTS: &str = include_str!("facts.toml");

/// Reads logs.
#[derive(Debug)]
pub struct Reader {
    entries: Vec<Entry>,
    scanner: Scanner,
}

/// What was found in a log.
#[derive(Clone, Debug, Default)]
pub struct Log {
    /// The programs that wrote it: `rocminfo`, `dmesg`, `llama.cpp` and so on.
    pub kinds: Vec<String>,
    /// What it tells of the machine. What it does not tell is unknown.
    pub facts: Facts,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Document {
    read: Vec<Entry>,
}

/// A line to look for.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Entry {
    /// Who writes such lines; empty where anybody could.
    #[serde(default)]
    kind: String,
    pattern: String,
    /// What it tells, with named groups of the pattern in braces.
    #[serde(default)]
    facts: BTreeMap<String, String>,
}

impl Reader {
    /// A reader of every kind of log that is known.
    ///
    /// # Errors
    /// A fault in the file that comes along, which the tests do not let through.
    pub fn new() -> Result<Self, String> {
        let Document { read: entries } = toml::from_str(FACTS).map_err(|error| error.to_string())?;
        let patterns = entries.iter().map(|entry| LogPattern::parse(&entry.pattern)).collect::<Result<_, _>>()?;
        Ok(Self { entries, scanner: Scanner::new(patterns) })
    }

    /// What a log tells.
    pub fn read(&self, log: &str) -> Log {
        let mut found = Log::default();
        self.scanner.scan(log, |pattern, number, _, captures| {
            let entry = &self.entries[pattern];
            if !entry.kind.is_empty() && !found.kinds.contains(&entry.kind) {
                found.kinds.push(entry.kind.clone());
            }
            let groups = self.scanner.pattern(pattern).groups(captures);
            for (name, template) in &entry.facts {
                let fill = |text: String, (name, value): &(String, String)| text.replace(&format!("{{{name}}}"), value);
                let value = groups.iter().fold(template.clone(), fill);
                add(&mut found.facts, name, value.trim(), &format!("line {number}"));
            }
        });
        for kind in found.kinds.clone() {
            found.facts.machine.add("log.kind", kind, "");
        }
        found.facts.gpus.iter_mut().for_each(complete);
        found
    }
}

/// Adds a fact. Another value of a GPU's fact is another GPU's.
fn add(facts: &mut Facts, name: &str, value: &str, place: &str) {
    // `cmdline` is a line of words.
    if name == "cmdline" {
        for word in value.split_whitespace() {
            let (name, value) = word.split_once('=').unwrap_or((word, ""));
            facts.machine.add(format!("cmdline.{name}"), value, place);
            if let Some((module, parameter)) = name.split_once('.') {
                facts.machine.add(format!("configured.{module}.{parameter}"), value, place);
            }
        }
        facts.is_complete("cmdline");
        return;
    }
    if !name.starts_with("gpu.") {
        facts.machine.add(name, value, place);
        return;
    }
    let value = &value.to_ascii_lowercase();
    let fits = |table: &Table| table.first(name).is_none_or(|known| known == value);
    let same = facts.gpus.iter().rposition(|table| table.first(name) == Some(value));
    let place_for = same.or_else(|| facts.gpus.len().checked_sub(1).filter(|last| fits(&facts.gpus[*last])));
    let index = place_for.unwrap_or_else(|| {
        facts.gpus.push(Table::default());
        facts.gpus.len() - 1
    });
    facts.gpus[index].add(name, value, place);
}

/// What follows from the chip.
fn complete(gpu: &mut Table) {
    let device = gpu.first("gpu.pci_id").and_then(|id| u16::from_str_radix(id.strip_prefix("1002:")?, 16).ok());
    let known = device.and_then(Target::of_device).or_else(|| Target::named(gpu.first("gpu.target")?));
    let Some(target) = known else { return };
    let place = "follows from the chip";
    if gpu.first("gpu.target").is_none() {
        gpu.add("gpu.target", target.name, place);
    }
    gpu.add("gpu.family", target.family, place);
    gpu.add("gpu.apu", target.apu, place);
    if let Some(generic) = target.generic() {
        gpu.add("gpu.generic", generic, place);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Log {
        Reader::new().expect("the file is right").read(text)
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
    }
}
