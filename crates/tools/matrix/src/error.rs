//! Errors of a run of the matrix.

use std::path::PathBuf;

use roci_base::Hint;

/// Why the matrix cannot be run.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The database cannot be used.
    #[error("cannot use the database `{}`: {reason}", path.display())]
    Database {
        /// Path of the database.
        path: PathBuf,
        /// The error.
        reason: String,
    },
    /// No probe matches a filter.
    #[error("no probe has `{0}` in its name")]
    NoProbe(String),
    /// None of the named devices can be used; the error is that of the first.
    #[error("{reason}")]
    NoDevice {
        /// The error.
        reason: String,
        /// The remedy.
        hint: String,
    },
}

impl Hint for Error {
    fn hint(&self) -> Option<String> {
        Some(match self {
            Self::Database { .. } => "give another file with `--database`, or move this one".into(),
            Self::NoProbe(_) => "`roci matrix --list` lists all probes".into(),
            Self::NoDevice { hint, .. } => hint.clone(),
        })
    }
}

impl Error {
    /// No device can be used; `message` is the error of the first in one line, with its hint.
    pub(crate) fn no_device(message: &str) -> Self {
        let split = message.strip_suffix(')').and_then(|message| message.split_once(" (hint: "));
        let (reason, hint) = split.unwrap_or((message, "`roci devices` lists the devices"));
        Self::NoDevice { reason: reason.to_owned(), hint: hint.to_owned() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn error_and_hint_of_a_process_are_separated() {
        let error = Error::no_device("there is no device 99: the last one (of 1) is 0 (hint: devices are: vulkan://0)");
        assert_eq!(error.to_string(), "there is no device 99: the last one (of 1) is 0");
        assert_eq!(error.hint().as_deref(), Some("devices are: vulkan://0"));
        let error = Error::no_device("gone (for now)");
        assert_eq!(error.to_string(), "gone (for now)");
        assert_eq!(error.hint().as_deref(), Some("`roci devices` lists the devices"));
    }
}
