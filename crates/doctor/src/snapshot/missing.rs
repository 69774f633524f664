//! Trees that a copy of another machine does not have. What they would tell is unknown there: a copy without `/dev` is
//! no machine without devices.

use crate::facts::Facts;
use crate::root::Root;

use super::environment;

/// Variables that hide GPUs from ROCm.
const HIDING: &[&str] = &["env.ROCR_VISIBLE_DEVICES", "env.HIP_VISIBLE_DEVICES", "env.CUDA_VISIBLE_DEVICES"];

/// Trees, and the names of the facts that are read from them.
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

/// The trees that are not there. On the machine itself all that can be there is.
pub(super) fn trees(root: &Root, is_container: bool) -> Vec<String> {
    if root.is_here() {
        return Vec::new();
    }
    // Whoever starts a container makes its `/dev`: where there is none, no device was passed in.
    let missing = |tree: &&str| !(root.has(tree) || *tree == "/dev" && is_container);
    TREES
        .iter()
        .map(|(tree, _)| *tree)
        .filter(|tree| tree.starts_with('/'))
        .filter(missing)
        .map(str::to_owned)
        .collect()
}

/// Makes unknown what the missing trees would tell.
pub(super) fn forget(missing: &[String], facts: &mut Facts) {
    let lost = TREES.iter().filter(|(tree, _)| missing.iter().any(|one| one == tree));
    for name in lost.flat_map(|(_, names)| *names) {
        facts.is_unknown(name);
        // What was counted or answered with no where nothing was.
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
    // That nothing hides a GPU is known only where the variables are.
    if !facts.knows("env") && HIDING.iter().all(|name| facts.machine.first(name).is_none()) {
        for gpu in &mut facts.gpus {
            ["gpu.visible", "gpu.hip"].iter().for_each(|name| gpu.remove(name));
        }
    }
}
