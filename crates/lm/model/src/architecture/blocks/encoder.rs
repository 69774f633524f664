//! What models for embeddings and scores of texts have beside their layers.

use std::ops::Range;

use super::{Linear, Matrix, Norm, Vector};

/// What is done to the embeddings of tokens before the first layer.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct InputEmbedding {
    /// Added: a row per position.
    pub positions: Option<Matrix>,
    /// Added: the row of token type 0, the only one that is used.
    pub token_type: Option<Matrix>,
    /// Norm of the sum.
    pub norm: Option<Norm>,
}

impl InputEmbedding {
    /// Whether embeddings of tokens are the input of the first layer as they are.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// The matrices.
    pub fn matrices(&self) -> impl Iterator<Item = &Matrix> {
        self.positions.iter().chain(&self.token_type)
    }
}

/// Norms of the residual stream itself, after the output of a block was added to it.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct StreamNorms {
    /// After the mixer.
    pub mixer: Option<Norm>,
    /// After feed-forward. That of the last layer is the norm of the model.
    pub feed_forward: Option<Norm>,
}

impl StreamNorms {
    /// The tensors.
    pub fn vectors(&self) -> impl Iterator<Item = &Vector> {
        self.mixer.iter().chain(&self.feed_forward).flat_map(Norm::vectors)
    }
}

/// Tokens of a text whose hidden states are pooled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PooledTokens {
    /// The mean of all.
    Mean,
    /// The first.
    First,
    /// The last.
    Last,
}

impl PooledTokens {
    /// The tokens whose hidden states are averaged, of a text of `length` tokens.
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
    /// None.
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
    /// The projection.
    pub linear: Linear,
    /// Activation of its result.
    pub activation: PooledActivation,
    /// Norm after the activation.
    pub norm: Option<Norm>,
}

/// Turns the hidden states of a text into one vector.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Pooled {
    /// The tokens that it takes.
    pub tokens: PooledTokens,
    /// Dense layers, or a classification head.
    pub layers: Vec<PooledLayer>,
    /// Whether the result is a softmax.
    pub softmax: bool,
    /// Whether the result is the score of a text (pooling type `rank`) instead of its embedding.
    pub is_score: bool,
}

impl Pooled {
    /// Length of the result, for hidden states of `embedding` values.
    pub fn outputs(&self, embedding: usize) -> usize {
        self.layers.last().map_or(embedding, |layer| layer.linear.matrix.outputs())
    }
}
