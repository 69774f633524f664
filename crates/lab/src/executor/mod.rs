//! Where runs happen: one trait, one file or folder an executor.

mod command;
pub mod container;
mod follow;
pub mod kubernetes;
pub mod local;
mod observer;
pub mod slurm;
mod tool;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use roci_hal::Hint;

use crate::experiment::{ExecutorKind, ExecutorOptions, Limits};
use crate::outcome::{Stack, Survivor};

/// Starts runs somewhere, and finds again what a killed roci left there.
pub trait Executor {
    /// As files and the store name it.
    fn name(&self) -> &'static str;

    /// Starts a run. Whatever it makes (processes, containers, jobs) carries [`RunSpec::mark`], so that it can be found
    /// from the mark alone: roci may be killed before it has noted anything else.
    ///
    /// # Errors
    /// Why it cannot be started; the run is then BLOCKED.
    fn start(&self, spec: &RunSpec) -> Result<Box<dyn RunningJob>, StartError>;

    /// Ends what a killed roci left of a run, and removes it. `handle` is what [`RunningJob::handle`] last gave; empty if
    /// roci was killed before it could be noted. Nothing left is no error.
    ///
    /// # Errors
    /// Why the place cannot be asked.
    fn recover(&self, mark: &str, handle: &str) -> Result<Ended, StartError>;
}

/// The executor that these options name, for a process that has no other children.
///
/// # Errors
/// Why it cannot be used here.
pub fn open(options: &ExecutorOptions) -> Result<Box<dyn Executor>, StartError> {
    match options.kind {
        ExecutorKind::Local => Ok(Box::new(local::Local::alone(options.local))),
        ExecutorKind::Container => Ok(Box::new(container::Container::alone(options.container.clone()))),
        ExecutorKind::Slurm => Ok(Box::new(slurm::Slurm::new(options.slurm.clone()))),
        ExecutorKind::Kubernetes => Ok(Box::new(kubernetes::Kubernetes::connect(options.kubernetes.clone())?)),
    }
}

/// A run that was started. Dropping it must leave nothing behind: it is killed if it still runs.
pub trait RunningJob {
    /// Where it is, for [`Executor::recover`]: a process group, a job number. It is stored as soon as the run is started.
    fn handle(&self) -> String;

    /// How it is now. Does not wait.
    fn poll(&mut self) -> JobState;

    /// What it wrote since the last call, in order. Does not wait; gives bounded portions, so that a program that floods
    /// its output is slowed down and fills no memory. After the end it is to be called until it gives nothing.
    fn take_output(&mut self) -> Vec<Chunk>;

    /// What it has used so far; nothing where that cannot be had. Without CPU time, output alone tells a stall.
    fn usage(&mut self) -> Option<Usage>;

    /// What its threads wait for, as far as that can be had. May take seconds, never longer.
    fn stacks(&mut self) -> Vec<Stack>;

    /// Ends the whole tree: politely, and after `grace` by force. What cannot be ended is told, not waited for.
    fn kill(&mut self, grace: Duration) -> Ended;
}

/// All that an executor needs to know about a run.
#[derive(Clone, Debug)]
pub struct RunSpec {
    /// Unique, of letters, digits and dashes, at most 40 long and good as a DNS label: `roci-lab-3f2a…`. Programs get it
    /// as [`MARK`].
    pub mark: String,
    /// Program and arguments.
    pub command: Vec<String>,
    /// Variables that are set.
    pub env: BTreeMap<String, String>,
    /// Variables that are taken away.
    pub unset: Vec<String>,
    /// The folder it runs in.
    pub directory: Option<PathBuf>,
    /// The container's image.
    pub image: Option<String>,
    /// How long and how large. The watchdog enforces them; an executor may do so too (memory of a cgroup, time of a job).
    pub limits: Limits,
    /// What the place has to be told.
    pub options: ExecutorOptions,
}

/// The environment variable by which processes of a run are known.
pub const MARK: &str = "ROCI_LAB_RUN";

/// How a job is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum JobState {
    /// It waits for its turn; no limit counts yet. The text says what for.
    Queued(String),
    /// It runs.
    Running,
    /// It has ended.
    Exited(Exit),
    /// It was never started and never will be; the run is BLOCKED. The text says why.
    Refused(String),
    /// It is not there any more and nobody knows how it ended; the text says what is known.
    Gone(String),
}

/// How a program ended.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Exit {
    /// Its code, if it ended by itself.
    pub code: Option<i32>,
    /// The signal that ended it.
    pub signal: Option<i32>,
    /// Whether it was ended for want of memory.
    pub out_of_memory: bool,
    /// What the place says beside: Slurm's state, the reason of a pod.
    pub note: Option<String>,
}

impl Exit {
    /// From a code as shells and container engines give it: 128 and the signal's number for a program that a signal ended.
    pub fn of_shell(code: i32) -> Self {
        match code {
            129..=192 => Self { signal: Some(code - 128), ..Self::default() },
            _ => Self { code: Some(code), ..Self::default() },
        }
    }
}

/// A part of the output.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Chunk {
    /// Which stream.
    pub stream: Stream,
    /// Since the start.
    pub at: Duration,
    /// As it was written.
    pub bytes: Vec<u8>,
}

/// Which stream. Where a place mixes both, all is standard output.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Stream {
    /// Standard output.
    Out,
    /// Standard error.
    Err,
}

impl Stream {
    /// Its name in the store.
    pub fn name(self) -> &'static str {
        match self {
            Self::Out => "out",
            Self::Err => "err",
        }
    }
}

/// What a run has used.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Usage {
    /// CPU time of all its processes, also of those that have ended.
    pub cpu: Duration,
    /// Bytes of resident memory of all its processes now.
    pub memory: u64,
    /// Processes that are alive.
    pub processes: u32,
    /// Whether one of them wants to run: on a loaded machine it may have to wait for its turn.
    pub runnable: bool,
}

/// What came of ending a run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Ended {
    /// How many processes, containers or jobs were ended.
    pub ended: u32,
    /// What is still there.
    pub survivors: Vec<Survivor>,
}

/// Why a run cannot be started.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{reason}")]
pub struct StartError {
    /// One line of cause.
    pub reason: String,
    /// One line of remedy.
    pub hint: Option<String>,
}

impl StartError {
    /// With its remedy.
    pub fn new(reason: impl Into<String>, hint: impl Into<String>) -> Self {
        Self { reason: reason.into(), hint: Some(hint.into()) }
    }
}

impl Hint for StartError {
    fn hint(&self) -> Option<String> {
        self.hint.clone()
    }
}
