//! The input of prediction heads: norms of embeddings and hidden states, computed on the host.

use roci_gguf::Gguf;
use roci_lm::architecture::blocks::{Norm, NormKind};
use roci_lm::architecture::{Model, PredictionInput};

use crate::Error;
use crate::embedding::{HostInput, Placed, embed};

/// Norms of the two halves of the input.
pub(crate) struct PredictionNorms {
    embedding: RmsNorm,
    hidden: RmsNorm,
}

struct RmsNorm {
    weight: Vec<f32>,
    epsilon: f32,
}

impl RmsNorm {
    fn new(file: &Gguf, norm: &Norm) -> Result<Self, Error> {
        let weight = norm.weight.as_ref().filter(|_| norm.kind == NormKind::Rms && norm.bias.is_none());
        let vector = weight.ok_or_else(|| Error::file("prediction heads have RMS norms with weights"))?;
        let values = file.expect_tensor(&vector.tensor)?.to_f32()?;
        Ok(Self { weight: values[vector.values.clone()].to_vec(), epsilon: norm.epsilon })
    }

    fn apply(&self, input: &[f32], output: &mut [f32]) {
        let square = input.iter().map(|value| value * value).sum::<f32>() / input.len() as f32;
        let scale = 1.0 / (square + self.epsilon).sqrt();
        let pairs = input.iter().zip(&self.weight);
        output.iter_mut().zip(pairs).for_each(|(output, (value, weight))| *output = value * scale * weight);
    }
}

impl PredictionNorms {
    pub(crate) fn new(file: &Gguf, input: &PredictionInput) -> Result<Self, Error> {
        Ok(Self {
            embedding: RmsNorm::new(file, &input.embedding_norm)?,
            hidden: RmsNorm::new(file, &input.hidden_norm)?,
        })
    }

    /// Writes the inputs of tokens to `rows`, `stride` floats each: the normalized embedding, then
    /// the normalized hidden state of the previous token, then zeros as padding.
    pub(crate) fn fill(
        &self,
        (file, model, input): (&Gguf, &Model, &HostInput),
        tokens: &[Placed],
        before: &[Vec<f32>],
        stride: usize,
        rows: &mut [f32],
    ) -> Result<(), Error> {
        let length = model.config.embedding;
        if before.len() != tokens.len() || before.iter().any(|state| state.len() != length) {
            return Err(Error::file("a prediction head reads a hidden state for each token"));
        }
        let mut embeddings = vec![0.0; tokens.len() * length];
        embed(file, model, input, tokens, length, &mut embeddings)?;
        let inputs = embeddings.chunks_exact(length).zip(before);
        for (row, (embedding, before)) in rows.chunks_exact_mut(stride).zip(inputs) {
            let (halves, padding) = row.split_at_mut(2 * length);
            let (first, second) = halves.split_at_mut(length);
            self.embedding.apply(embedding, first);
            self.hidden.apply(before, second);
            padding.fill(0.0);
        }
        Ok(())
    }
}
