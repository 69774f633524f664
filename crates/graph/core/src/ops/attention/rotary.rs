//! Rotary position embeddings.

use super::{heads_first, split, swap};
use crate::ops::{Facts, Inputs};
use crate::{Fact, OpError, Tensor, Value, shape};

/// Rotary position embedding: rotates pairs of elements by an angle that depends on the position.
/// Operands: `[batch, heads, length, size]` or `[batch, length, heads * size]`, cosines and sines
/// `[positions, pairs]` with positions `[batch, length]`, or `[batch, length, pairs]` without.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rotary {
    /// Whether a pair is two adjacent elements, rather than one element of each half.
    pub interleaved: bool,
    /// The number of elements of each head that are rotated; 0 for all.
    pub rotary_dim: usize,
    /// The number of heads, if the shape does not contain it.
    pub heads: Option<usize>,
}

impl Rotary {
    fn pairs(&self, size: usize) -> Result<usize, OpError> {
        let rotary_dim = if self.rotary_dim == 0 { size } else { self.rotary_dim };
        if rotary_dim > size || rotary_dim % 2 != 0 {
            return Err(OpError::invalid(format!(
                "the rotary dimension is {rotary_dim}, expected an even number up to the head size, {size}"
            )));
        }
        Ok(rotary_dim / 2)
    }

    pub(super) fn infer(&self, inputs: &Facts<'_>) -> Result<Vec<Fact>, OpError> {
        let x = inputs.get(0)?;
        if !x.dtype.is_float() {
            return Err(OpError::dtype("RotaryEmbedding", x.dtype));
        }
        if let Some(shape) = &x.shape {
            self.pairs(split(shape, self.heads)?[3])?;
        }
        Ok(vec![Fact { dtype: x.dtype, shape: x.shape.clone(), value: None }])
    }

    pub(super) fn eval(&self, inputs: &Inputs<'_>) -> Result<Vec<Value>, OpError> {
        let (tensor, cosines, sines) = (inputs.tensor(0)?, inputs.tensor(1)?, inputs.tensor(2)?);
        if !tensor.dtype().is_float() {
            return Err(OpError::dtype("RotaryEmbedding", tensor.dtype()));
        }
        let sizes @ [batch, heads, length, size] = split(tensor.shape(), self.heads)?;
        let pairs = self.pairs(size)?;
        if cosines.shape() != sines.shape() || cosines.shape().last() != Some(&pairs) {
            let shapes = (cosines.shape(), sines.shape());
            return Err(OpError::invalid(format!(
                "the cosine table has shape {:?} and the sine table {:?}, \
                 expected equal shapes with a last dimension of {pairs}",
                shapes.0, shapes.1
            )));
        }
        let rows = rows(cosines.shape(), inputs.optional(3)?, batch, length)?;
        let (cosines, sines) = (cosines.floats()?, sines.floats()?);
        let mut x = heads_first(tensor, sizes)?;
        for (index, head) in x.chunks_exact_mut(size.max(1)).enumerate() {
            let row = rows[index / (heads * length) * length + index % length];
            for pair in 0..pairs {
                let (first, second) = if self.interleaved { (2 * pair, 2 * pair + 1) } else { (pair, pairs + pair) };
                let (cos, sin) = (cosines[row * pairs + pair], sines[row * pairs + pair]);
                let (left, right) = (head[first], head[second]);
                head[first] = cos * left - sin * right;
                head[second] = sin * left + cos * right;
            }
        }
        if tensor.rank() == 3 {
            x = swap(&x, [batch, heads, length, size]);
        }
        Ok(vec![Tensor::from_floats(tensor.dtype(), tensor.shape(), &x)?.into()])
    }
}

/// The row of the table for each position of each batch.
fn rows(table: &[usize], positions: Option<&Tensor>, batch: usize, length: usize) -> Result<Vec<usize>, OpError> {
    let places = shape::count(&[batch, length])?;
    let Some(positions) = positions else {
        let &[batches, lengths, pairs] = table else {
            return Err(OpError::invalid(format!(
                "the cosine table has shape {table:?}, expected 3 dimensions without `position_ids`"
            )));
        };
        if (batches, lengths) != (batch, length) {
            let text = format!("the cosine table has shape {table:?}, expected [{batch}, {length}, {pairs}]");
            return Err(OpError::invalid(text));
        }
        return Ok((0..places).collect());
    };
    let &[rows, _] = table else {
        return Err(OpError::invalid(format!(
            "the cosine table has shape {table:?}, expected 2 dimensions with `position_ids`"
        )));
    };
    if positions.len() != places {
        return Err(OpError::invalid(format!(
            "`position_ids` has {} elements, expected {places} (batch {batch}, length {length})",
            positions.len()
        )));
    }
    let row = |position: i64| {
        let row = usize::try_from(position).ok().filter(|row| *row < rows);
        row.ok_or_else(|| OpError::invalid(format!("position {position} is out of range for a table of {rows} rows")))
    };
    positions.integers()?.into_iter().map(row).collect()
}
