//! The types of an experiment, built from a TOML file.
//!
//! `document.rs` has the structure of the file, `build.rs` and `strategies.rs` turn it into an
//! [`Experiment`], `matrix.rs` expands axes, `needs.rs` and `values.rs` parse strings, `support.rs`
//! checks what this roci supports, `builtin.rs` has the built-in files.

mod build;
pub mod builtin;
mod document;
mod matrix;
mod parse_error;
mod requirement_parser;
mod strategies;
mod support;
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

/// Maximum length of a name, since tables show names.
const MAX_NAME_LENGTH: usize = 120;

/// A validated experiment: all names it refers to exist.
#[derive(Clone, Debug)]
pub struct Experiment {
    /// Short name for commands: `gfx1151-rocm`.
    pub name: String,
    /// Title in one line.
    pub title: String,
    /// Question that the experiment answers.
    pub goal: Option<String>,
    /// Targets that the experiment is for, such as `gfx1151`; empty for any.
    pub targets: Vec<String>,
    /// Notes for the report: links to issues, suspicions.
    pub notes: Vec<String>,
    /// Phases, in the order in which a successful run reaches them.
    pub phases: Vec<Phase>,
    /// Metrics to extract from the output.
    pub metrics: Vec<Metric>,
    /// Success criteria.
    pub success: SuccessCriteria,
    /// What results are compared with.
    pub baseline: Option<Baseline>,
    /// Strategies in file order, with the matrix expanded.
    pub strategies: Vec<Strategy>,
    /// Source text.
    pub toml: String,
    /// Variables given on the command line.
    pub variables: BTreeMap<String, String>,
}

/// A phase of a run, detected in its output.
#[derive(Clone, Debug)]
pub struct Phase {
    /// Name such as `async uploads`.
    pub name: String,
    /// A matching line starts the phase.
    pub pattern: Regex,
}

/// A metric in the output.
#[derive(Clone, Debug)]
pub struct Metric {
    /// Name such as `generation`.
    pub name: String,
    /// Its first group, or the one named `value`, is the value.
    pub pattern: Regex,
    /// Unit such as `t/s`.
    pub unit: String,
    /// Whether higher or lower is better.
    pub direction: MetricDirection,
    /// Which of several matches counts.
    pub aggregation: MetricAggregation,
}

/// Direction of a metric.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum MetricDirection {
    /// Throughput, for example.
    #[default]
    Higher,
    /// Time, for example.
    Lower,
}

/// Which of several values of a run counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum MetricAggregation {
    /// Value of the first match.
    First,
    /// Value of the last match.
    #[default]
    Last,
    /// Maximum or minimum, as [`MetricDirection`] says.
    Best,
    /// Their mean.
    Mean,
}

/// Success criteria of a run.
#[derive(Clone, Debug, Default)]
pub struct SuccessCriteria {
    /// Exit codes that mean success.
    pub exit: Vec<i32>,
    /// Phase that must be reached.
    pub phase: Option<String>,
    /// A run that fails after this phase is PARTIAL.
    pub partial: Option<String>,
    /// Metrics that are required, with bounds.
    pub metrics: Vec<MetricCriterion>,
    /// A matching line means that the result is WRONG.
    pub wrong: Vec<Regex>,
    /// Each of these must match a line; otherwise the result is WRONG.
    pub right: Vec<Regex>,
    /// A matching line means that the run failed, whatever its exit code; it is reported as the
    /// fault.
    pub fault: Vec<Regex>,
}

/// A required metric.
#[derive(Clone, Debug, PartialEq)]
pub struct MetricCriterion {
    /// Name of a metric of the experiment.
    pub metric: String,
    /// Minimum quality relative to the baseline: 0.9 is 90 % as good, in either direction.
    pub ratio: Option<f64>,
    /// Minimum value.
    pub min: Option<f64>,
    /// Maximum value.
    pub max: Option<f64>,
}

/// What results are compared with.
#[derive(Clone, Debug, PartialEq)]
pub struct Baseline {
    /// Name such as `Vulkan RADV`.
    pub label: String,
    /// A strategy of the experiment.
    pub strategy: Option<String>,
    /// Known values by metric.
    pub values: BTreeMap<String, f64>,
}

/// One configuration to try, with everything that a run needs.
#[derive(Clone, Debug)]
pub struct Strategy {
    /// Name, unique in the experiment: `sdma-off`, `sdma=0/flash=on`.
    pub name: String,
    /// Why it may work.
    pub hypothesis: Option<String>,
    /// Key changes in a few words, for tables; derived from environment, image and arguments by
    /// default.
    pub changes: String,
    /// Program and arguments.
    pub command: Vec<String>,
    /// Variables to set.
    pub env: BTreeMap<String, String>,
    /// Variables to unset.
    pub unset: Vec<String>,
    /// Working directory.
    pub directory: Option<PathBuf>,
    /// Container image, for executors that use one.
    pub image: Option<String>,
    /// Compute APIs that its program uses; `None` if not declared, which means any.
    pub uses: Option<BTreeSet<Api>>,
    /// Requirements of the machine.
    pub needs: Vec<Requirement>,
    /// Required results of other strategies.
    pub after: Vec<StrategyDependency>,
    /// Why it is skipped.
    pub skip: Option<String>,
    /// Number of runs.
    pub repeats: u32,
    /// Time and memory limits.
    pub limits: Limits,
    /// Where its runs happen.
    pub executor: ExecutorOptions,
    /// Matrix values by axis.
    pub axes: BTreeMap<String, String>,
}

/// Time and memory limits of a run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Limits {
    /// Total run time.
    pub deadline: Duration,
    /// Time without output and CPU usage.
    pub stall: Option<Duration>,
    /// Resident memory of all its processes, in bytes.
    pub memory: Option<u64>,
    /// Time between SIGTERM and SIGKILL.
    pub grace: Duration,
    /// Time in a queue.
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

/// A requirement of a strategy.
#[derive(Clone, Debug, PartialEq)]
pub enum Requirement {
    /// A kernel command line parameter: `amdgpu.cwsr_enable` with `0`.
    KernelParameter {
        /// Name before `=`.
        name: String,
        /// Value; any if `None`.
        value: Option<String>,
    },
    /// A kernel version: `>=6.16, <6.18`.
    Kernel {
        /// Version range.
        range: Range,
    },
    /// Live value of a module parameter: `amdgpu.cwsr_enable`.
    ModuleParameter {
        /// Name of the kernel module: `amdgpu`.
        module: String,
        /// The parameter.
        name: String,
        /// Value that the parameter must have.
        value: String,
    },
    /// An installed package.
    Package {
        /// Its name.
        name: String,
        /// Version range.
        range: Range,
    },
    /// An existing file.
    File {
        /// Path of the file.
        path: PathBuf,
    },
    /// A variable in roci's environment.
    Environment {
        /// Name of the variable.
        name: String,
        /// Value; any if `None`.
        value: Option<String>,
    },
    /// A manual change that the user confirms: `roci lab resume --done STRATEGY`.
    Manual {
        /// Description of the change.
        change: String,
    },
    /// A fact of the doctor: `gpu.target`.
    Fact {
        /// Key as `roci doctor --json` has it.
        name: String,
        /// Required value; any if `None`.
        value: Option<String>,
    },
}

/// A version range: all comparisons must hold. Empty means any version.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Range(pub Vec<(Comparison, String)>);

/// Comparison of versions.
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

/// Required result of another strategy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StrategyDependency {
    /// Its name.
    pub strategy: String,
    /// Required result.
    pub result: RequiredResult,
}

/// The result that another strategy must have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RequiredResult {
    /// It ran, with any outcome.
    Ended,
    /// It passed.
    Passed,
    /// It did not pass.
    Failed,
    /// It reached a phase.
    Phase(String),
    /// It got past this phase.
    Past(String),
}

/// Which executor runs a strategy, and the settings of each kind.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "lowercase", deny_unknown_fields, default)]
pub struct ExecutorOptions {
    /// The selected executor.
    pub kind: ExecutorKind,
    /// Options for processes on this machine.
    pub local: LocalOptions,
    /// Used if `kind` is a container.
    pub container: ContainerOptions,
    /// Used if `kind` is Slurm.
    pub slurm: SlurmOptions,
    /// Used if `kind` is Kubernetes.
    pub kubernetes: KubernetesOptions,
}

/// Where runs happen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ExecutorKind {
    /// Processes on this machine.
    #[default]
    Local,
    /// Podman or Docker on this machine.
    Container,
    /// Slurm jobs.
    Slurm,
    /// Jobs of a cluster.
    Kubernetes,
}

impl ExecutorKind {
    /// Whether its runs are on this machine.
    pub fn is_here(self) -> bool {
        matches!(self, Self::Local | Self::Container)
    }

    /// Name in files and in the store.
    pub fn name(self) -> &'static str {
        match self {
            Self::Local => "local",
            Self::Container => "container",
            Self::Slurm => "slurm",
            Self::Kubernetes => "kubernetes",
        }
    }
}

/// Options for processes on this machine.
#[derive(Clone, Copy, Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct LocalOptions {
    /// Which stacks of hung programs are read.
    pub stacks: StackSource,
    /// Do not use cgroups.
    pub no_cgroup: bool,
}

/// Which stacks of hung programs are read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum StackSource {
    /// User-space stacks with `eu-stack` or `gdb`, if installed and permitted; otherwise the
    /// kernel's.
    #[default]
    User,
    /// Only the kernel's: no debugger attaches to the program.
    Kernel,
}

/// `[executor.container]` of an experiment.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct ContainerOptions {
    /// `podman` or `docker`; by default the first installed.
    pub engine: Option<String>,
    /// Device nodes; by default those of the GPUs.
    pub devices: Option<Vec<String>>,
    /// Groups to add; by default those of the device nodes.
    pub groups: Option<Vec<String>>,
    /// `HOST:CONTAINER[:ro]`.
    pub mounts: Vec<String>,
    /// Network such as `none` or `host`.
    pub network: Option<String>,
    /// Additional arguments of `run`.
    pub arguments: Vec<String>,
}

/// `[executor.slurm]` of an experiment.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct SlurmOptions {
    /// Partition to submit to (`--partition`); the cluster's default if `None`.
    pub partition: Option<String>,
    /// `--gres`: `gpu:1`.
    pub gres: Option<String>,
    /// Account to charge (`--account`).
    pub account: Option<String>,
    /// Features that a node must have (`--constraint`).
    pub constraint: Option<String>,
    /// `--cpus-per-task`.
    pub cpus: Option<u32>,
    /// Folder shared between this machine and the nodes, for scripts and output; by default the
    /// working directory.
    pub folder: Option<PathBuf>,
    /// Slurm's configuration (`SLURM_CONF`), if there are several; by default that of the
    /// environment.
    pub configuration: Option<PathBuf>,
    /// Additional arguments of `sbatch`.
    pub arguments: Vec<String>,
}

/// `[executor.kubernetes]` of an experiment.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct KubernetesOptions {
    /// Context of the kubeconfig; by default the current one.
    pub context: Option<String>,
    /// Namespace; by default `roci-lab`.
    pub namespace: Option<String>,
    /// Extended resources: `amd.com/gpu = "1"`.
    pub resources: BTreeMap<String, String>,
    /// Device nodes mounted by hostPath, if there is no device plugin.
    pub devices: Vec<String>,
    /// Required node labels.
    pub node_selector: BTreeMap<String, String>,
    /// `HOST:CONTAINER[:ro]`, mounted by hostPath.
    pub mounts: Vec<String>,
    /// Supplementary groups.
    pub groups: Vec<i64>,
    /// Whether the container is privileged.
    pub privileged: bool,
}

impl Experiment {
    /// `None` if the file has no such strategy.
    pub fn strategy(&self, name: &str) -> Option<&Strategy> {
        self.strategies.iter().find(|strategy| strategy.name == name)
    }

    /// Position in the order of a run that works; later phases are further.
    pub fn phase_index(&self, name: &str) -> Option<usize> {
        self.phases.iter().position(|phase| phase.name == name)
    }
}
