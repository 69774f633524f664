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
    /// Which of these rows belong to the matrix; `None` for all.
    pub blocks: Option<RowBlocks>,
}

/// Evenly spaced blocks of rows, for projections whose rows a tensor interleaves head by head.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct RowBlocks {
    /// Rows of a block.
    pub length: usize,
    /// Rows from the start of a block to the start of the next one.
    pub step: usize,
}

impl Matrix {
    /// Length of the output.
    pub fn outputs(&self) -> usize {
        match self.blocks {
            None => self.rows.len(),
            Some(RowBlocks { length, step }) => self.rows.len().div_ceil(step) * length,
        }
    }

    /// The row of the tensor that computes an output.
    pub fn row(&self, output: usize) -> usize {
        self.rows.start
            + match self.blocks {
                None => output,
                Some(RowBlocks { length, step }) => output / length * step + output % length,
            }
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
    /// Added to the outputs.
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
    /// Gate of the heads' outputs: their factors are its sigmoid.
    pub output_gate: Option<Linear>,
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

impl Attention {
    /// All projections.
    pub fn linears(&self) -> impl Iterator<Item = &Linear> {
        [&self.query, &self.key, &self.value].into_iter().chain(&self.output_gate).chain([&self.output])
    }
}

/// Which key head serves a value head, where there are fewer key heads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HeadOrder {
    /// Consecutive value heads share a key head: `head / (heads / key_heads)`.
    Grouped,
    /// Value heads take key heads in turn: `head % key_heads`.
    Tiled,
}

/// A causal convolution over the most recent tokens, of each channel with its own weights.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ShortConvolution {
    /// A row per channel, with a weight per token, the current token last.
    pub weight: Matrix,
}

impl ShortConvolution {
    /// Number of channels.
    pub fn channels(&self) -> usize {
        self.weight.outputs()
    }

    /// Tokens that it reads, including the current one.
    pub fn taps(&self) -> usize {
        self.weight.columns
    }

    /// Tokens before the current one that it reads.
    pub fn window(&self) -> usize {
        self.weight.columns - 1
    }
}

/// A gated delta net, from its norm to the value added to the residual stream.
///
/// Each head has a matrix `S` of `length` x `length` as its state, zero at the start. A token has a
/// query `q`, a key `k` and a value `v` per head, a decay `g` from 0 to 1 and a rate `b`:
///
/// ```text
/// S = g * S
/// S = S + b * (v - S k) kᵀ
/// output = S q / √length
/// ```
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct DeltaNet {
    /// Norm of the input.
    pub norm: Norm,
    /// Query projection: `key_heads * length` values.
    pub query: Linear,
    /// Key projection: `key_heads * length` values.
    pub key: Linear,
    /// Value projection: `heads * length` values.
    pub value: Linear,
    /// Gate of the output: `heads * length` values.
    pub gate: Linear,
    /// Projection to the rate: `b` is its sigmoid. A value per head.
    pub rate: Linear,
    /// Projection to the decay: `g = exp(decay_factor * softplus(decay(x) + decay_bias))`. A value
    /// per head.
    pub decay: Linear,
    /// Bias of the decay, per head.
    pub decay_bias: Vector,
    /// Factor of the decay, per head; negative.
    pub decay_factor: Vector,
    /// Convolution of queries, keys and values, which are its channels in this order. SiLU follows.
    pub convolution: ShortConvolution,
    /// Epsilon of the L2 norm of queries and keys after the convolution, added to the sum of the
    /// squares. llama.cpp of August 2026 takes it as the minimum of the norm instead.
    pub epsilon: f32,
    /// Norm of each head's output, before it is multiplied with the SiLU of the gate.
    pub output_norm: Norm,
    /// Output projection, from `heads * length` values to the embedding length.
    pub output: Linear,
    /// Value heads, which are those with a state.
    pub heads: usize,
    /// Query and key heads.
    pub key_heads: usize,
    /// Key head of each value head.
    pub order: HeadOrder,
    /// Length of a head.
    pub length: usize,
}

impl DeltaNet {
    /// All projections.
    pub fn linears(&self) -> impl Iterator<Item = &Linear> {
        [&self.query, &self.key, &self.value, &self.gate, &self.rate, &self.decay, &self.output].into_iter()
    }

    /// The key head that serves a value head.
    pub fn key_head(&self, head: usize) -> usize {
        match self.order {
            HeadOrder::Grouped => head / (self.heads / self.key_heads),
            HeadOrder::Tiled => head % self.key_heads,
        }
    }

    /// Values of the recurrent state: the convolution's window and the matrices of the heads.
    pub fn state_values(&self) -> usize {
        self.convolution.window() * self.convolution.channels() + self.heads * self.length * self.length
    }
}

/// The part of a layer that reads earlier tokens.
#[derive(Clone, Debug, PartialEq)]
#[expect(clippy::large_enum_variant, reason = "a model has few layers, and all have one of these")]
pub enum Mixer {
    /// Attention to all earlier tokens, by keys and values in the KV cache.
    Attention(Attention),
    /// A recurrent state of fixed size.
    DeltaNet(DeltaNet),
}

impl Mixer {
    /// All projections.
    pub fn linears(&self) -> Vec<&Linear> {
        match self {
            Self::Attention(block) => block.linears().collect(),
            Self::DeltaNet(block) => block.linears().collect(),
        }
    }
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
pub struct GatedFeedForward {
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
    Dense(GatedFeedForward),
    /// A mixture of experts.
    Experts {
        /// Computes a score per expert.
        router: Linear,
        /// The experts that the router chooses from.
        experts: Vec<GatedFeedForward>,
        /// Experts per token: those with the highest scores. Their weights are the softmax over all
        /// scores, renormalized over the chosen experts.
        experts_per_token: usize,
    },
}

/// An expert for all tokens, beside those that the router chooses.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct SharedExpert {
    /// The network of this expert.
    pub network: GatedFeedForward,
    /// Projection to one value, whose sigmoid is the factor of the network's output.
    pub gate: Option<Linear>,
}

impl SharedExpert {
    /// All projections.
    pub fn linears(&self) -> impl Iterator<Item = &Linear> {
        [&self.network.gate, &self.network.up, &self.network.down].into_iter().chain(&self.gate)
    }
}

/// A feed-forward block, from its norm to the value added to the residual stream.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct FeedForward {
    /// Norm of the input.
    pub norm: Norm,
    /// The network of this expert.
    pub kind: FeedForwardKind,
    /// Activation of the gate.
    pub activation: Activation,
    /// Shared expert, whose output is added to that of the network.
    pub shared: Option<SharedExpert>,
    /// Norm of the output, before it is added to the residual stream.
    pub post_norm: Option<Norm>,
}

/// A layer: a mixer of tokens, then feed-forward.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Layer {
    /// Attention block, or a recurrent block in its place.
    pub mixer: Mixer,
    /// Feed-forward block.
    pub feed_forward: FeedForward,
}

impl Layer {
    /// The attention block, unless the layer is recurrent.
    pub fn attention(&self) -> Option<&Attention> {
        match &self.mixer {
            Mixer::Attention(block) => Some(block),
            Mixer::DeltaNet(_) => None,
        }
    }

    /// The gated delta net, if the layer is one.
    pub fn delta_net(&self) -> Option<&DeltaNet> {
        match &self.mixer {
            Mixer::Attention(_) => None,
            Mixer::DeltaNet(block) => Some(block),
        }
    }
}
