//! Selective scans, token by token.

use super::Reference;
use super::ops::{activate, dot, softplus};
use super::recurrent::LayerState;
use crate::architecture::blocks::{Activation, SelectiveScan};

impl Reference {
    /// The output of a selective scan for the next token.
    pub(super) fn selective_scan(&self, block: &SelectiveScan, state: &[f32], memory: &mut LayerState) -> Vec<f32> {
        let input = self.weights.norm(&block.norm, state);
        let channels = self.weights.apply(&block.channels, &input);
        let mut values = self.convolve(&block.convolution, channels, &mut memory.window);
        values.iter_mut().for_each(|value| *value = activate(Activation::Silu, *value));
        let mut projected =
            [&block.step_down, &block.input, &block.readout].map(|linear| self.weights.apply(linear, &values));
        for (values, norm) in projected.iter_mut().zip(block.norms.iter().flatten()) {
            *values = self.weights.norm(norm, values);
        }
        let [low, inputs, readout] = projected;
        let steps = self.weights.apply(&block.step, &low);
        let gate = self.weights.apply(&block.gate, &input);
        let (decay, skip) = (self.weights.vector(&block.decay), self.weights.vector(&block.skip));
        let rows = memory.matrices.chunks_mut(block.state).zip(decay.chunks(block.state));
        let mixed = rows.enumerate().map(|(channel, (row, decay))| {
            let (step, value) = (softplus(steps[channel]), values[channel]);
            for ((weight, decay), input) in row.iter_mut().zip(decay).zip(&inputs) {
                *weight = (step * decay).exp() * *weight + step * value * input;
            }
            (dot(row, &readout) + skip[channel] * value) * activate(Activation::Silu, gate[channel])
        });
        let mixed: Vec<f32> = mixed.collect();
        self.weights.apply(&block.output, &mixed)
    }
}
