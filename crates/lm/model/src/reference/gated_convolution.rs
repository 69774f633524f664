//! Short convolutions between gates, token by token.

use super::Reference;
use super::recurrent::LayerState;
use crate::architecture::blocks::GatedConvolution;

impl Reference {
    /// The output of a gated convolution for the next token.
    pub(super) fn gated_convolution(
        &self,
        block: &GatedConvolution,
        state: &[f32],
        memory: &mut LayerState,
    ) -> Vec<f32> {
        let input = self.weights.norm(&block.norm, state);
        let mut values = self.weights.apply(&block.value, &input);
        multiply(&mut values, &self.weights.apply(&block.input_gate, &input));
        let mut convolved = self.convolve(&block.convolution, values, &mut memory.window);
        multiply(&mut convolved, &self.weights.apply(&block.output_gate, &input));
        self.weights.apply(&block.output, &convolved)
    }
}

fn multiply(values: &mut [f32], gates: &[f32]) {
    values.iter_mut().zip(gates).for_each(|(value, gate)| *value *= gate);
}
