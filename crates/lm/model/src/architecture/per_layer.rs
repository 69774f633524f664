//! Assembles per-layer embeddings and scales of layers.

use super::blocks::{Norm, PerLayerEmbedding, PerLayerInput, Vector};
use super::build::Builder;
use super::error::ModelError;

impl Builder<'_> {
    /// The per-layer embeddings, if the model has them.
    pub(super) fn per_layer_embedding(&self) -> Result<Option<PerLayerEmbedding>, ModelError> {
        let Some(length) = self.config.per_layer_length else { return Ok(None) };
        let embedding = self.config.embedding;
        let outputs = self.config.layers() * length;
        let norm = self.norm("per_layer_proj_norm", length)?;
        Ok(Some(PerLayerEmbedding {
            embedding: self.matrix("per_layer_token_embd.weight", self.config.vocabulary, outputs)?,
            embedding_scale: (length as f32).sqrt(),
            projection: self.linear("per_layer_model_proj", outputs, embedding, false)?,
            // A norm of `x / √n` is that of `x` with `n` times the epsilon.
            norm: Norm { epsilon: norm.epsilon * embedding as f32, ..norm },
            scale: std::f32::consts::FRAC_1_SQRT_2,
            length,
        }))
    }

    pub(super) fn per_layer_input(&self, index: usize) -> Result<Option<PerLayerInput>, ModelError> {
        let Some(length) = self.config.per_layer_length else { return Ok(None) };
        let embedding = self.config.embedding;
        let name = |part: &str| format!("blk.{index}.{part}");
        Ok(Some(PerLayerInput {
            gate: self.linear(&name("inp_gate"), length, embedding, false)?,
            activation: self.traits.activation,
            projection: self.linear(&name("proj"), embedding, length, false)?,
            post_norm: self.norm(&name("post_norm"), embedding)?,
        }))
    }

    pub(super) fn output_scale(&self, index: usize) -> Result<Option<Vector>, ModelError> {
        let name = format!("blk.{index}.layer_output_scale.weight");
        if self.has(&name) { self.vector(&name, 1).map(Some) } else { Ok(None) }
    }
}
