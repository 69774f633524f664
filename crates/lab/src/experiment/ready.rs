//! Files that come along: experiments for the chips that people fight with, and workloads to build others on.

/// A file that comes along.
#[derive(Clone, Copy, Debug)]
pub struct Ready {
    /// What it is called: `gfx1151-rocm`.
    pub name: &'static str,
    /// Its text.
    pub toml: &'static str,
}

/// Experiments, by name.
pub static EXPERIMENTS: &[Ready] = &[
    Ready { name: "bc250-routes", toml: include_str!("../../experiments/bc250-routes.toml") },
    Ready { name: "gfx1010-pytorch", toml: include_str!("../../experiments/gfx1010-pytorch.toml") },
    Ready { name: "gfx1151-rocm", toml: include_str!("../../experiments/gfx1151-rocm.toml") },
];

/// Workloads, by name: command, phases, metrics and criteria that an experiment takes over with `workload = NAME`.
pub static WORKLOADS: &[Ready] = &[
    Ready { name: "llama-bench", toml: include_str!("../../workloads/llama-bench.toml") },
    Ready { name: "pytorch", toml: include_str!("../../workloads/pytorch.toml") },
    Ready { name: "roci-bench", toml: include_str!("../../workloads/roci-bench.toml") },
    Ready { name: "roci-matrix", toml: include_str!("../../workloads/roci-matrix.toml") },
];

/// The program of the workload `pytorch`, which is given to Python whole.
pub(super) static PYTORCH: &str = include_str!("../../workloads/pytorch.py");

/// An experiment by its name.
pub fn experiment(name: &str) -> Option<&'static Ready> {
    EXPERIMENTS.iter().find(|ready| ready.name == name)
}

/// A file to start from.
pub static TEMPLATE: &str = include_str!("../../experiments/template.toml");
