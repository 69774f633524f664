//! Short convolutions between gates.

use super::{Linear, Norm, ShortConvolution};

/// A short convolution between two gates, from its norm to the value added to the residual stream:
/// `output(output_gate(x) * convolution(input_gate(x) * value(x)))`.
///
/// The gates have no activation. The convolution has `embedding length` channels.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct GatedConvolution {
    /// Norm of the input.
    pub norm: Norm,
    /// Gate that multiplies the convolution's inputs.
    pub input_gate: Linear,
    /// Gate that multiplies the convolution's outputs.
    pub output_gate: Linear,
    /// Values to convolve.
    pub value: Linear,
    /// The convolution, without an activation.
    pub convolution: ShortConvolution,
    /// Output projection.
    pub output: Linear,
}

impl GatedConvolution {
    /// All projections.
    pub fn linears(&self) -> impl Iterator<Item = &Linear> {
        [&self.input_gate, &self.output_gate, &self.value, &self.output].into_iter()
    }
}
