//! A [`Forward`] on the reference implementation.

use std::sync::Arc;

use roci_lm::reference::{PooledHead, RecurrentState, Reference, SequenceState, TokenKv};

use crate::{Chunk, Forward, ForwardError, Limits, Output, OutputKind, States};

/// Sizes of the KV cache and of calls of a [`ReferenceForward`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KvCapacity {
    /// Tokens per KV page.
    pub page_size: usize,
    /// KV pages.
    pub pages: usize,
    /// Maximum number of tokens of one call.
    pub max_batch_tokens: usize,
    /// Maximum number of chunks of one call.
    pub max_chunks: usize,
    /// Recurrent states, for models with such layers.
    pub state_slots: usize,
}

impl KvCapacity {
    /// Capacity for this number of sequences of full length, in pages of 16 tokens.
    pub fn for_sequences(context: usize, sequences: usize) -> Self {
        let page_size = 16;
        Self {
            page_size,
            pages: context.div_ceil(page_size) * sequences,
            max_batch_tokens: 64,
            max_chunks: 16,
            state_slots: 2 * sequences + 1,
        }
    }
}

/// Evaluates a model with [`roci_lm::reference`], one token at a time. Devices are compared with
/// it, and the engine's tests run on it.
///
/// It enforces the contract of [`Forward`]: reading a KV slot that was never written, a page table
/// that does not cover its chunk, and a recurrent state of another position are errors.
#[derive(Debug)]
pub struct ReferenceForward {
    reference: Reference,
    limits: Limits,
    /// Keys and values of each slot of each page.
    pages: Vec<Vec<Option<Arc<TokenKv>>>>,
    /// Recurrent states, each with the number of tokens that it comes from.
    states: Vec<Option<(usize, RecurrentState)>>,
}

impl ReferenceForward {
    /// Creates a KV cache of this capacity for a model.
    pub fn new(reference: Reference, capacity: KvCapacity) -> Self {
        let model = reference.model();
        let limits = Limits {
            context: model.context as usize,
            page_size: capacity.page_size,
            pages: capacity.pages,
            max_batch_tokens: capacity.max_batch_tokens,
            max_chunks: capacity.max_chunks,
            vocabulary: model.config.vocabulary,
            embedding: model.config.embedding,
            pooling: model.config.pooling,
            pooled: model.pooled.as_ref().map(|pooled| pooled.tokens),
            outputs: model.pooled.as_ref().map(|pooled| pooled.outputs(model.config.embedding)),
            causal: model.is_causal(),
            state_slots: if model.is_recurrent() { capacity.state_slots.max(1) } else { 0 },
        };
        let pages = vec![vec![None; capacity.page_size]; capacity.pages];
        Self { pages, states: vec![None; limits.state_slots], reference, limits }
    }

    /// The KV slot of a position of a sequence.
    fn slot(&mut self, chunk: &Chunk<'_>, position: usize) -> Result<&mut Option<Arc<TokenKv>>, ForwardError> {
        let page = chunk.pages.get(position / self.limits.page_size).copied();
        let page = page.and_then(|page| self.pages.get_mut(page as usize));
        page.and_then(|page| page.get_mut(position % self.limits.page_size))
            .ok_or_else(|| fault(format!("the page table has no page for position {position}")))
    }

    /// The recurrent state before a chunk.
    fn state(&self, chunk: &Chunk<'_>) -> Result<Option<RecurrentState>, ForwardError> {
        let Some(slots) = chunk.state else {
            return match self.limits.state_slots {
                0 => Ok(None),
                _ => Err(fault("a chunk names no slot for its recurrent state".to_owned())),
            };
        };
        let found = slots.read.map(|slot| self.states.get(slot as usize).and_then(Option::as_ref));
        match found {
            None if chunk.start == 0 => Ok(None),
            Some(Some((tokens, state))) if *tokens == chunk.start && chunk.start > 0 => Ok(Some(state.clone())),
            _ => Err(fault(format!("{slots:?} have no state after {} tokens", chunk.start))),
        }
    }

    /// Evaluates a whole sequence of a non-causal model.
    fn evaluate_text(&self, chunk: &Chunk<'_>) -> Result<Output, ForwardError> {
        if chunk.start != 0 {
            return Err(fault(format!("a chunk of a non-causal model starts at {}", chunk.start)));
        }
        let rows = self.reference.hidden_states(chunk.tokens).map_err(|error| fault(error.to_string()))?;
        match chunk.output {
            OutputKind::None => Ok(Output::default()),
            OutputKind::HiddenStates => Ok(Output { rows }),
            OutputKind::LastLogits | OutputKind::AllLogits => {
                Err(fault("a model that is not causal has no logits".to_owned()))
            }
        }
    }

    /// The output of a chunk and the hidden states of its tokens. `before` has the hidden states
    /// that a prediction head reads.
    fn evaluate_chunk(
        &mut self,
        chunk: &Chunk<'_>,
        before: Option<&[Vec<f32>]>,
    ) -> Result<(Output, States), ForwardError> {
        if !self.limits.causal {
            return Ok((self.evaluate_text(chunk)?, States::new()));
        }
        if before.map(<[_]>::len) != self.reference.model().prediction_input.is_some().then_some(chunk.tokens.len()) {
            return Err(fault(
                "only a prediction head reads a hidden state for each token, and it needs one".to_owned(),
            ));
        }
        let mut tokens = Vec::with_capacity(chunk.start + chunk.tokens.len());
        for position in 0..chunk.start {
            let token = self.slot(chunk, position)?.clone();
            tokens.push(token.ok_or_else(|| fault(format!("position {position} was never evaluated")))?);
        }
        let mut state = SequenceState::new(tokens, self.state(chunk)?);
        let (mut output, mut states) = (Output::default(), Vec::new());
        for (at, &token) in chunk.tokens.iter().enumerate() {
            let logits = match chunk.output {
                OutputKind::None | OutputKind::HiddenStates => false,
                OutputKind::LastLogits => at + 1 == chunk.tokens.len(),
                OutputKind::AllLogits => true,
            };
            let before = before.and_then(|before| before.get(at)).map(Vec::as_slice).unwrap_or_default();
            let hidden = self.reference.hidden_after(&mut state, token, before);
            let hidden = hidden.map_err(|error| fault(error.to_string()))?;
            if logits {
                output.rows.push(self.reference.logits_of(&hidden));
            } else if chunk.output == OutputKind::HiddenStates {
                output.rows.push(hidden.clone());
            }
            states.push(hidden);
            *self.slot(chunk, chunk.start + at)? = state.tokens().last().cloned();
        }
        if let (Some(slots), Some(after)) = (chunk.state, state.recurrent()) {
            let slot = self.states.get_mut(slots.write as usize);
            let slot = slot.ok_or_else(|| fault(format!("there is no slot {}", slots.write)))?;
            *slot = Some((state.tokens().len(), after.clone()));
        }
        Ok((output, states))
    }

    fn check(&self, chunks: &[Chunk<'_>]) -> Result<(), ForwardError> {
        let tokens: usize = chunks.iter().map(|chunk| chunk.tokens.len()).sum();
        if tokens > self.limits.max_batch_tokens || chunks.len() > self.limits.max_chunks {
            return Err(fault(format!("{tokens} tokens in {} chunks exceed the limits of one call", chunks.len())));
        }
        Ok(())
    }
}

impl Forward for ReferenceForward {
    fn limits(&self) -> &Limits {
        &self.limits
    }

    fn head(&self) -> Option<Arc<PooledHead>> {
        self.reference.head()
    }

    fn evaluate(&mut self, chunks: &[Chunk<'_>]) -> Result<Vec<Output>, ForwardError> {
        self.check(chunks)?;
        chunks.iter().map(|chunk| Ok(self.evaluate_chunk(chunk, None)?.0)).collect()
    }

    fn evaluate_with_states(
        &mut self,
        chunks: &[Chunk<'_>],
        before: Option<&[Vec<f32>]>,
    ) -> Result<Vec<(Output, States)>, ForwardError> {
        self.check(chunks)?;
        let mut at = 0;
        let mut evaluate = |chunk: &Chunk<'_>| {
            let own = at..at + chunk.tokens.len();
            at = own.end;
            self.evaluate_chunk(chunk, before.map(|before| before.get(own).unwrap_or_default()))
        };
        chunks.iter().map(&mut evaluate).collect()
    }
}

/// An error that only a bug of the caller can cause.
fn fault(message: String) -> ForwardError {
    let hint = Some("this is a bug in roci: please report it with the name of the model".to_owned());
    ForwardError { message, hint, lost: false }
}
