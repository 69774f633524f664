//! A model evaluated by plain loops.
//!
//! This is the definition of what a [`Model`] computes, by which every device is judged. Weights are the f32 values that their blocks stand
//! for, nothing is rounded in between but to f32, and sums of products are made in f64. It is slow, and short
//! enough to be read beside a paper.

mod ops;
mod weights;

use std::sync::Arc;

use roci_gguf::Gguf;

use crate::architecture::blocks::{Attention, FeedForward, FeedForwardKind, Gated};
use crate::architecture::{Model, ModelError};
use ops::{activate, soft_cap, softmax, turn};
use weights::Weights;

/// A model with its weights in memory.
#[derive(Debug)]
pub struct Reference {
    model: Model,
    weights: Weights,
}

/// One text as the model has read it so far.
#[derive(Clone, Debug, Default)]
pub struct Text {
    seen: Vec<Arc<Seen>>,
}

/// What a token leaves behind for those after it: keys and values for each layer.
///
/// They depend on the tokens before and on the position, and on nothing else: texts that begin alike may share them.
#[derive(Debug)]
pub struct Seen {
    layers: Vec<(Vec<f32>, Vec<f32>)>,
}

impl Text {
    /// A text whose tokens were read before, each in its place.
    pub fn new(seen: Vec<Arc<Seen>>) -> Self {
        Self { seen }
    }

    /// What its tokens left behind.
    pub fn seen(&self) -> &[Arc<Seen>] {
        &self.seen
    }
}

/// A token that the model does not have.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the model has no token {token}; it has {vocabulary}")]
pub struct UnknownToken {
    /// The token.
    pub token: u32,
    /// How many there are.
    pub vocabulary: usize,
}

impl Reference {
    /// Reads all weights of a model.
    ///
    /// # Errors
    /// If a tensor cannot be read.
    pub fn new(file: &Gguf, model: Model) -> Result<Self, ModelError> {
        Self::with_progress(file, model, &mut |_, _| ())
    }

    /// The same, telling how many tensors of how many have been read.
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

    /// The model.
    pub fn model(&self) -> &Model {
        &self.model
    }

    /// Reads one more token, and gives the logits of the one after it.
    ///
    /// # Errors
    /// If there is no such token.
    pub fn logits(&self, text: &mut Text, token: u32) -> Result<Vec<f32>, UnknownToken> {
        let hidden = self.hidden(text, token)?;
        let mut logits = self.weights.apply(&self.model.output, &hidden);
        soft_cap(&mut logits, self.model.logit_cap);
        Ok(logits)
    }

    /// Reads one more token, and gives what the last norm makes of it: the model's view of the text, before it is made into logits.
    ///
    /// # Errors
    /// If there is no such token.
    pub fn hidden(&self, text: &mut Text, token: u32) -> Result<Vec<f32>, UnknownToken> {
        let vocabulary = self.model.config.vocabulary;
        if token as usize >= vocabulary {
            return Err(UnknownToken { token, vocabulary });
        }
        let mut layers = Vec::with_capacity(self.model.layers.len());
        let row = self.weights.row(&self.model.embedding, token as usize);
        let mut state: Vec<f32> = row.iter().map(|value| value * self.model.embedding_scale).collect();
        for layer in &self.model.layers {
            let (attended, left) = self.attention(&layer.attention, &state, &text.seen, layers.len());
            layers.push(left);
            add(&mut state, &attended);
            let fed = self.feed_forward(&layer.feed_forward, &state);
            add(&mut state, &fed);
        }
        text.seen.push(Arc::new(Seen { layers }));
        Ok(self.weights.norm(&self.model.norm, &state))
    }

    /// What attention adds, and the keys and values that the token leaves behind in this layer.
    fn attention(
        &self,
        block: &Attention,
        state: &[f32],
        seen: &[Arc<Seen>],
        layer: usize,
    ) -> (Vec<f32>, (Vec<f32>, Vec<f32>)) {
        let position = seen.len();
        let input = self.weights.norm(&block.norm, state);
        let mut query = self.weights.apply(&block.query, &input);
        let mut key = self.weights.apply(&block.key, &input);
        let value = self.weights.apply(&block.value, &input);
        if let Some((query_norm, key_norm)) = &block.head_norms {
            query = query.chunks(block.key_length).flat_map(|head| self.weights.norm(query_norm, head)).collect();
            key = key.chunks(block.key_length).flat_map(|head| self.weights.norm(key_norm, head)).collect();
        }
        query.chunks_mut(block.key_length).for_each(|head| turn(&block.rope, head, position));
        key.chunks_mut(block.key_length).for_each(|head| turn(&block.rope, head, position));
        let own = (key, value);

        let first = block.window.map_or(0, |window| (position + 1).saturating_sub(window as usize));
        let attended = || seen[first..].iter().map(|token| &token.layers[layer]).chain([&own]);
        let shared = block.heads / block.kv_heads;
        let mut answer = Vec::with_capacity(block.heads * block.value_length);
        for (head, query) in query.chunks(block.key_length).enumerate() {
            let keys = head / shared * block.key_length..(head / shared + 1) * block.key_length;
            let values = head / shared * block.value_length..(head / shared + 1) * block.value_length;
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
            answer.extend(sum.into_iter().map(|sum| sum as f32));
        }
        let output = self.weights.apply(&block.output, &answer);
        let output = match &block.post_norm {
            Some(norm) => self.weights.norm(norm, &output),
            None => output,
        };
        (output, own)
    }

    fn feed_forward(&self, block: &FeedForward, state: &[f32]) -> Vec<f32> {
        let input = self.weights.norm(&block.norm, state);
        let gated = |gated: &Gated| {
            let mut gate = self.weights.apply(&gated.gate, &input);
            let up = self.weights.apply(&gated.up, &input);
            gate.iter_mut().zip(&up).for_each(|(gate, up)| *gate = activate(block.activation, *gate) * up);
            self.weights.apply(&gated.down, &gate)
        };
        let output = match &block.kind {
            FeedForwardKind::Dense(dense) => gated(dense),
            FeedForwardKind::Experts { router, experts, used } => {
                let mut weights = self.weights.apply(router, &input);
                softmax(&mut weights);
                let mut order: Vec<usize> = (0..experts.len()).collect();
                order.sort_by(|&a, &b| weights[b].total_cmp(&weights[a]));
                order.truncate(*used);
                let total: f32 = order.iter().map(|&expert| weights[expert]).sum();
                let mut output = vec![0.0; state.len()];
                for expert in order {
                    let part = gated(&experts[expert]);
                    output.iter_mut().zip(&part).for_each(|(sum, part)| *sum += weights[expert] / total * part);
                }
                output
            }
        };
        match &block.post_norm {
            Some(norm) => self.weights.norm(norm, &output),
            None => output,
        }
    }
}

fn add(state: &mut [f32], other: &[f32]) {
    state.iter_mut().zip(other).for_each(|(value, other)| *value += other);
}
