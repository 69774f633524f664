//! Attention.

use std::sync::Arc;

use super::ops::{dot, rotate, sigmoid, soft_cap, softmax};
use super::{KeyValue, Reference, TokenKv};
use crate::architecture::blocks::{Attention, HeadNorms, Norm, NormSpan, alibi_slope};

/// A token's inputs of attention.
pub(super) struct Projected {
    /// The input of the block after its norm.
    pub(super) input: Vec<f32>,
    pub(super) query: Vec<f32>,
    /// Key and value; empty if the block reads those of an earlier layer.
    pub(super) own: KeyValue,
}

impl Reference {
    /// The output of an attention block, and the token's keys and values; they are empty if the
    /// block reads those of an earlier layer, which `earlier` has.
    pub(super) fn attention(
        &self,
        block: &Attention,
        state: &[f32],
        past: &[Arc<TokenKv>],
        earlier: &[KeyValue],
    ) -> (Vec<f32>, KeyValue) {
        let position = past.len();
        let layer = block.kv_layer.unwrap_or(earlier.len());
        let projected = self.project(block, state, position);
        let current = if block.kv_layer.is_some() { &earlier[layer] } else { &projected.own };
        let window = block.window.map_or(0, |window| (position + 1).saturating_sub(window as usize));
        let chunk = block.chunk.map_or(0, |chunk| position / chunk as usize * chunk as usize);
        let first = window.max(chunk);
        let past = past[first..].iter().map(|token| &token.layers[layer]);
        let attended: Vec<_> = (first..).zip(past.chain([current])).collect();
        let output = self.attend(block, &projected, position, &attended);
        (output, projected.own)
    }

    /// The output of an attention block for each token of a whole sequence with non-causal
    /// attention.
    pub(super) fn attention_both_ways(&self, block: &Attention, states: &[Vec<f32>]) -> Vec<Vec<f32>> {
        let tokens: Vec<Projected> =
            states.iter().enumerate().map(|(position, state)| self.project(block, state, position)).collect();
        let output = |(position, token): (usize, &Projected)| {
            let reach = block.window.map_or(tokens.len(), |window| window as usize / 2);
            let visible = position.saturating_sub(reach)..(position + reach + 1).min(tokens.len());
            let attended: Vec<_> = visible.clone().zip(tokens[visible].iter().map(|token| &token.own)).collect();
            self.attend(block, token, position, &attended)
        };
        tokens.iter().enumerate().map(output).collect()
    }

    /// Query, key and value of a token.
    fn project(&self, block: &Attention, state: &[f32], position: usize) -> Projected {
        let input = self.weights.optional_norm(block.norm.as_ref(), state);
        if let Some(latent) = &block.latent {
            return self.project_latent(block, latent, input, position);
        }
        let mut query = self.weights.apply(&block.query, &input);
        let own = |linear| if block.kv_layer.is_none() { self.weights.apply(linear, &input) } else { Vec::new() };
        let (mut key, mut value) = (own(&block.key), own(&block.value));
        if let Some(norm) = &block.value_norm {
            value = value.chunks(block.value_length).flat_map(|head| self.weights.norm(norm, head)).collect();
        }
        let head_norms = |query: &mut Vec<f32>, key: &mut Vec<f32>, after_rope: bool| {
            if let Some(norms) = block.head_norms.as_ref().filter(|norms| norms.after_rope == after_rope) {
                *query = self.head_norm(norms, &norms.query, query, block.key_length);
                *key = self.head_norm(norms, &norms.key, key, block.key_length);
            }
        };
        head_norms(&mut query, &mut key, false);
        query.chunks_mut(block.key_length).for_each(|head| rotate(&block.rope, head, position));
        key.chunks_mut(block.key_length).for_each(|head| rotate(&block.rope, head, position));
        head_norms(&mut query, &mut key, true);
        Projected { input, query, own: (key, value) }
    }

    /// The output of an attention block for a token that attends to the keys and values at these
    /// positions.
    fn attend(
        &self,
        block: &Attention,
        Projected { input, query, .. }: &Projected,
        position: usize,
        attended: &[(usize, &KeyValue)],
    ) -> Vec<f32> {
        let scale = block.scale * block.temperature.map_or(1.0, |temperature| temperature.factor(position));
        let group = block.heads / block.kv_heads;
        let mut heads = Vec::with_capacity(block.heads * block.value_length);
        for (head, query) in query.chunks(block.key_length).enumerate() {
            let keys = head / group * block.key_length..(head / group + 1) * block.key_length;
            // A latent is the end of a key.
            let rotated = block.latent.as_ref().map(|_| block.rotated_length());
            let values = head / group * block.value_length..(head / group + 1) * block.value_length;
            let slope = block.alibi.map_or(0.0, |max_bias| alibi_slope(max_bias, block.heads, head));
            let score = |(other, (key, _)): &(usize, &KeyValue)| {
                dot(query, &key[keys.clone()]) * scale - slope * position.abs_diff(*other) as f32
            };
            let mut scores: Vec<f32> = attended.iter().map(score).collect();
            soft_cap(&mut scores, block.soft_cap);
            // The values of a sink are zero, so that only its part of the softmax counts.
            scores.extend(block.sinks.as_ref().map(|sinks| self.weights.vector(sinks)[head]));
            softmax(&mut scores);
            let mut sum = vec![0f64; block.value_length];
            for (weight, (_, (key, value))) in scores.iter().zip(attended) {
                let value = rotated.map_or(&value[..], |rotated| &key[rotated..]);
                for (sum, value) in sum.iter_mut().zip(&value[values.clone()]) {
                    *sum += f64::from(*weight) * f64::from(*value);
                }
            }
            let sum: Vec<f32> = sum.into_iter().map(|sum| sum as f32).collect();
            match &block.latent {
                None => heads.extend(sum),
                Some(latent) => heads.extend(self.weights.apply(&latent.values[head], &sum)),
            }
        }
        if let Some(gate) = &block.output_gate {
            let gate = self.weights.apply(gate, input);
            heads.iter_mut().zip(gate).for_each(|(value, gate)| *value *= sigmoid(gate));
        }
        let output = self.weights.apply(&block.output, &heads);
        self.weights.optional_norm(block.post_norm.as_ref(), &output)
    }

    /// Queries or keys after their norm.
    fn head_norm(&self, norms: &HeadNorms, norm: &Norm, heads: &[f32], length: usize) -> Vec<f32> {
        match norms.span {
            NormSpan::Head => heads.chunks(length).flat_map(|head| self.weights.norm(norm, head)).collect(),
            NormSpan::EachHead => {
                let part = |index: usize| Norm {
                    weight: norm.weight.as_ref().map(|weight| weight.part(index * length..(index + 1) * length)),
                    ..norm.clone()
                };
                let heads = heads.chunks(length).enumerate();
                heads.flat_map(|(index, head)| self.weights.norm(&part(index), head)).collect()
            }
            NormSpan::Row => self.weights.norm(norm, heads),
        }
    }
}
