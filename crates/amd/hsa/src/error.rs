//! Errors of the HSA runtime.

use std::path::PathBuf;

use crate::abi::Status;
use crate::kernel_driver::KernelDriver;
use crate::search::NotFound;

/// An error of the runtime or of finding it; [`Error::remedy`] suggests a fix.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// No usable library was found.
    #[error(transparent)]
    NotFound(#[from] NotFound),
    /// The library was found, but `hsa_init` failed.
    #[error("the HSA runtime `{}` does not start ({status}): {kernel_driver}", library.display())]
    Start {
        /// File of the library.
        library: PathBuf,
        /// Result of `hsa_init`.
        status: Status,
        /// State of the kernel driver, the usual cause.
        kernel_driver: KernelDriver,
    },
    /// A call failed.
    #[error("`{call}` failed: {status}{}", meaning(*status))]
    Call {
        /// Name of the C function.
        call: &'static str,
        /// Its result.
        status: Status,
    },
    /// The library is too old to have a function.
    #[error("this HSA runtime has no `{0}`")]
    MissingFunction(&'static str),
    /// A call succeeded with an impossible result.
    #[error("`{call}` succeeded, but returned {what}")]
    InvalidResult {
        /// Name of the C function.
        call: &'static str,
        /// Description of the result.
        what: &'static str,
    },
    /// A symbol name contains a NUL byte.
    #[error("symbol name `{0}` contains a NUL byte")]
    NulByte(String),
}

/// ` (meaning)` for a status with a known meaning.
fn meaning(status: Status) -> String {
    status.meaning().map(|meaning| format!(" ({meaning})")).unwrap_or_default()
}

impl Error {
    /// Suggested fix, if one is known.
    pub fn remedy(&self) -> Option<String> {
        match self {
            Error::NotFound(error) => Some(error.remedy()),
            Error::Start { kernel_driver, .. } => Some(kernel_driver.remedy().to_owned()),
            Error::Call { status, .. } => status.remedy().map(str::to_owned),
            Error::MissingFunction(_) => Some("use a newer libhsa-runtime64".to_owned()),
            Error::InvalidResult { .. } | Error::NulByte(_) => None,
        }
    }

    /// Status of the failed call, if the error comes from one.
    pub fn status(&self) -> Option<Status> {
        match self {
            Error::Start { status, .. } | Error::Call { status, .. } => Some(*status),
            _ => None,
        }
    }
}

/// Turns the status of a call into a result. Informational codes are not errors.
pub(crate) fn check(call: &'static str, status: Status) -> Result<(), Error> {
    if status.is_ok() { Ok(()) } else { Err(Error::Call { call, status }) }
}
