//! Why a model cannot be brought to a device.

use roci_engine::ForwardError;
use roci_hal::Hint;

/// Why a model cannot be brought to a device.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// Something of the device.
    #[error(transparent)]
    Device(#[from] roci_hal::Error),
    /// A kernel that cannot be had.
    #[error("{0}")]
    Kernel(String),
    /// The file.
    #[error("{message}")]
    File {
        /// What is wrong with it.
        message: String,
        /// What to do.
        hint: Option<String>,
    },
    /// Something that the device would have to bind in one piece.
    #[error("{device} takes {} in one binding, too little for {what} ({})", size(*limit), size(*bytes))]
    Binding {
        /// The tensor, or what else it is.
        what: String,
        /// Its bytes.
        bytes: u64,
        /// The device.
        device: String,
        /// Bytes of one binding.
        limit: u64,
        /// What to do.
        hint: &'static str,
    },
    /// It does not fit.
    #[error("{message}")]
    Memory {
        /// How much it needs, and what there is.
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
            Self::Kernel(_) => Some("`roci verify` tries the device's kernels".to_owned()),
            Self::File { hint, .. } => hint.clone(),
            Self::Binding { hint, .. } => Some((*hint).to_owned()),
            Self::Memory { hint, .. } => Some(hint.clone()),
        }
    }
}

/// Bytes as people read them.
fn size(bytes: u64) -> String {
    if bytes < 1 << 20 { format!("{bytes} bytes") } else { format!("{} MiB", bytes.div_ceil(1 << 20)) }
}

/// As an engine tells it; `lost` says whether the device is of no more use.
pub(crate) fn forward(error: &Error, lost: bool) -> ForwardError {
    ForwardError { message: error.to_string(), hint: error.hint(), lost }
}
