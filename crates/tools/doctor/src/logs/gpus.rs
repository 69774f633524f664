//! Assembles the GPUs of a log from lines that can be far apart.

use roci_base::sysfs::target_name;

use crate::facts::{Facts, Table};
use crate::snapshot::Target;

/// Maximum number of GPUs in a log; more are ignored.
const MAX_GPUS: usize = 32;

/// GPUs found so far.
#[derive(Debug, Default)]
pub(super) struct GpuAssembler {
    tables: Vec<Table>,
    /// Facts of the current line.
    line: Vec<(String, String, String)>,
    number: usize,
    /// Chips that the text mentions without saying that the machine has them.
    mentions: Vec<(String, usize)>,
    /// Whether a program listed all GPUs.
    pub(super) listed: bool,
}

impl GpuAssembler {
    /// Adds a fact. Facts of one line belong to one GPU.
    pub(super) fn add(&mut self, name: &str, value: &str, number: usize, place: &str) {
        if number != self.number {
            self.place();
            self.number = number;
        }
        let is_name = matches!(name, "target" | "forced" | "pci_id" | "pci_hex" | "address");
        let value = if is_name { value.to_ascii_lowercase() } else { value.to_owned() };
        let (name, value) = match name {
            // The kernel's numbers for a target and a device.
            "target_version" => ("target", value.parse().ok().and_then(target_name).unwrap_or_default()),
            "device" => ("pci_id", value.parse().map(|id: u16| format!("1002:{id:04x}")).unwrap_or_default()),
            "pci_hex" => ("pci_id", value.strip_prefix("0x").map(|id| format!("1002:{id}")).unwrap_or_default()),
            _ => (name, value),
        };
        if !value.is_empty() {
            self.line.push((format!("gpu.{name}"), value, place.to_owned()));
        }
    }

    /// Records a chip that the text mentions.
    pub(super) fn mention(&mut self, target: &str, number: usize) {
        self.mentions.push((target.to_owned(), number));
    }

    /// Drops chips that were only mentioned.
    pub(super) fn forget_mentions(&mut self) {
        self.mentions.clear();
    }

    /// Finds the GPU of the current line: the one at the same address, one with matching facts, or
    /// the last one if nothing contradicts.
    fn place(&mut self) {
        let line = std::mem::take(&mut self.line);
        if line.is_empty() {
            return;
        }
        let has = |table: &Table, name: &str| {
            line.iter().any(|(fact, value, _)| fact == name && table.first(name) == Some(value))
        };
        let address = self.tables.iter().position(|table| has(table, "gpu.address"));
        let same = || {
            let names = ["gpu.pci_id", "gpu.target", "gpu.name"];
            self.tables.iter().rposition(|table| names.iter().any(|name| has(table, name)) && fits(table, &line))
        };
        let last = || self.tables.len().checked_sub(1).filter(|last| fits(&self.tables[*last], &line));
        let index = address.or_else(same).or_else(last).unwrap_or_else(|| {
            self.tables.push(Table::default());
            self.tables.len() - 1
        });
        for (name, value, place) in line {
            // The first value counts; a second one would belong to another GPU.
            if self.tables[index].first(&name).is_none() {
                self.tables[index].add(name, value, place);
            }
        }
        self.tables.truncate(MAX_GPUS);
    }

    /// Completes the GPUs after the last line.
    pub(super) fn finish<'a>(mut self, facts: &mut Facts, chip: impl Fn(&str) -> Option<&'a str>) {
        self.place();
        // An address alone does not identify a GPU.
        let tables = &mut self.tables;
        let forced = facts.machine.first("env.HSA_OVERRIDE_GFX_VERSION").and_then(target_of_override);
        let known = |table: &Table| {
            let by_id =
                table.first("gpu.pci_id").and_then(|id| u16::from_str_radix(id.strip_prefix("1002:")?, 16).ok());
            let by_name = || table.first("gpu.name").and_then(&chip).and_then(Target::by_name);
            by_id.and_then(Target::of_device).or_else(by_name)
        };
        self.mentions.dedup_by(|a, b| a.0 == b.0);
        if !tables.iter().any(|table| known(table).is_some() || table.first("gpu.target").is_some())
            && let [(target, number)] = self.mentions.as_slice()
        {
            if tables.is_empty() {
                tables.push(Table::default());
            }
            tables[0].add("gpu.chip", target, format!("line {number}"));
        }
        let kernels: Vec<_> =
            facts.machine.get("library.rocblas.target").iter().map(|fact| fact.value.clone()).collect();
        for table in tables.iter_mut() {
            let true_one = known(table).or_else(|| table.first("gpu.chip").and_then(Target::by_name));
            *table = complete(table, true_one, forced.as_deref());
            // A list of kernel files that does not include the chip.
            let lacks =
                |name: &str| table.first(name).is_some_and(|target| !kernels.iter().any(|known| known == target));
            if !kernels.is_empty() && lacks("gpu.target") && lacks("gpu.generic") && table.first("gpu.forced").is_none()
            {
                table.add("gpu.rocblas", "none", "the list of kernel files");
            }
        }
        if self.listed {
            let of = |apu: &str| tables.iter().filter(|table| table.first("gpu.apu") == Some(apu)).count();
            let found: usize = facts.machine.first("gpus.found").and_then(|count| count.parse().ok()).unwrap_or(0);
            let (apus, mut discrete) = (of("true"), of("false"));
            // Identical cards appear as one.
            if apus == 0 && discrete > 0 {
                discrete = discrete.max(found);
            }
            if apus + discrete > 0 {
                for (name, count) in [("gpus.amd", apus + discrete), ("gpus.apu", apus), ("gpus.discrete", discrete)] {
                    facts.machine.add(name, count, "counted");
                }
            }
        }
        facts.gpus = self.tables;
    }
}

/// Whether no fact of the line contradicts this GPU.
fn fits(table: &Table, line: &[(String, String, String)]) -> bool {
    line.iter().all(|(name, value, _)| table.first(name).is_none_or(|known| known == value))
}

/// The facts of a GPU, with those that follow from its chip. A name shown under an override is not
/// the chip.
fn complete(table: &Table, true_one: Option<&Target>, forced: Option<&str>) -> Table {
    let mut gpu = Table::default();
    for (name, facts) in table.iter().filter(|(name, _)| *name != "gpu.chip") {
        facts.iter().for_each(|fact| gpu.add(name, &fact.value, &fact.location));
    }
    let reported = table.first("gpu.target").map(str::to_owned);
    let place = "follows from the chip";
    let disguised = match (&reported, true_one) {
        (Some(reported), Some(chip)) => reported != chip.name,
        (Some(reported), None) => forced == Some(reported),
        (None, _) => false,
    };
    let target = if disguised { reported.as_deref() } else { forced };
    if let Some(target) = target.filter(|_| gpu.first("gpu.forced").is_none()) {
        gpu.add("gpu.forced", target, "the override");
    }
    if let Some(target) = gpu.first("gpu.forced").and_then(Target::by_name) {
        gpu.add("gpu.forced_family", target.family, "the override");
    }
    if disguised {
        gpu.remove("gpu.target");
    }
    let chip = true_one.or_else(|| reported.filter(|_| !disguised).as_deref().and_then(Target::by_name));
    if let Some(chip) = chip {
        if gpu.first("gpu.target").is_none() {
            let mention = table.get("gpu.chip").first().map_or(place, |fact| &fact.location);
            gpu.add("gpu.target", chip.name, mention);
        }
        gpu.add("gpu.family", chip.family, place);
        gpu.add("gpu.apu", chip.apu, place);
        if let Some(generic) = chip.generic() {
            gpu.add("gpu.generic", generic, place);
        }
    }
    gpu
}

/// Converts `10.3.0` to gfx1030.
fn target_of_override(value: &str) -> Option<String> {
    let mut numbers = value.split('.').map(|part| part.parse::<u64>().ok());
    let (major, minor, stepping) = (numbers.next()??, numbers.next()??, numbers.next()??);
    target_name(major.checked_mul(10000)?.checked_add(minor.min(99) * 100 + stepping.min(99))?)
}
