//! The tensors of a file as constants of a graph, in f32.

use std::fmt::Write as _;

use roci_gguf::{Gguf, Type};
use roci_graph::Tensor;

use crate::Error;

/// The tensors of a file.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Weights<'a>(pub(crate) &'a Gguf);

impl Weights<'_> {
    /// Whether there is a tensor of this name.
    pub(crate) fn has(self, name: &str) -> bool {
        self.0.tensor(name).is_some()
    }

    /// The elements of a tensor of this shape, contiguous dimension first.
    pub(crate) fn floats(self, name: &str, shape: &[usize]) -> Result<Vec<f32>, Error> {
        let tensor = self.0.expect_tensor(name)?;
        let info = tensor.info();
        let without_ones = |shape: &[u64]| shape.iter().copied().filter(|size| *size != 1).collect::<Vec<u64>>();
        let expected: Vec<u64> = shape.iter().map(|&size| size as u64).collect();
        if without_ones(info.shape()) != without_ones(&expected) {
            return Err(Error::Shape { tensor: name.to_owned(), found: info.shape().to_vec(), expected });
        }
        let mut values = vec![0.0; info.values() as usize];
        info.kind().dequantize(tensor.bytes(), &mut values)?;
        Ok(values)
    }

    /// A one-dimensional tensor.
    pub(crate) fn vector(self, name: &str, length: usize) -> Result<Tensor, Error> {
        Ok(Tensor::vector(self.floats(name, &[length])?))
    }

    /// A matrix as `[inputs, outputs]`. In the file, each row has the weights of one output.
    pub(crate) fn matrix(self, name: &str, inputs: usize, outputs: usize) -> Result<Tensor, Error> {
        Ok(transposed(&self.floats(name, &[inputs, outputs])?, inputs, outputs))
    }

    /// Whether f16 is precise enough, compared with the file's types: the largest matrices are f16
    /// or quantized.
    pub(crate) fn fit_halves(self) -> bool {
        let largest = self.0.tensors().map(|tensor| tensor.info()).max_by_key(|info| info.byte_len());
        largest.is_some_and(|info| !matches!(info.kind(), Type::F32 | Type::F64 | Type::BF16))
    }
}

/// A matrix of `outputs` rows as a tensor `[inputs, outputs]`.
pub(crate) fn transposed(rows: &[f32], inputs: usize, outputs: usize) -> Tensor {
    /// Columns per step, so that their cache lines stay in the cache.
    const BLOCK: usize = 16;
    let mut values = vec![0.0; rows.len()];
    for first in (0..inputs).step_by(BLOCK) {
        let end = (first + BLOCK).min(inputs);
        for (output, row) in rows.chunks_exact(inputs.max(1)).enumerate() {
            for input in first..end {
                values[input * outputs + output] = row[input];
            }
        }
    }
    // `floats` has checked that the number of elements matches `rows`.
    Tensor::new([inputs, outputs], values).unwrap_or_else(|_| Tensor::vector(Vec::<f32>::new()))
}

/// The name of a tensor of a layer.
pub(crate) fn layer(index: usize, what: &str) -> String {
    let mut name = String::from("v.blk.");
    // Writing to a string cannot fail.
    let _ = write!(name, "{index}.{what}");
    name
}
