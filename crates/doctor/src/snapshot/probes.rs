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
    /// Adds what drivers said to the facts. What was not asked is unknown, not absent.
    pub(super) fn tell(&self, gpus: &[Gpu], facts: &mut Facts) {
        match &self.vulkan {
            Some(probe) => {
                probe.tell("vulkan", gpus, facts);
                for seen in &probe.devices {
                    facts.machine.add("vulkan.device", &seen.name, "the Vulkan driver");
                }
            }
            None => facts.is_unknown("vulkan.device"),
        }
        match &self.opencl {
            Some(probe) => {
                probe.tell("opencl", gpus, facts);
                let gpus: Vec<_> = probe.devices.iter().filter(|seen| seen.gpu).collect();
                facts.machine.add("opencl.devices", gpus.len(), "the OpenCL drivers");
                let rusticl = |seen: &&&Seen| seen.runtime.as_deref().is_some_and(|name| name.contains("rusticl"));
                facts.machine.add("opencl.rusticl.devices", gpus.iter().filter(rusticl).count(), "RustICL");
                for seen in gpus {
                    facts.machine.add("opencl.memory", seen.memory, "the OpenCL driver");
                    facts.machine.add("opencl.platform", seen.runtime.clone().unwrap_or_default(), "the OpenCL driver");
                }
            }
            None => facts.is_unknown("opencl.devices"),
        }
        // No probe tells of these yet.
        for name in ["vulkan.heap", "opencl.extension", "opencl.type", "log.last", "log.fault", "log.kind"] {
            facts.is_unknown(name);
        }
        if self.opencl.is_none() {
            ["opencl.rusticl.devices", "opencl.memory", "opencl.platform"]
                .iter()
                .for_each(|name| facts.is_unknown(name));
        }
        if let Some(probe) = &self.hsa {
            probe.tell("hsa", gpus, facts);
            facts.machine.add("hsa.devices", probe.devices.len(), "HSA");
        }
    }
}

impl Probe {
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
