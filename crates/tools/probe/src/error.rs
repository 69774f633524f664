//! Errors that end a probe before it has a result.

use roci_base::Hint;

/// Why a probe has no result.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The device or its memory failed.
    #[error(transparent)]
    Hal(#[from] roci_hal::Error),
    /// A kernel cannot be written in the device's language.
    #[error(transparent)]
    Kernel(#[from] roci_kernels::Error),
    /// No kernel in the table has this name.
    #[error("there is no kernel whose name starts with `{name}`")]
    UnknownKernel {
        /// The name prefix that was requested.
        name: String,
        /// The names of all kernels.
        known: Vec<&'static str>,
    },
}

impl Hint for Error {
    fn hint(&self) -> Option<String> {
        match self {
            Self::Hal(error) => error.hint(),
            Self::Kernel(_) => Some("this is a bug in roci: report it with the output of `roci devices --json`".into()),
            Self::UnknownKernel { known, .. } => Some(format!("kernels are: {}", known.join(", "))),
        }
    }
}
