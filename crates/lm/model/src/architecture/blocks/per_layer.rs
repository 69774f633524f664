//! Per-layer embeddings: each token has one more, short embedding for every layer.

use super::{Activation, Linear, Matrix, Norm};

/// The inputs of all layers, computed once for each token:
///
/// ```text
/// input = scale * (norm(projection(h)) + embedding_scale * embedding[token])
/// ```
///
/// where `h` is the embedding of the token, with its factor. The norm is of each layer's part.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct PerLayerEmbedding {
    /// A row per token, with `length` values for each layer.
    pub embedding: Matrix,
    /// Factor of the rows.
    pub embedding_scale: f32,
    /// Projection of the embedding to `length` values for each layer.
    pub projection: Linear,
    /// Norm of the projection's result, part by part. The projection has the factor
    /// `1 / √embedding length`, which is part of the epsilon.
    pub norm: Norm,
    /// Factor of the sum.
    pub scale: f32,
    /// Length of the input of a layer.
    pub length: usize,
}

/// What a layer does with its input: `h` becomes
/// `h + post_norm(projection(activation(gate(h)) * input))`.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct PerLayerInput {
    /// Projection to the length of the input.
    pub gate: Linear,
    /// Activation of the gate.
    pub activation: Activation,
    /// Projection to the embedding length.
    pub projection: Linear,
    /// Norm of the result.
    pub post_norm: Norm,
}

impl PerLayerInput {
    /// All projections.
    pub fn linears(&self) -> impl Iterator<Item = &Linear> {
        [&self.gate, &self.projection].into_iter()
    }
}
