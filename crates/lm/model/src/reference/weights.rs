//! Dequantized weights, and the operations that read them.

use std::collections::HashMap;

use roci_gguf::Gguf;

use super::ops::dot;
use crate::architecture::blocks::{Linear, Matrix, Norm, NormKind, Vector};
use crate::architecture::{Model, ModelError, matrix_scales};

/// Tensors of a model as f32 values.
#[derive(Debug)]
pub(super) struct Weights {
    tensors: HashMap<String, Vec<f32>>,
}

impl Weights {
    pub(super) fn new(file: &Gguf, model: &Model, progress: &mut dyn FnMut(usize, usize)) -> Result<Self, ModelError> {
        Self::of(file, &model.tensors(), progress)
    }

    /// The values of these tensors.
    pub(super) fn of(file: &Gguf, names: &[&str], progress: &mut dyn FnMut(usize, usize)) -> Result<Self, ModelError> {
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

    pub(super) fn tensor_mut(&mut self, name: &str) -> Option<&mut Vec<f32>> {
        self.tensors.get_mut(name)
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
        let count = input.len() as f64;
        let center = match norm.kind {
            NormKind::Rms => 0.0,
            NormKind::Layer => input.iter().copied().map(f64::from).sum::<f64>() / count,
        };
        let square = input.iter().map(|value| (f64::from(*value) - center).powi(2)).sum::<f64>() / count;
        let scale = 1.0 / (square + f64::from(norm.epsilon)).sqrt();
        let mut output: Vec<f32> = input.iter().map(|value| ((f64::from(*value) - center) * scale) as f32).collect();
        if let Some(weight) = &norm.weight {
            output.iter_mut().zip(self.vector(weight)).for_each(|(value, weight)| *value *= weight);
        }
        if let Some(bias) = &norm.bias {
            output.iter_mut().zip(self.vector(bias)).for_each(|(value, bias)| *value += bias);
        }
        output
    }

    /// The input itself where a block has no norm.
    pub(super) fn optional_norm(&self, norm: Option<&Norm>, input: &[f32]) -> Vec<f32> {
        norm.map_or_else(|| input.to_vec(), |norm| self.norm(norm, input))
    }
}
