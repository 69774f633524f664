//! What a diagnosis looked at, and what was there.

use serde::Serialize;

use crate::facts::Facts;
use crate::snapshot::{Probe, Snapshot};

/// A place where a GPU or its driver shows up.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Examined {
    /// A path, or what was asked.
    pub source: &'static str,
    /// What was found there.
    pub found: String,
}

/// The places, in the order in which a person would look at them.
pub(crate) fn examined(snapshot: &Snapshot, facts: &Facts) -> Vec<Examined> {
    let values = |name: &str| facts.machine.get(name).iter().map(|fact| fact.value.as_str()).collect::<Vec<_>>();
    let or = |values: Vec<&str>, none: &str| if values.is_empty() { none.to_owned() } else { values.join(", ") };
    // A path, the tree of a copy that it needs, and what is there.
    let amd = snapshot.gpus.iter().filter(|gpu| gpu.is_amd()).count();
    let others: Vec<_> = snapshot.gpus.iter().filter(|gpu| !gpu.is_amd()).map(|gpu| gpu.pci_id.as_str()).collect();
    let kfd = snapshot.gpus.iter().filter(|gpu| gpu.kfd).count();
    let files = [
        ("/sys/bus/pci/devices", "/sys", format!("AMD GPUs: {amd}; display devices of others: {}", or(others, "0"))),
        ("/sys/class/kfd", "/sys", format!("GPUs of the compute driver: {kfd}")),
        ("/sys/module/amdgpu", "/sys", or(values("module.amdgpu"), "not loaded")),
        ("/dev/kfd", "/dev", or(values("node.kfd"), "absent")),
        ("/dev/dri", "/dev", format!("render nodes: {}", or(values("node.render"), "none"))),
        ("Vulkan drivers in /usr, /etc", "/usr", or(values("vulkan.driver"), "none")),
    ];
    let is_missing = |tree: &str| snapshot.missing.iter().any(|missing| missing == tree);
    let mut all: Vec<_> = files
        .into_iter()
        .map(|(source, tree, found)| {
            let found = if is_missing(tree) { "not in this copy".to_owned() } else { found };
            Examined { source, found }
        })
        .collect();
    let probes = &snapshot.probes;
    for (source, probe) in [("Vulkan", &probes.vulkan), ("OpenCL", &probes.opencl), ("HSA", &probes.hsa)] {
        all.extend(probe.as_ref().map(|probe| Examined { source, found: answer(probe) }));
    }
    let log = snapshot.kernel_log.as_ref().map(|log| format!("lines about GPUs: {}", log.lines().count()));
    all.push(Examined { source: "kernel log", found: log.unwrap_or_else(|| "not readable".to_owned()) });
    let surroundings = [("container", "a container"), ("virtual_machine", "a virtual machine"), ("wsl", "WSL")];
    for (name, what) in surroundings {
        if let Some(value) = facts.machine.first(name).filter(|value| *value != "false") {
            let found = if value == "true" { what.to_owned() } else { format!("{what} ({value})") };
            all.push(Examined { source: "this system", found });
        }
    }
    all
}

fn answer(probe: &Probe) -> String {
    match &probe.error {
        Some(error) => format!("no answer: {error}"),
        None if probe.devices.is_empty() => "no device".to_owned(),
        None => probe.devices.iter().map(|device| device.name.as_str()).collect::<Vec<_>>().join(", "),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_found_is_told_apart_from_what_is_missing() {
        let mut snapshot = Snapshot::default();
        snapshot.missing.push("/dev".into());
        snapshot.probes.vulkan = Some(Probe { error: Some("it timed out".into()), devices: Vec::new() });
        let found = examined(&snapshot, &snapshot.facts());
        let of = |source: &str| found.iter().find(|one| one.source == source).map(|one| one.found.as_str());
        assert_eq!(of("/sys/bus/pci/devices"), Some("AMD GPUs: 0; display devices of others: 0"));
        assert_eq!(of("/dev/kfd"), Some("not in this copy"));
        assert_eq!(of("Vulkan"), Some("no answer: it timed out"));
        assert_eq!((of("OpenCL"), of("kernel log")), (None, Some("not readable")));
    }
}
