//! Selective state spaces, token by token.

use super::Reference;
use super::ops::{activate, dot, softplus};
use super::recurrent::LayerState;
use crate::architecture::blocks::{Activation, StateSpace};

impl Reference {
    /// The output of a state space for the next token.
    pub(super) fn state_space(&self, block: &StateSpace, state: &[f32], memory: &mut LayerState) -> Vec<f32> {
        let input = self.weights.norm(&block.norm, state);
        let channels = self.weights.apply(&block.channels, &input);
        let mut channels = self.convolve(&block.convolution, channels, &mut memory.window);
        channels.iter_mut().for_each(|value| *value = activate(Activation::Silu, *value));
        let (values, vectors) = channels.split_at(block.values());
        let (inputs, outputs) = vectors.split_at(block.groups * block.state);

        let steps = self.weights.apply(&block.step, &input);
        let [bias, decay, skip] =
            [&block.step_bias, &block.decay, &block.skip].map(|vector| self.weights.vector(vector));
        let mut mixed = Vec::with_capacity(block.values());
        let matrices = memory.matrices.chunks_mut(block.length * block.state);
        for (head, (matrix, values)) in matrices.zip(values.chunks(block.length)).enumerate() {
            let group = head / (block.heads / block.groups);
            let of_group = |vectors: &[f32]| vectors[group * block.state..][..block.state].to_vec();
            let (input, output) = (of_group(inputs), of_group(outputs));
            let step = softplus(steps[head] + bias[head]);
            let decay = (step * decay[head]).exp();
            for (row, value) in matrix.chunks_mut(block.state).zip(values) {
                row.iter_mut().zip(&input).for_each(|(weight, input)| *weight = decay * *weight + step * value * input);
                mixed.push(dot(row, &output) + skip[head] * value);
            }
        }

        let gate = self.weights.apply(&block.gate, &input);
        mixed.iter_mut().zip(gate).for_each(|(value, gate)| *value *= activate(Activation::Silu, gate));
        if let Some(norm) = &block.output_norm {
            let length = block.values() / block.groups;
            for (values, weights) in mixed.chunks_mut(length).zip(self.weights.vector(&norm.weight).chunks(length)) {
                let square = values.iter().map(|value| f64::from(*value).powi(2)).sum::<f64>() / length as f64;
                let scale = 1.0 / (square + f64::from(norm.epsilon)).sqrt();
                let normed = |value: f32, weight: f32| (f64::from(value) * scale) as f32 * weight;
                values.iter_mut().zip(weights).for_each(|(value, weight)| *value = normed(*value, *weight));
            }
        }
        self.weights.apply(&block.output, &mixed)
    }
}
