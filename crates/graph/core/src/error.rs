//! Errors of operations.

use crate::DType;

/// An error of an operation or its operands, without the node's name, which the interpreter adds.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum OpError {
    /// A required operand is missing.
    #[error("input {0} is missing")]
    MissingInput(usize),
    /// The operation is not defined or not implemented for a type.
    #[error("{what} of type {dtype} is not supported")]
    Type {
        /// The operand or the part of the operation.
        what: String,
        /// The operand's type.
        dtype: DType,
    },
    /// Operands or attributes do not match; the text has the numbers.
    #[error("{0}")]
    Invalid(String),
    /// A form of the operation that is not implemented.
    #[error("{0} is not supported")]
    Unsupported(String),
    /// The result needs more memory than the machine can address.
    #[error("a tensor of shape {0:?} is too large ({count} elements)", count = elements(.0))]
    TooLarge(Vec<usize>),
}

/// The number of elements of a shape, without overflow.
fn elements(shape: &[usize]) -> u128 {
    shape.iter().fold(1, |product: u128, &size| product.saturating_mul(size as u128))
}

impl OpError {
    /// Operands that do not match.
    pub fn invalid(text: impl Into<String>) -> Self {
        Self::Invalid(text.into())
    }

    /// A form that is not implemented.
    pub fn unsupported(text: impl Into<String>) -> Self {
        Self::Unsupported(text.into())
    }

    /// A type that is not supported.
    pub fn dtype(what: impl Into<String>, dtype: DType) -> Self {
        Self::Type { what: what.into(), dtype }
    }
}
