//! What can go wrong between a driver and the HSA runtime.

use std::path::PathBuf;

use crate::abi::Status;
use crate::kernel_driver::KernelDriver;
use crate::search::NotFound;

/// An error of the runtime, or of the way to it. [`remedy`](Error::remedy) has what to do.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// No library works.
    #[error(transparent)]
    NotFound(#[from] NotFound),
    /// The library is there, but it does not start.
    #[error("the HSA runtime `{}` does not start ({status}): {kernel_driver}", library.display())]
    Start {
        /// The library.
        library: PathBuf,
        /// What `hsa_init` returned.
        status: Status,
        /// What a look at the kernel's side found.
        kernel_driver: KernelDriver,
    },
    /// A call failed.
    #[error("`{call}` failed: {status}{}", meaning(*status))]
    Call {
        /// The function's name in C.
        call: &'static str,
        /// What it returned.
        status: Status,
    },
    /// The library is too old for a function.
    #[error("this HSA runtime has no `{0}`")]
    Absent(&'static str),
    /// The library answered with something that cannot be.
    #[error("`{call}` succeeded, but gave {what}")]
    Answer {
        /// The function's name in C.
        call: &'static str,
        /// What it gave.
        what: &'static str,
    },
    /// A name with a zero byte in it cannot be a symbol's.
    #[error("`{0}` holds a zero byte, so it is not the name of a symbol")]
    ZeroByte(String),
}

/// `: what it means`, for a status that has a meaning.
fn meaning(status: Status) -> String {
    status.meaning().map(|meaning| format!(" ({meaning})")).unwrap_or_default()
}

impl Error {
    /// What to do about it, where there is something.
    pub fn remedy(&self) -> Option<String> {
        match self {
            Error::NotFound(error) => Some(error.remedy()),
            Error::Start { kernel_driver, .. } => Some(kernel_driver.remedy().to_owned()),
            Error::Call { status, .. } => status.remedy().map(str::to_owned),
            Error::Absent(_) => Some("use a newer libhsa-runtime64".to_owned()),
            Error::Answer { .. } | Error::ZeroByte(_) => None,
        }
    }

    /// The status of the call that failed, if one did.
    pub fn status(&self) -> Option<Status> {
        match self {
            Error::Start { status, .. } | Error::Call { status, .. } => Some(*status),
            _ => None,
        }
    }
}

/// The status of a call as a result; what only informs is no error.
pub(crate) fn check(call: &'static str, status: Status) -> Result<(), Error> {
    if status.is_ok() { Ok(()) } else { Err(Error::Call { call, status }) }
}
