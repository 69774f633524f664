//! Why a graph cannot run on a device.

use roci_graph::interpreter::RunError;
use roci_graph::{OpError, ValueId};
use roci_hal::Hint;

/// What went wrong.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The device.
    #[error(transparent)]
    Hal(#[from] roci_hal::Error),
    /// A kernel that cannot be had for the device.
    #[error(transparent)]
    Kernel(#[from] roci_kernels::Error),
    /// An operation with its operands, wherever it would run.
    #[error(transparent)]
    Run(#[from] RunError),
    /// An operation that devices cannot do.
    #[error("node `{node}` ({op}) cannot run on {device}: {reason}")]
    Unsupported {
        /// The node's name.
        node: String,
        /// What it does.
        op: &'static str,
        /// Where it should run.
        device: String,
        /// Why it cannot.
        reason: String,
    },
    /// Inputs that are not those of the graph.
    #[error("{0}")]
    Input(String),
    /// What a run would do depends on the elements of this value, and there are none yet.
    #[error("it depends on the elements of `{0}`")]
    Untold(String),
    /// A tensor that the device cannot bind in one piece.
    #[error("node `{node}` needs {tensor} of {bytes} bytes in one binding, and {device} takes {limit} bytes at most")]
    Binding {
        /// The node, or those that became one kernel.
        node: String,
        /// The tensor.
        tensor: String,
        /// Its bytes.
        bytes: u64,
        /// Where.
        device: String,
        /// Bytes of one binding.
        limit: u64,
    },
    /// More memory than the device has.
    #[error("the model needs {needed} bytes on {device}, which has {available}")]
    Memory {
        /// What it takes: constants and everything in between.
        needed: u64,
        /// Where.
        device: String,
        /// What is there.
        available: u64,
    },
}

impl Hint for Error {
    fn hint(&self) -> Option<String> {
        match self {
            Self::Hal(error) => error.hint(),
            Self::Run(_) => Some("`roci inspect MODEL --nodes` shows the types and shapes of all operands".to_owned()),
            Self::Kernel(_) | Self::Untold(_) => None,
            Self::Unsupported { .. } => Some("`--device cpu` runs every supported operation".to_owned()),
            Self::Input(_) => Some("`roci inspect MODEL` shows the inputs".to_owned()),
            Self::Binding { .. } => {
                Some("run it on another device (`--device cpu`), or take a smaller batch".to_owned())
            }
            Self::Memory { .. } => Some("take a smaller batch or another device".to_owned()),
        }
    }
}

/// Why an operation was not lowered.
#[derive(Debug)]
pub(crate) enum Refusal {
    /// Its operands do not go together.
    Wrong(OpError),
    /// No kernel does that; the text says what.
    Unsupported(String),
    /// Integers of 64 bits that 32 may not hold: the host computes them.
    Integers(String),
    /// It depends on the elements of this value, and nothing runs.
    Untold(ValueId),
    /// It needs the elements of this operand on the host.
    NeedsValue(usize),
    /// The kernels or the device.
    Failed(Error),
}

impl From<OpError> for Refusal {
    fn from(error: OpError) -> Self {
        Self::Wrong(error)
    }
}

impl From<Error> for Refusal {
    fn from(error: Error) -> Self {
        Self::Failed(error)
    }
}

impl Refusal {
    pub(crate) fn unsupported(text: impl Into<String>) -> Self {
        Self::Unsupported(text.into())
    }

    pub(crate) fn integers(text: impl Into<String>) -> Self {
        Self::Integers(text.into())
    }
}
