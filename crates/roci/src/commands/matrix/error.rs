//! Why there is no matrix.

use std::path::PathBuf;

use roci_hal::Hint;

use crate::exit::ExitStatus;

/// What is wrong.
#[derive(Debug, thiserror::Error)]
pub(crate) enum MatrixError {
    /// The file of results.
    #[error("the results in `{}` cannot be used: {reason}", path.display())]
    Database {
        /// Which file.
        path: PathBuf,
        /// Why.
        reason: String,
    },
    /// Nothing is called that.
    #[error("no probe has `{0}` in its name")]
    NoProbe(String),
    /// None of the devices that were named can be used; why the first cannot.
    #[error("{reason}")]
    NoDevice {
        /// Why.
        reason: String,
        /// What helps.
        hint: String,
    },
    /// Two answers for one reader.
    #[error("`--json` and `--markdown -` both go to standard output")]
    TwoAnswers,
}

impl Hint for MatrixError {
    fn hint(&self) -> Option<String> {
        Some(match self {
            Self::Database { .. } => "name another file by `--database`, or move this one away".into(),
            Self::NoProbe(_) => "`roci matrix --list` shows all of them".into(),
            Self::NoDevice { hint, .. } => hint.clone(),
            Self::TwoAnswers => "name a file behind `--markdown`".into(),
        })
    }
}

impl MatrixError {
    /// None of the devices can be used; `told` is what the process that tried the first said, in one line with its hint.
    pub(super) fn no_device(told: &str) -> Self {
        let (reason, hint) = told.strip_suffix(')').and_then(|told| told.split_once(" (hint: ")).unwrap_or((told, ""));
        let hint = if hint.is_empty() { "`roci devices` lists what is there" } else { hint };
        Self::NoDevice { reason: reason.to_owned(), hint: hint.to_owned() }
    }

    /// The exit code: a device that is not there is none of the others.
    pub(crate) fn status(&self) -> ExitStatus {
        if matches!(self, Self::NoDevice { .. }) { ExitStatus::NoDevice } else { ExitStatus::Error }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_process_said_of_a_device_is_taken_apart() {
        let error =
            MatrixError::no_device("there is no device 99: the last one (of 1) is 0 (hint: devices are: vulkan://0)");
        assert_eq!(error.to_string(), "there is no device 99: the last one (of 1) is 0");
        assert_eq!(error.hint().as_deref(), Some("devices are: vulkan://0"));
        assert_eq!(error.status(), ExitStatus::NoDevice);
        assert_eq!(MatrixError::no_device("gone (for now)").to_string(), "gone (for now)");
    }
}
