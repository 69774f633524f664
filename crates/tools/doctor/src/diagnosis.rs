//! Diagnosis of a machine: its GPUs, the compute routes to each, and what blocks them.

use roci_base::renamed_key;
use serde::Serialize;

use crate::conclusion::{Cause, Certainty, ranked};
use crate::examined::{Examined, examined};
use crate::facts::{Facts, Table};
use crate::known_good::{KnownGood, known_good};
use crate::logs::LogReader;
use crate::memory::{Memory, memory};
use crate::routes::{Route, RouteKind, routes};
use crate::rules::RuleSet;
use crate::snapshot::{Gpu, Probes, Snapshot};

renamed_key!(failed_probes: "failed_probes", formerly "unanswered");
renamed_key!(requested: "requested", formerly "was_wanted");
renamed_key!(product_name: "product_name", formerly "sold_as");

/// Diagnosis of a machine.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct Diagnosis {
    /// Whether there is a GPU to compute on and no finding needs a remedy.
    pub healthy: bool,
    /// Verdict in one sentence.
    pub verdict: String,
    /// AMD GPUs, by PCI address.
    pub gpus: Vec<GpuDiagnosis>,
    /// Findings, the most severe first.
    pub findings: Vec<Cause>,
    /// Drivers that were queried for devices and failed.
    #[serde(flatten, serialize_with = "failed_probes::serialize")]
    pub failed_probes: Vec<FailedProbe>,
    /// Places that were looked at.
    pub examined: Vec<Examined>,
    /// Files that exist but could not be read.
    pub unreadable: Vec<String>,
}

/// A driver that was queried and failed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct FailedProbe {
    /// `Vulkan`, `OpenCL` or `HSA`.
    pub driver: &'static str,
    /// Error message or exit status.
    pub reason: String,
    /// Whether the query was requested; Vulkan is always queried.
    #[serde(flatten, serialize_with = "requested::serialize")]
    pub requested: bool,
}

/// Drivers that were queried and failed.
fn failed_probes(probes: &Probes) -> Vec<FailedProbe> {
    let drivers = [("Vulkan", &probes.vulkan, false), ("OpenCL", &probes.opencl, true), ("HSA", &probes.hsa, true)];
    let silent = drivers.into_iter().filter_map(|(driver, probe, requested)| {
        let reason = probe.as_ref()?.error.clone()?;
        Some(FailedProbe { driver, reason, requested })
    });
    silent.collect()
}

/// A GPU with its names.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct GpuDiagnosis {
    /// `0000:03:00.0`.
    pub pci: String,
    /// Names that drivers use.
    pub names: GpuNames,
    /// Real target of the chip.
    pub target: Option<String>,
    /// Target set by an override.
    pub forced: Option<String>,
    /// Kernel driver bound to the card.
    pub driver: Option<String>,
    /// Bytes of VRAM; on an APU the carve-out.
    pub vram: Option<u64>,
    /// Bytes of GTT: host memory that the GPU may use.
    pub gtt: Option<u64>,
    /// Whether it shares memory with the CPU.
    pub apu: Option<bool>,
    /// Best usable route, if any.
    pub route: Option<RouteKind>,
    /// All routes, usable ones first.
    pub routes: Vec<Route>,
    /// Result of computing on it, if that was requested.
    pub computed: Option<String>,
    /// Memory that programs can use, and how to raise it on an APU.
    pub memory: Option<Memory>,
    /// Versions known to work for the chip.
    pub known_good: Option<KnownGood>,
}

/// Names of a GPU by driver.
#[derive(Clone, Debug, Default, Serialize)]
#[non_exhaustive]
pub struct GpuNames {
    /// Product name, as far as the PCI ID determines it.
    #[serde(flatten, serialize_with = "product_name::serialize")]
    pub product_name: Option<String>,
    /// PCI vendor and device ID.
    pub pci_id: String,
    /// KFD node.
    pub kfd: Option<String>,
    /// DRM nodes.
    pub drm: Option<String>,
    /// HIP device number, if no variable hides GPUs.
    pub hip: Option<String>,
    /// Vulkan device.
    pub vulkan: Option<String>,
    /// OpenCL device.
    pub opencl: Option<String>,
}

impl Diagnosis {
    /// Applies the rules to a machine.
    pub fn new(rule_set: &RuleSet, reader: &LogReader, snapshot: &Snapshot) -> Self {
        let mut facts = snapshot.facts();
        let log = snapshot.kernel_log.as_deref().unwrap_or_default();
        // Facts from the kernel log alone; files are the better source for all others.
        for (name, values) in reader.read(log).facts.machine.iter().filter(|(name, _)| name.starts_with("log.")) {
            values.iter().for_each(|fact| facts.machine.add(name, &fact.value, fact.location.clone()));
        }
        let gpus: Vec<_> = snapshot
            .gpus
            .iter()
            .enumerate()
            .filter(|(_, gpu)| gpu.is_amd())
            .map(|(index, gpu)| card(gpu, &facts, index))
            .collect();
        let address = |index: usize| snapshot.gpus.get(index).map_or_else(String::new, |gpu| gpu.pci.clone());
        let mut findings = ranked(&rule_set.evaluate(&facts, log).findings, &address);
        // Uncertain findings are questions for logs. Here every available fact was read.
        findings.retain(|cause| cause.certainty == Certainty::Certain);
        findings.sort_by_key(|cause| (cause.severity, cause.confidence));
        let problems = findings.iter().filter(|cause| cause.is_a_problem()).count();
        let healthy = problems == 0 && !gpus.is_empty() && gpus.iter().all(|card| card.route.is_some());
        Self {
            healthy,
            verdict: verdict(&gpus, problems, &facts),
            gpus,
            findings,
            failed_probes: failed_probes(&snapshot.probes),
            examined: examined(snapshot, &facts),
            unreadable: snapshot.unreadable.clone(),
        }
    }
}

fn card(gpu: &Gpu, facts: &Facts, index: usize) -> GpuDiagnosis {
    let routes = routes(facts, index);
    let empty = Table::default();
    let table = facts.gpus.get(index).unwrap_or(&empty);
    let driver_names = |name: &str| table.first(name).map(str::to_owned);
    let drm: Vec<_> = [&gpu.card, &gpu.render].into_iter().flatten().cloned().collect();
    GpuDiagnosis {
        pci: gpu.pci.clone(),
        names: GpuNames {
            product_name: gpu.name.clone(),
            pci_id: gpu.pci_id.clone(),
            kfd: gpu.kfd_node.map(|node| format!("node {node}")),
            drm: (!drm.is_empty()).then(|| drm.join(", ")),
            hip: gpu.kfd_ordinal.map(|ordinal| format!("device {ordinal}")),
            vulkan: driver_names("gpu.vulkan"),
            opencl: driver_names("gpu.opencl"),
        },
        target: gpu.target.clone(),
        forced: gpu.forced.clone(),
        driver: gpu.driver.clone(),
        vram: gpu.vram,
        gtt: gpu.gtt,
        apu: gpu.apu,
        memory: memory(facts, index),
        known_good: gpu.target.as_deref().and_then(known_good),
        route: routes.iter().find(|route| route.obstacle.is_none()).map(|route| route.kind),
        routes,
        computed: None,
    }
}

/// Whether a GPU has a usable route.
#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    Open,
    Closed,
    /// The facts that would tell are missing.
    Unknown,
}

impl GpuDiagnosis {
    fn state(&self) -> State {
        match self.route {
            Some(_) => State::Open,
            None if self.routes.iter().any(|route| route.unknown) => State::Unknown,
            None => State::Closed,
        }
    }

    /// The best usable route, for people.
    pub fn best(&self) -> &'static str {
        match (self.route, self.state()) {
            (Some(way), _) => way.describe(),
            (None, State::Unknown) => "unknown",
            _ => "none",
        }
    }

    /// Whether it can compute, and by which routes.
    fn sentence(&self) -> String {
        let name = match &self.target {
            Some(target) => format!("{} ({target})", self.name()),
            None => self.name(),
        };
        let open = self.routes.iter().filter(|route| route.obstacle.is_none());
        let ways: Vec<_> = open.map(|route| route.kind.describe()).collect();
        let obstacle = |matches: &dyn Fn(&Route) -> bool| {
            self.routes.iter().find(|route| matches(route)).and_then(|route| route.obstacle.as_deref())
        };
        match self.state() {
            State::Open => format!("{name} can compute with {}.", ways.join(", ")),
            State::Unknown => {
                let why = obstacle(&|route| route.unknown).unwrap_or_default();
                format!("It is unknown whether {name} can compute: {why}.")
            }
            State::Closed => match obstacle(&|_| true) {
                Some(why) => format!("{name} cannot compute: {why}."),
                None => format!("{name}: no compute route is known."),
            },
        }
    }

    /// Product name, target or PCI ID.
    pub fn name(&self) -> String {
        let name = self.names.vulkan.clone().or_else(|| self.names.product_name.clone());
        name.unwrap_or_else(|| format!("GPU {}", self.names.pci_id))
    }
}

fn verdict(gpus: &[GpuDiagnosis], problems: usize, facts: &Facts) -> String {
    if gpus.is_empty() {
        return match facts.knows("gpus") {
            true => "This machine's kernel sees no AMD GPU.".into(),
            false => "No AMD GPU was found: without /sys it is unknown whether there is one.".into(),
        };
    }
    let mut text: Vec<(String, usize)> = Vec::new();
    for sentence in gpus.iter().map(GpuDiagnosis::sentence) {
        match text.iter_mut().find(|(known, _)| *known == sentence) {
            Some((_, count)) => *count += 1,
            None => text.push((sentence, 1)),
        }
    }
    // Identical cards share one sentence.
    let times = |(sentence, count): (String, usize)| match count {
        1 => sentence,
        _ => format!("{sentence} There are {count} such GPUs."),
    };
    let mut text: Vec<_> = text.into_iter().map(times).collect();
    let knows_all = facts.knows("env") && gpus.iter().all(|card| card.state() != State::Unknown);
    text.push(match problems {
        0 if gpus.iter().any(|card| card.state() == State::Closed) => "No rule explains why.".into(),
        0 if knows_all => "No known problem was found.".into(),
        0 => "These files show no known problem.".into(),
        1 => "1 problem was found.".into(),
        count => format!("{count} problems were found."),
    });
    if !facts.knows("env") {
        text.push("The environment variables are unknown.".into());
    }
    text.join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::snapshot::Probe;

    fn diagnosis(snapshot: &Snapshot) -> Diagnosis {
        let (rule_set, reader) =
            (RuleSet::builtin().expect("the rules are right"), LogReader::new().expect("the file is right"));
        Diagnosis::new(&rule_set, &reader, snapshot)
    }

    #[test]
    fn a_machine_without_a_gpu_has_a_verdict() {
        let found = diagnosis(&Snapshot::default());
        assert!(!found.healthy);
        assert_eq!(found.verdict, "This machine's kernel sees no AMD GPU.");
    }

    #[test]
    fn driver_errors_are_reported() {
        let mut snapshot = Snapshot::default();
        let failed = Probe { error: Some("there is no library".into()), devices: Vec::new() };
        snapshot.probes = Probes { vulkan: Some(Probe::default()), hsa: Some(failed), opencl: None };
        let found = diagnosis(&snapshot).failed_probes;
        let reason = "there is no library".to_owned();
        assert_eq!(found, [FailedProbe { driver: "HSA", reason, requested: true }]);
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
