//! Exit codes: one enum, from which the help, the man page and the process status are made.

use std::process::ExitCode;

use roci_hal::uri::UriReason;

use crate::error::CliError;

/// How the command ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ExitStatus {
    /// Everything is fine.
    Success = 0,
    /// The command worked and the answer is no: a kernel computed something wrong, a file is damaged.
    Problems = 1,
    /// The command line is wrong, or we are.
    Error = 2,
    /// A device that was asked for is not there.
    NoDevice = 3,
    /// A device failed or did not answer in time.
    DeviceFailed = 4,
    /// A program that was to be run could not be started; shells use the same number.
    NotStarted = 127,
    /// Ctrl-C; shells report a process that the signal ended with the same number.
    Interrupted = 130,
}

impl ExitStatus {
    /// All of them with their meaning, for the help and the man page.
    pub(crate) const MEANINGS: [(Self, &'static str); 7] = [
        (Self::Success, "fine; also when the reader of a pipe goes away"),
        (
            Self::Problems,
            "found problems: on this machine, in a kernel's results, in an experiment, in a file, in a library without kernels for a chip",
        ),
        (Self::Error, "usage or internal error"),
        (Self::NoDevice, "a device is not available"),
        (Self::DeviceFailed, "a device failed or timed out"),
        (Self::NotStarted, "the program of `roci emu exec` cannot be started; else its own code is passed on"),
        (Self::Interrupted, "interrupted by Ctrl-C or SIGTERM"),
    ];

    /// The number that the shell sees.
    pub(crate) fn code(self) -> u8 {
        self as u8
    }

    /// The graver of two: a failed device over an absent one over a wrong result.
    pub(crate) fn and(self, other: Self) -> Self {
        let rank = |status| match status {
            Self::Success => 0,
            Self::Problems => 1,
            Self::NoDevice => 2,
            Self::DeviceFailed => 3,
            Self::NotStarted => 4,
            Self::Error => 5,
            Self::Interrupted => 6,
        };
        if rank(other) > rank(self) { other } else { self }
    }
}

impl From<ExitStatus> for ExitCode {
    fn from(status: ExitStatus) -> Self {
        Self::from(status.code())
    }
}

impl From<&CliError> for ExitStatus {
    fn from(error: &CliError) -> Self {
        match error {
            // Whoever read our output has seen enough.
            CliError::Output(error) | CliError::Lab(roci_lab::LabError::Output(error))
                if error.kind() == std::io::ErrorKind::BrokenPipe =>
            {
                Self::Success
            }
            CliError::Hal(error) | CliError::Variable { source: error, .. } => error.into(),
            CliError::Kernel(_) => Self::Problems,
            CliError::Bench(error) => error.status(),
            CliError::Emu(error) => error.status(),
            CliError::Model(error) => error.status(),
            CliError::Language(error) => error.status(),
            CliError::Matrix(error) => error.status(),
            CliError::Output(_)
            | CliError::File { .. }
            | CliError::UnknownDriver { .. }
            | CliError::UnknownKernel { .. }
            | CliError::Doctor(_)
            | CliError::Lab(_)
            | CliError::Library(_)
            | CliError::Target { .. }
            | CliError::GenericTarget { .. } => Self::Error,
        }
    }
}

impl From<&roci_hal::Error> for ExitStatus {
    fn from(error: &roci_hal::Error) -> Self {
        use roci_hal::Error;
        match error {
            Error::Uri(error) => match error.reason {
                UriReason::UnknownScheme(_)
                | UriReason::UnknownDevice(_)
                | UriReason::OutOfRange { .. }
                | UriReason::HugeOrdinal(_) => Self::NoDevice,
                _ => Self::Error,
            },
            Error::Unavailable { .. } => Self::NoDevice,
            Error::OutOfMemory { .. } | Error::Timeout { .. } | Error::Lost(_) | Error::Kernel { .. } => {
                Self::DeviceFailed
            }
            _ => Self::Error,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_graver_status_wins() {
        assert_eq!(ExitStatus::Success.and(ExitStatus::Problems), ExitStatus::Problems);
        assert_eq!(ExitStatus::DeviceFailed.and(ExitStatus::Problems), ExitStatus::DeviceFailed);
        assert_eq!(ExitStatus::NoDevice.and(ExitStatus::DeviceFailed), ExitStatus::DeviceFailed);
    }

    #[test]
    fn a_broken_pipe_is_success_and_a_full_disk_is_not() {
        let output = |kind| ExitStatus::from(&CliError::Output(std::io::Error::from(kind)));
        assert_eq!(output(std::io::ErrorKind::BrokenPipe), ExitStatus::Success);
        assert_eq!(output(std::io::ErrorKind::StorageFull), ExitStatus::Error);
    }

    #[test]
    fn a_uri_that_cannot_be_read_is_usage_and_one_that_names_nothing_is_no_device() {
        let parsed = |text: &str| text.parse::<roci_hal::DeviceUri>().map_err(roci_hal::Error::from);
        let error = parsed("cpu:0,").expect_err("a trailing comma");
        assert_eq!(ExitStatus::from(&error), ExitStatus::Error);
        let reason = UriReason::OutOfRange { ordinal: 7, count: 1 };
        let error = roci_hal::Error::from(roci_hal::uri::UriError::new("cpu:7", reason));
        assert_eq!(ExitStatus::from(&error), ExitStatus::NoDevice);
    }
}
