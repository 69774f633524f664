//! Multiple residual streams (AltUp), and low-rank branches parallel to the mixer (LAuReL).

use super::{Linear, Norm, Vector};

/// The residual streams of a model. Blocks read and write only the active one.
///
/// The first stream starts with the embedding, the others with projections of it. At the end, the
/// other streams are projected again, and the result is the mean of all. Each projection is scaled
/// to an L2 norm: at the start that of the embedding, at the end that of the active stream.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Streams {
    /// Projections of the embedding to all streams but the first.
    pub starts: Vec<Linear>,
    /// Projections of all streams but the first at the end.
    pub ends: Vec<Linear>,
    /// The active stream.
    pub active: usize,
}

/// How a layer reads and writes the residual streams.
/// Before the layer, each stream is predicted from all of them. The blocks read the prediction of
/// the active stream. Afterwards, each stream is corrected by the difference between the result and
/// that prediction, with a factor. The coefficients depend on the token: they are linear in
/// `tanh(router(router_norm(x)) / embedding length)`, where `x` is the active stream.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct StreamMixing {
    /// Norm of the router's input.
    pub router_norm: Norm,
    /// Projection to a value per stream.
    pub router: Linear,
    /// Projection of these values to a factor for each pair of a predicted stream and a source
    /// stream, grouped by predicted stream. The prediction also adds the stream itself.
    pub predict: Linear,
    /// Projection of these values to a factor per stream, to which 1 is added.
    pub correct: Linear,
    /// Factors of the active stream's values, as the input of a
    /// [`PerLayerInput`](super::PerLayerInput), whose output is added to all streams except the
    /// first.
    pub correct_scale: Vector,
}

impl StreamMixing {
    /// All projections.
    pub fn linears(&self) -> impl Iterator<Item = &Linear> {
        [&self.router, &self.predict, &self.correct].into_iter()
    }
}

/// A branch parallel to the mixer. With `x` the normalized input of the mixer, its output is
/// `x + post_norm(up(down(x)))`. The new residual stream is the sum of the old one and both
/// outputs, divided by √2.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct LowRankBranch {
    /// Projection to the low rank.
    pub down: Linear,
    /// Projection back to the embedding length.
    pub up: Linear,
    /// Norm of the result.
    pub post_norm: Norm,
}

impl LowRankBranch {
    /// All projections.
    pub fn linears(&self) -> impl Iterator<Item = &Linear> {
        [&self.down, &self.up].into_iter()
    }
}
