//! Why a model cannot be loaded to a device.

use roci_base::Hint;
use roci_engine::ForwardError;

/// Why a model cannot be loaded to a device, or a step fails.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The device failed.
    #[error(transparent)]
    Device(#[from] roci_hal::Error),
    /// A kernel is not available.
    #[error("{0}")]
    Kernel(String),
    /// The file has an error or is not supported.
    #[error("{message}")]
    File {
        /// What is wrong with the file.
        message: String,
        /// What to do.
        hint: Option<String>,
    },
    /// A tensor exceeds the largest binding of the device.
    #[error("{what} needs a binding of {}, but {device} supports at most {}", size(*bytes), size(*limit))]
    Binding {
        /// Tensor or buffer.
        what: String,
        /// Bytes that it needs.
        bytes: u64,
        /// URI of the device.
        device: String,
        /// Bytes of the device's largest binding.
        limit: u64,
        /// What to do.
        hint: &'static str,
    },
    /// The model does not fit the devices.
    #[error("{message}")]
    Memory {
        /// Memory needed and available.
        message: String,
        /// What to do.
        hint: String,
    },
}

impl Error {
    pub(crate) fn file(message: impl Into<String>) -> Self {
        Self::File { message: message.into(), hint: None }
    }
}

impl From<roci_kernels::Error> for Error {
    fn from(error: roci_kernels::Error) -> Self {
        Self::Kernel(error.to_string())
    }
}

impl From<roci_gguf::Error> for Error {
    fn from(error: roci_gguf::Error) -> Self {
        Self::File { hint: error.hint(), message: error.to_string() }
    }
}

impl Hint for Error {
    fn hint(&self) -> Option<String> {
        match self {
            Self::Device(error) => error.hint(),
            Self::Kernel(_) => Some("`roci verify` tests the device's kernels".to_owned()),
            Self::File { hint, .. } => hint.clone(),
            Self::Binding { hint, .. } => Some((*hint).to_owned()),
            Self::Memory { hint, .. } => Some(hint.clone()),
        }
    }
}

/// Formats a number of bytes.
fn size(bytes: u64) -> String {
    if bytes < 1 << 20 { format!("{bytes} bytes") } else { format!("{} MiB", bytes.div_ceil(1 << 20)) }
}

/// Converts an error for the engine. `lost` is whether the device is lost.
pub(crate) fn forward_error(error: &Error, lost: bool) -> ForwardError {
    ForwardError { message: error.to_string(), hint: error.hint(), lost }
}
