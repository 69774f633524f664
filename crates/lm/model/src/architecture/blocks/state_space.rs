//! Selective state spaces.

use super::{Linear, Norm, ShortConvolution, Vector};

/// A selective state space (Mamba 2), from its norm to the value added to the residual stream.
///
/// Each head has a state matrix `S` of `length` x `state`, initially zero. A token has values `x`
/// per head, an input vector `B` and an output vector `C` per group of heads, and a step `d` per
/// head:
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
    /// Output gate: `heads * length` values, activated by SiLU.
    pub gate: Linear,
    /// Channels of the convolution: the values of all heads, then `B` of all groups, then `C`.
    pub channels: Linear,
    /// Projection to the steps, a value per head.
    pub step: Linear,
    /// Bias of the steps, one per head.
    pub step_bias: Vector,
    /// Decay factor of the steps, one per head; negative.
    pub decay: Vector,
    /// Factor of the values that are added to the output, one per head.
    pub skip: Vector,
    /// The convolution, whose results are activated by SiLU.
    pub convolution: ShortConvolution,
    /// Norm of the output after its gate.
    pub output_norm: Option<StateSpaceNorm>,
    /// Output projection, from `heads * length` values to the embedding length.
    pub output: Linear,
    /// Heads.
    pub heads: usize,
    /// Groups of consecutive heads that share `B` and `C`.
    pub groups: usize,
    /// Values of a head.
    pub length: usize,
    /// Length of `B` and `C`.
    pub state: usize,
}

/// RMS norm of the output of a state space, separately for each group of heads.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct StateSpaceNorm {
    /// Weights of all groups, one per output value.
    pub weight: Vector,
    /// Epsilon, added to the mean square.
    pub epsilon: f32,
}

impl StateSpace {
    /// All projections.
    pub fn linears(&self) -> impl Iterator<Item = &Linear> {
        [&self.gate, &self.channels, &self.step, &self.output].into_iter()
    }

    /// All vectors except the biases of projections.
    pub fn vectors(&self) -> impl Iterator<Item = &Vector> {
        let own = [&self.step_bias, &self.decay, &self.skip].into_iter();
        let norm = self.output_norm.iter().map(|norm| &norm.weight);
        self.norm.vectors().chain(own).chain(&self.convolution.bias).chain(norm)
    }

    /// Number of values of all heads.
    pub fn values(&self) -> usize {
        self.heads * self.length
    }
}
