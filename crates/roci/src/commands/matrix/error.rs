//! Errors of `roci matrix`.

use roci_base::Hint;

use crate::exit::ExitStatus;

/// Why the matrix cannot be run.
#[derive(Debug, thiserror::Error)]
pub(crate) enum MatrixError {
    /// The database, a filter or all devices are unusable.
    #[error(transparent)]
    Run(#[from] roci_matrix::Error),
    /// `--json` and `--markdown -` are both given.
    #[error("`--json` and `--markdown -` both write to standard output")]
    OutputConflict,
}

impl Hint for MatrixError {
    fn hint(&self) -> Option<String> {
        match self {
            Self::Run(error) => error.hint(),
            Self::OutputConflict => Some("give `--markdown` a file".into()),
        }
    }
}

impl MatrixError {
    pub(crate) fn status(&self) -> ExitStatus {
        match self {
            Self::Run(roci_matrix::Error::NoDevice { .. }) => ExitStatus::NoDevice,
            _ => ExitStatus::Error,
        }
    }
}
