//! Errors of `roci emu`.

use roci_base::Hint;
use roci_emu_run::Error;

use crate::error::CliError;
use crate::exit::ExitStatus;

/// Why a kernel or a program cannot be emulated.
#[derive(Debug, thiserror::Error)]
pub(crate) enum EmuError {
    /// A kernel cannot be run, or the runtime cannot be installed.
    #[error(transparent)]
    Run(#[from] Error),
    /// The program of `roci emu exec` cannot be started.
    #[error("cannot start `{program}`: {source}")]
    NotStarted { program: String, source: std::io::Error },
}

impl EmuError {
    pub(crate) fn status(&self) -> ExitStatus {
        match self {
            Self::NotStarted { .. } => ExitStatus::NotStarted,
            Self::Run(Error::UnknownGpu(_)) => ExitStatus::NoDevice,
            Self::Run(Error::Timeout { .. } | Error::Emulator(roci_emu::Error::Dispatch(_))) => {
                ExitStatus::DeviceFailed
            }
            Self::Run(Error::Interrupted) => ExitStatus::Interrupted,
            Self::Run(_) => ExitStatus::Error,
        }
    }
}

impl Hint for EmuError {
    fn hint(&self) -> Option<String> {
        match self {
            Self::Run(error) => error.hint(),
            Self::NotStarted { .. } => Some("give a program in PATH, or the path of one, after `--`".into()),
        }
    }
}

impl From<Error> for CliError {
    fn from(error: Error) -> Self {
        match error {
            Error::Output(error) => Self::Output(error),
            error => EmuError::from(error).into(),
        }
    }
}
