//! Whole sequences: embeddings, and non-causal models.

use super::{Reference, SequenceState, UnknownToken, add};
use crate::architecture::blocks::Mixer;

impl Reference {
    /// The hidden states of all tokens of a sequence after the final norm.
    ///
    /// # Errors
    /// If a token is not in the vocabulary.
    pub fn hidden_states(&self, tokens: &[u32]) -> Result<Vec<Vec<f32>>, UnknownToken> {
        if self.model.is_causal() {
            let mut sequence = SequenceState::default();
            return tokens.iter().map(|&token| self.hidden(&mut sequence, token)).collect();
        }
        let vocabulary = self.model.config.vocabulary;
        if let Some(&token) = tokens.iter().find(|&&token| token as usize >= vocabulary) {
            return Err(UnknownToken { token, vocabulary });
        }
        let embedded = tokens.iter().enumerate().map(|(position, &token)| self.embedded(token, position));
        let mut states: Vec<Vec<f32>> = embedded.collect();
        for layer in &self.model.layers {
            // Recurrent layers are causal; descriptions reject them here.
            let [Mixer::Attention(block)] = &layer.mixers[..] else { continue };
            let mixed = self.attention_both_ways(block, &states);
            for (state, mixed) in states.iter_mut().zip(mixed) {
                let before = state.clone();
                add(state, &mixed);
                *state = self.weights.optional_norm(layer.stream_norms.mixer.as_ref(), state);
                if let Some(block) = &layer.feed_forward {
                    let fed = self.feed_forward(block, if layer.parallel { &before } else { &*state });
                    add(state, &fed);
                }
                *state = self.weights.optional_norm(layer.stream_norms.feed_forward.as_ref(), state);
            }
        }
        Ok(states.iter().map(|state| self.weights.norm(&self.model.norm, state)).collect())
    }

    /// The embedding or the scores of a sequence, before normalization. They are the pooled hidden
    /// states after the layers that follow pooling. `None` if the model has neither.
    ///
    /// # Errors
    /// If a token is not in the vocabulary.
    pub fn pooled(&self, tokens: &[u32]) -> Result<Option<Vec<f32>>, UnknownToken> {
        let Some(pooled) = &self.model.pooled else { return Ok(None) };
        let states = self.hidden_states(tokens)?;
        let states = &states[pooled.tokens.range(states.len())];
        let mean = |at: usize| states.iter().map(|state| f64::from(state[at])).sum::<f64>() / states.len() as f64;
        let mean = (0..self.model.config.embedding).map(|at| mean(at) as f32).collect();
        Ok(Some(match &self.head {
            Some(head) => head.apply(mean),
            None => mean,
        }))
    }

    /// The embedding of a token at a position.
    pub(super) fn embedded(&self, token: u32, position: usize) -> Vec<f32> {
        let (model, weights) = (&self.model, &self.weights);
        let row = weights.row(&model.embedding, token as usize);
        let mut state: Vec<f32> = row.iter().map(|value| value * model.embedding_scale).collect();
        if let Some(types) = &model.input.token_type {
            add(&mut state, weights.row(types, 0));
        }
        if let Some(positions) = &model.input.positions {
            add(&mut state, weights.row(positions, position));
        }
        weights.optional_norm(model.input.norm.as_ref(), &state)
    }
}
