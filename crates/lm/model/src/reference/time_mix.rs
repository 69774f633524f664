//! Time mixing of RWKV, token by token.

use super::Reference;
use super::ops::{dot, magnitude, sigmoid};
use super::recurrent::LayerState;
use crate::architecture::blocks::{Linear, LowRankVector, Norm, TimeMix, Vector};

/// `1 / √e`, as in llama.cpp.
const DECAY: f32 = 0.606_531;
/// Minimum of the norm of a key.
const EPSILON: f32 = 1e-12;

impl Reference {
    /// The output of time mixing for the next token. `first` is the value of the first layer, once
    /// there is one.
    pub(super) fn time_mix(
        &self,
        block: &TimeMix,
        state: &[f32],
        memory: &mut LayerState,
        first: &mut Option<Vec<f32>>,
    ) -> Vec<f32> {
        let input = self.weights.norm(&block.norm, state);
        let (before, _) = memory.window.split_at_mut(input.len());
        let shifted = |at: usize| self.shifted(&block.shifts[at], &input, before);
        let [r, w, k, v, a] = [0, 1, 2, 3, 4].map(shifted);
        let gate_input = block.gate.as_ref().map(|_| shifted(5));
        before.copy_from_slice(&input);

        let receptance = self.weights.apply(&block.receptance, &r);
        let decay = self.low_rank_vector(&block.decay, &w, f32::tanh);
        let rate = self.low_rank_vector(&block.rate, &a, |x| x);
        let mut key = self.weights.apply(&block.key, &k);
        let mut value = self.weights.apply(&block.value, &v);
        match &first {
            Some(first) => {
                let mix = self.low_rank_vector(&block.value_mix, &v, |x| x);
                let parts = value.iter_mut().zip(first).zip(mix);
                parts.for_each(|((value, first), mix)| *value += (first - *value) * sigmoid(mix));
            }
            None => *first = Some(value.clone()),
        }
        let [key_scale, key_rate, bonus] =
            [&block.key_scale, &block.key_rate, &block.bonus].map(|vector| self.weights.vector(vector));
        let scaled: Vec<f32> = key.iter().zip(key_scale).map(|(key, scale)| key * scale).collect();
        let rate: Vec<f32> = rate.into_iter().map(sigmoid).collect();
        for ((key, factor), rate) in key.iter_mut().zip(key_rate).zip(&rate) {
            *key += (rate - 1.0) * *key * factor;
        }
        let decay: Vec<f32> = decay.into_iter().map(|decay| (-DECAY * sigmoid(decay)).exp()).collect();

        let mut mixed = Vec::with_capacity(block.values());
        for (head, matrix) in memory.matrices.chunks_mut(block.length * block.length).enumerate() {
            let range = head * block.length..(head + 1) * block.length;
            let [receptance, decay, key, value, scaled, rate, bonus] =
                [&receptance[..], &decay, &key, &value, &scaled, &rate, bonus].map(|all| &all[range.clone()]);
            let norm = magnitude(scaled).max(EPSILON);
            let normed: Vec<f32> = scaled.iter().map(|x| x / norm).collect();
            let mut output = Vec::with_capacity(block.length);
            for (row, value) in matrix.chunks_mut(block.length).zip(value) {
                let recalled = dot(row, &normed);
                for (at, weight) in row.iter_mut().enumerate() {
                    *weight = *weight * decay[at] - recalled * normed[at] * rate[at] + value * key[at];
                }
                output.push(dot(row, receptance));
            }
            let part = |vector: &Option<Vector>| vector.as_ref().map(|vector| vector.part(range.clone()));
            let norm = block.output_norm.as_ref().map(|norm| Norm {
                weight: part(&norm.weight),
                bias: part(&norm.bias),
                ..norm.clone()
            });
            let own: f32 = receptance.iter().zip(bonus).zip(key).map(|((r, bonus), key)| r * bonus * key).sum();
            let output = self.weights.optional_norm(norm.as_ref(), &output);
            mixed.extend(output.iter().zip(value).map(|(output, value)| output + own * value));
        }
        if let (Some([down, up]), Some(input)) = (&block.gate, gate_input) {
            let inside: Vec<f32> = self.weights.apply(down, &input).into_iter().map(sigmoid).collect();
            let gate = self.weights.apply(up, &inside);
            mixed.iter_mut().zip(gate).for_each(|(value, gate)| *value *= gate);
        }
        self.weights.apply(&block.output, &mixed)
    }

    /// The normalized input, with a part of the difference to that of the previous token.
    pub(super) fn shifted(&self, shift: &Vector, input: &[f32], before: &[f32]) -> Vec<f32> {
        let factors = self.weights.vector(shift);
        input.iter().zip(before).zip(factors).map(|((x, before), factor)| x + (before - x) * factor).collect()
    }

    pub(super) fn low_rank_vector(
        &self,
        vector: &LowRankVector,
        input: &[f32],
        activation: fn(f32) -> f32,
    ) -> Vec<f32> {
        let apply = |linear: &Linear, input: &[f32]| self.weights.apply(linear, input);
        let inside: Vec<f32> = apply(&vector.down, input).into_iter().map(activation).collect();
        let bias = self.weights.vector(&vector.bias);
        apply(&vector.up, &inside).into_iter().zip(bias).map(|(value, bias)| value + bias).collect()
    }
}
