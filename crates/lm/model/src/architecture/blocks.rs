//! The blocks of a model.
//!
//! A [`Model`](super::Model) is a list of these: what to compute, in which order, with which
//! tensors. They do not depend on the name of the architecture.

mod attention;
mod delta_net;
mod feed_forward;
mod per_layer;
mod streams;

use std::ops::Range;

pub use attention::{Attention, HeadNorms, NormSpan, Rope, RopeStyle, Temperature};
pub use delta_net::{DeltaNet, HeadOrder, ShortConvolution};
pub use feed_forward::{
    Activation, ExpertGroups, ExpertScores, FeedForward, FeedForwardKind, GatedFeedForward, Routing, SharedExpert,
};
pub use per_layer::{PerLayerEmbedding, PerLayerInput};
pub use streams::{LowRankBranch, StreamMixing, Streams};

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

/// The part of a layer that reads earlier tokens.
#[derive(Clone, Debug, PartialEq)]
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

/// A layer: a mixer of tokens, then feed-forward.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Layer {
    /// Attention block, or a recurrent block in its place.
    pub mixer: Mixer,
    /// Feed-forward block.
    pub feed_forward: FeedForward,
    /// Whether both blocks read the same residual stream, instead of feed-forward that after the
    /// mixer.
    pub parallel: bool,
    /// Input of this layer alone, added to the residual stream after feed-forward.
    pub per_layer: Option<PerLayerInput>,
    /// A value that the residual stream is multiplied by at the end.
    pub output_scale: Option<Vector>,
    /// Branch beside the mixer.
    pub low_rank: Option<LowRankBranch>,
    /// How the layer reads and writes several residual streams.
    pub streams: Option<StreamMixing>,
}

impl Layer {
    /// All projections.
    pub fn linears(&self) -> impl Iterator<Item = &Linear> {
        let extra = self.per_layer.iter().flat_map(PerLayerInput::linears);
        let low_rank = self.low_rank.iter().flat_map(LowRankBranch::linears);
        let streams = self.streams.iter().flat_map(StreamMixing::linears);
        let blocks = self.mixer.linears().into_iter().chain(self.feed_forward.linears());
        blocks.chain(extra).chain(low_rank).chain(streams)
    }

    /// The vectors of what is neither the mixer nor feed-forward.
    pub fn extra_vectors(&self) -> impl Iterator<Item = &Vector> {
        let per_layer = self.per_layer.iter().map(|block| &block.post_norm);
        let low_rank = self.low_rank.iter().map(|block| &block.post_norm);
        let streams = self.streams.iter().map(|block| &block.router_norm);
        let scales = self.streams.iter().map(|block| &block.correct_scale);
        per_layer.chain(low_rank).chain(streams).flat_map(Norm::vectors).chain(scales).chain(&self.output_scale)
    }

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
