//! Time mixing of RWKV 6, token by token.

use super::Reference;
use super::ops::{dot, sigmoid};
use super::recurrent::LayerState;
use crate::architecture::blocks::{DynamicTimeMix, Norm, Vector};

impl Reference {
    /// The output of time mixing of RWKV 6 for the next token.
    pub(super) fn dynamic_time_mix(&self, block: &DynamicTimeMix, state: &[f32], memory: &mut LayerState) -> Vec<f32> {
        let input = self.weights.norm(&block.norm, state);
        let (before, _) = memory.window.split_at_mut(input.len());
        let first = self.shifted(&block.shift, &input, before);
        let [w, k, v, r, g] = [0, 1, 2, 3, 4].map(|at| {
            let factors = self.low_rank_vector(&block.shifts[at], &first, f32::tanh);
            let parts = input.iter().zip(&*before).zip(factors);
            parts.map(|((x, before), factor)| x + (before - x) * factor).collect::<Vec<f32>>()
        });
        before.copy_from_slice(&input);

        let receptance = self.weights.apply(&block.receptance, &r);
        let keys = self.weights.apply(&block.key, &k);
        let values = self.weights.apply(&block.value, &v);
        let decay: Vec<f32> =
            self.low_rank_vector(&block.decay, &w, f32::tanh).into_iter().map(|decay| (-decay.exp()).exp()).collect();
        let bonus = block.bonus.as_ref().map(|bonus| self.weights.vector(bonus));

        let mut mixed = Vec::with_capacity(block.values());
        for (head, matrix) in memory.matrices.chunks_mut(block.length * block.length).enumerate() {
            let range = head * block.length..(head + 1) * block.length;
            let [receptance, decay] = [&receptance, &decay].map(|all| &all[range.clone()]);
            let shared = head / (block.heads / block.kv_heads);
            let shared = shared * block.length..(shared + 1) * block.length;
            let (key, value) = (&keys[shared.clone()], &values[shared]);
            let mut output = Vec::with_capacity(block.length);
            let bonus = bonus.map(|bonus| &bonus[range.clone()]);
            let own: f32 = bonus.map_or(0.0, |bonus| {
                receptance.iter().zip(bonus).zip(key).map(|((r, bonus), key)| r * bonus * key).sum()
            });
            for (row, value) in matrix.chunks_mut(block.length).zip(value) {
                let read = dot(row, receptance) + own * value;
                for (at, weight) in row.iter_mut().enumerate() {
                    let key = if bonus.is_some() { key[at] } else { key[at] - key[at] * decay[at] };
                    *weight = *weight * decay[at] + value * key;
                }
                output.push(match bonus {
                    Some(_) => read,
                    None => dot(row, receptance) / (block.length as f32).sqrt(),
                });
            }
            let part = |vector: &Option<Vector>| vector.as_ref().map(|vector| vector.part(range.clone()));
            let norm = block.output_norm.as_ref().map(|norm| Norm {
                weight: part(&norm.weight),
                bias: part(&norm.bias),
                ..norm.clone()
            });
            mixed.extend(self.weights.optional_norm(norm.as_ref(), &output));
        }
        let gate = self.weights.apply(&block.gate, &g);
        for (value, gate) in mixed.iter_mut().zip(gate) {
            *value *= if block.bonus.is_some() { gate * sigmoid(gate) } else { sigmoid(gate) };
        }
        self.weights.apply(&block.output, &mixed)
    }
}
