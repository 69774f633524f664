//! Gated delta nets.

use super::{Linear, Matrix, Norm, Vector};

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
    /// Bias of each channel.
    pub bias: Option<Vector>,
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
}
