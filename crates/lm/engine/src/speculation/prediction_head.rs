//! Multi-token prediction: a head that predicts the next token from the model's hidden states.
//!
//! The head is a model of one layer. For each token it reads the embedding and the hidden state
//! from which the model predicted that token. Hidden states exist only after the call that computed
//! them, so a sequence keeps those that the head has not read, and the head reads them before their
//! page is published. Like a draft model, the head uses the model's page tables.
//!
//! After tokens from the prefix cache, the hidden state before the next token is unknown, and the
//! head reads zeros instead. This may make its drafts worse, but does not change the generated
//! text.

use roci_lm::sample::Sampler;
use roci_tokenizer::Tokenizer;

use super::draft_model::DraftModelError;
use crate::sequence::Sequence;
use crate::{Chunk, Forward, ForwardError, Limits, Output, OutputKind, States, call};

/// Maximum number of tokens that the head may lag behind.
const BEHIND: usize = 8;

/// The prediction head of a model.
pub struct PredictionHead {
    forward: Box<dyn Forward>,
}

impl std::fmt::Debug for PredictionHead {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("PredictionHead").field("limits", self.limits()).finish_non_exhaustive()
    }
}

/// A sequence that drafts in this step.
struct Drafting {
    /// Index of the sequence.
    sequence: usize,
    /// Maximum number of tokens to draft.
    count: usize,
    sampler: Sampler,
    drafts: Vec<u32>,
    /// The head's hidden state at the last token or draft.
    state: Vec<f32>,
    goes_on: bool,
}

impl PredictionHead {
    /// Creates the head of a model with these limits.
    ///
    /// # Errors
    /// If its KV cache has pages of another number or size than the model's.
    pub fn new(forward: Box<dyn Forward>, target: &Limits) -> Result<Self, DraftModelError> {
        super::draft_model::check_pages(forward.limits(), target)?;
        Ok(Self { forward })
    }

    /// Limits of the head.
    pub(crate) fn limits(&self) -> &Limits {
        self.forward.limits()
    }

    /// Takes the hidden states of a chunk that the model has evaluated from position `start` on, up
    /// to the accepted tokens. Evaluates the head if a page is about to be published, or if the
    /// head lags too far behind.
    pub(super) fn observe(
        &mut self,
        sequence: &mut Sequence,
        start: usize,
        states: States,
        page_size: usize,
    ) -> Result<(), ForwardError> {
        let length = sequence.tokens.len();
        // The head does not know image rows. Non-causal models do not generate text.
        if !sequence.images.is_empty() || states.is_empty() {
            return Ok(());
        }
        if sequence.draft_evaluated + sequence.head_inputs.len() < start + 1 {
            // These tokens came from the prefix cache; the head has read their pages.
            sequence.draft_evaluated = start;
            sequence.head_inputs = vec![vec![0.0; self.limits().embedding]];
        }
        for (position, state) in (start + 1..length).zip(states) {
            if position == sequence.draft_evaluated + sequence.head_inputs.len() {
                sequence.head_inputs.push(state);
            }
        }
        let publishes = (sequence.published + 1) * page_size <= sequence.evaluated;
        if publishes || sequence.head_inputs.len() > BEHIND {
            self.catch_up(sequence)?;
        }
        Ok(())
    }

    /// Evaluates tokens that the head has not evaluated yet, except the last one.
    fn catch_up(&mut self, sequence: &mut Sequence) -> Result<(), ForwardError> {
        let most = self.limits().max_batch_tokens;
        loop {
            let start = sequence.draft_evaluated;
            // The last token is evaluated when the sequence drafts, unless the sequence has ended.
            let length = sequence.tokens.len();
            let known = if sequence.evaluated == length { length } else { length - 1 };
            let count = sequence.head_inputs.len().min(known.saturating_sub(start)).min(most);
            if count == 0 {
                return Ok(());
            }
            let tokens = &sequence.tokens[start..start + count];
            let chunk = Chunk { tokens, start, pages: &sequence.pages, state: None, output: OutputKind::None };
            let inputs: Vec<Vec<f32>> = sequence.head_inputs.drain(..count).collect();
            call::evaluate_with_states(self.forward.as_mut(), &[chunk], Some(&inputs))?;
            sequence.draft_evaluated += count;
        }
    }

    /// Drafts at most `counts` tokens for each sequence. The sequences must have pages for them.
    /// Pages that other sequences may use are published, so they need no more evaluation.
    pub(super) fn draft(
        &mut self,
        running: &mut [Sequence],
        counts: &[usize],
        tokenizer: &Tokenizer,
    ) -> Result<Vec<Vec<u32>>, ForwardError> {
        let mut drafting = Vec::new();
        // One call evaluates the missing tokens of all sequences.
        let share = self.limits().max_batch_tokens / counts.len().max(1);
        for (index, &count) in counts.iter().enumerate().filter(|(_, count)| **count > 0) {
            let sequence = &mut running[index];
            if sequence.head_inputs.len() > share {
                self.catch_up(sequence)?;
            }
            let is_complete = sequence.draft_evaluated + sequence.head_inputs.len() == sequence.tokens.len()
                && !sequence.head_inputs.is_empty();
            if let Some(sampler) = sequence.fork_sampler().filter(|_| is_complete) {
                let (drafts, state) = (Vec::new(), Vec::new());
                drafting.push(Drafting { sequence: index, count, sampler, drafts, state, goes_on: true });
            }
        }
        while drafting.iter().any(|one| one.goes_on) {
            self.next_drafts(running, &mut drafting, tokenizer)?;
        }
        let mut drafts = vec![Vec::new(); running.len()];
        for one in drafting {
            let sequence = &mut running[one.sequence];
            // The head evaluates accepted drafts again with the model's hidden states.
            sequence.draft_evaluated = sequence.tokens.len();
            sequence.head_inputs.clear();
            drafts[one.sequence] = one.drafts;
        }
        Ok(drafts)
    }

    /// Drafts one token for each sequence that continues.
    fn next_drafts(
        &mut self,
        running: &[Sequence],
        drafting: &mut [Drafting],
        tokenizer: &Tokenizer,
    ) -> Result<(), ForwardError> {
        let mut active: Vec<&mut Drafting> = drafting.iter_mut().filter(|one| one.goes_on).collect();
        let mut inputs: Vec<Vec<f32>> = Vec::new();
        let chunks: Vec<Chunk<'_>> = active
            .iter()
            .map(|one| {
                let sequence = &running[one.sequence];
                let (tokens, start) = match one.drafts.last() {
                    None => {
                        inputs.extend(sequence.head_inputs.iter().cloned());
                        (&sequence.tokens[sequence.draft_evaluated..], sequence.draft_evaluated)
                    }
                    Some(last) => {
                        inputs.push(one.state.clone());
                        (std::slice::from_ref(last), sequence.tokens.len() + one.drafts.len() - 1)
                    }
                };
                Chunk { tokens, start, pages: &sequence.pages, state: None, output: OutputKind::LastLogits }
            })
            .collect();
        let outputs = call::evaluate_with_states(self.forward.as_mut(), &chunks, Some(&inputs))?;
        drop(chunks);
        for (one, (output, states)) in active.iter_mut().zip(outputs) {
            let token = sample(&mut one.sampler, &output);
            one.drafts.extend(token);
            one.state = states.into_iter().next_back().unwrap_or_default();
            let ends = token.is_none_or(|token| running[one.sequence].ends_with(token, tokenizer));
            one.goes_on = !ends && one.drafts.len() < one.count;
        }
        Ok(())
    }
}

/// The token that the sequence's sampler takes from these logits; `None` if they are invalid.
fn sample(sampler: &mut Sampler, output: &Output) -> Option<u32> {
    sampler.sample(output.rows.first()?, None).ok()
}
