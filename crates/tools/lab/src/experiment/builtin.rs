//! Built-in files: experiments for chips with known problems, and workloads for other experiments.

/// A built-in file.
#[derive(Clone, Copy, Debug)]
pub struct BuiltIn {
    /// Name such as `gfx1151-rocm`.
    pub name: &'static str,
    /// Its text.
    pub toml: &'static str,
}

/// Experiments that `--from` copies and `run` finds by name.
pub static EXPERIMENTS: &[BuiltIn] = &[
    BuiltIn { name: "bc250-routes", toml: include_str!("../../experiments/bc250-routes.toml") },
    BuiltIn { name: "gfx1010-pytorch", toml: include_str!("../../experiments/gfx1010-pytorch.toml") },
    BuiltIn { name: "gfx1151-rocm", toml: include_str!("../../experiments/gfx1151-rocm.toml") },
];

/// Built-in workloads: command, phases, metrics and criteria that an experiment uses with `workload
/// = NAME`.
pub static WORKLOADS: &[BuiltIn] = &[
    BuiltIn { name: "llama-bench", toml: include_str!("../../workloads/llama-bench.toml") },
    BuiltIn { name: "pytorch", toml: include_str!("../../workloads/pytorch.toml") },
    BuiltIn { name: "roci-bench", toml: include_str!("../../workloads/roci-bench.toml") },
    BuiltIn { name: "roci-matrix", toml: include_str!("../../workloads/roci-matrix.toml") },
];

/// Program of the workload `pytorch`, passed to Python as text.
pub(super) static PYTORCH: &str = include_str!("../../workloads/pytorch.py");

/// `None` if no built-in experiment has the name.
pub fn experiment(name: &str) -> Option<&'static BuiltIn> {
    EXPERIMENTS.iter().find(|ready| ready.name == name)
}

/// Template for new files.
pub static TEMPLATE: &str = include_str!("../../experiments/template.toml");
