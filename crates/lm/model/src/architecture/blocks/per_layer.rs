//! Per-layer embeddings: each token has another, short embedding for every layer.

use super::{Activation, Linear, Matrix, Norm};

/// The inputs of all layers, computed once for each token:
///
/// ```text
/// input = scale * (norm(projection(h)) + embedding_scale * embedding[token])
/// ```
///
/// where `h` is the scaled embedding of the token. The norm applies to each layer's part.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct PerLayerEmbedding {
    /// A row per token, with `length` values for each layer.
    pub embedding: Matrix,
    /// Factor of the rows.
    pub embedding_scale: f32,
    /// Projection of the embedding to `length` values for each layer.
    pub projection: Linear,
    /// Norm of each layer's part of the projection. The projection's factor `1 / √embedding length`
    /// is part of the epsilon.
    pub norm: Norm,
    /// Factor of the sum.
    pub scale: f32,
    /// Length of the input of a layer.
    pub length: usize,
}

/// How a layer uses its input: `h` becomes
/// `h + post_norm(projection(activation(gate(h)) * input))`.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct PerLayerInput {
    /// Projection to the length of the layer's input.
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
