//! The verdict on a machine: what its GPUs are, which ways of computing lead to them, and what stands in the way.

use serde::Serialize;

use crate::conclusion::{Cause, Sureness, ranked};
use crate::facts::{Facts, Table};
use crate::good::{Good, known_good};
use crate::logs::Reader;
use crate::memory::{Memory, memory};
use crate::routes::{Route, Way, routes};
use crate::rules::Book;
use crate::snapshot::{Gpu, Probes, Snapshot};

/// What there is to say about a machine.
#[derive(Clone, Debug, Serialize)]
pub struct Diagnosis {
    /// Whether there is a GPU to compute on, and nothing that needs a remedy.
    pub healthy: bool,
    /// One sentence.
    pub verdict: String,
    /// AMD's GPUs, by their places on the bus.
    pub gpus: Vec<Card>,
    /// What was found, the worst first.
    pub findings: Vec<Cause>,
    /// Drivers that were asked for their devices and did not tell.
    pub unanswered: Vec<Unanswered>,
    /// Files that were there and could not be read.
    pub unreadable: Vec<String>,
}

/// A driver that was asked and did not answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Unanswered {
    /// `Vulkan`, `OpenCL` or `HSA`.
    pub driver: &'static str,
    /// Why, as it or its end says.
    pub reason: String,
    /// Whether somebody wanted it to be asked; Vulkan always is.
    pub was_wanted: bool,
}

/// The drivers that were asked and did not answer.
fn unanswered(probes: &Probes) -> Vec<Unanswered> {
    let asked = [("Vulkan", &probes.vulkan, false), ("OpenCL", &probes.opencl, true), ("HSA", &probes.hsa, true)];
    let silent = asked.into_iter().filter_map(|(driver, probe, was_wanted)| {
        let reason = probe.as_ref()?.error.clone()?;
        Some(Unanswered { driver, reason, was_wanted })
    });
    silent.collect()
}

/// A GPU with all its names.
#[derive(Clone, Debug, Serialize)]
pub struct Card {
    /// `0000:03:00.0`.
    pub pci: String,
    /// What it is called, by whom.
    pub names: Names,
    /// Its true target.
    pub target: Option<String>,
    /// The target that an override makes of it.
    pub forced: Option<String>,
    /// The kernel driver that has it.
    pub driver: Option<String>,
    /// Bytes of its own memory, or of the carve-out.
    pub vram: Option<u64>,
    /// Bytes of the host's memory that it may use.
    pub gtt: Option<u64>,
    /// Whether it shares memory with the processor.
    pub apu: Option<bool>,
    /// The way that is open and best; nothing if none is.
    pub route: Option<Way>,
    /// Every way, those that are open first.
    pub routes: Vec<Route>,
    /// What came of it when it was made to compute; nothing where that was not asked for.
    pub computed: Option<String>,
    /// How much memory programs can use, and how an APU gets more.
    pub memory: Option<Memory>,
    /// What is known to work for the chip.
    pub known_good: Option<Good>,
}

/// What a GPU is called, by whom.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Names {
    /// On the box, as far as its number tells.
    pub sold_as: Option<String>,
    /// Vendor and device number on the bus.
    pub pci_id: String,
    /// The compute driver's node.
    pub kfd: Option<String>,
    /// The graphics driver's nodes.
    pub drm: Option<String>,
    /// HIP's number, where nothing hides GPUs.
    pub hip: Option<String>,
    /// Vulkan's.
    pub vulkan: Option<String>,
    /// OpenCL's.
    pub opencl: Option<String>,
}

impl Diagnosis {
    /// Lays the rules over a machine.
    pub fn new(book: &Book, reader: &Reader, snapshot: &Snapshot) -> Self {
        let mut facts = snapshot.facts();
        let log = snapshot.kernel_log.as_deref().unwrap_or_default();
        // What the kernel's log alone tells; all else is known better from files.
        for (name, values) in reader.read(log).facts.machine.iter().filter(|(name, _)| name.starts_with("log.")) {
            values.iter().for_each(|fact| facts.machine.add(name, &fact.value, fact.place.clone()));
        }
        let gpus: Vec<_> = snapshot
            .gpus
            .iter()
            .enumerate()
            .filter(|(_, gpu)| gpu.is_amd())
            .map(|(index, gpu)| card(gpu, &facts, index))
            .collect();
        let place = |index: usize| snapshot.gpus.get(index).map_or_else(String::new, |gpu| gpu.pci.clone());
        let mut findings = ranked(&book.weigh(&facts, log).findings, &place);
        // What may be so is a question for a log. Here everything that could be looked at was.
        findings.retain(|cause| cause.sureness == Sureness::Certain);
        findings.sort_by_key(|cause| (cause.severity, cause.confidence));
        let problems = findings.iter().filter(|cause| cause.is_a_problem()).count();
        let healthy = problems == 0 && !gpus.is_empty() && gpus.iter().all(|card| card.route.is_some());
        Self {
            healthy,
            verdict: verdict(&gpus, problems, &facts),
            gpus,
            findings,
            unanswered: unanswered(&snapshot.probes),
            unreadable: snapshot.unreadable.clone(),
        }
    }
}

fn card(gpu: &Gpu, facts: &Facts, index: usize) -> Card {
    let routes = routes(facts, index);
    let empty = Table::default();
    let table = facts.gpus.get(index).unwrap_or(&empty);
    let named = |name: &str| table.first(name).map(str::to_owned);
    let drm: Vec<_> = [&gpu.card, &gpu.render].into_iter().flatten().cloned().collect();
    Card {
        pci: gpu.pci.clone(),
        names: Names {
            sold_as: gpu.name.clone(),
            pci_id: gpu.pci_id.clone(),
            kfd: gpu.kfd_node.map(|node| format!("node {node}")),
            drm: (!drm.is_empty()).then(|| drm.join(", ")),
            hip: gpu.kfd_ordinal.map(|ordinal| format!("device {ordinal}")),
            vulkan: named("gpu.vulkan"),
            opencl: named("gpu.opencl"),
        },
        target: gpu.target.clone(),
        forced: gpu.forced.clone(),
        driver: gpu.driver.clone(),
        vram: gpu.vram,
        gtt: gpu.gtt,
        apu: gpu.apu,
        memory: memory(facts, index),
        known_good: gpu.target.as_deref().and_then(known_good),
        route: routes.iter().find(|route| route.obstacle.is_none()).map(|route| route.way),
        routes,
        computed: None,
    }
}

/// Whether there is a way to a GPU.
#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    Open,
    Closed,
    /// What would tell is missing.
    Unknown,
}

impl Card {
    fn state(&self) -> State {
        match self.route {
            Some(_) => State::Open,
            None if self.routes.iter().any(|route| route.unknown) => State::Unknown,
            None => State::Closed,
        }
    }

    /// The best way that is open, in words.
    pub fn best(&self) -> &'static str {
        match (self.route, self.state()) {
            (Some(way), _) => way.describe(),
            (None, State::Unknown) => "unknown",
            _ => "none",
        }
    }

    /// Whether it can compute, and by which ways.
    fn sentence(&self) -> String {
        let name = match &self.target {
            Some(target) => format!("{} ({target})", self.name()),
            None => self.name(),
        };
        let open = self.routes.iter().filter(|route| route.obstacle.is_none());
        let ways: Vec<_> = open.map(|route| route.way.describe()).collect();
        let obstacle = |wanted: &dyn Fn(&Route) -> bool| {
            self.routes.iter().find(|route| wanted(route)).and_then(|route| route.obstacle.as_deref())
        };
        match self.state() {
            State::Open => format!("{name} can compute by {}.", ways.join(", by ")),
            State::Unknown => {
                let why = obstacle(&|route| route.unknown).unwrap_or_default();
                format!("Whether {name} can compute is not known: {why}.")
            }
            State::Closed => match obstacle(&|_| true) {
                Some(why) => format!("{name} cannot compute: {why}."),
                None => format!("{name}: no way to compute is known."),
            },
        }
    }

    /// What people call it.
    pub fn name(&self) -> String {
        let name = self.names.vulkan.clone().or_else(|| self.names.sold_as.clone());
        name.unwrap_or_else(|| format!("GPU {}", self.names.pci_id))
    }
}

fn verdict(gpus: &[Card], problems: usize, facts: &Facts) -> String {
    if gpus.is_empty() {
        return match facts.knows("gpus") {
            true => "There is no AMD GPU that this machine's kernel can see.".into(),
            false => "There is no AMD GPU to be seen: without /sys nobody can know of one.".into(),
        };
    }
    let mut text: Vec<(String, usize)> = Vec::new();
    for sentence in gpus.iter().map(Card::sentence) {
        match text.iter_mut().find(|(known, _)| *known == sentence) {
            Some((_, count)) => *count += 1,
            None => text.push((sentence, 1)),
        }
    }
    // Cards of one kind need one sentence.
    let times = |(sentence, count): (String, usize)| match count {
        1 => sentence,
        _ => format!("{sentence} There are {count} of them."),
    };
    let mut text: Vec<_> = text.into_iter().map(times).collect();
    let knows_all = facts.knows("env") && gpus.iter().all(|card| card.state() != State::Unknown);
    text.push(match problems {
        0 if gpus.iter().any(|card| card.state() == State::Closed) => "No rule knows more about it.".into(),
        0 if knows_all => "Nothing known stands against it.".into(),
        0 => "Nothing known stands against it, as far as these files tell.".into(),
        1 => "1 problem was found.".into(),
        count => format!("{count} problems were found."),
    });
    if !facts.knows("env") {
        text.push("Which environment variables are set is not known.".into());
    }
    text.join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::snapshot::Probe;

    fn diagnosis(snapshot: &Snapshot) -> Diagnosis {
        let (book, reader) = (Book::builtin().expect("the rules are right"), Reader::new().expect("the file is right"));
        Diagnosis::new(&book, &reader, snapshot)
    }

    #[test]
    fn a_machine_without_a_gpu_is_told_so() {
        let found = diagnosis(&Snapshot::default());
        assert!(!found.healthy);
        assert_eq!(found.verdict, "There is no AMD GPU that this machine's kernel can see.");
    }

    #[test]
    fn what_a_driver_says_against_itself_is_told() {
        let mut snapshot = Snapshot::default();
        let failed = Probe { error: Some("there is no library".into()), devices: Vec::new() };
        snapshot.probes = Probes { vulkan: Some(Probe::default()), hsa: Some(failed), opencl: None };
        let found = diagnosis(&snapshot).unanswered;
        let reason = "there is no library".to_owned();
        assert_eq!(found, [Unanswered { driver: "HSA", reason, was_wanted: true }]);
    }

    #[test]
    fn a_gpu_without_a_driver_cannot_compute() {
        let gpu = Gpu {
            pci: "0000:03:00.0".into(),
            pci_id: "1002:731f".into(),
            name: Some("RX 5700".into()),
            target: Some("gfx1010".into()),
            ..Gpu::default()
        };
        let mut snapshot = Snapshot::default();
        snapshot.gpus.push(gpu);
        let found = diagnosis(&snapshot);
        assert!(!found.healthy && found.gpus[0].route.is_none());
        assert!(found.verdict.starts_with("RX 5700 (gfx1010) cannot compute: "), "{}", found.verdict);
    }
}
