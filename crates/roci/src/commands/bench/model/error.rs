//! Why a language model has no figures.

use roci_hal::Hint;

use crate::commands::language::LanguageError;
use crate::exit::ExitStatus;

/// What is wrong.
#[derive(Debug, thiserror::Error)]
pub(crate) enum BenchError {
    /// Tests without tokens.
    #[error("there is nothing to measure: no prompt to read and no token to write")]
    Nothing,
    /// The file.
    #[error(transparent)]
    File(LanguageError),
    /// The model on one device.
    #[error("{device}: {source}")]
    On {
        /// Which device.
        device: String,
        /// What happened there.
        source: Box<LanguageError>,
    },
    /// What was computed cannot be right, so its speed means nothing.
    #[error("{device}: {test} gave logits that {fault}")]
    Wrong {
        /// Which device.
        device: String,
        /// Which test.
        test: String,
        /// What is wrong with them.
        fault: &'static str,
    },
}

impl BenchError {
    /// How the command ends.
    pub(crate) fn status(&self) -> ExitStatus {
        match self {
            Self::Nothing => ExitStatus::Error,
            Self::File(error) => error.status(),
            Self::On { source, .. } => source.status(),
            Self::Wrong { .. } => ExitStatus::Problems,
        }
    }
}

impl Hint for BenchError {
    fn hint(&self) -> Option<String> {
        match self {
            Self::Nothing => Some("give `-p` or `-n` a number above 0".into()),
            Self::File(error) => error.hint(),
            Self::On { source, .. } => source.hint(),
            Self::Wrong { device, .. } => Some(format!("`roci demo --device {device}` tries the device's kernels")),
        }
    }
}
