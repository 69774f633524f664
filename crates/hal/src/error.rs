//! What can go wrong, in variants that a caller can act on, each with what to do about it.

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use crate::env::Variable;
use crate::executable::Access;
use crate::uri::UriError;

/// Advice that goes with an error: the line after `error:`, printed as `hint:`.
///
/// One trait for every crate's errors, so that the command line prints them all in one place.
pub trait Hint {
    /// What the user can do, as one sentence without a full stop; `None` when there is nothing to say.
    fn hint(&self) -> Option<String>;
}

/// An error of the HAL.
///
/// Cheap to clone: a failed semaphore hands the same cause to everyone who waits for it.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A device URI that does not parse or does not name what exists.
    #[error(transparent)]
    Uri(Box<UriError>),
    /// A driver or device that cannot be used here.
    #[error("{what} is not available: {reason}")]
    Unavailable {
        /// The driver, library or device.
        what: String,
        /// Why.
        reason: String,
        /// What to do.
        hint: String,
    },
    /// A call that breaks the HAL's contract; nothing was done.
    #[error("{call}: {reason}")]
    Invalid {
        /// The operation, as the caller knows it (`dispatch of "softmax"`).
        call: String,
        /// What is wrong, with the figures.
        reason: String,
        /// What to do instead.
        hint: Cow<'static, str>,
    },
    /// An environment variable that does not say what it must.
    #[error("{} is `{value}`, which is not {expected}", variable.name)]
    Environment {
        /// The variable.
        variable: &'static Variable,
        /// What it is set to.
        value: String,
        /// What it must be.
        expected: &'static str,
    },
    /// Native code that uses its bindings otherwise than its entry point declares, so that conflicts would go unseen.
    #[error(
        "entry point \"{entry_point}\" declares its bindings as {declared:?}, its native code uses them as {used:?}"
    )]
    Contract {
        /// The entry point.
        entry_point: String,
        /// What its contract says.
        declared: Vec<Access>,
        /// What the code says.
        used: Vec<Access>,
    },
    /// A memory request that the device cannot serve.
    #[error("{device} cannot allocate {requested} bytes{}", limit.map(|l| format!(" (the limit is {l} bytes)")).unwrap_or_default())]
    OutOfMemory {
        /// The device.
        device: String,
        /// Bytes asked for.
        requested: u64,
        /// The limit that was hit, where the driver knows it.
        limit: Option<u64>,
    },
    /// A wait that ended without its event. The device may still be fine: see [`Error::Lost`] for when it is not.
    #[error("no completion within {:.3} s on {device}{}", waited.as_secs_f64(), work)]
    Timeout {
        /// The device waited for.
        device: String,
        /// How long the wait was.
        waited: Duration,
        /// What was running.
        work: Box<InFlight>,
    },
    /// A kernel that the driver did not compile in time. The device goes on.
    #[error("\"{kernel}\" was still compiling after {:.3} s on {device}", limit.as_secs_f64())]
    Compile {
        /// The device.
        device: String,
        /// The executable's label.
        kernel: String,
        /// The limit.
        limit: Duration,
    },
    /// The device is gone for good; every later call gives the first cause.
    #[error("{0}")]
    Lost(Arc<Loss>),
    /// A submission failed by itself while the device goes on.
    #[error("{}{kernel} failed on {device}: {reason}", label.as_deref().map(|l| format!("{l}: ")).unwrap_or_default())]
    Kernel {
        /// The device.
        device: String,
        /// The submission's label.
        label: Option<String>,
        /// The kernel.
        kernel: String,
        /// What it did.
        reason: String,
    },
}

/// What was running when a wait gave up: the words that turn "it hangs" into a report.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct InFlight {
    /// Queue index.
    pub queue: Option<usize>,
    /// Label of the submission.
    pub label: Option<String>,
    /// Kernel or operation in flight.
    pub kernel: Option<String>,
    /// Whether the driver still compiles it.
    pub compiling: bool,
    /// The last kernel or operation that finished on that queue.
    pub last_finished: Option<String>,
}

impl fmt::Display for InFlight {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&self.queue, &self.kernel) {
            (Some(queue), Some(kernel)) => {
                let state = if self.compiling { "compiling" } else { "in flight" };
                write!(f, ", queue {queue}: \"{kernel}\" {state}")?;
            }
            (Some(queue), None) => write!(f, ", queue {queue}")?,
            (None, _) => f.write_str(", nothing in flight")?,
        }
        if let Some(label) = &self.label {
            write!(f, " (submission \"{label}\")")?;
        }
        match &self.last_finished {
            Some(last) => write!(f, ", last finished: \"{last}\""),
            None => f.write_str(", nothing finished before"),
        }
    }
}

/// Why a device was lost.
#[derive(Clone, Debug)]
pub struct Loss {
    /// The device.
    pub device: String,
    /// What happened.
    pub reason: LossReason,
    /// What was running.
    pub work: InFlight,
}

/// The kinds of loss.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum LossReason {
    /// A submission ran past its limit.
    Hang {
        /// The limit.
        limit: Duration,
    },
    /// The driver still compiled a kernel of a submission, which it cannot give back.
    Compile {
        /// The limit.
        limit: Duration,
    },
    /// The driver or the hardware reported a fault.
    Fault(String),
    /// Somebody asked for it, in a test or to give up on a device.
    Requested(String),
}

impl fmt::Display for Loss {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} is lost: ", self.device)?;
        match &self.reason {
            LossReason::Hang { limit } => {
                write!(f, "a submission did not end within {:.3} s", limit.as_secs_f64())?;
            }
            LossReason::Compile { limit } => {
                write!(f, "a kernel was still compiling after {:.3} s", limit.as_secs_f64())?;
            }
            LossReason::Fault(fault) => f.write_str(fault)?,
            LossReason::Requested(reason) => f.write_str(reason)?,
        }
        write!(f, "{}", self.work)
    }
}

impl From<UriError> for Error {
    fn from(error: UriError) -> Self {
        Self::Uri(Box::new(error))
    }
}

impl Error {
    /// An [`Error::Invalid`] whose reason alone shows what to change; [`Error::hinted`] where it does not.
    pub fn invalid(call: impl Into<String>, reason: impl Into<String>) -> Self {
        let hint = "correct this call: nothing was done, and the device goes on".into();
        Self::Invalid { call: call.into(), reason: reason.into(), hint }
    }

    /// Something that belongs to another device.
    pub(crate) fn foreign(call: impl Into<String>, reason: impl Into<String>) -> Self {
        Self::invalid(call, reason).hinted("allocate, load and record on the device that executes the work")
    }

    /// The same [`Error::Invalid`] with advice of its own; other errors carry theirs already and stay as they are.
    #[must_use]
    pub fn hinted(mut self, advice: impl Into<Cow<'static, str>>) -> Self {
        if let Self::Invalid { hint, .. } = &mut self {
            *hint = advice.into();
        }
        self
    }
}

const COMPILE_HINT: &str = "raise ROCI_COMPILE_TIMEOUT (seconds) if the machine is busy, or use another driver";

impl Hint for Error {
    fn hint(&self) -> Option<String> {
        match self {
            Self::Uri(error) => error.hint(),
            Self::Unavailable { hint, .. } => Some(hint.clone()),
            Self::Invalid { hint, .. } => Some(hint.clone().into_owned()),
            Self::Environment { variable, expected, .. } => {
                Some(format!("set {} to {expected}, or unset it (default: {})", variable.name, variable.default))
            }
            Self::Contract { .. } => {
                Some("declare the bindings as the code uses them, or pair it with its own code".into())
            }
            Self::OutOfMemory { .. } => Some("free memory on the device, or use a smaller model or batch".into()),
            Self::Timeout { .. } => Some(
                "raise ROCI_TIMEOUT (seconds) if the work is long; `roci devices` shows whether the device answers"
                    .into(),
            ),
            Self::Compile { .. } => Some(COMPILE_HINT.into()),
            Self::Lost(loss) => Some(match &loss.reason {
                LossReason::Compile { .. } => format!("{COMPILE_HINT}; open the device again"),
                LossReason::Hang { .. } => {
                    "raise ROCI_TIMEOUT (seconds) if the kernel is long; otherwise open the device again".into()
                }
                LossReason::Fault(_) | LossReason::Requested(_) => "open the device again".into(),
            }),
            Self::Kernel { .. } => Some("check the sizes in the constants against the bound buffers".into()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_invalid_call_says_what_to_do_instead() {
        let error = Error::invalid("copy", "from a range of 8 bytes to one of 4");
        assert_eq!(error.to_string(), "copy: from a range of 8 bytes to one of 4");
        assert!(error.hint().is_some_and(|hint| hint.contains("correct this call")));
        assert_eq!(error.hinted("make both as long").hint().as_deref(), Some("make both as long"));
        let lost = Error::OutOfMemory { device: "cpu".into(), requested: 1, limit: None };
        assert_eq!(lost.clone().hinted("nothing").hint(), lost.hint());
    }

    #[test]
    fn a_loss_names_device_queue_kernel_and_predecessor() {
        let loss = Loss {
            device: "amdgpu://0".into(),
            reason: LossReason::Hang { limit: Duration::from_secs(30) },
            work: InFlight {
                queue: Some(1),
                label: Some("layer 3".into()),
                kernel: Some("matmul_f32".into()),
                compiling: false,
                last_finished: Some("softmax".into()),
            },
        };
        assert_eq!(
            Error::Lost(Arc::new(loss)).to_string(),
            "amdgpu://0 is lost: a submission did not end within 30.000 s, queue 1: \"matmul_f32\" in flight \
             (submission \"layer 3\"), last finished: \"softmax\""
        );
    }
}
