//! A typed snapshot of a machine, taken without root and without starting a runtime. It
//! can be saved and diagnosed on another machine.
//!
//! Each file here is a section with its reader. Field names are the names of facts in rules:
//! `kernel.release` is the field `release` of the section `kernel`. A field named `is` sets the
//! value of its parent name.

mod boot;
mod elf;
mod environment;
mod fact_names;
mod flatten;
mod gpu;
mod graphics;
mod kernel;
mod kfd;
mod machine;
mod missing;
mod nodes;
mod probes;
mod programs;
mod services;
mod software;
mod targets;
mod wheels;

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::facts::Facts;
use crate::root::Root;
use crate::{mask, secrets};

pub(crate) use fact_names::FactNames;
pub use gpu::Gpu;
pub use probes::{Probe, ProbedDevice, Probes};
pub(crate) use services::COMPUTE_UNITS;
#[cfg(test)]
pub(crate) use targets::TARGETS;
pub use targets::Target;

const SCHEMA: &str = "roci.snapshot";
const VERSION: u32 = 1;

/// Snapshot of a machine.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(default)]
pub struct Snapshot {
    /// Schema name: `roci.snapshot`.
    pub schema: String,
    /// Format version.
    pub version: u32,
    /// Distribution, memory, confinement and user.
    #[serde(flatten)]
    machine: machine::Machine,
    /// Kernel, modules and parameters.
    #[serde(flatten)]
    kernel: kernel::KernelInfo,
    /// Boot configuration.
    boot: boot::Boot,
    /// Device nodes.
    node: nodes::Nodes,
    /// ROCm, its libraries and packages.
    #[serde(flatten)]
    software: software::Software,
    /// Python packages.
    #[serde(flatten)]
    wheels: wheels::Wheels,
    /// Compute programs.
    #[serde(flatten)]
    programs: programs::Programs,
    /// Compute services.
    #[serde(flatten)]
    services: services::Services,
    /// Installed Vulkan and OpenCL drivers.
    #[serde(flatten)]
    graphics: graphics::Graphics,
    /// Environment variables that affect compute.
    env: BTreeMap<String, String>,
    /// GPUs, by PCI address.
    pub gpus: Vec<Gpu>,
    /// Kernel log lines about GPUs; `None` if the log cannot be read.
    pub kernel_log: Option<String>,
    /// Answers of drivers that were queried.
    pub probes: Probes,
    /// Files that exist but could not be read.
    pub unreadable: Vec<String>,
    /// Trees such as `/dev` that a copy of another machine does not have, and `environment` if no
    /// program's environment was available. Their facts are unknown.
    pub missing: Vec<String>,
}

impl Snapshot {
    /// Reads a copy of another machine's files. It has no program's environment: variables that no
    /// file sets are unknown.
    pub fn gather_copy(root: &Root) -> Self {
        let mut found = Self::gather(root, environment::of_files(root).into_iter());
        found.missing.push(environment::NAME.to_owned());
        found
    }

    /// Reads a machine. `environment` is that of the program to diagnose.
    pub fn gather(root: &Root, environment: impl Iterator<Item = (String, String)>) -> Self {
        let whole: BTreeMap<_, _> = environment.collect();
        let counting = whole.iter().filter(|(name, _)| counts(name));
        let env: BTreeMap<_, _> = counting.map(|(name, value)| (name.clone(), shown(name, value))).collect();
        let machine = machine::Machine::gather(root);
        let (wheels, python) = wheels::Wheels::gather(root, &whole);
        let software = software::Software::gather(root, &whole, &python);
        let mut gpus = gpu::gather(root, &env, machine.ram());
        let kernels: BTreeSet<_> =
            software.rocblas().into_iter().flatten().chain(wheels.rocblas()).map(String::as_str).collect();
        if !kernels.is_empty() {
            gpus.iter_mut().for_each(|gpu| gpu.rocblas = gpu.kernels_among(&kernels).map(str::to_owned));
        }
        let missing = missing::trees(root, machine.is_container());
        Self {
            schema: SCHEMA.into(),
            version: VERSION,
            kernel: kernel::KernelInfo::gather(root),
            boot: boot::Boot::gather(root),
            node: nodes::Nodes::gather(root),
            graphics: graphics::Graphics::gather(root, &env),
            programs: programs::Programs::gather(root, &whole, &software.package),
            services: services::Services::gather(root),
            kernel_log: kernel::log(root),
            probes: Probes::default(),
            unreadable: root.unreadable(),
            missing,
            software,
            wheels,
            machine,
            env,
            gpus,
        }
    }

    /// Parses a saved snapshot.
    ///
    /// # Errors
    /// If it is invalid, with a message.
    pub fn parse(bytes: &[u8]) -> Result<Self, String> {
        let mut value: Value = serde_json::from_slice(bytes).map_err(|error| error.to_string())?;
        // Earlier versions saved values that this one masks.
        mask::each_text(&mut value, &mut Vec::new(), &mut |_, text| *text = secrets::masked(text).into_owned());
        let mut snapshot: Self = serde_json::from_value(value).map_err(|error| error.to_string())?;
        snapshot.kernel.mask();
        match (snapshot.schema.as_str(), snapshot.version) {
            (SCHEMA, VERSION) => Ok(snapshot),
            (SCHEMA, version) => Err(format!("its version is {version}, and this program supports {VERSION}")),
            _ => Err(format!("its `schema` is not `{SCHEMA}`")),
        }
    }

    /// The facts for rules.
    pub fn facts(&self) -> Facts {
        flatten::facts(self)
    }
}

/// The value of a variable, masked if it is a secret.
fn shown(name: &str, value: &str) -> String {
    let secret = ["KEY", "TOKEN", "SECRET", "PASS"].iter().any(|word| name.to_ascii_uppercase().contains(word));
    if secret { "SET".into() } else { secrets::masked(value).into_owned() }
}

/// Whether a variable affects compute; all others are ignored.
fn counts(name: &str) -> bool {
    const PREFIXES: &[&str] = &[
        "HSA_",
        "HIP_",
        "ROCR_",
        "ROCM_",
        "ROC_",
        "AMD_",
        "GPU_",
        "GGML_",
        "LLAMA_",
        "OLLAMA_",
        "MIOPEN_",
        "ROCBLAS_",
        "HIPBLASLT_",
        "TORCH_",
        "PYTORCH_",
        "RADV_",
        "ACO_",
        "MESA_",
        "RUSTICL_",
        "OCL_",
        "OPENCL_",
        "VK_",
        "VULKAN_",
        "CUDA_VISIBLE",
        "FLASH_ATTENTION",
        "TENSILE_",
        "NCCL_",
        "RCCL_",
        "LD_LIBRARY_PATH",
        "LD_PRELOAD",
        "FLATPAK_",
        "SNAP_NAME",
        "LIBGL_",
        "GLIBC_TUNABLES",
        "GALLIUM_",
        "DRI_PRIME",
        "ROCI_",
    ];
    PREFIXES.iter().any(|prefix| name.starts_with(prefix))
}
