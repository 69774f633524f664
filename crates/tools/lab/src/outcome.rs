//! Outcomes of runs.

use std::fmt;

use serde::{Deserialize, Serialize};

/// Outcome of a run, as it is stored.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "outcome", rename_all = "lowercase")]
pub enum Outcome {
    /// All criteria were met.
    Pass,
    /// It got past the phase that counts as progress, or exited successfully without meeting all
    /// criteria.
    Partial {
        /// Last phase reached.
        phase: Option<String>,
        /// What is missing: `past async uploads, hung at graph_reserve`.
        why: String,
        /// How it ended, if not by itself.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        end: Option<Box<Outcome>>,
    },
    /// It timed out or stalled.
    Hang {
        /// Last phase reached.
        phase: Option<String>,
        /// How that was detected: `no output and no CPU for 60 s`.
        why: String,
        /// Stacks of its threads.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        stack: Vec<Stack>,
        /// Processes that survived SIGKILL.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        survivors: Vec<Survivor>,
    },
    /// It ended with an error.
    Crash {
        /// Last phase reached.
        phase: Option<String>,
        /// Signal that killed it.
        signal: Option<i32>,
        /// Exit code, if it exited.
        code: Option<i32>,
        /// The line with the reason, from its output or the kernel log.
        fault: Option<String>,
        /// Last output line, if no line has the reason.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        last_line: Option<String>,
    },
    /// It exited successfully with a wrong result.
    Wrong {
        /// Last phase reached.
        phase: Option<String>,
        /// What is wrong: the line that says so, or the violated criterion.
        why: String,
    },
    /// The machine must be changed first.
    Pending {
        /// Required changes, one each.
        changes: Vec<String>,
    },
    /// It could not be started.
    Blocked {
        /// Reason.
        why: String,
        /// The doctor's rules that forbid it, if that is the reason.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        rules: Vec<String>,
    },
    /// It was configured not to run.
    Skipped {
        /// Reason.
        why: String,
    },
}

/// Stack of a thread.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stack {
    /// PID.
    pub process: u32,
    /// Thread ID.
    pub thread: u32,
    /// Name of the thread.
    pub name: String,
    /// State in the kernel's notation: `S`, `D`, `R`, `T`.
    pub state: String,
    /// Source: `gdb`, `eu-stack`, `kernel`, `wchan`.
    pub source: String,
    /// Frames, innermost first.
    pub frames: Vec<String>,
}

/// A process that survived SIGKILL.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Survivor {
    /// PID.
    pub process: u32,
    /// Name as in `/proc/PID/comm`.
    pub name: String,
    /// State in the kernel's notation; `D` is uninterruptible sleep.
    pub state: String,
    /// Kernel function it waits in.
    pub waits_for: Option<String>,
}

impl Outcome {
    /// BLOCKED without a rule that forbids it.
    pub fn blocked(why: impl Into<String>) -> Self {
        Self::Blocked { why: why.into(), rules: Vec::new() }
    }

    /// The doctor's rules that forbid it.
    pub fn rules(&self) -> &[String] {
        match self {
            Self::Blocked { rules, .. } => rules,
            _ => &[],
        }
    }

    /// Name in tables: `PASS`, `HANG`.
    pub fn word(&self) -> &'static str {
        match self {
            Self::Pass => "PASS",
            Self::Partial { .. } => "PARTIAL",
            Self::Hang { .. } => "HANG",
            Self::Crash { .. } => "CRASH",
            Self::Wrong { .. } => "WRONG",
            Self::Pending { .. } => "PENDING",
            Self::Blocked { .. } => "BLOCKED",
            Self::Skipped { .. } => "SKIPPED",
        }
    }

    /// Last phase reached, if a program ran.
    pub fn phase(&self) -> Option<&str> {
        match self {
            Self::Partial { phase, .. }
            | Self::Hang { phase, .. }
            | Self::Crash { phase, .. }
            | Self::Wrong { phase, .. } => phase.as_deref(),
            _ => None,
        }
    }

    /// Whether a program ran.
    pub fn ran(&self) -> bool {
        !matches!(self, Self::Pending { .. } | Self::Blocked { .. } | Self::Skipped { .. })
    }

    /// Details in one line; empty for a pass.
    pub fn detail(&self) -> String {
        let at = |phase: &Option<String>| phase.as_ref().map(|phase| format!(" at {phase}")).unwrap_or_default();
        match self {
            Self::Pass => String::new(),
            Self::Partial { why, .. } => why.clone(),
            Self::Hang { phase, why, survivors, .. } => {
                let left = match survivors.as_slice() {
                    [] => String::new(),
                    [one] => format!("; process {} ({}) survived SIGKILL", one.process, one.name),
                    more => format!("; {} processes survived SIGKILL", more.len()),
                };
                format!("hung{}: {why}{left}", at(phase))
            }
            Self::Crash { phase, signal, code, fault, last_line } => {
                let how = match (signal, code) {
                    (Some(signal), _) => signal_name(*signal),
                    (None, Some(code)) => format!("exit code {code}"),
                    (None, None) => "it went away".to_owned(),
                };
                let fault = fault.as_ref().map(|fault| format!(": {fault}")).unwrap_or_default();
                let last = last_line.as_ref().map(|line| format!("; its last line: {line}"));
                format!("{how}{}{fault}{}", at(phase), last.unwrap_or_default())
            }
            Self::Wrong { why, .. } | Self::Blocked { why, .. } | Self::Skipped { why } => why.clone(),
            Self::Pending { changes } => changes.join("; "),
        }
    }
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.detail() {
            detail if detail.is_empty() => f.write_str(self.word()),
            detail => write!(f, "{} - {detail}", self.word()),
        }
    }
}

/// Name of a signal; the numbers are Linux's on x86-64 and AArch64.
pub fn signal_name(signal: i32) -> String {
    const NAMES: [&str; 15] = [
        "SIGHUP", "SIGINT", "SIGQUIT", "SIGILL", "SIGTRAP", "SIGABRT", "SIGBUS", "SIGFPE", "SIGKILL", "SIGUSR1",
        "SIGSEGV", "SIGUSR2", "SIGPIPE", "SIGALRM", "SIGTERM",
    ];
    let known = usize::try_from(signal - 1).ok().and_then(|at| NAMES.get(at));
    match (known, signal) {
        (Some(name), _) => (*name).to_owned(),
        (None, 24) => "SIGXCPU".to_owned(),
        (None, 31) => "SIGSYS".to_owned(),
        (None, _) => format!("signal {signal}"),
    }
}
