//! Devices as drivers report them. This requires starting the driver, which happens in a separate
//! process with a timeout, and for OpenCL and HSA only on request.

use serde::{Deserialize, Serialize};

use crate::facts::{Facts, Table};

use super::Gpu;

/// Answers of drivers that were queried.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(default)]
pub struct Probes {
    /// Vulkan; `None` if not queried.
    pub vulkan: Option<Probe>,
    /// OpenCL; `None` if not queried.
    pub opencl: Option<Probe>,
    /// HSA; `None` if not queried.
    pub hsa: Option<Probe>,
}

/// Answer of a driver.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(default)]
pub struct Probe {
    /// Why it failed: an error, a crash or a timeout.
    pub error: Option<String>,
    /// Empty if it failed or found none.
    pub devices: Vec<ProbedDevice>,
}

/// A device as a driver reports it.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(default)]
pub struct ProbedDevice {
    /// Name that the driver reports.
    pub name: String,
    /// PCI address, if reported.
    pub pci: Option<String>,
    /// Driver and version.
    pub runtime: Option<String>,
    /// Target, if reported.
    pub target: Option<String>,
    /// Memory in bytes.
    pub memory: u64,
    /// Whether it is a GPU, not a software rasterizer.
    pub gpu: bool,
}

impl Probes {
    /// Adds the answers to the facts. Drivers that were not queried or failed leave their facts
    /// unknown, not absent.
    pub(super) fn tell(&self, gpus: &[Gpu], facts: &mut Facts) {
        // Facts that no probe provides.
        for name in [
            "vulkan.heap",
            "opencl.extension",
            "opencl.type",
            "log.last",
            "log.fault",
            "log.kind",
            "log.amd",
            "log.works",
        ] {
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
            for device in &probe.devices {
                facts.machine.add("vulkan.device", &device.name, "the Vulkan driver");
            }
        }
        if let Some(probe) = answered(&self.opencl) {
            probe.add_opencl(facts);
        }
        if let Some(probe) = answered(&self.hsa) {
            facts.machine.add("hsa.devices", probe.devices.len(), "HSA");
        }
    }
}

impl Probe {
    fn add_opencl(&self, facts: &mut Facts) {
        let gpus: Vec<_> = self.devices.iter().filter(|device| device.gpu).collect();
        let is_rusticl =
            |device: &&&ProbedDevice| device.runtime.as_deref().is_some_and(|name| name.contains("rusticl"));
        facts.machine.add("opencl.devices", gpus.len(), "the OpenCL drivers");
        // Without Rusticl there is no question about its devices.
        if facts.machine.get("opencl.icd").iter().any(|icd| icd.value == "rusticl") {
            facts.machine.add("opencl.rusticl.devices", gpus.iter().filter(is_rusticl).count(), "RustICL");
        }
        for device in gpus {
            facts.machine.add("opencl.memory", device.memory, "the OpenCL driver");
            // Format: `rusticl 25.1, OpenCL 3.0`.
            let platform = device.runtime.as_deref().and_then(|runtime| runtime.split(' ').next());
            platform.into_iter().for_each(|name| facts.machine.add("opencl.platform", name, "the OpenCL driver"));
        }
    }

    /// Adds the driver's names of GPUs, and its error if there is one.
    fn tell(&self, route: &str, gpus: &[Gpu], facts: &mut Facts) {
        if let Some(error) = &self.error {
            facts.machine.add(format!("{route}.error"), error, "the driver");
        }
        for device in &self.devices {
            let at = device.pci.as_ref().and_then(|pci| gpus.iter().position(|gpu| gpu.pci == *pci));
            if let Some(table) = at.and_then(|at| facts.gpus.get_mut(at)) {
                let table: &mut Table = table;
                table.add(format!("gpu.{route}"), &device.name, "the driver");
            }
        }
    }
}
