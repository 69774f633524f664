//! Per-layer embeddings.

use super::Reference;
use super::ops::activate;
use crate::architecture::blocks::PerLayerInput;

impl Reference {
    /// The per-layer inputs of all layers, for a token with this embedding; empty if the model has
    /// none.
    pub(super) fn per_layer_inputs(&self, token: u32, embedding: &[f32]) -> Vec<Vec<f32>> {
        let Some(block) = &self.model.per_layer else { return Vec::new() };
        let row = self.weights.row(&block.embedding, token as usize);
        let projected = self.weights.apply(&block.projection, embedding);
        let parts = projected.chunks(block.length).zip(row.chunks(block.length));
        parts
            .map(|(projected, row)| {
                let normed = self.weights.norm(&block.norm, projected);
                let sum = normed.iter().zip(row).map(|(normed, value)| normed + value * block.embedding_scale);
                sum.map(|sum| sum * block.scale).collect()
            })
            .collect()
    }

    /// The output of a layer's per-layer embedding, which is added to a residual stream.
    pub(super) fn per_layer_output(&self, block: &PerLayerInput, state: &[f32], input: &[f32]) -> Vec<f32> {
        let mut gate = self.weights.apply(&block.gate, state);
        gate.iter_mut().zip(input).for_each(|(gate, input)| *gate = activate(block.activation, *gate) * input);
        self.weights.norm(&block.post_norm, &self.weights.apply(&block.projection, &gate))
    }
}
