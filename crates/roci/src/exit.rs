//! Exit codes. Help, man page and process status come from one enum.

use std::process::ExitCode;

use roci_hal::uri::UriErrorKind;

use crate::commands::doctor::DoctorError;
use crate::error::CliError;

/// How the command ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ExitStatus {
    Success = 0,
    /// The command ran and found problems, such as a wrong result of a kernel or a damaged file.
    Problems = 1,
    /// A usage error, or an internal error.
    Error = 2,
    /// A requested device is not available.
    NoDevice = 3,
    /// A device failed or timed out.
    DeviceFailed = 4,
    /// A program could not be started; shells use the same code.
    NotStarted = 127,
    /// Ctrl-C or SIGTERM; shells use the same code for a process that SIGINT killed.
    Interrupted = 130,
}

impl ExitStatus {
    /// All codes with their meaning, for help and man page.
    pub(crate) const MEANINGS: [(Self, &'static str); 7] = [
        (Self::Success, "success, including when the reader closes the output pipe early"),
        (
            Self::Problems,
            "problems found: on this machine, in a kernel's results, in an experiment, in a file, or a library without kernels for the chip",
        ),
        (Self::Error, "usage or internal error"),
        (Self::NoDevice, "a device is not available"),
        (Self::DeviceFailed, "a device failed or timed out"),
        (
            Self::NotStarted,
            "`roci emu exec` or `roci doctor watch` could not start the program; otherwise its exit code is passed on",
        ),
        (Self::Interrupted, "interrupted by Ctrl-C or SIGTERM"),
    ];

    /// The process exit code.
    pub(crate) fn code(self) -> u8 {
        self as u8
    }

    /// The more severe of two: a failed device over a missing one over a wrong result.
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
            // The reader of the output closed the pipe, as `head` does.
            CliError::Output(error) | CliError::Lab(roci_lab::LabError::Output(error))
                if error.kind() == std::io::ErrorKind::BrokenPipe =>
            {
                Self::Success
            }
            CliError::Hal(error) | CliError::Variable { source: error, .. } => error.into(),
            CliError::Kernel(_) => Self::Problems,
            CliError::Bench(error) => error.status(),
            CliError::Emu(error) => error.status(),
            CliError::Onnx(error) => error.status(),
            CliError::Language(error) => error.status(),
            CliError::Matrix(error) => error.status(),
            CliError::Doctor(DoctorError::NotStarted { .. }) => Self::NotStarted,
            CliError::Output(_)
            | CliError::File { .. }
            | CliError::UnknownDriver { .. }
            | CliError::UnknownKernel { .. }
            | CliError::Doctor(_)
            | CliError::Lab(_)
            | CliError::Library(_)
            | CliError::Chip(_) => Self::Error,
        }
    }
}

impl From<&roci_hal::Error> for ExitStatus {
    fn from(error: &roci_hal::Error) -> Self {
        use roci_hal::Error;
        match error {
            Error::Uri(error) => match error.reason {
                UriErrorKind::UnknownScheme(_)
                | UriErrorKind::UnknownDevice(_)
                | UriErrorKind::OutOfRange { .. }
                | UriErrorKind::OrdinalOverflow(_) => Self::NoDevice,
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
    fn the_more_severe_status_wins() {
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
    fn invalid_uris_are_usage_errors_and_unknown_devices_are_no_device() {
        let parsed = |text: &str| text.parse::<roci_hal::DeviceUri>().map_err(roci_hal::Error::from);
        let error = parsed("cpu:0,").expect_err("a trailing comma");
        assert_eq!(ExitStatus::from(&error), ExitStatus::Error);
        let reason = UriErrorKind::OutOfRange { ordinal: 7, count: 1 };
        let error = roci_hal::Error::from(roci_hal::uri::UriError::new("cpu:7", reason));
        assert_eq!(ExitStatus::from(&error), ExitStatus::NoDevice);
    }
}
