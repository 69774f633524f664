//! Reference implementation of a model in plain loops.
//!
//! It defines what a [`Model`] computes; every device is compared with it. Weights are dequantized
//! to f32, intermediate results are rounded only to f32, and dot products accumulate in f64. It is
//! slow, and short enough to be checked against a paper line by line.

mod delta_net;
mod ops;
mod weights;

use std::sync::Arc;

use roci_gguf::Gguf;

use crate::architecture::blocks::{Attention, FeedForward, FeedForwardKind, GatedFeedForward, Mixer};
use crate::architecture::{Model, ModelError};
pub use delta_net::RecurrentState;
use ops::{activate, rotate, sigmoid, soft_cap, softmax};
use weights::Weights;

/// A model with its weights in memory.
#[derive(Debug)]
pub struct Reference {
    model: Model,
    weights: Weights,
}

/// The evaluated tokens of one sequence.
#[derive(Clone, Debug, Default)]
pub struct SequenceState {
    tokens: Vec<Arc<TokenKv>>,
    /// The state after these tokens; `None` before the first one.
    recurrent: Option<RecurrentState>,
}

/// Keys and values of one token, for each layer; empty for recurrent layers.
///
/// They depend only on the tokens up to this one, so that sequences with a common prefix can share
/// them.
#[derive(Debug)]
pub struct TokenKv {
    layers: Vec<(Vec<f32>, Vec<f32>)>,
}

impl SequenceState {
    /// A sequence whose first tokens are already evaluated. `recurrent` is the state after them;
    /// a model without recurrent layers needs none.
    pub fn new(tokens: Vec<Arc<TokenKv>>, recurrent: Option<RecurrentState>) -> Self {
        Self { tokens, recurrent }
    }

    /// The state of recurrent layers after its tokens; `None` before the first one.
    pub fn recurrent(&self) -> Option<&RecurrentState> {
        self.recurrent.as_ref()
    }

    /// Keys and values of its tokens, in order.
    pub fn tokens(&self) -> &[Arc<TokenKv>] {
        &self.tokens
    }
}

/// A token id outside the vocabulary.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("token {token} is not in the vocabulary of {vocabulary} tokens")]
pub struct UnknownToken {
    /// The token id.
    pub token: u32,
    /// Vocabulary size.
    pub vocabulary: usize,
}

impl Reference {
    /// Dequantizes all weights of a model.
    ///
    /// # Errors
    /// If a tensor cannot be read.
    pub fn new(file: &Gguf, model: Model) -> Result<Self, ModelError> {
        Self::with_progress(file, model, &mut |_, _| ())
    }

    /// Like [`new`](Self::new), with a callback of the number of tensors read and their total.
    ///
    /// # Errors
    /// If a tensor cannot be read.
    pub fn with_progress(
        file: &Gguf,
        model: Model,
        progress: &mut dyn FnMut(usize, usize),
    ) -> Result<Self, ModelError> {
        Ok(Self { weights: Weights::new(file, &model, progress)?, model })
    }

    /// The description of the model.
    pub fn model(&self) -> &Model {
        &self.model
    }

    /// Appends a token and returns the logits of the next one.
    ///
    /// # Errors
    /// If the token is not in the vocabulary.
    pub fn logits(&self, sequence: &mut SequenceState, token: u32) -> Result<Vec<f32>, UnknownToken> {
        let hidden = self.hidden(sequence, token)?;
        let mut logits = self.weights.apply(&self.model.output, &hidden);
        soft_cap(&mut logits, self.model.logit_cap);
        Ok(logits)
    }

    /// Appends a token and returns its hidden state after the final norm.
    ///
    /// # Errors
    /// If the token is not in the vocabulary.
    pub fn hidden(&self, sequence: &mut SequenceState, token: u32) -> Result<Vec<f32>, UnknownToken> {
        let vocabulary = self.model.config.vocabulary;
        if token as usize >= vocabulary {
            return Err(UnknownToken { token, vocabulary });
        }
        let mut layers = Vec::with_capacity(self.model.layers.len());
        let row = self.weights.row(&self.model.embedding, token as usize);
        let mut state: Vec<f32> = row.iter().map(|value| value * self.model.embedding_scale).collect();
        let recurrent = sequence.recurrent.get_or_insert_with(|| RecurrentState::new(&self.model));
        for (index, layer) in self.model.layers.iter().enumerate() {
            let (mixed, kv) = match &layer.mixer {
                Mixer::Attention(block) => self.attention(block, &state, &sequence.tokens, index),
                Mixer::DeltaNet(block) => {
                    (self.delta_net(block, &state, &mut recurrent.layers[index]), Default::default())
                }
            };
            layers.push(kv);
            add(&mut state, &mixed);
            let fed = self.feed_forward(&layer.feed_forward, &state);
            add(&mut state, &fed);
        }
        sequence.tokens.push(Arc::new(TokenKv { layers }));
        Ok(self.weights.norm(&self.model.norm, &state))
    }

    /// The output of an attention block, and the token's keys and values.
    fn attention(
        &self,
        block: &Attention,
        state: &[f32],
        past: &[Arc<TokenKv>],
        layer: usize,
    ) -> (Vec<f32>, (Vec<f32>, Vec<f32>)) {
        let position = past.len();
        let input = self.weights.norm(&block.norm, state);
        let mut query = self.weights.apply(&block.query, &input);
        let mut key = self.weights.apply(&block.key, &input);
        let value = self.weights.apply(&block.value, &input);
        if let Some((query_norm, key_norm)) = &block.head_norms {
            query = query.chunks(block.key_length).flat_map(|head| self.weights.norm(query_norm, head)).collect();
            key = key.chunks(block.key_length).flat_map(|head| self.weights.norm(key_norm, head)).collect();
        }
        query.chunks_mut(block.key_length).for_each(|head| rotate(&block.rope, head, position));
        key.chunks_mut(block.key_length).for_each(|head| rotate(&block.rope, head, position));
        let own = (key, value);

        let first = block.window.map_or(0, |window| (position + 1).saturating_sub(window as usize));
        let attended = || past[first..].iter().map(|token| &token.layers[layer]).chain([&own]);
        let group = block.heads / block.kv_heads;
        let mut heads = Vec::with_capacity(block.heads * block.value_length);
        for (head, query) in query.chunks(block.key_length).enumerate() {
            let keys = head / group * block.key_length..(head / group + 1) * block.key_length;
            let values = head / group * block.value_length..(head / group + 1) * block.value_length;
            let score = |(key, _): &(Vec<f32>, Vec<f32>)| ops::dot(query, &key[keys.clone()]) * block.scale;
            let mut scores: Vec<f32> = attended().map(score).collect();
            soft_cap(&mut scores, block.soft_cap);
            softmax(&mut scores);
            let mut sum = vec![0f64; block.value_length];
            for (weight, (_, value)) in scores.iter().zip(attended()) {
                for (sum, value) in sum.iter_mut().zip(&value[values.clone()]) {
                    *sum += f64::from(*weight) * f64::from(*value);
                }
            }
            heads.extend(sum.into_iter().map(|sum| sum as f32));
        }
        if let Some(gate) = &block.output_gate {
            let gate = self.weights.apply(gate, &input);
            heads.iter_mut().zip(gate).for_each(|(value, gate)| *value *= sigmoid(gate));
        }
        let output = self.weights.apply(&block.output, &heads);
        let output = match &block.post_norm {
            Some(norm) => self.weights.norm(norm, &output),
            None => output,
        };
        (output, own)
    }

    fn feed_forward(&self, block: &FeedForward, state: &[f32]) -> Vec<f32> {
        let input = self.weights.norm(&block.norm, state);
        let gated = |gated: &GatedFeedForward| {
            let mut gate = self.weights.apply(&gated.gate, &input);
            let up = self.weights.apply(&gated.up, &input);
            gate.iter_mut().zip(&up).for_each(|(gate, up)| *gate = activate(block.activation, *gate) * up);
            self.weights.apply(&gated.down, &gate)
        };
        let mut output = match &block.kind {
            FeedForwardKind::Dense(dense) => gated(dense),
            FeedForwardKind::Experts { router, experts, experts_per_token } => {
                let mut weights = self.weights.apply(router, &input);
                softmax(&mut weights);
                let mut order: Vec<usize> = (0..experts.len()).collect();
                order.sort_by(|&a, &b| weights[b].total_cmp(&weights[a]));
                order.truncate(*experts_per_token);
                let total: f32 = order.iter().map(|&expert| weights[expert]).sum();
                let mut output = vec![0.0; state.len()];
                for expert in order {
                    let part = gated(&experts[expert]);
                    output.iter_mut().zip(&part).for_each(|(sum, part)| *sum += weights[expert] / total * part);
                }
                output
            }
        };
        if let Some(shared) = &block.shared {
            let factor = shared.gate.as_ref().map_or(1.0, |gate| sigmoid(self.weights.apply(gate, &input)[0]));
            let part = gated(&shared.network);
            output.iter_mut().zip(part).for_each(|(sum, part)| *sum += factor * part);
        }
        match &block.post_norm {
            Some(norm) => self.weights.norm(norm, &output),
            None => output,
        }
    }
}

fn add(state: &mut [f32], other: &[f32]) {
    state.iter_mut().zip(other).for_each(|(value, other)| *value += other);
}
