//! Trees that are missing from a copy of another machine. Their facts are unknown: a copy without
//! `/dev` is not a machine without devices.

use crate::facts::Facts;
use crate::root::Root;

use super::environment;

/// Variables that hide GPUs from ROCm.
const HIDING: &[&str] = &["env.ROCR_VISIBLE_DEVICES", "env.HIP_VISIBLE_DEVICES", "env.CUDA_VISIBLE_DEVICES"];

/// Trees and the facts that are read from them.
const TREES: &[(&str, &[&str])] = &[
    ("/dev", &["node"]),
    (
        "/etc",
        &["os", "configured", "module.amdgpu.blacklisted", "opencl.icd", "service", "service_env", "boot", "shell"],
    ),
    (
        "/proc",
        &[
            "kernel",
            "cmdline",
            "configured",
            "memory",
            "user",
            "wsl",
            "container",
            "process",
            "service.governor",
            "cpu",
        ],
    ),
    (
        "/sys",
        &[
            "gpus",
            "module",
            "param",
            "zram",
            "secure_boot",
            "virtual_machine",
            "selinux",
            "iommu",
            "power",
            "board",
            "bios",
        ],
    ),
    (
        "/usr",
        &[
            "mesa",
            "vulkan",
            "opencl",
            "rocm",
            "rocm_sdk",
            "library",
            "wheel",
            "program",
            "glibc",
            "package",
            "configured",
        ],
    ),
    (environment::NAME, &["env", "shell", "gpu.forced", "gpu.forced_family", "gpu.visible", "gpu.hip"]),
];

/// The missing trees. On this machine none is missing.
pub(super) fn trees(root: &Root, is_container: bool) -> Vec<String> {
    if root.is_here() {
        return Vec::new();
    }
    // The container runtime creates `/dev`: if it has no device, none was passed in.
    let missing = |tree: &&str| !(root.has(tree) || *tree == "/dev" && is_container);
    TREES
        .iter()
        .map(|(tree, _)| *tree)
        .filter(|tree| tree.starts_with('/'))
        .filter(missing)
        .map(str::to_owned)
        .collect()
}

/// Makes the facts of missing trees unknown.
pub(super) fn forget(missing: &[String], facts: &mut Facts) {
    let lost = TREES.iter().filter(|(tree, _)| missing.iter().any(|one| one == tree));
    for name in lost.flat_map(|(_, names)| *names) {
        facts.is_unknown(name);
        // Counts and negative answers without data.
        let below = |known: &str| known == *name || known.strip_prefix(name).is_some_and(|rest| rest.starts_with('.'));
        let empty: Vec<_> = facts
            .machine
            .iter()
            .filter(|(known, values)| {
                below(known) && values.iter().all(|fact| matches!(fact.value.as_str(), "0" | "false"))
            })
            .map(|(known, _)| known.to_owned())
            .collect();
        empty.iter().for_each(|known| facts.machine.remove(known));
    }
    // Whether a variable hides a GPU is known only if the environment is.
    if !facts.knows("env") && HIDING.iter().all(|name| facts.machine.first(name).is_none()) {
        for gpu in &mut facts.gpus {
            ["gpu.visible", "gpu.hip"].iter().for_each(|name| gpu.remove(name));
        }
    }
}
