//! What an experiment is: the types that a TOML file becomes.
//!
//! `document.rs` has the file's own form, `build.rs` and `strategies.rs` make an [`Experiment`] of it, `matrix.rs` expands
//! axes, `needs.rs` and `values.rs` read what is written in strings, `here.rs` says what this roci cannot do, `ready.rs` has the
//! files that come along.

mod build;
mod document;
mod fault;
mod here;
mod matrix;
mod needs;
pub mod ready;
mod strategies;
#[cfg(test)]
mod tests;
mod values;

pub(crate) use values::near;

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::time::Duration;

use regex::Regex;
use roci_doctor::Api;
use serde::Deserialize;

/// Names are shown in tables.
const LONGEST_NAME: usize = 120;

/// An experiment, checked: every name that it refers to is there.
#[derive(Clone, Debug)]
pub struct Experiment {
    /// Short, for commands: `gfx1151-rocm`.
    pub name: String,
    /// One line for people.
    pub title: String,
    /// What it is to find out.
    pub goal: Option<String>,
    /// The chips that it is for: `gfx1151`; any if there are none.
    pub targets: Vec<String>,
    /// Things to know beside the results: links to issues, what is suspected.
    pub notes: Vec<String>,
    /// Phases in the order in which a run that works goes through them.
    pub phases: Vec<Phase>,
    /// Figures to read from the output.
    pub metrics: Vec<Metric>,
    /// What makes a run a success.
    pub success: Success,
    /// What results are compared with.
    pub baseline: Option<Baseline>,
    /// Strategies in the order of the file, the matrix expanded.
    pub strategies: Vec<Strategy>,
    /// The text that it was made of.
    pub toml: String,
    /// The variables that were given beside it.
    pub variables: BTreeMap<String, String>,
}

/// A stage of a run, recognised in its output.
#[derive(Clone, Debug)]
pub struct Phase {
    /// Its name: `async uploads`.
    pub name: String,
    /// A line that matches tells that it has begun.
    pub pattern: Regex,
}

/// A figure in the output.
#[derive(Clone, Debug)]
pub struct Metric {
    /// Its name: `generation`.
    pub name: String,
    /// Its first group, or the one named `value`, is the figure.
    pub pattern: Regex,
    /// `t/s`.
    pub unit: String,
    /// Which way is better.
    pub better: Better,
    /// Which of several lines counts.
    pub take: Take,
}

/// Which way is better.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Better {
    /// More is better.
    #[default]
    Higher,
    /// Less is better.
    Lower,
}

/// Which of several values of a run counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Take {
    /// The first one.
    First,
    /// The last one.
    #[default]
    Last,
    /// The best one.
    Best,
    /// Their mean.
    Mean,
}

/// What makes a run a success.
#[derive(Clone, Debug, Default)]
pub struct Success {
    /// Exit codes that are fine.
    pub exit: Vec<i32>,
    /// The phase that must be reached.
    pub phase: Option<String>,
    /// Whoever gets past this phase and then fails is PARTIAL.
    pub partial: Option<String>,
    /// Figures that must be there, and how good they must be.
    pub metrics: Vec<Wanted>,
    /// A line that matches one of these means that the result is wrong.
    pub wrong: Vec<Regex>,
    /// Where there are any, each must match a line, or the result is wrong.
    pub right: Vec<Regex>,
    /// A line that matches one of these means that the run failed, whatever its exit code; it is the fault line.
    pub fault: Vec<Regex>,
}

/// A figure that must be there.
#[derive(Clone, Debug, PartialEq)]
pub struct Wanted {
    /// The metric.
    pub metric: String,
    /// How good against the baseline: 0.9 is nine tenths as good, whichever way is better.
    pub ratio: Option<f64>,
    /// At least so much.
    pub min: Option<f64>,
    /// At most so much.
    pub max: Option<f64>,
}

/// What results are compared with.
#[derive(Clone, Debug, PartialEq)]
pub struct Baseline {
    /// What to call it: `Vulkan RADV`.
    pub label: String,
    /// A strategy of the experiment, by its name.
    pub strategy: Option<String>,
    /// Figures that are known, by metric.
    pub values: BTreeMap<String, f64>,
}

/// One thing to try: everything that a run needs, nothing left to look up.
#[derive(Clone, Debug)]
pub struct Strategy {
    /// Its name, unique in the experiment: `sdma-off`, `sdma=0/flash=on`.
    pub name: String,
    /// Why it may work.
    pub hypothesis: Option<String>,
    /// What is special about it, in a few words for tables; made from environment, image and arguments where not given.
    pub changes: String,
    /// Program and arguments.
    pub command: Vec<String>,
    /// Variables that are set.
    pub env: BTreeMap<String, String>,
    /// Variables that are taken away.
    pub unset: Vec<String>,
    /// The folder it runs in.
    pub directory: Option<PathBuf>,
    /// The container's image, for executors that have such.
    pub image: Option<String>,
    /// The compute APIs that its program uses; any may be, if that is not said.
    pub uses: Option<BTreeSet<Api>>,
    /// What must hold first.
    pub needs: Vec<Need>,
    /// What must have come of others.
    pub after: Vec<After>,
    /// Why it is not to be run now.
    pub skip: Option<String>,
    /// How many times.
    pub repeats: u32,
    /// How long and how large.
    pub limits: Limits,
    /// Where it runs.
    pub executor: ExecutorOptions,
    /// Values of the matrix that it was made of, by axis.
    pub axes: BTreeMap<String, String>,
}

/// How long and how large a run may be.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Limits {
    /// In all.
    pub deadline: Duration,
    /// Without output and without CPU.
    pub stall: Option<Duration>,
    /// Bytes of resident memory of all its processes.
    pub memory: Option<u64>,
    /// Between a polite request to end and the end.
    pub grace: Duration,
    /// In a queue, before it begins.
    pub queue: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            deadline: Duration::from_secs(600),
            stall: Some(Duration::from_secs(60)),
            memory: None,
            grace: Duration::from_secs(2),
            queue: Duration::from_secs(24 * 3600),
        }
    }
}

/// Something that must hold before a strategy makes sense.
#[derive(Clone, Debug, PartialEq)]
pub enum Need {
    /// A word on the kernel's command line: `amdgpu.cwsr_enable` with `0`.
    KernelParameter {
        /// The word before `=`.
        name: String,
        /// What is behind it; any if not given.
        value: Option<String>,
    },
    /// A version of the kernel: `>=6.16, <6.18`.
    Kernel {
        /// All must hold.
        range: Range,
    },
    /// A live parameter of a module: `amdgpu.cwsr_enable`.
    ModuleParameter {
        /// The module.
        module: String,
        /// The parameter.
        name: String,
        /// Its value.
        value: String,
    },
    /// A package that is installed.
    Package {
        /// Its name.
        name: String,
        /// Versions that will do.
        range: Range,
    },
    /// A file that is there.
    File {
        /// Its path.
        path: PathBuf,
    },
    /// A variable of roci's own environment.
    Environment {
        /// Its name.
        name: String,
        /// Its value; any if not given.
        value: Option<String>,
    },
    /// Something that a person has to do, and to say so: `roci lab resume --done STRATEGY`.
    Manual {
        /// What.
        change: String,
    },
    /// A fact of the doctor, by its name: `gpu.target`.
    Fact {
        /// Its name.
        name: String,
        /// One of its values must be this; any if not given.
        value: Option<String>,
    },
}

/// Versions: all parts must hold; none is any version.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Range(pub Vec<(Comparison, String)>);

/// How a version is compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Comparison {
    /// `<`
    Below,
    /// `<=`
    AtMost,
    /// `=`
    Is,
    /// `!=`
    IsNot,
    /// `>=`
    AtLeast,
    /// `>`
    Above,
}

/// What must have come of another strategy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct After {
    /// Its name.
    pub strategy: String,
    /// What must have come of it.
    pub what: Reached,
}

/// How far another strategy must have got.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reached {
    /// It ran, whatever came of it.
    Ended,
    /// It passed.
    Passed,
    /// It did not pass.
    Failed,
    /// It reached a phase.
    Phase(String),
    /// It reached a phase behind this one.
    Past(String),
}

/// Where runs happen, with what each place has to be told.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "lowercase", deny_unknown_fields, default)]
pub struct ExecutorOptions {
    /// Which one.
    pub kind: ExecutorKind,
    /// For processes on this machine.
    pub local: LocalOptions,
    /// For containers.
    pub container: ContainerOptions,
    /// For Slurm.
    pub slurm: SlurmOptions,
    /// For Kubernetes.
    pub kubernetes: KubernetesOptions,
}

/// The executors.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ExecutorKind {
    /// Processes on this machine.
    #[default]
    Local,
    /// Podman or Docker on this machine.
    Container,
    /// `sbatch` and its kin.
    Slurm,
    /// Jobs of a cluster.
    Kubernetes,
}

impl ExecutorKind {
    /// Whether its runs happen on this machine.
    pub fn is_here(self) -> bool {
        matches!(self, Self::Local | Self::Container)
    }

    /// Its name in files and in the store.
    pub fn name(self) -> &'static str {
        match self {
            Self::Local => "local",
            Self::Container => "container",
            Self::Slurm => "slurm",
            Self::Kubernetes => "kubernetes",
        }
    }
}

/// What processes on this machine are told.
#[derive(Clone, Copy, Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct LocalOptions {
    /// How far the stacks of programs that hang are looked into.
    pub stacks: Stacks,
    /// Leaves control groups alone.
    pub no_cgroup: bool,
}

/// How far the stacks of programs that hang are looked into.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Stacks {
    /// By `eu-stack` or `gdb`, where one is installed and may look; else as the kernel tells.
    #[default]
    User,
    /// Only as the kernel tells: no debugger touches the program.
    Kernel,
}

/// What a container is told.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct ContainerOptions {
    /// `podman` or `docker`; the first that is installed if not given.
    pub engine: Option<String>,
    /// Device nodes; the GPU's if not given.
    pub devices: Option<Vec<String>>,
    /// Groups to add; those of the device nodes if not given.
    pub groups: Option<Vec<String>>,
    /// `HOST:CONTAINER[:ro]`.
    pub mounts: Vec<String>,
    /// The network: `none`, `host`.
    pub network: Option<String>,
    /// More options for `run`.
    pub arguments: Vec<String>,
}

/// What Slurm is told.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct SlurmOptions {
    /// `--partition`.
    pub partition: Option<String>,
    /// `--gres`: `gpu:1`.
    pub gres: Option<String>,
    /// `--account`.
    pub account: Option<String>,
    /// `--constraint`.
    pub constraint: Option<String>,
    /// `--cpus-per-task`.
    pub cpus: Option<u32>,
    /// A folder that both this machine and the nodes see, for scripts and output; the present one if not given.
    pub folder: Option<PathBuf>,
    /// Slurm's configuration (`SLURM_CONF`), where there are several; that of the environment if not given.
    pub configuration: Option<PathBuf>,
    /// More options for `sbatch`.
    pub arguments: Vec<String>,
}

/// What a cluster is told.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct KubernetesOptions {
    /// The context of the kubeconfig; the current one if not given.
    pub context: Option<String>,
    /// Its own namespace; `roci-lab` if not given.
    pub namespace: Option<String>,
    /// Extended resources: `amd.com/gpu = "1"`.
    pub resources: BTreeMap<String, String>,
    /// Device nodes by hostPath, where there is no device plugin.
    pub devices: Vec<String>,
    /// Labels of nodes that will do.
    pub node_selector: BTreeMap<String, String>,
    /// `HOST:CONTAINER[:ro]` by hostPath.
    pub mounts: Vec<String>,
    /// Supplementary groups.
    pub groups: Vec<i64>,
    /// Whether the container is privileged.
    pub privileged: bool,
}

impl Experiment {
    /// A strategy by its name.
    pub fn strategy(&self, name: &str) -> Option<&Strategy> {
        self.strategies.iter().find(|strategy| strategy.name == name)
    }

    /// The place of a phase in the order.
    pub fn phase_index(&self, name: &str) -> Option<usize> {
        self.phases.iter().position(|phase| phase.name == name)
    }
}
