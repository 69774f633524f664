//! Speculative decoding: a step evaluates drafted tokens after the last token of a sequence, and
//! keeps those that the sequence's own sampler selects too.
//!
//! The random number of a token depends only on its position, so a sequence has the same tokens
//! with and without speculation at every temperature, as long as the device's logits do not depend
//! on the batch. Grammars, penalties and stop strings process accepted tokens one by one.
//!
//! Later steps overwrite keys and values of rejected tokens. A recurrent state cannot be rolled
//! back: a step with drafts writes another slot, which replaces the sequence's slot if all drafts
//! were accepted. Otherwise the next step evaluates the accepted tokens again.

mod controller;
mod draft_model;
mod lookup;
mod prediction_head;

use std::time::Duration;

use controller::Controller;
pub use draft_model::{DraftModel, DraftModelError};
pub use prediction_head::PredictionHead;

use crate::pages::Pages;
use crate::sequence::Sequence;
use crate::state::EngineState;
use crate::{ForwardError, Limits, States};

/// Source of drafts.
#[derive(Debug)]
#[non_exhaustive]
pub enum Drafter {
    /// N-gram lookup: copies the tokens that followed the last occurrence of the final tokens in
    /// the sequence's own text.
    Lookup,
    /// A smaller model.
    Model(DraftModel),
    /// The model's own prediction head.
    Head(PredictionHead),
}

impl Drafter {
    /// Limits of the draft model.
    pub(crate) fn limits(&self) -> Option<&Limits> {
        match self {
            Self::Lookup => None,
            Self::Model(model) => Some(model.limits()),
            Self::Head(head) => Some(head.limits()),
        }
    }
}

/// Settings of speculative decoding.
// Not `#[non_exhaustive]`: callers build it.
#[derive(Debug)]
pub struct Speculation {
    /// Source of drafts; `None` for no speculation.
    pub drafter: Option<Drafter>,
    /// Maximum number of drafted tokens per sequence and step.
    pub draft_tokens: usize,
    /// Whether speculation pauses while it is measured to be slower.
    pub adaptive: bool,
}

impl Speculation {
    /// Default number of drafted tokens.
    pub const DRAFT_TOKENS: usize = 4;

    /// No speculation.
    pub fn off() -> Self {
        Self { drafter: None, draft_tokens: Self::DRAFT_TOKENS, adaptive: false }
    }
}

/// Drafts tokens for the decoding sequences.
#[derive(Debug)]
pub(crate) struct Speculator {
    drafter: Option<Drafter>,
    draft_tokens: usize,
    controller: Option<Controller>,
}

impl Speculator {
    pub(crate) fn new(speculation: Speculation) -> Self {
        let Speculation { drafter, draft_tokens, adaptive } = speculation;
        Self { drafter, draft_tokens, controller: adaptive.then(Controller::new) }
    }

    /// Drafts tokens for the next step of the decoding sequences, and allocates pages for them. A
    /// step with prefill has no drafts: prompts use the rest of the batch. Returns time that does
    /// not count for this step.
    pub(crate) fn draft(
        &mut self,
        running: &mut [Sequence],
        pages: &mut Pages,
        state: &EngineState,
    ) -> Result<Duration, ForwardError> {
        let Some(drafter) = &mut self.drafter else { return Ok(Duration::ZERO) };
        if running.is_empty() || !running.iter().all(Sequence::is_decoding) {
            return Ok(Duration::ZERO);
        }
        // Draft models do not know image rows, and a lookup would draft them.
        if running.iter().any(|sequence| !sequence.images.is_empty()) {
            return Ok(Duration::ZERO);
        }
        if self.controller.as_ref().is_some_and(|controller| !controller.permits(running.len())) {
            return Ok(Duration::ZERO);
        }
        let reserved = running.len();
        let pending: usize = running.iter().map(|sequence| sequence.pending().len()).sum();
        let share = state.limits.max_batch_tokens.saturating_sub(pending) / reserved;
        let most = |sequence: &Sequence| {
            // Tokens that are evaluated again count as drafts, so that chunks do not grow.
            let again = sequence.pending().len() - 1;
            self.draft_tokens.saturating_sub(again).min(share).min(sequence.draftable(state.context()))
        };
        let counts: Vec<usize> = running.iter().map(most).collect();
        let (drafts, caught_up) = match drafter {
            Drafter::Lookup => {
                let lookup = |(sequence, count): (&Sequence, &usize)| lookup::draft(&sequence.tokens, *count);
                (running.iter().zip(&counts).map(lookup).collect(), Duration::ZERO)
            }
            Drafter::Model(model) => {
                let pairs = running.iter_mut().zip(counts);
                let counts: Vec<usize> =
                    pairs.map(|(sequence, count)| allocate(sequence, pages, count, reserved)).collect();
                model.draft(running, &counts, pages, &state.tokenizer)?
            }
            Drafter::Head(head) => {
                let pairs = running.iter_mut().zip(counts);
                let counts: Vec<usize> =
                    pairs.map(|(sequence, count)| allocate(sequence, pages, count, reserved)).collect();
                (head.draft(running, &counts, &state.tokenizer)?, Duration::ZERO)
            }
        };
        for (sequence, mut drafts) in running.iter_mut().zip(drafts) {
            drafts.truncate(allocate(sequence, pages, drafts.len(), reserved));
            if drafts.is_empty() {
                continue;
            }
            if sequence.state.as_mut().is_none_or(|state| pages.slots.speculate(state)) {
                sequence.drafts = drafts;
            }
        }
        Ok(caught_up)
    }

    /// Whether the drafter reads the model's hidden states.
    pub(crate) fn needs_states(&self) -> bool {
        matches!(self.drafter, Some(Drafter::Head(_)))
    }

    /// Takes the hidden states of a chunk from position `start` on, before its pages are published.
    pub(crate) fn observe(
        &mut self,
        sequence: &mut Sequence,
        start: usize,
        states: States,
        page_size: usize,
    ) -> Result<(), ForwardError> {
        match &mut self.drafter {
            Some(Drafter::Head(head)) => head.observe(sequence, start, states, page_size),
            _ => Ok(()),
        }
    }

    /// Adds the measured duration of a step of decoding sequences with this many drafts, which
    /// generated `tokens`.
    pub(crate) fn measured(&mut self, sequences: usize, drafts: usize, tokens: usize, seconds: f64) {
        let Some(controller) = &mut self.controller else { return };
        match drafts {
            0 => controller.add_plain(sequences, seconds),
            _ => controller.add_speculative(sequences, tokens, seconds),
        }
    }

    /// Whether speculation is paused because it was slower.
    pub(crate) fn is_paused(&self) -> bool {
        self.controller.as_ref().is_some_and(Controller::is_paused)
    }
}

/// Allocates pages for up to `count` drafts after the tokens of a sequence, but leaves `reserved`
/// pages free. Returns the number of drafts that have pages.
fn allocate(sequence: &mut Sequence, pages: &mut Pages, count: usize, reserved: usize) -> usize {
    let length = sequence.tokens.len();
    while sequence.pages.len() * pages.size() < length + count && pages.available() > reserved {
        let Some(page) = pages.allocate() else { break };
        sequence.pages.push(page);
    }
    count.min((sequence.pages.len() * pages.size()).saturating_sub(length))
}
