//! Gated delta nets, token by token.

use super::Reference;
use super::ops::{activate, dot, l2_normalize, sigmoid, softplus};
use super::recurrent::LayerState;
use crate::architecture::blocks::{Activation, DeltaNet};

impl Reference {
    /// The output of a gated delta net for the next token.
    pub(super) fn delta_net(&self, block: &DeltaNet, state: &[f32], memory: &mut LayerState) -> Vec<f32> {
        let input = self.weights.norm(&block.norm, state);
        let mixed = [&block.query, &block.key, &block.value].map(|linear| self.weights.apply(linear, &input)).concat();
        let mut mixed = self.convolve(&block.convolution, mixed, &mut memory.window);
        mixed.iter_mut().for_each(|value| *value = activate(Activation::Silu, *value));
        let (keys, values) = mixed.split_at_mut(2 * block.key_heads * block.length);
        keys.chunks_mut(block.length).for_each(|head| l2_normalize(head, block.epsilon));
        let (queries, keys) = keys.split_at(block.key_heads * block.length);

        let rates = self.weights.apply(&block.rate, &input);
        let decays = self.weights.apply(&block.decay, &input);
        let (bias, factor) = (self.weights.vector(&block.decay_bias), self.weights.vector(&block.decay_factor));
        let scale = 1.0 / (block.length as f32).sqrt();
        let mut outputs = Vec::with_capacity(block.heads * block.length);
        let matrices = memory.matrices.chunks_mut(block.length * block.length);
        for (head, (matrix, value)) in matrices.zip(values.chunks(block.length)).enumerate() {
            let of = |heads: &[f32]| heads[block.key_head(head) * block.length..][..block.length].to_vec();
            let (query, key) = (of(queries), of(keys));
            let decay = (factor[head] * softplus(decays[head] + bias[head])).exp();
            let rate = sigmoid(rates[head]);
            for (row, value) in matrix.chunks_mut(block.length).zip(value) {
                row.iter_mut().for_each(|weight| *weight *= decay);
                let change = rate * (value - dot(row, &key));
                row.iter_mut().zip(&key).for_each(|(weight, key)| *weight += change * key);
                outputs.push(dot(row, &query) * scale);
            }
        }

        let mut gate = self.weights.apply(&block.gate, &input);
        for (gate, output) in gate.chunks_mut(block.length).zip(outputs.chunks(block.length)) {
            let output = self.weights.norm(&block.output_norm, output);
            gate.iter_mut().zip(output).for_each(|(gate, output)| *gate = activate(Activation::Silu, *gate) * output);
        }
        self.weights.apply(&block.output, &gate)
    }
}
