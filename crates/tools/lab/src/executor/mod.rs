//! Executors: one trait, and one file or folder per executor.

mod command;
pub mod container;
mod file_follower;
pub mod kubernetes;
pub mod local;
pub mod slurm;
mod state_observer;
mod tool;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use roci_base::Hint;

use crate::experiment::{ExecutorKind, ExecutorOptions, Limits};
use crate::outcome::{Stack, Survivor};

/// Starts runs, and finds runs that a killed roci left behind.
pub trait Executor {
    /// Name in files and in the store.
    fn name(&self) -> &'static str;

    /// Starts a run. Everything it creates (processes, containers, jobs) carries [`RunSpec::mark`],
    /// so that it can be found by the mark alone: roci may be killed before it records anything
    /// else.
    ///
    /// # Errors
    /// Why it cannot be started; the run is then BLOCKED.
    fn start(&self, spec: &RunSpec) -> Result<Box<dyn RunningJob>, StartError>;

    /// Terminates and removes what a killed roci left of a run. `handle` is the last value of
    /// [`RunningJob::handle`]; empty if roci was killed before it was recorded. It is not an error
    /// if nothing is left.
    ///
    /// # Errors
    /// If the executor cannot be queried.
    fn recover(&self, mark: &str, handle: &str) -> Result<Termination, StartError>;
}

/// Opens the executor of these options, for a process that has no other children.
///
/// # Errors
/// If it cannot be used here.
pub fn open(options: &ExecutorOptions) -> Result<Box<dyn Executor>, StartError> {
    match options.kind {
        ExecutorKind::Local => Ok(Box::new(local::Local::alone(options.local))),
        ExecutorKind::Container => Ok(Box::new(container::Container::alone(options.container.clone()))),
        ExecutorKind::Slurm => Ok(Box::new(slurm::Slurm::new(options.slurm.clone()))),
        ExecutorKind::Kubernetes => Ok(Box::new(kubernetes::Kubernetes::connect(options.kubernetes.clone())?)),
    }
}

/// A started run. Dropping it kills the job and leaves nothing behind.
pub trait RunningJob {
    /// Identifies it for [`Executor::recover`], such as a process group or a job number. Stored as
    /// soon as the run has started.
    fn handle(&self) -> String;

    /// Current state. Does not block.
    fn poll(&mut self) -> JobState;

    /// Output since the last call, in order. Does not block. Chunks are bounded, so that a program
    /// with much output is slowed down and does not fill memory. After the end, call it until it
    /// returns nothing.
    fn take_output(&mut self) -> Vec<Chunk>;

    /// Resources used so far; `None` if unavailable. Without CPU time, a stall is detected by
    /// output alone.
    fn usage(&mut self) -> Option<Usage>;

    /// Stacks of its threads, if available. Takes a few seconds at most.
    fn stacks(&mut self) -> Vec<Stack>;

    /// Terminates the whole process tree, with SIGKILL after `grace`. Processes that do not die are
    /// reported, not waited for.
    fn kill(&mut self, grace: Duration) -> Termination;
}

/// Everything an executor needs to know about a run.
#[derive(Clone, Debug)]
pub struct RunSpec {
    /// Unique, of letters, digits and dashes, at most 40 characters and a valid DNS label:
    /// `roci-lab-3f2a…`. Programs get it as [`MARK`].
    pub mark: String,
    /// Program and arguments.
    pub command: Vec<String>,
    /// Variables to set.
    pub env: BTreeMap<String, String>,
    /// Variables to unset.
    pub unset: Vec<String>,
    /// Working directory.
    pub directory: Option<PathBuf>,
    /// Container image.
    pub image: Option<String>,
    /// Time and memory limits. The watchdog enforces them; an executor may do so too (memory of a
    /// cgroup, time of a job).
    pub limits: Limits,
    /// Settings from the experiment, of all executors.
    pub options: ExecutorOptions,
}

/// Environment variable that identifies the processes of a run.
pub const MARK: &str = "ROCI_LAB_RUN";

/// What an executor knows of a job it started.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum JobState {
    /// Waiting in a queue, with the reason; limits do not count yet.
    Queued(String),
    /// The program runs; limits count.
    Running,
    /// Ended.
    Exited(Exit),
    /// Never started and never will be, with the reason; the run is BLOCKED.
    Refused(String),
    /// Disappeared, and its exit is unknown; the text has what is known.
    Gone(String),
}

/// How a program ended.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Exit {
    /// Exit code, if it exited.
    pub code: Option<i32>,
    /// Signal that killed it.
    pub signal: Option<i32>,
    /// Whether it was killed for lack of memory.
    pub out_of_memory: bool,
    /// Additional information from the executor: Slurm's state, the reason of a pod.
    pub note: Option<String>,
}

impl Exit {
    /// From an exit code as shells and container engines report it: 128 plus the signal number for
    /// a killed program.
    pub fn of_shell(code: i32) -> Self {
        match code {
            129..=192 => Self { signal: Some(code - 128), ..Self::default() },
            _ => Self { code: Some(code), ..Self::default() },
        }
    }
}

/// A chunk of output.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Chunk {
    /// Which stream.
    pub stream: Stream,
    /// Time since the start.
    pub at: Duration,
    /// Raw bytes.
    pub bytes: Vec<u8>,
}

/// Output stream. Executors that mix both report standard output.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Stream {
    /// Standard output.
    Out,
    /// Standard error.
    Err,
}

impl Stream {
    /// Name in the store.
    pub fn name(self) -> &'static str {
        match self {
            Self::Out => "out",
            Self::Err => "err",
        }
    }
}

/// Resources used by a run.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Usage {
    /// CPU time of all its processes, including ended ones.
    pub cpu: Duration,
    /// Current resident memory of all its processes, in bytes.
    pub memory: u64,
    /// Number of live processes.
    pub processes: u32,
    /// Whether one of them is runnable: on a loaded machine it may wait for the CPU.
    pub runnable: bool,
}

/// Result of terminating a run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Termination {
    /// Number of processes, containers or jobs that were terminated.
    pub terminated: u32,
    /// Processes that are still alive.
    pub survivors: Vec<Survivor>,
}

/// Why a run cannot be started.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{reason}")]
pub struct StartError {
    /// Cause, in one line.
    pub reason: String,
    /// Remedy, in one line.
    pub hint: Option<String>,
}

impl StartError {
    /// With a remedy.
    pub fn new(reason: impl Into<String>, hint: impl Into<String>) -> Self {
        Self { reason: reason.into(), hint: Some(hint.into()) }
    }
}

impl Hint for StartError {
    fn hint(&self) -> Option<String> {
        self.hint.clone()
    }
}
