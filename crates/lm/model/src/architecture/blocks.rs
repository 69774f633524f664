//! The blocks of a model.
//!
//! A [`Model`](super::Model) is a list of these: what to compute, in which order, with which
//! tensors. They do not depend on the name of the architecture.

use std::ops::Range;
use std::sync::Arc;

/// Rows of a tensor in the file.
///
/// One tensor may hold several stacked matrices: fused projections, or one matrix per expert.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Matrix {
    /// Name of the tensor.
    pub tensor: String,
    /// Rows of the tensor, of `columns` values each.
    pub rows: Range<usize>,
    /// Length of the input.
    pub columns: usize,
}

impl Matrix {
    /// Length of the output.
    pub fn outputs(&self) -> usize {
        self.rows.len()
    }
}

/// A range of values of a one-dimensional tensor.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Vector {
    /// Name of the tensor.
    pub tensor: String,
    /// Range of its values.
    pub values: Range<usize>,
}

/// A linear layer: a matrix product with an optional bias.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Linear {
    /// Weights.
    pub matrix: Matrix,
    /// Bias.
    pub bias: Option<Vector>,
}

/// RMS norm.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Norm {
    /// Weights, multiplied with the normalized values.
    pub weight: Vector,
    /// Epsilon, added to the mean square.
    pub epsilon: f32,
}

/// Which values of a head form a rotated pair.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum RopeStyle {
    /// Values 0 and 1, 2 and 3, and so on; `LLAMA_ROPE_TYPE_NORM` in llama.cpp.
    Interleaved,
    /// Values 0 and n/2, 1 and n/2 + 1, and so on; `LLAMA_ROPE_TYPE_NEOX` in llama.cpp.
    Neox,
}

/// Rotary position embedding (RoPE).
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Rope {
    /// How values are paired. The first `2 * frequencies.len()` values of a head are rotated, the
    /// others are unchanged.
    pub style: RopeStyle,
    /// Angle of each pair per position, in radians.
    pub frequencies: Vec<f32>,
    /// Factor of the rotated values.
    pub magnitude: f32,
}

/// An attention block, from its norm to the value added to the residual stream.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Attention {
    /// Norm of the input.
    pub norm: Norm,
    /// Query projection: `heads * key_length` values.
    pub query: Linear,
    /// Key projection: `kv_heads * key_length` values.
    pub key: Linear,
    /// Value projection: `kv_heads * value_length` values.
    pub value: Linear,
    /// Output projection, from `heads * value_length` values to the embedding length.
    pub output: Linear,
    /// Norms of each query head and each key head, before RoPE.
    pub head_norms: Option<(Norm, Norm)>,
    /// Norm of the output, before it is added to the residual stream.
    pub post_norm: Option<Norm>,
    /// Query heads.
    pub heads: usize,
    /// Key and value heads; each serves `heads / kv_heads` query heads.
    pub kv_heads: usize,
    /// Length of a query or key head.
    pub key_length: usize,
    /// Length of a value head.
    pub value_length: usize,
    /// RoPE of queries and keys. Layers with the same RoPE share it.
    pub rope: Arc<Rope>,
    /// Factor of the attention scores.
    pub scale: f32,
    /// Soft cap `c` of the scores: `s` becomes `c * tanh(s / c)`.
    pub soft_cap: Option<f32>,
    /// Sliding window: the number of most recent tokens that are visible, including the current
    /// one.
    pub window: Option<u32>,
}

/// Activation function.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Activation {
    /// `x / (1 + exp(-x))`.
    Silu,
    /// `x * (1 + tanh(√(2/π) * (x + 0.044715 x³))) / 2`.
    Gelu,
}

/// A gated feed-forward network: `down(activation(gate(x)) * up(x))`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Gated {
    /// Gate projection, the input of the activation.
    pub gate: Linear,
    /// Up projection.
    pub up: Linear,
    /// Down projection to the embedding length.
    pub down: Linear,
}

/// Dense network or mixture of experts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FeedForwardKind {
    /// One network for all tokens.
    Dense(Gated),
    /// A mixture of experts.
    Experts {
        /// Computes a score per expert.
        router: Linear,
        /// All experts.
        experts: Vec<Gated>,
        /// Experts per token: those with the highest scores. Their weights are the softmax over all
        /// scores, renormalized over the chosen experts.
        used: usize,
    },
}

/// A feed-forward block, from its norm to the value added to the residual stream.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct FeedForward {
    /// Norm of the input.
    pub norm: Norm,
    /// The network.
    pub kind: FeedForwardKind,
    /// Activation of the gate.
    pub activation: Activation,
    /// Norm of the output, before it is added to the residual stream.
    pub post_norm: Option<Norm>,
}

/// A layer: attention, then feed-forward.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Layer {
    /// Attention block.
    pub attention: Attention,
    /// Feed-forward block.
    pub feed_forward: FeedForward,
}
