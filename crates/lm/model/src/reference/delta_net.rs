//! Gated delta nets, token by token.

use super::Reference;
use super::ops::{activate, dot, l2_normalize, sigmoid, softplus};
use crate::architecture::Model;
use crate::architecture::blocks::{Activation, DeltaNet};

/// The state of all recurrent layers after a token.
///
/// It depends on all tokens up to that one, and has a fixed size.
#[derive(Clone, Debug, PartialEq)]
pub struct RecurrentState {
    /// One per layer of the model; empty for layers with attention.
    pub(super) layers: Vec<LayerState>,
}

/// The state of one layer.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct LayerState {
    /// Inputs of the convolution for the previous tokens, oldest first, channel by channel.
    window: Vec<f32>,
    /// The matrices of the heads: for each value, a row with a weight per key component.
    heads: Vec<f32>,
}

impl RecurrentState {
    /// The state before the first token.
    pub fn new(model: &Model) -> Self {
        let state = |block: Option<&DeltaNet>| {
            block.map_or_else(LayerState::default, |block| LayerState {
                window: vec![0.0; block.convolution.window() * block.convolution.channels()],
                heads: vec![0.0; block.heads * block.length * block.length],
            })
        };
        Self { layers: model.layers.iter().map(|layer| state(layer.delta_net())).collect() }
    }
}

impl Reference {
    /// The output of a gated delta net for the next token.
    pub(super) fn delta_net(&self, block: &DeltaNet, state: &[f32], memory: &mut LayerState) -> Vec<f32> {
        let input = self.weights.norm(&block.norm, state);
        let mixed = [&block.query, &block.key, &block.value].map(|linear| self.weights.apply(linear, &input)).concat();
        let mut mixed = self.convolve(block, mixed, &mut memory.window);
        let (keys, values) = mixed.split_at_mut(2 * block.key_heads * block.length);
        keys.chunks_mut(block.length).for_each(|head| l2_normalize(head, block.epsilon));
        let (queries, keys) = keys.split_at(block.key_heads * block.length);

        let rates = self.weights.apply(&block.rate, &input);
        let decays = self.weights.apply(&block.decay, &input);
        let (bias, factor) = (self.weights.vector(&block.decay_bias), self.weights.vector(&block.decay_factor));
        let scale = 1.0 / (block.length as f32).sqrt();
        let mut outputs = Vec::with_capacity(block.heads * block.length);
        let matrices = memory.heads.chunks_mut(block.length * block.length);
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

    /// The short convolution and its activation; the inputs of this token enter the window.
    fn convolve(&self, block: &DeltaNet, mixed: Vec<f32>, window: &mut Vec<f32>) -> Vec<f32> {
        let channels = mixed.len();
        window.extend(mixed);
        let convolved = (0..channels).map(|channel| {
            let weights = self.weights.row(&block.convolution.weight, channel);
            let inputs: Vec<f32> = window.iter().skip(channel).step_by(channels).copied().collect();
            activate(Activation::Silu, dot(weights, &inputs))
        });
        let convolved = convolved.collect();
        window.drain(..channels);
        convolved
    }
}
