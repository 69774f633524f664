//! Dequantized weights, and the operations that read them.

use std::collections::HashMap;

use roci_gguf::Gguf;

use super::ops::dot;
use crate::architecture::blocks::{Linear, Matrix, Norm, Vector};
use crate::architecture::{Model, ModelError, matrix_scales};

/// All tensors of a model as f32 values.
#[derive(Debug)]
pub(super) struct Weights {
    tensors: HashMap<String, Vec<f32>>,
}

impl Weights {
    pub(super) fn new(file: &Gguf, model: &Model, progress: &mut dyn FnMut(usize, usize)) -> Result<Self, ModelError> {
        let names = model.tensors();
        let mut tensors = HashMap::with_capacity(names.len());
        for (done, name) in names.iter().enumerate() {
            progress(done, names.len());
            let mut values = file.expect_tensor(name)?.to_f32()?;
            if let Some(scales) = matrix_scales(file, name)? {
                let each = (values.len() / scales.len().max(1)).max(1);
                for (values, scale) in values.chunks_mut(each).zip(scales) {
                    values.iter_mut().for_each(|value| *value *= scale);
                }
            }
            tensors.insert((*name).to_owned(), values);
        }
        progress(names.len(), names.len());
        Ok(Self { tensors })
    }

    /// A row of a matrix. [`Model::new`] has checked that the tensor has it.
    pub(super) fn row(&self, matrix: &Matrix, row: usize) -> &[f32] {
        let start = matrix.row(row) * matrix.columns;
        &self.tensors[&matrix.tensor][start..start + matrix.columns]
    }

    pub(super) fn vector(&self, vector: &Vector) -> &[f32] {
        &self.tensors[&vector.tensor][vector.values.clone()]
    }

    pub(super) fn apply(&self, linear: &Linear, input: &[f32]) -> Vec<f32> {
        let mut output: Vec<f32> =
            (0..linear.matrix.outputs()).map(|row| dot(self.row(&linear.matrix, row), input)).collect();
        if let Some(bias) = &linear.bias {
            output.iter_mut().zip(self.vector(bias)).for_each(|(output, bias)| *output += bias);
        }
        output
    }

    pub(super) fn norm(&self, norm: &Norm, input: &[f32]) -> Vec<f32> {
        let mean = input.iter().map(|value| f64::from(*value).powi(2)).sum::<f64>() / input.len() as f64;
        let scale = 1.0 / (mean + f64::from(norm.epsilon)).sqrt();
        input
            .iter()
            .zip(self.vector(&norm.weight))
            .map(|(value, weight)| (f64::from(*value) * scale) as f32 * weight)
            .collect()
    }
}
