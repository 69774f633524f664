//! Several residual streams (AltUp), and low-rank branches beside the mixer (LAuReL).

use super::{Linear, Norm, Vector};

/// The residual streams of a model. Blocks read and write the active one only.
///
/// The first stream starts with the embedding, the others with projections of it. At the end, the
/// other streams are projected back, and the result is the mean of all. Each projection is scaled
/// so that its magnitude (L2 norm) is that of the embedding, or of the first stream.
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
///
/// Before the layer, each stream is predicted from all of them. The blocks compute the active
/// stream from its prediction. The difference of the result from the prediction, with a factor,
/// corrects each stream. The coefficients of both depend on the token: they are linear in
/// `tanh(router(router_norm(x)) / embedding length)`, where `x` is the active stream.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct StreamMixing {
    /// Norm of the router's input.
    pub router_norm: Norm,
    /// Projection to a value per stream.
    pub router: Linear,
    /// Projection of these values to a factor for each pair of a predicted stream and one that it
    /// is predicted from, predicted stream by predicted stream. The stream itself is added.
    pub predict: Linear,
    /// Projection of these values to a factor per stream, to which 1 is added.
    pub correct: Linear,
    /// Factors of the active stream's values as the input of a
    /// [`PerLayerInput`](super::PerLayerInput), whose output is added to all streams but the first.
    pub correct_scale: Vector,
}

impl StreamMixing {
    /// All projections.
    pub fn linears(&self) -> impl Iterator<Item = &Linear> {
        [&self.router, &self.predict, &self.correct].into_iter()
    }
}

/// A branch beside the mixer. With `x` the normalized input of the mixer, its output is
/// `x + post_norm(up(down(x)))`. The residual stream becomes the sum of itself and both outputs,
/// divided by √2.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct LowRankBranch {
    /// Projection to few values.
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
