//! Parts of embedding models and rerankers outside their layers.

use std::ops::Range;

use super::{Linear, Matrix, Norm, Vector};

/// Applied to token embeddings before the first layer.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct InputEmbedding {
    /// Learned position embeddings: a row per position, which is added.
    pub positions: Option<Matrix>,
    /// Embedding of token type 0, the only one that is used, which is added.
    pub token_type: Option<Matrix>,
    /// Norm of the sum.
    pub norm: Option<Norm>,
}

impl InputEmbedding {
    /// Whether the first layer reads token embeddings unchanged.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// The matrices.
    pub fn matrices(&self) -> impl Iterator<Item = &Matrix> {
        self.positions.iter().chain(&self.token_type)
    }
}

/// Norms of the residual stream itself, after the output of a block is added.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct StreamNorms {
    /// After the mixer.
    pub mixer: Option<Norm>,
    /// After feed-forward. In the last layer, this is the model's final norm.
    pub feed_forward: Option<Norm>,
}

impl StreamNorms {
    /// The tensors.
    pub fn vectors(&self) -> impl Iterator<Item = &Vector> {
        self.mixer.iter().chain(&self.feed_forward).flat_map(Norm::vectors)
    }
}

/// The tokens whose hidden states are pooled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PooledTokens {
    /// Mean of all tokens.
    Mean,
    /// First token.
    First,
    /// Last token.
    Last,
}

impl PooledTokens {
    /// The tokens whose hidden states are averaged, for a sequence of `length` tokens.
    pub fn range(self, length: usize) -> Range<usize> {
        match self {
            Self::Mean => 0..length,
            Self::First => 0..length.min(1),
            Self::Last => length.saturating_sub(1)..length,
        }
    }
}

/// Activation of a layer after pooling.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PooledActivation {
    /// No activation.
    Identity,
    /// Hyperbolic tangent.
    Tanh,
    /// [`Activation::Gelu`](super::Activation::Gelu).
    Gelu,
}

/// A dense layer after pooling.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct PooledLayer {
    /// Projection.
    pub linear: Linear,
    /// Activation of the projection's result.
    pub activation: PooledActivation,
    /// Norm after the activation.
    pub norm: Option<Norm>,
}

/// Converts the hidden states of a sequence to one vector.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Pooled {
    /// The tokens that are pooled.
    pub tokens: PooledTokens,
    /// Dense layers, or a classification head.
    pub layers: Vec<PooledLayer>,
    /// Whether the result is a softmax.
    pub softmax: bool,
    /// Whether the result is a score (pooling type `rank`) instead of an embedding.
    pub is_score: bool,
}

impl Pooled {
    /// Length of the result, for hidden states of `embedding` values.
    pub fn outputs(&self, embedding: usize) -> usize {
        self.layers.last().map_or(embedding, |layer| layer.linear.matrix.outputs())
    }
}
