//! One typed picture of a machine, made without root's rights and without starting any runtime. It can be saved on one machine and
//! judged on another.
//!
//! Each file here is a section: what it holds, and how it is read. The names of the fields are the names of the facts that rules
//! speak of: `kernel.release` is the field `release` of the section `kernel`. A field named `is` gives its value to the name above it.

mod boot;
mod elf;
mod environment;
mod flatten;
mod gpu;
mod graphics;
mod kernel;
mod kfd;
mod known;
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

pub use gpu::Gpu;
pub(crate) use known::Known;
pub use probes::{Probe, Probes, Seen};
#[cfg(test)]
pub(crate) use targets::TARGETS;
pub use targets::Target;

const SCHEMA: &str = "roci.snapshot";
const VERSION: u32 = 1;

/// What a machine is and has.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(default)]
pub struct Snapshot {
    /// `roci.snapshot`.
    pub schema: String,
    /// Of this format.
    pub version: u32,
    /// System, memory, confinement, user.
    #[serde(flatten)]
    machine: machine::Machine,
    /// Kernel, modules, parameters.
    #[serde(flatten)]
    kernel: kernel::Kernels,
    /// How the machine starts.
    boot: boot::Boot,
    /// Device nodes.
    node: nodes::Nodes,
    /// ROCm, its libraries, packages.
    #[serde(flatten)]
    software: software::Software,
    /// Python's packages.
    #[serde(flatten)]
    wheels: wheels::Wheels,
    /// Programs that compute.
    #[serde(flatten)]
    programs: programs::Programs,
    /// Services that compute.
    #[serde(flatten)]
    services: services::Services,
    /// Vulkan and OpenCL as they are installed.
    #[serde(flatten)]
    graphics: graphics::Graphics,
    /// Environment variables that count.
    env: BTreeMap<String, String>,
    /// The GPUs, by their places on the bus.
    pub gpus: Vec<Gpu>,
    /// The kernel's log, as far as it concerns GPUs; nothing where it cannot be read.
    pub kernel_log: Option<String>,
    /// What drivers said when they were asked.
    pub probes: Probes,
    /// What was there and could not be read.
    pub unreadable: Vec<String>,
    /// Trees such as `/dev` that a copy of another machine does not have, and `environment` where no program's was to be
    /// seen: what they would tell is unknown.
    pub missing: Vec<String>,
}

impl Snapshot {
    /// Looks at a copy of another machine's files. No program's environment is among them: what they do not set for
    /// everybody is unknown.
    pub fn gather_copy(root: &Root) -> Self {
        let mut found = Self::gather(root, environment::of_files(root).into_iter());
        found.missing.push(environment::NAME.to_owned());
        found
    }

    /// Looks at a machine. `environment` is that of the program to be judged.
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
            kernel: kernel::Kernels::gather(root),
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

    /// Reads a snapshot that was saved.
    ///
    /// # Errors
    /// What is wrong with it, in words.
    pub fn parse(bytes: &[u8]) -> Result<Self, String> {
        let mut value: Value = serde_json::from_slice(bytes).map_err(|error| error.to_string())?;
        // Earlier versions saved what this one masks.
        mask::each_text(&mut value, "", &mut |_, text| *text = secrets::masked(text).into_owned());
        let mut snapshot: Self = serde_json::from_value(value).map_err(|error| error.to_string())?;
        snapshot.kernel.mask();
        match (snapshot.schema.as_str(), snapshot.version) {
            (SCHEMA, VERSION) => Ok(snapshot),
            (SCHEMA, version) => Err(format!("it has version {version}, and this program knows {VERSION}")),
            _ => Err(format!("its `schema` is not `{SCHEMA}`")),
        }
    }

    /// The facts that rules are laid over.
    pub fn facts(&self) -> Facts {
        flatten::facts(self)
    }
}

/// The value of a variable, unless it is a secret.
fn shown(name: &str, value: &str) -> String {
    let secret = ["KEY", "TOKEN", "SECRET", "PASS"].iter().any(|word| name.to_ascii_uppercase().contains(word));
    if secret { "SET".into() } else { secrets::masked(value).into_owned() }
}

/// Variables that change what compute does; others are nobody's business.
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
