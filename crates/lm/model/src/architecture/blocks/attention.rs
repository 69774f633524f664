//! Attention blocks.

use std::sync::Arc;

use super::latent::{Latent, LowRankQuery};
use super::{Linear, Norm, Vector};

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
    /// others are unchanged. Layers without position embedding (NoPE) have no frequencies.
    pub style: RopeStyle,
    /// Angle of each pair per position, in radians.
    pub frequencies: Vec<f32>,
    /// Factor of the rotated values.
    pub magnitude: f32,
}

/// Norms of queries and keys.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct HeadNorms {
    /// Norm of the queries.
    pub query: Norm,
    /// Norm of the keys.
    pub key: Norm,
    /// Values that are normalized together.
    pub span: NormSpan,
    /// Whether RoPE comes first.
    pub after_rope: bool,
}

/// Values that a norm of queries or keys normalizes together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NormSpan {
    /// Each head, with the same weights.
    Head,
    /// Each head, with weights of its own.
    EachHead,
    /// All heads of a token.
    Row,
}

/// Attention temperature: the scores of a query at `position` are multiplied by
/// `1 + scale * ln(1 + floor((position + offset) / interval))`.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct Temperature {
    /// Growth per unit of the logarithm.
    pub scale: f32,
    /// Positions between steps.
    pub interval: u32,
    /// Added to the position.
    pub offset: u32,
}

impl Temperature {
    /// The factor of the scores of a query.
    pub fn factor(&self, position: usize) -> f32 {
        let steps = (position as u64 + u64::from(self.offset)) / u64::from(self.interval);
        (1.0 + f64::from(self.scale) * (1.0 + steps as f64).ln()) as f32
    }
}

/// An attention block, from its norm to the value added to the residual stream.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Attention {
    /// Norm of the input.
    pub norm: Option<Norm>,
    /// Query projection: `heads * key_length` values.
    pub query: Linear,
    /// Key projection: `kv_heads * key_length` values. With a shared KV cache, this is the
    /// projection of the layer that computes the keys, and `head_norms` and `value_norm` also
    /// belong to that layer.
    pub key: Linear,
    /// Value projection: `kv_heads * value_length` values. It may be the same matrix as the key
    /// projection.
    pub value: Linear,
    /// Multi-head latent attention. `key` is then the projection to the rotated part of keys, `value`
    /// that to the latent; `key_length` and `value_length` are those of the single KV head, whose
    /// value is the end of its key.
    pub latent: Option<Box<Latent>>,
    /// The earlier layer whose keys and values this one reads instead of computing its own.
    pub kv_layer: Option<usize>,
    /// Gate of the heads' outputs: their factors are its sigmoid.
    pub output_gate: Option<Linear>,
    /// Output projection, from `heads * value_length` values to the embedding length.
    pub output: Linear,
    /// Norms of queries and keys.
    pub head_norms: Option<HeadNorms>,
    /// Norm of each head of values.
    pub value_norm: Option<Norm>,
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
    /// Growth of the scores with the position.
    pub temperature: Option<Temperature>,
    /// Attention sinks: one more score per query head, of a token whose values are zero.
    pub sinks: Option<Vector>,
    /// Whether tokens attend only to earlier tokens and themselves, instead of to the whole
    /// sequence.
    pub causal: bool,
    /// Whether a row of an image may attend to later rows of the image. False only in some layers
    /// of Gemma 4.
    pub bidirectional_images: bool,
    /// ALiBi: the score of a key decreases with its distance, by the slope of the head
    /// ([`alibi_slope`]) per token. The value is the maximum bias.
    pub alibi: Option<f32>,
    /// Sliding window: the number of most recent tokens that are visible, including the current
    /// one. Without `causal`, half of them (rounded down) are visible on either side.
    pub window: Option<u32>,
    /// Length of chunks: only tokens of the same chunk are visible. Chunks start at its multiples.
    pub chunk: Option<u32>,
}

impl Attention {
    /// All projections.
    pub fn linears(&self) -> impl Iterator<Item = &Linear> {
        let latent = self.latent.iter();
        let query = latent.clone().filter(|latent| latent.low_rank.is_some()).map(move |_| &self.query);
        self.inputs().chain(query).chain(latent.flat_map(|latent| latent.heads())).chain([&self.output])
    }

    /// The projections of the input, without those of shared keys and values.
    pub fn inputs(&self) -> impl Iterator<Item = &Linear> {
        let own = self.kv_layer.is_none().then_some([&self.key, &self.value]);
        let low_rank = self.latent.as_ref().and_then(|latent| latent.low_rank.as_ref());
        let query = low_rank.map_or(&self.query, |LowRankQuery { projection, .. }| projection);
        std::iter::once(query).chain(own.into_iter().flatten()).chain(&self.output_gate)
    }

    /// All norms.
    pub fn norms(&self) -> impl Iterator<Item = &Norm> {
        let heads = self.head_norms.iter().flat_map(|norms| [&norms.query, &norms.key]);
        let latent = self.latent.iter().flat_map(|latent| latent.norms());
        self.norm.iter().chain(heads).chain(latent).chain(&self.value_norm).chain(&self.post_norm)
    }
}

/// The slope of ALiBi for a head.
///
/// For a power-of-two number of heads, slopes are a geometric series that ends at `2^-max_bias`.
/// For other numbers, the remaining heads have every second slope of the next power of two.
pub fn alibi_slope(max_bias: f32, heads: usize, head: usize) -> f32 {
    let whole = 1usize << heads.max(1).ilog2();
    let base = |bias: f32| (-f64::from(bias) / whole as f64).exp2();
    let slope = if head < whole {
        base(max_bias).powi(head as i32 + 1)
    } else {
        base(max_bias / 2.0).powi(2 * (head - whole) as i32 + 1)
    };
    slope as f32
}
