//! Recurrent states, and the short convolution that recurrent blocks share.

use super::Reference;
use super::ops::dot;
use crate::architecture::Model;
use crate::architecture::blocks::ShortConvolution;

/// The state of all recurrent layers after a token.
///
/// It depends on all tokens so far and has a fixed size.
#[derive(Clone, Debug, PartialEq)]
pub struct RecurrentState {
    /// One per layer of the model; empty for layers without a recurrent block.
    pub(super) layers: Vec<LayerState>,
}

/// The state of one layer.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct LayerState {
    /// Inputs of the convolution for the previous tokens, oldest first, channel by channel.
    pub(super) window: Vec<f32>,
    /// The matrices of the heads, row by row: a row for each value.
    pub(super) matrices: Vec<f32>,
}

impl RecurrentState {
    /// The state before the first token.
    pub fn new(model: &Model) -> Self {
        let sizes = model.layers.iter().map(|layer| layer.state());
        let zeros = |size: usize| vec![0.0; size];
        Self {
            layers: sizes
                .map(|size| LayerState { window: zeros(size.window), matrices: zeros(size.matrices) })
                .collect(),
        }
    }
}

impl Reference {
    /// The short convolution of a token. Adds the token's inputs to the window.
    pub(super) fn convolve(&self, block: &ShortConvolution, inputs: Vec<f32>, window: &mut Vec<f32>) -> Vec<f32> {
        let channels = inputs.len();
        window.extend(inputs);
        let convolved = (0..channels).map(|channel| {
            let weights = self.weights.row(&block.weight, channel);
            let inputs: Vec<f32> = window.iter().skip(channel).step_by(channels).copied().collect();
            dot(weights, &inputs) + block.bias.as_ref().map_or(0.0, |bias| self.weights.vector(bias)[channel])
        });
        let convolved = convolved.collect();
        window.drain(..channels);
        convolved
    }
}
