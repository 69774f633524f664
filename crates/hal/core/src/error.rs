//! Errors of the HAL. Each variant is one that callers can act on, and has a hint.

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use crate::executable::Access;
use crate::uri::UriError;
use roci_base::Hint;
use roci_base::env::Variable;

/// An error of the HAL.
///
/// Cheap to clone: a failed semaphore reports the same cause to all waiters.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A device URI that does not parse or names no existing device.
    #[error(transparent)]
    Uri(Box<UriError>),
    /// A driver, library or device that is not usable on this machine.
    #[error("{what} is not available: {reason}")]
    Unavailable {
        /// The driver, library or device.
        what: String,
        /// Why it is not usable.
        reason: String,
        /// How to fix it.
        hint: String,
    },
    /// An invalid call. It had no effect.
    #[error("{call}: {reason}")]
    Invalid {
        /// The operation in the caller's terms (`dispatch of "softmax"`).
        call: String,
        /// What is invalid, with the values.
        reason: String,
        /// How to correct the call.
        hint: Cow<'static, str>,
    },
    /// An environment variable with an invalid value.
    #[error("{} is `{value}`, which is not {expected}", variable.name)]
    Environment {
        /// Variable that has the invalid value.
        variable: &'static Variable,
        /// Text in the environment.
        value: String,
        /// The valid values.
        expected: &'static str,
    },
    /// Native code whose binding accesses differ from those its entry point declares. Drivers would
    /// miss conflicts between commands.
    #[error(
        "entry point \"{entry_point}\" declares its bindings as {declared:?}, but its native code uses them as {used:?}"
    )]
    BindingMismatch {
        /// Name of the kernel in the executable.
        entry_point: String,
        /// Accesses that the entry point declares.
        declared: Vec<Access>,
        /// Accesses that the code reports.
        used: Vec<Access>,
    },
    /// An allocation that failed for lack of memory.
    #[error("{device} cannot allocate {requested} bytes{}", limit.map(|l| format!(" (the limit is {l} bytes)")).unwrap_or_default())]
    OutOfMemory {
        /// Device that is out of memory.
        device: String,
        /// Requested size in bytes.
        requested: u64,
        /// The exceeded limit in bytes, if known.
        limit: Option<u64>,
    },
    /// A wait that reached its deadline. The device may still be healthy; [`Error::Lost`] reports a
    /// lost one.
    #[error("no completion within {:.3} s on {device}{}", waited.as_secs_f64(), in_flight)]
    Timeout {
        /// Device that was waited for.
        device: String,
        /// Time until the deadline.
        waited: Duration,
        /// Work in flight at the deadline.
        in_flight: Box<InFlight>,
    },
    /// A kernel whose compilation timed out. The device stays usable.
    #[error("\"{kernel}\" was still compiling after {:.3} s on {device}", limit.as_secs_f64())]
    Compile {
        /// Device that compiles.
        device: String,
        /// The executable's label.
        kernel: String,
        /// The timeout.
        limit: Duration,
    },
    /// The device is lost. Every later call reports the first cause.
    #[error("{0}")]
    Lost(Arc<DeviceLoss>),
    /// A submission failed. The device stays usable.
    #[error("{}{kernel} failed on {device}: {reason}", label.as_deref().map(|l| format!("{l}: ")).unwrap_or_default())]
    Kernel {
        /// Device that ran the kernel.
        device: String,
        /// The submission's label.
        label: Option<String>,
        /// The kernel or operation.
        kernel: String,
        /// How it failed.
        reason: String,
    },
}

/// Work in flight when a wait timed out or a device was lost.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct InFlight {
    /// Index of the queue; `None` if nothing was in flight.
    pub queue: Option<usize>,
    /// Label of the submission.
    pub label: Option<String>,
    /// The kernel or operation.
    pub kernel: Option<String>,
    /// Whether the driver was compiling it.
    pub compiling: bool,
    /// The last kernel or operation that completed on that queue.
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

/// Why and when a device was lost.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct DeviceLoss {
    /// Device that failed and stays lost.
    pub device: String,
    /// The cause.
    pub reason: DeviceLossReason,
    /// Work in flight at the time.
    pub in_flight: InFlight,
}

/// Cause of a device loss.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum DeviceLossReason {
    /// A command exceeded its timeout.
    Hang {
        /// The timeout.
        limit: Duration,
    },
    /// The compilation of a submission's kernel timed out. A submission cannot be canceled.
    Compile {
        /// The timeout.
        limit: Duration,
    },
    /// The driver or the hardware reported a fault.
    Fault(String),
    /// Requested through [`Device::lose`](crate::Device::lose).
    Requested(String),
}

impl fmt::Display for DeviceLoss {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} is lost: ", self.device)?;
        match &self.reason {
            DeviceLossReason::Hang { limit } => {
                write!(f, "a submission did not end within {:.3} s", limit.as_secs_f64())?;
            }
            DeviceLossReason::Compile { limit } => {
                write!(f, "a kernel was still compiling after {:.3} s", limit.as_secs_f64())?;
            }
            DeviceLossReason::Fault(fault) => f.write_str(fault)?,
            DeviceLossReason::Requested(reason) => f.write_str(reason)?,
        }
        write!(f, "{}", self.in_flight)
    }
}

impl From<UriError> for Error {
    fn from(error: UriError) -> Self {
        Self::Uri(Box::new(error))
    }
}

impl Error {
    /// An [`Error::Invalid`] with a generic hint. Use [`Error::with_hint`] where the reason does
    /// not show what to change.
    pub fn invalid(call: impl Into<String>, reason: impl Into<String>) -> Self {
        let hint = "correct this call: it had no effect, and the device stays usable".into();
        Self::Invalid { call: call.into(), reason: reason.into(), hint }
    }

    /// An [`Error::Invalid`] for an object of another device.
    pub(crate) fn foreign(call: impl Into<String>, reason: impl Into<String>) -> Self {
        Self::invalid(call, reason).with_hint("allocate, load and record on the device that executes the work")
    }

    /// Replaces the hint of an [`Error::Invalid`]. Other errors are unchanged.
    #[must_use]
    pub fn with_hint(mut self, advice: impl Into<Cow<'static, str>>) -> Self {
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
            Self::BindingMismatch { .. } => Some(
                "declare the bindings as the code uses them, or load the code that belongs to this entry point".into(),
            ),
            Self::OutOfMemory { .. } => Some("free memory on the device, or use a smaller model or batch".into()),
            Self::Timeout { .. } => Some(
                "raise ROCI_TIMEOUT (seconds) if the work is long; `roci devices` shows whether the device answers"
                    .into(),
            ),
            Self::Compile { .. } => Some(COMPILE_HINT.into()),
            Self::Lost(loss) => Some(match &loss.reason {
                DeviceLossReason::Compile { .. } => format!("{COMPILE_HINT}; open the device again"),
                DeviceLossReason::Hang { .. } => {
                    "raise ROCI_TIMEOUT (seconds) if the kernel is long; otherwise open the device again".into()
                }
                DeviceLossReason::Fault(_) | DeviceLossReason::Requested(_) => "open the device again".into(),
            }),
            Self::Kernel { .. } => Some("check the sizes in the constants against the bound buffers".into()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_invalid_call_has_a_hint() {
        let error = Error::invalid("copy", "from a range of 8 bytes to one of 4");
        assert_eq!(error.to_string(), "copy: from a range of 8 bytes to one of 4");
        assert!(error.hint().is_some_and(|hint| hint.contains("correct this call")));
        assert_eq!(error.with_hint("make both as long").hint().as_deref(), Some("make both as long"));
        let lost = Error::OutOfMemory { device: "cpu".into(), requested: 1, limit: None };
        assert_eq!(lost.clone().with_hint("nothing").hint(), lost.hint());
    }

    #[test]
    fn a_device_loss_names_device_queue_kernel_and_last_completed_kernel() {
        let loss = DeviceLoss {
            device: "amdgpu://0".into(),
            reason: DeviceLossReason::Hang { limit: Duration::from_secs(30) },
            in_flight: InFlight {
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
