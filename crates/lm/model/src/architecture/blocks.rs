//! The blocks of a model.
//!
//! A [`Model`](super::Model) is a list of these: what to compute, in which order, with which
//! tensors. They do not depend on the name of the architecture.

mod attention;
mod delta_net;
mod dynamic_time_mix;
mod encoder;
mod feed_forward;
mod gated_convolution;
mod latent;
mod per_layer;
mod selective_scan;
mod state_space;
mod streams;
mod time_mix;

use std::ops::Range;

pub use attention::{Attention, HeadNorms, NormSpan, Rope, RopeStyle, Temperature, alibi_slope};
pub use delta_net::{DeltaNet, HeadOrder, ShortConvolution};
pub use dynamic_time_mix::DynamicTimeMix;
pub use encoder::{InputEmbedding, Pooled, PooledActivation, PooledLayer, PooledTokens, StreamNorms};
pub use feed_forward::{
    Activation, ExpertGroups, ExpertScores, FeedForward, FeedForwardGate, FeedForwardKind, GatedFeedForward, Routing,
    SharedExpert,
};
pub use gated_convolution::GatedConvolution;
pub use latent::{Latent, LowRankQuery};
pub use per_layer::{PerLayerEmbedding, PerLayerInput};
pub use selective_scan::SelectiveScan;
pub use state_space::{StateSpace, StateSpaceNorm};
pub use streams::{LowRankBranch, StreamMixing, Streams};
pub use time_mix::{LowRankVector, TimeMix};

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
    /// A matrix of a whole tensor.
    pub fn whole(tensor: impl Into<String>, rows: usize, columns: usize) -> Self {
        Self { tensor: tensor.into(), rows: 0..rows, columns, blocks: None }
    }

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

impl Vector {
    /// A part of it.
    pub fn part(&self, values: Range<usize>) -> Self {
        let start = self.values.start;
        Self { tensor: self.tensor.clone(), values: start + values.start..start + values.end }
    }
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

/// What a norm divides by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NormKind {
    /// RMS norm: the root of the mean square.
    Rms,
    /// Layer norm: the mean is subtracted first, then as `Rms`.
    Layer,
}

/// Norm of a row.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Norm {
    /// What it divides by.
    pub kind: NormKind,
    /// Weights, multiplied with the normalized values; `None` for ones.
    pub weight: Option<Vector>,
    /// Bias, added at the end.
    pub bias: Option<Vector>,
    /// Epsilon, added to the mean square.
    pub epsilon: f32,
}

impl Norm {
    /// The tensors.
    pub fn vectors(&self) -> impl Iterator<Item = &Vector> {
        self.weight.iter().chain(&self.bias)
    }
}

/// The part of a layer that mixes tokens.
#[derive(Clone, Debug, PartialEq)]
pub enum Mixer {
    /// Attention to all earlier tokens, by keys and values in the KV cache.
    Attention(Attention),
    /// A gated delta net, with a recurrent state of fixed size.
    DeltaNet(DeltaNet),
    /// A short convolution between gates; its state is its last inputs.
    GatedConvolution(GatedConvolution),
    /// A selective state space, with a recurrent state of fixed size.
    StateSpace(StateSpace),
    /// A selective scan, with a recurrent state of fixed size.
    SelectiveScan(SelectiveScan),
    /// Time mixing of RWKV, with a recurrent state of fixed size.
    TimeMix(Box<TimeMix>),
    /// Time mixing of RWKV 6, with a recurrent state of fixed size.
    DynamicTimeMix(Box<DynamicTimeMix>),
}

impl Mixer {
    /// All projections.
    pub fn linears(&self) -> Vec<&Linear> {
        match self {
            Self::Attention(block) => block.linears().collect(),
            Self::DeltaNet(block) => block.linears().collect(),
            Self::GatedConvolution(block) => block.linears().collect(),
            Self::StateSpace(block) => block.linears().collect(),
            Self::SelectiveScan(block) => block.linears().collect(),
            Self::TimeMix(block) => block.linears().collect(),
            Self::DynamicTimeMix(block) => block.linears().collect(),
        }
    }

    /// All vectors but the biases of projections.
    pub fn vectors(&self) -> Vec<&Vector> {
        match self {
            Self::Attention(block) => block.norms().flat_map(Norm::vectors).chain(&block.sinks).collect(),
            Self::DeltaNet(block) => {
                let norms = [&block.norm, &block.output_norm].into_iter().flat_map(Norm::vectors);
                norms.chain([&block.decay_bias, &block.decay_factor]).chain(&block.convolution.bias).collect()
            }
            Self::GatedConvolution(block) => block.norm.vectors().chain(&block.convolution.bias).collect(),
            Self::StateSpace(block) => block.vectors().collect(),
            Self::SelectiveScan(block) => block.vectors().collect(),
            Self::TimeMix(block) => block.vectors().collect(),
            Self::DynamicTimeMix(block) => block.vectors().collect(),
        }
    }

    /// The convolution of a recurrent mixer.
    pub fn convolution(&self) -> Option<&ShortConvolution> {
        match self {
            Self::Attention(_) | Self::TimeMix(_) | Self::DynamicTimeMix(_) => None,
            Self::DeltaNet(block) => Some(&block.convolution),
            Self::GatedConvolution(block) => Some(&block.convolution),
            Self::StateSpace(block) => Some(&block.convolution),
            Self::SelectiveScan(block) => Some(&block.convolution),
        }
    }

    /// Values of the recurrent state of a sequence.
    pub fn state(&self) -> StateSize {
        let window = match self {
            // The last inputs of time mixing, and of feed-forward.
            Self::TimeMix(block) => block.token_shifts * block.values(),
            Self::DynamicTimeMix(block) => block.token_shifts * block.values(),
            _ => self.convolution().map_or(0, |convolution| convolution.window() * convolution.channels()),
        };
        let matrices = match self {
            Self::Attention(_) | Self::GatedConvolution(_) => 0,
            Self::DeltaNet(block) => block.heads * block.length * block.length,
            Self::StateSpace(block) => block.heads * block.length * block.state,
            Self::SelectiveScan(block) => block.values() * block.state,
            Self::TimeMix(block) => block.values() * block.length,
            Self::DynamicTimeMix(block) => block.values() * block.length,
        };
        StateSize { window, matrices }
    }
}

/// Values of the recurrent state of a sequence.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StateSize {
    /// Last inputs of the convolution, or of the token shifts.
    pub window: usize,
    /// Matrices of the heads, in values.
    pub matrices: usize,
}

impl StateSize {
    /// Sum of both.
    pub fn values(self) -> usize {
        self.window + self.matrices
    }
}

/// A layer: mixers of tokens, then feed-forward.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Layer {
    /// Attention or recurrent blocks, which read the same residual stream. Most layers have one;
    /// some have only feed-forward. At most one is recurrent, and at most one is attention.
    pub mixers: Vec<Mixer>,
    /// Feed-forward block.
    pub feed_forward: Option<FeedForward>,
    /// Whether feed-forward reads the same residual stream as the mixers, instead of the stream
    /// after them.
    pub parallel: bool,
    /// Per-layer embedding of this layer, added to the residual stream after feed-forward.
    pub per_layer: Option<PerLayerInput>,
    /// Factor of the residual stream at the end of the layer.
    pub output_scale: Option<Vector>,
    /// Low-rank branch parallel to the mixer (LAuReL).
    pub low_rank: Option<LowRankBranch>,
    /// Mixing of several residual streams (AltUp).
    pub streams: Option<StreamMixing>,
    /// Norms of the residual stream after each block.
    pub stream_norms: StreamNorms,
}

impl Layer {
    /// All projections.
    pub fn linears(&self) -> impl Iterator<Item = &Linear> {
        let extra = self.per_layer.iter().flat_map(PerLayerInput::linears);
        let low_rank = self.low_rank.iter().flat_map(LowRankBranch::linears);
        let streams = self.streams.iter().flat_map(StreamMixing::linears);
        let blocks = self.mixer_linears().chain(self.feed_forward.iter().flat_map(FeedForward::linears));
        blocks.chain(extra).chain(low_rank).chain(streams)
    }

    /// The vectors outside the mixers and feed-forward.
    pub fn extra_vectors(&self) -> impl Iterator<Item = &Vector> {
        let per_layer = self.per_layer.iter().map(|block| &block.post_norm);
        let low_rank = self.low_rank.iter().map(|block| &block.post_norm);
        let streams = self.streams.iter().map(|block| &block.router_norm);
        let scales = self.streams.iter().map(|block| &block.correct_scale);
        per_layer.chain(low_rank).chain(streams).flat_map(Norm::vectors).chain(scales).chain(&self.output_scale)
    }

    /// The attention block, if the layer has one.
    pub fn attention(&self) -> Option<&Attention> {
        self.mixers.iter().find_map(|mixer| match mixer {
            Mixer::Attention(block) => Some(block),
            _ => None,
        })
    }

    /// The gated delta net, if the layer has one.
    pub fn delta_net(&self) -> Option<&DeltaNet> {
        self.mixers.iter().find_map(|mixer| match mixer {
            Mixer::DeltaNet(block) => Some(block),
            _ => None,
        })
    }

    /// Values of the recurrent state of a sequence.
    pub fn state(&self) -> StateSize {
        self.mixers.iter().map(Mixer::state).find(|state| state.values() > 0).unwrap_or_default()
    }

    /// The projections of all mixers.
    pub fn mixer_linears(&self) -> impl Iterator<Item = &Linear> {
        self.mixers.iter().flat_map(Mixer::linears)
    }
}
