//! Why an operation cannot be done.

use crate::DType;

/// What is wrong with an operation or its operands. Who runs a graph adds the node's name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum OpError {
    /// An operand that has to be there.
    #[error("input {0} is missing")]
    MissingInput(usize),
    /// A type that the operation is not defined or not written for.
    #[error("{what} of type {dtype} is not supported")]
    Type {
        /// Which operand, or what of the operation.
        what: String,
        /// Its type.
        dtype: DType,
    },
    /// Operands or attributes that do not go together; the text has the figures.
    #[error("{0}")]
    Invalid(String),
    /// A form of the operation that is not written.
    #[error("{0} is not supported")]
    Unsupported(String),
    /// More memory than there can be.
    #[error("a tensor of shape {0:?} is too large ({count} elements)", count = elements(.0))]
    TooLarge(Vec<usize>),
}

/// How many elements a shape has, however many these are.
fn elements(shape: &[usize]) -> u128 {
    shape.iter().fold(1, |product: u128, &size| product.saturating_mul(size as u128))
}

impl OpError {
    /// Operands that do not go together.
    pub fn invalid(text: impl Into<String>) -> Self {
        Self::Invalid(text.into())
    }

    /// A form that is not written.
    pub fn unsupported(text: impl Into<String>) -> Self {
        Self::Unsupported(text.into())
    }

    /// A type that is not supported.
    pub fn dtype(what: impl Into<String>, dtype: DType) -> Self {
        Self::Type { what: what.into(), dtype }
    }
}
