//! How a run ended.

use std::fmt;

use serde::{Deserialize, Serialize};

/// How a run ended, as it is stored.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "outcome", rename_all = "lowercase")]
pub enum Outcome {
    /// All that was wanted came.
    Pass,
    /// It went further than what counts as progress, or ended well without all that was wanted.
    Partial {
        /// The last phase that it reached.
        phase: Option<String>,
        /// What is missing: `past async uploads, hung at graph_reserve`.
        why: String,
        /// How it ended, where it did not end by itself.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        end: Option<Box<Outcome>>,
    },
    /// It did not end, or did nothing any more.
    Hang {
        /// The last phase that it reached.
        phase: Option<String>,
        /// How that was noticed: `no output and no CPU for 60 s`.
        why: String,
        /// What its threads waited for.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        stack: Vec<Stack>,
        /// Processes that did not go away when they were killed.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        survivors: Vec<Survivor>,
    },
    /// It ended in an error.
    Crash {
        /// The last phase that it reached.
        phase: Option<String>,
        /// The signal, if one ended it.
        signal: Option<i32>,
        /// Its exit code, if it ended by itself.
        code: Option<i32>,
        /// The line that tells why: of its own output or of the kernel's log.
        fault: Option<String>,
        /// The last line of its output, where no line tells why.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        last_line: Option<String>,
    },
    /// It ended well, and what it computed is wrong.
    Wrong {
        /// The last phase that it reached.
        phase: Option<String>,
        /// What is wrong with it: the line that says so, or the rule it breaks.
        why: String,
    },
    /// The machine must be changed first.
    Pending {
        /// What to change, exactly, one thing each.
        changes: Vec<String>,
    },
    /// It could not be started.
    Blocked {
        /// Why.
        why: String,
        /// The doctor's rules that forbid it, where that is why.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        rules: Vec<String>,
    },
    /// It was not to be run.
    Skipped {
        /// Why.
        why: String,
    },
}

/// What a thread waited for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stack {
    /// The process.
    pub process: u32,
    /// The thread.
    pub thread: u32,
    /// Its name.
    pub name: String,
    /// Its state as the kernel writes it: `S`, `D`, `R`, `T`.
    pub state: String,
    /// Who told: `gdb`, `eu-stack`, `kernel`, `wchan`.
    pub source: String,
    /// The innermost first.
    pub frames: Vec<String>,
}

/// A process that was killed and is still there.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Survivor {
    /// The process.
    pub process: u32,
    /// Its name.
    pub name: String,
    /// Its state as the kernel writes it; `D` is uninterruptible sleep.
    pub state: String,
    /// What it waits for inside the kernel.
    pub waits_for: Option<String>,
}

impl Outcome {
    /// It could not be started, and no rule forbids it.
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

    /// The word for tables: `PASS`, `HANG`.
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

    /// The last phase that was reached, where a program ran.
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

    /// What is behind the word, in one line; empty for a pass.
    pub fn detail(&self) -> String {
        let at = |phase: &Option<String>| phase.as_ref().map(|phase| format!(" at {phase}")).unwrap_or_default();
        match self {
            Self::Pass => String::new(),
            Self::Partial { why, .. } => why.clone(),
            Self::Hang { phase, why, survivors, .. } => {
                let left = match survivors.as_slice() {
                    [] => String::new(),
                    [one] => format!("; process {} ({}) could not be ended", one.process, one.name),
                    more => format!("; {} processes could not be ended", more.len()),
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

/// A signal as people know it; the numbers are Linux's on x86-64 and AArch64.
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
