//! What goes along the edges of a graph.

use crate::{OpError, Tensor};

/// A value.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// A tensor.
    Tensor(Tensor),
    /// Tensors, or sequences again, in an order.
    Sequence(Vec<Value>),
    /// A value that may be missing.
    Optional(Option<Box<Value>>),
}

impl Value {
    /// What it is, in a word.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Tensor(_) => "a tensor",
            Self::Sequence(_) => "a sequence",
            Self::Optional(_) => "an optional value",
        }
    }

    /// The tensor that it is; the content of an optional one.
    pub fn tensor(&self) -> Result<&Tensor, OpError> {
        match self {
            Self::Tensor(tensor) => Ok(tensor),
            Self::Optional(Some(inner)) => inner.tensor(),
            other => Err(OpError::invalid(format!("{} where a tensor is wanted", other.kind()))),
        }
    }
}

impl From<Tensor> for Value {
    fn from(tensor: Tensor) -> Self {
        Self::Tensor(tensor)
    }
}
