//! Facts: properties of a value that are known before a graph runs.

use crate::{DType, OpError, Tensor};

/// What is known about a tensor.
#[derive(Clone, Debug, PartialEq)]
pub struct Fact {
    /// The type of the elements.
    pub dtype: DType,
    /// The shape, unless it depends on data.
    pub shape: Option<Vec<usize>>,
    /// The elements, if they are constant.
    pub value: Option<Tensor>,
}

impl Fact {
    /// A tensor of known type and shape.
    pub fn new(dtype: DType, shape: impl Into<Vec<usize>>) -> Self {
        Self { dtype, shape: Some(shape.into()), value: None }
    }

    /// A tensor whose shape depends on data.
    pub fn unknown(dtype: DType) -> Self {
        Self { dtype, shape: None, value: None }
    }

    /// The shape; an error if it is not known.
    pub fn shape(&self) -> Result<&[usize], OpError> {
        self.shape.as_deref().ok_or_else(|| OpError::unsupported("a shape that depends on data"))
    }

    /// The elements; an error if they are not known.
    pub fn value(&self) -> Result<&Tensor, OpError> {
        self.value.as_ref().ok_or_else(|| OpError::unsupported("an operand that is not constant"))
    }
}

impl From<&Tensor> for Fact {
    fn from(tensor: &Tensor) -> Self {
        Self { dtype: tensor.dtype(), shape: Some(tensor.shape().to_vec()), value: Some(tensor.clone()) }
    }
}
