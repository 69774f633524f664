//! Reference implementation of a model in plain loops.
//!
//! It defines what a [`Model`] computes; every device is compared with it. Weights are dequantized
//! to f32, intermediate results are rounded only to f32, and dot products accumulate in f64. It is
//! slow, and short enough to be checked against a paper line by line.

mod adapter;
mod attention;
mod choices;
mod delta_net;
mod dynamic_time_mix;
mod encoder;
mod feed_forward;
mod gated_convolution;
mod latent;
mod ops;
mod per_layer;
mod pooled;
mod recurrent;
mod selective_scan;
mod state_space;
mod streams;
mod time_mix;
mod weights;

use std::sync::Arc;

use roci_gguf::Gguf;

use crate::architecture::blocks::{Layer, Mixer};
use crate::architecture::{Model, ModelError};
use choices::Choices;
pub use choices::ExpertChoice;
use ops::soft_cap;
pub use pooled::PooledHead;
pub use recurrent::RecurrentState;
use weights::Weights;

/// A model with its weights in memory.
#[derive(Debug)]
pub struct Reference {
    model: Model,
    weights: Weights,
    /// The layers after pooling.
    head: Option<Arc<PooledHead>>,
    /// Choices of experts.
    choices: Choices,
}

/// The evaluated tokens of one sequence.
#[derive(Clone, Debug, Default)]
pub struct SequenceState {
    tokens: Vec<Arc<TokenKv>>,
    /// The state after these tokens; `None` before the first one.
    recurrent: Option<RecurrentState>,
}

/// Keys and values of a token in one layer.
type KeyValue = (Vec<f32>, Vec<f32>);

/// Keys and values of one token, for each layer; empty for recurrent layers, and for those that
/// read the keys and values of an earlier layer.
///
/// They depend only on the tokens up to this one, so that sequences with a common prefix can share
/// them.
#[derive(Debug)]
pub struct TokenKv {
    layers: Vec<KeyValue>,
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
        let head = PooledHead::new(file, &model)?.map(Arc::new);
        Ok(Self { weights: Weights::new(file, &model, progress)?, head, model, choices: Choices::default() })
    }

    /// The layers after pooling, if the model has some.
    pub fn head(&self) -> Option<Arc<PooledHead>> {
        self.head.clone()
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

    /// Appends a token and returns its hidden state after the final norm. Non-causal models only
    /// have [`hidden_states`](Self::hidden_states).
    ///
    /// # Errors
    /// If the token is not in the vocabulary.
    pub fn hidden(&self, sequence: &mut SequenceState, token: u32) -> Result<Vec<f32>, UnknownToken> {
        self.hidden_after(sequence, token, &[])
    }

    /// [`hidden`](Self::hidden) for a prediction head, which also reads the hidden state of the
    /// previous token: that of the model, or its own.
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
        let mut state = self.embedded(token, sequence.tokens.len());
        if let Some(input) = &self.model.prediction_input {
            let parts =
                [self.weights.norm(&input.embedding_norm, &state), self.weights.norm(&input.hidden_norm, before)];
            state = self.weights.apply(&input.projection, &parts.concat());
        }
        let inputs = self.per_layer_inputs(token, &state);
        let mut streams = self.start_streams(state);
        let active = self.model.streams.as_ref().map_or(0, |streams| streams.active);
        let recurrent = sequence.recurrent.get_or_insert_with(|| RecurrentState::new(&self.model));
        // The value of RWKV's first layer.
        let mut first = None;
        for (index, layer) in self.model.layers.iter().enumerate() {
            if let Some(mixing) = &layer.streams {
                streams = self.predict(mixing, &streams, active);
            }
            let mut state = streams[active].clone();
            let (mut mixed, mut kv) = (vec![0.0; state.len()], Default::default());
            let memory = &mut recurrent.layers[index];
            for mixer in &layer.mixers {
                let output = match mixer {
                    Mixer::Attention(block) => {
                        let (output, own) = self.attention(block, &state, &sequence.tokens, &layers);
                        kv = own;
                        output
                    }
                    Mixer::DeltaNet(block) => self.delta_net(block, &state, memory),
                    Mixer::GatedConvolution(block) => self.gated_convolution(block, &state, memory),
                    Mixer::StateSpace(block) => self.state_space(block, &state, memory),
                    Mixer::SelectiveScan(block) => self.selective_scan(block, &state, memory),
                    Mixer::TimeMix(block) => self.time_mix(block, &state, memory, &mut first),
                    Mixer::DynamicTimeMix(block) => self.dynamic_time_mix(block, &state, memory),
                };
                add(&mut mixed, &output);
            }
            layers.push(kv);
            let branch = layer.low_rank.as_ref().map(|block| {
                let norm = layer.attention().and_then(|block| block.norm.as_ref());
                self.low_rank(block, &self.weights.optional_norm(norm, &state))
            });
            if !layer.parallel {
                add(&mut state, &mixed);
                state = self.weights.optional_norm(layer.stream_norms.mixer.as_ref(), &state);
            }
            if let Some(branch) = branch {
                add(&mut state, &branch);
                state.iter_mut().for_each(|value| *value *= std::f32::consts::FRAC_1_SQRT_2);
            }
            if let Some(block) = &layer.feed_forward {
                let fed = match &block.token_shift {
                    None => self.feed_forward(block, &state),
                    Some(shift) => self.shifted_feed_forward(block, shift, &state, memory),
                };
                add(&mut state, &fed);
                let factor = block.output_gate.as_ref().map_or(1.0, |gate| gate.factor);
                state.iter_mut().for_each(|value| *value *= factor);
            }
            if layer.parallel {
                add(&mut state, &mixed);
            }
            state = self.weights.optional_norm(layer.stream_norms.feed_forward.as_ref(), &state);
            match &layer.streams {
                None => streams[active] = state,
                Some(mixing) => self.correct(mixing, &mut streams, active, &state),
            }
            self.add_layer_input(layer, inputs.get(index), &mut streams, active);
        }
        let state = self.end_streams(streams);
        sequence.tokens.push(Arc::new(TokenKv { layers }));
        Ok(self.weights.norm(&self.model.norm, &state))
    }
}

impl Reference {
    /// Adds the output of the layer's per-layer embedding to the residual stream, or to all streams
    /// except the first, and scales the result.
    fn add_layer_input(&self, layer: &Layer, input: Option<&Vec<f32>>, streams: &mut [Vec<f32>], active: usize) {
        if let (Some(block), Some(input)) = (&layer.per_layer, input) {
            match &layer.streams {
                None => {
                    let output = self.per_layer_output(block, &streams[active], input);
                    add(&mut streams[active], &output);
                }
                Some(mixing) => {
                    let scale = self.weights.vector(&mixing.correct_scale);
                    let state: Vec<f32> =
                        streams[active].iter().zip(scale).map(|(value, scale)| value * scale).collect();
                    let output = self.per_layer_output(block, &state, input);
                    streams[1..].iter_mut().for_each(|stream| add(stream, &output));
                }
            }
        }
        if let Some(scale) = &layer.output_scale {
            let scale = self.weights.vector(scale)[0];
            streams[active].iter_mut().for_each(|value| *value *= scale);
        }
    }
}

fn add(state: &mut [f32], other: &[f32]) {
    state.iter_mut().zip(other).for_each(|(value, other)| *value += other);
}
