//! Attention and rotary embeddings.

mod dot_product;
mod rotary;
#[cfg(test)]
mod tests;

pub use dot_product::{Attention, Scores};
pub use rotary::Rotary;

use super::{Facts, Inputs, Operation};
use crate::{Fact, OpError, Tensor, Value};

/// An operation of this family.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum AttentionOp {
    /// Scaled dot-product attention.
    Attention(Attention),
    /// Rotary position embedding.
    Rotary(Rotary),
}

impl Operation for AttentionOp {
    fn name(&self) -> &'static str {
        match self {
            Self::Attention(_) => "Attention",
            Self::Rotary(_) => "RotaryEmbedding",
        }
    }

    fn infer(&self, inputs: &Facts<'_>) -> Result<Vec<Fact>, OpError> {
        match self {
            Self::Attention(attention) => attention.infer(inputs),
            Self::Rotary(rotary) => rotary.infer(inputs),
        }
    }

    fn eval(&self, inputs: &Inputs<'_>) -> Result<Vec<Value>, OpError> {
        match self {
            Self::Attention(attention) => attention.eval(inputs),
            Self::Rotary(rotary) => rotary.eval(inputs),
        }
    }
}

/// `[batch, heads, length, size]` of a shape in that layout, or in `[batch, length, heads * size]`.
fn split(shape: &[usize], heads: Option<usize>) -> Result<[usize; 4], OpError> {
    match *shape {
        [batch, heads, length, size] => Ok([batch, heads, length, size]),
        [batch, length, width] => {
            let heads = heads.ok_or_else(|| OpError::invalid("the number of heads is not given"))?;
            if heads == 0 || width % heads != 0 {
                return Err(OpError::invalid(format!(
                    "the last dimension, {width}, is not a multiple of the number of heads, {heads}"
                )));
            }
            Ok([batch, heads, length, width / heads])
        }
        _ => Err(OpError::invalid(format!("the operand has shape {shape:?}, expected 3 or 4 dimensions"))),
    }
}

/// The elements as `[batch, heads, length, size]`.
fn heads_first(tensor: &Tensor, sizes: [usize; 4]) -> Result<Vec<f64>, OpError> {
    let values = tensor.floats()?;
    let [batch, heads, length, size] = sizes;
    if tensor.rank() == 4 {
        return Ok(values);
    }
    Ok(swap(&values, [batch, length, heads, size]))
}

/// Swaps the middle axes.
fn swap(given: &[f64], [batch, first, second, size]: [usize; 4]) -> Vec<f64> {
    let mut result = Vec::with_capacity(given.len());
    for b in 0..batch {
        for y in 0..second {
            for x in 0..first {
                result.extend_from_slice(&given[((b * first + x) * second + y) * size..][..size]);
            }
        }
    }
    result
}
