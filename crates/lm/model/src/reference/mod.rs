//! Reference implementation of a model in plain loops.
//!
//! It defines what a [`Model`] computes; every device is compared with it. Weights are dequantized
//! to f32, intermediate results are rounded only to f32, and dot products accumulate in f64. It is
//! slow, and short enough to be checked against a paper line by line.

mod attention;
mod delta_net;
mod feed_forward;
mod ops;
mod weights;

use std::sync::Arc;

use roci_gguf::Gguf;

use crate::architecture::blocks::Mixer;
use crate::architecture::{Model, ModelError};
pub use delta_net::RecurrentState;
use ops::soft_cap;
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
        Ok(self.logits_of(&hidden))
    }

    /// The logits of a hidden state after the final norm.
    pub fn logits_of(&self, hidden: &[f32]) -> Vec<f32> {
        let mut logits = self.weights.apply(&self.model.output, hidden);
        logits.iter_mut().for_each(|logit| *logit *= self.model.logit_scale);
        soft_cap(&mut logits, self.model.logit_cap);
        logits
    }

    /// Appends a token and returns its hidden state after the final norm.
    ///
    /// # Errors
    /// If the token is not in the vocabulary.
    pub fn hidden(&self, sequence: &mut SequenceState, token: u32) -> Result<Vec<f32>, UnknownToken> {
        self.hidden_after(sequence, token, &[])
    }

    /// [`hidden`](Self::hidden) of a prediction head, which also reads the hidden state before the
    /// token: that of the model, or its own.
    ///
    /// # Errors
    /// If the token is not in the vocabulary.
    pub fn hidden_after(
        &self,
        sequence: &mut SequenceState,
        token: u32,
        before: &[f32],
    ) -> Result<Vec<f32>, UnknownToken> {
        let vocabulary = self.model.config.vocabulary;
        if token as usize >= vocabulary {
            return Err(UnknownToken { token, vocabulary });
        }
        let mut layers = Vec::with_capacity(self.model.layers.len());
        let row = self.weights.row(&self.model.embedding, token as usize);
        let mut state: Vec<f32> = row.iter().map(|value| value * self.model.embedding_scale).collect();
        if let Some(input) = &self.model.prediction_input {
            let parts =
                [self.weights.norm(&input.embedding_norm, &state), self.weights.norm(&input.hidden_norm, before)];
            state = self.weights.apply(&input.projection, &parts.concat());
        }
        let recurrent = sequence.recurrent.get_or_insert_with(|| RecurrentState::new(&self.model));
        for (index, layer) in self.model.layers.iter().enumerate() {
            let (mixed, kv) = match &layer.mixer {
                Mixer::Attention(block) => self.attention(block, &state, &sequence.tokens, index),
                Mixer::DeltaNet(block) => {
                    (self.delta_net(block, &state, &mut recurrent.layers[index]), Default::default())
                }
            };
            layers.push(kv);
            if !layer.parallel {
                add(&mut state, &mixed);
            }
            let fed = self.feed_forward(&layer.feed_forward, &state);
            add(&mut state, &fed);
            if layer.parallel {
                add(&mut state, &mixed);
            }
        }
        sequence.tokens.push(Arc::new(TokenKv { layers }));
        Ok(self.weights.norm(&self.model.norm, &state))
    }
}

fn add(state: &mut [f32], other: &[f32]) {
    state.iter_mut().zip(other).for_each(|(value, other)| *value += other);
}
