//! Selective state spaces.

use super::{Linear, Norm, ShortConvolution, Vector};

/// A selective state space (Mamba 2), from its norm to the value added to the residual stream.
///
/// Each head has a matrix `S` of `length` x `state` as its state, zero at the start. A token has
/// values `x` per head, an input vector `B` and an output vector `C` per group of heads, and a step
/// `d` per head:
///
/// ```text
/// d = softplus(step(x) + step_bias)
/// S = exp(d * decay) * S + d * x Bᵀ
/// output = S C + skip * x
/// ```
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct StateSpace {
    /// Norm of the input.
    pub norm: Norm,
    /// Gate of the output: `heads * length` values, of which the SiLU is taken.
    pub gate: Linear,
    /// Channels of the convolution: the values of all heads, then `B` of all groups, then `C`.
    pub channels: Linear,
    /// Projection to the steps, a value per head.
    pub step: Linear,
    /// Bias of the steps, per head.
    pub step_bias: Vector,
    /// Factor of the steps in the exponent of the decay, per head; negative.
    pub decay: Vector,
    /// Factor of the values that are added to the output, per head.
    pub skip: Vector,
    /// The convolution. SiLU follows.
    pub convolution: ShortConvolution,
    /// Norm of the output after its gate.
    pub output_norm: Option<StateSpaceNorm>,
    /// Output projection, from `heads * length` values to the embedding length.
    pub output: Linear,
    /// Heads.
    pub heads: usize,
    /// Groups of consecutive heads with common `B` and `C`.
    pub groups: usize,
    /// Values of a head.
    pub length: usize,
    /// Length of `B` and `C`.
    pub state: usize,
}

/// RMS norm of the output of a state space, each group of heads by itself.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct StateSpaceNorm {
    /// Weights of all groups, a value per output.
    pub weight: Vector,
    /// Epsilon, added to the mean square.
    pub epsilon: f32,
}

impl StateSpace {
    /// All projections.
    pub fn linears(&self) -> impl Iterator<Item = &Linear> {
        [&self.gate, &self.channels, &self.step, &self.output].into_iter()
    }

    /// All vectors but the biases of projections.
    pub fn vectors(&self) -> impl Iterator<Item = &Vector> {
        let own = [&self.step_bias, &self.decay, &self.skip].into_iter();
        let norm = self.output_norm.iter().map(|norm| &norm.weight);
        self.norm.vectors().chain(own).chain(&self.convolution.bias).chain(norm)
    }

    /// Values of all heads.
    pub fn values(&self) -> usize {
        self.heads * self.length
    }
}
