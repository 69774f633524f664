//! Errors of sessions and of lowering.

use roci_base::Hint;
use roci_graph::interpreter::RunError;
use roci_graph::{OpError, ValueId};

/// An error of a session.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The device failed.
    #[error(transparent)]
    Hal(#[from] roci_hal::Error),
    /// A kernel is not available for the device.
    #[error(transparent)]
    Kernel(#[from] roci_kernels::Error),
    /// An operation with invalid operands, or that failed on the host.
    #[error(transparent)]
    Run(#[from] RunError),
    /// No kernel supports an operation.
    #[error("node `{node}` ({op}) cannot run on {device}: {reason}")]
    Unsupported {
        /// The node's name.
        node: String,
        /// The operation's name.
        op: &'static str,
        /// The device's URI.
        device: String,
        /// Why it is not supported.
        reason: String,
    },
    /// Inputs or outputs do not match the graph.
    #[error("{0}")]
    Input(String),
    /// A dry run cannot decide, because the decision depends on the elements of this value.
    #[error("depends on the values of `{0}`, which are known only at run time")]
    UnknownValue(String),
    /// A tensor is longer than a binding of the device can be.
    #[error("node `{node}` binds {tensor} of {bytes} bytes, but {device} supports bindings of at most {limit} bytes")]
    Binding {
        /// The node, or the nodes that were fused into one kernel.
        node: String,
        /// The tensor's name.
        tensor: String,
        /// The tensor's size in bytes.
        bytes: u64,
        /// The device's URI.
        device: String,
        /// The device's maximum binding size in bytes.
        limit: u64,
    },
    /// The model does not fit the device's memory.
    #[error("the model needs {needed} bytes of memory on {device}, which has {available} bytes")]
    Memory {
        /// Bytes of constants, inputs and intermediate tensors.
        needed: u64,
        /// The device's URI.
        device: String,
        /// The device's usable memory in bytes.
        available: u64,
    },
}

impl Hint for Error {
    fn hint(&self) -> Option<String> {
        match self {
            Self::Hal(error) => error.hint(),
            Self::Run(_) => Some("`roci inspect MODEL --nodes` shows the types and shapes of all operands".to_owned()),
            Self::Kernel(_) | Self::UnknownValue(_) => None,
            Self::Unsupported { .. } => Some("`--device cpu` runs every supported operation".to_owned()),
            Self::Input(_) => Some("`roci inspect MODEL` shows the inputs".to_owned()),
            Self::Binding { .. } => Some("use another device (`--device cpu`) or a smaller batch".to_owned()),
            Self::Memory { .. } => Some("use a smaller batch or another device".to_owned()),
        }
    }
}

/// Why an operation could not be lowered.
#[derive(Debug)]
pub(crate) enum LoweringError {
    InvalidOperands(OpError),
    /// No kernel supports it; the text says which part.
    Unsupported(String),
    /// 64-bit integers that may not fit 32 bits. The host computes the operation.
    WideIntegers(String),
    /// The lowering depends on the elements of this value, which a dry run does not have.
    UnknownValue(ValueId),
    /// The lowering needs the elements of the operand of this index on the host.
    NeedsValue(usize),
    /// The device or a kernel failed.
    Failed(Error),
}

impl From<OpError> for LoweringError {
    fn from(error: OpError) -> Self {
        Self::InvalidOperands(error)
    }
}

impl From<Error> for LoweringError {
    fn from(error: Error) -> Self {
        Self::Failed(error)
    }
}

impl LoweringError {
    pub(crate) fn unsupported(text: impl Into<String>) -> Self {
        Self::Unsupported(text.into())
    }

    pub(crate) fn wide_integers(text: impl Into<String>) -> Self {
        Self::WideIntegers(text.into())
    }
}
