//! Values at run time.

use crate::{OpError, Tensor};

/// What graphs compute with: ONNX's tensors, sequences and optionals.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// A tensor.
    Tensor(Tensor),
    /// An ordered sequence of values.
    Sequence(Vec<Value>),
    /// A value that may be absent.
    Optional(Option<Box<Value>>),
}

impl Value {
    /// The kind of the value, such as `tensor`.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Tensor(_) => "a tensor",
            Self::Sequence(_) => "a sequence",
            Self::Optional(_) => "an optional value",
        }
    }

    /// The tensor, or the tensor in an optional value.
    pub fn tensor(&self) -> Result<&Tensor, OpError> {
        match self {
            Self::Tensor(tensor) => Ok(tensor),
            Self::Optional(Some(inner)) => inner.tensor(),
            other => Err(OpError::invalid(format!("the value is {}, expected a tensor", other.kind()))),
        }
    }
}

impl From<Tensor> for Value {
    fn from(tensor: Tensor) -> Self {
        Self::Tensor(tensor)
    }
}
