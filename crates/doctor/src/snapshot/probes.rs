//! What drivers themselves say of GPUs. Files cannot tell it: a driver has to be started, which a process of its own does, under a
//! deadline, and for OpenCL and HSA only when asked.

use serde::{Deserialize, Serialize};

use crate::facts::{Facts, Table};

use super::Gpu;

/// What was asked of drivers.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(default)]
pub struct Probes {
    /// Vulkan; nothing if it was not asked.
    pub vulkan: Option<Probe>,
    /// OpenCL.
    pub opencl: Option<Probe>,
    /// HSA.
    pub hsa: Option<Probe>,
}

/// What a driver said.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(default)]
pub struct Probe {
    /// Why it said nothing: an error, a crash, a deadline.
    pub error: Option<String>,
    /// The devices.
    pub devices: Vec<Seen>,
}

/// A device as a driver sees it.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(default)]
pub struct Seen {
    /// What it calls it.
    pub name: String,
    /// Place on the bus, where it tells.
    pub pci: Option<String>,
    /// The driver and its version, as it says.
    pub runtime: Option<String>,
    /// The target, where it tells.
    pub target: Option<String>,
    /// Bytes that it reports.
    pub memory: u64,
    /// Whether it is a GPU, and no processor that plays one.
    pub gpu: bool,
}

impl Probes {
    /// Adds what drivers said to the facts. What was not asked, or not answered, is unknown and not absent.
    pub(super) fn tell(&self, gpus: &[Gpu], facts: &mut Facts) {
        // No probe tells of these.
        for name in ["vulkan.heap", "opencl.extension", "opencl.type", "log.last", "log.fault", "log.kind", "log.amd"] {
            facts.is_unknown(name);
        }
        for name in ["opencl.devices", "opencl.rusticl.devices", "opencl.memory", "opencl.platform", "vulkan.device"] {
            facts.is_unknown(name);
        }
        let routes = [("vulkan", &self.vulkan), ("opencl", &self.opencl), ("hsa", &self.hsa)];
        for (route, probe) in routes.into_iter().filter_map(|(route, probe)| Some((route, probe.as_ref()?))) {
            probe.tell(route, gpus, facts);
        }
        let answered = |probe: &Option<Probe>| probe.clone().filter(|probe| probe.error.is_none());
        if let Some(probe) = answered(&self.vulkan) {
            facts.machine.add("vulkan.asked", true, "the Vulkan driver");
            for seen in &probe.devices {
                facts.machine.add("vulkan.device", &seen.name, "the Vulkan driver");
            }
        }
        if let Some(probe) = answered(&self.opencl) {
            probe.tell_opencl(facts);
        }
        if let Some(probe) = answered(&self.hsa) {
            facts.machine.add("hsa.devices", probe.devices.len(), "HSA");
        }
    }
}

impl Probe {
    fn tell_opencl(&self, facts: &mut Facts) {
        let gpus: Vec<_> = self.devices.iter().filter(|seen| seen.gpu).collect();
        let is_rusticl = |seen: &&&Seen| seen.runtime.as_deref().is_some_and(|name| name.contains("rusticl"));
        facts.machine.add("opencl.devices", gpus.len(), "the OpenCL drivers");
        // Without RustICL its devices are no question.
        if facts.machine.get("opencl.icd").iter().any(|icd| icd.value == "rusticl") {
            facts.machine.add("opencl.rusticl.devices", gpus.iter().filter(is_rusticl).count(), "RustICL");
        }
        for seen in gpus {
            facts.machine.add("opencl.memory", seen.memory, "the OpenCL driver");
            // `rusticl 25.1, OpenCL 3.0`.
            let platform = seen.runtime.as_deref().and_then(|runtime| runtime.split(' ').next());
            platform.into_iter().for_each(|name| facts.machine.add("opencl.platform", name, "the OpenCL driver"));
        }
    }

    /// The names that a driver gives to GPUs, and the error if it has one.
    fn tell(&self, route: &str, gpus: &[Gpu], facts: &mut Facts) {
        if let Some(error) = &self.error {
            facts.machine.add(format!("{route}.error"), error, "the driver");
        }
        for seen in &self.devices {
            let at = seen.pci.as_ref().and_then(|pci| gpus.iter().position(|gpu| gpu.pci == *pci));
            if let Some(table) = at.and_then(|at| facts.gpus.get_mut(at)) {
                let table: &mut Table = table;
                table.add(format!("gpu.{route}"), &seen.name, "the driver");
            }
        }
    }
}
