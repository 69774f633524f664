//! Selective scans.

use super::{Linear, Norm, ShortConvolution, Vector};

/// A selective scan (Mamba 1), from its norm to the value added to the residual stream.
///
/// Each channel has a row `s` of `state` values as its state, zero at the start. A token has a value
/// `x` and a step `d` per channel, and an input vector `B` and an output vector `C`. They are
/// projections of the values after the convolution:
///
/// ```text
/// d = softplus(step(step_down(x)))
/// s = exp(d * decay) * s + d * x * B
/// output = (s · C + skip * x) * silu(gate)
/// ```
///
/// In contrast to a [`StateSpace`](super::StateSpace), every value of the state has its own decay.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct SelectiveScan {
    /// Norm of the input.
    pub norm: Norm,
    /// Channels of the convolution.
    pub channels: Linear,
    /// Gate of the output, per channel.
    pub gate: Linear,
    /// The convolution. SiLU follows.
    pub convolution: ShortConvolution,
    /// Projection to few values, from which `step` computes the steps.
    pub step_down: Linear,
    /// Projection to the input vector.
    pub input: Linear,
    /// Projection to the output vector.
    pub readout: Linear,
    /// Norms of the results of these three projections.
    pub norms: Option<[Norm; 3]>,
    /// Projection to the step size (dt) of each channel.
    pub step: Linear,
    /// Factors of the steps in the exponents of the decays: `state` for each channel; negative.
    pub decay: Vector,
    /// Factor of the values that are added to the output, per channel.
    pub skip: Vector,
    /// Output projection to the embedding length.
    pub output: Linear,
    /// Length of the input vector.
    pub state: usize,
}

impl SelectiveScan {
    /// All projections.
    pub fn linears(&self) -> impl Iterator<Item = &Linear> {
        let vectors = [&self.step_down, &self.input, &self.readout];
        [&self.channels, &self.gate].into_iter().chain(vectors).chain([&self.step, &self.output])
    }

    /// All vectors but the biases of projections.
    pub fn vectors(&self) -> impl Iterator<Item = &Vector> {
        let norms = self.norms.iter().flatten().flat_map(Norm::vectors);
        self.norm.vectors().chain(norms).chain([&self.decay, &self.skip]).chain(&self.convolution.bias)
    }

    /// Number of channels.
    pub fn values(&self) -> usize {
        self.convolution.channels()
    }
}
