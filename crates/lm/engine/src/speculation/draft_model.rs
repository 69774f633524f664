//! A draft model: a smaller model with the same vocabulary that predicts the next tokens.
//!
//! Its KV cache has as many pages as the target's, and a sequence uses the same page table for
//! both, so pages are allocated, shared and evicted once. Each sequence tracks which of its tokens
//! the draft model has evaluated, and each published page whether all of its tokens are. Missing
//! tokens are evaluated when a sequence drafts for the first time, or again after a pause.

use std::time::{Duration, Instant};

use roci_base::Hint;
use roci_lm::sample::Sampler;
use roci_tokenizer::Tokenizer;

use crate::pages::Pages;
use crate::sequence::Sequence;
use crate::{Chunk, Forward, ForwardError, Limits, Output, OutputKind, call};

/// Why a model cannot draft for another one.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum DraftModelError {
    /// The draft model has recurrent layers, whose state cannot be rolled back.
    #[error("a draft model with recurrent layers is not supported")]
    Recurrent,
    /// The KV caches have different pages.
    #[error("the KV cache of the draft model has {found} pages of tokens, that of the model {expected}")]
    Pages {
        /// Number and size of the draft model's pages.
        found: String,
        /// Number and size of the target's pages.
        expected: String,
    },
}

impl Hint for DraftModelError {
    fn hint(&self) -> Option<String> {
        Some(match self {
            Self::Recurrent => "use a draft model with attention only, or `--speculate ngram`".to_owned(),
            Self::Pages { .. } => "this is a bug in roci: please report it with the names of both models".to_owned(),
        })
    }
}

/// A model that drafts for another one, the target.
pub struct DraftModel {
    forward: Box<dyn Forward>,
    /// Vocabulary of the target.
    vocabulary: usize,
}

impl std::fmt::Debug for DraftModel {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("DraftModel").field("limits", self.limits()).finish_non_exhaustive()
    }
}

/// A sequence that drafts in this step.
struct Drafting {
    /// Index of the sequence.
    sequence: usize,
    /// Maximum number of tokens to draft.
    count: usize,
    /// Draws the same random numbers as the sequence's own sampler.
    sampler: Sampler,
    drafts: Vec<u32>,
    /// Whether the last draft may be followed by another.
    goes_on: bool,
}

impl DraftModel {
    /// Creates a draft model for a target with these limits. Both must have the same tokens; the
    /// vocabularies may be padded to different sizes.
    ///
    /// # Errors
    /// If the model has recurrent layers, or pages of another number or size than the target's.
    pub fn new(forward: Box<dyn Forward>, target: &Limits) -> Result<Self, DraftModelError> {
        let limits = forward.limits();
        if limits.state_slots > 0 {
            return Err(DraftModelError::Recurrent);
        }
        check_pages(limits, target)?;
        Ok(Self { forward, vocabulary: target.vocabulary })
    }

    /// Limits of the draft model.
    pub(crate) fn limits(&self) -> &Limits {
        self.forward.limits()
    }

    /// Drafts at most `counts` tokens for each sequence. The sequences must have pages for them.
    /// Also returns the time spent on tokens that had to be evaluated first, which does not count
    /// for this step.
    pub(super) fn draft(
        &mut self,
        running: &mut [Sequence],
        counts: &[usize],
        pages: &mut Pages,
        tokenizer: &Tokenizer,
    ) -> Result<(Vec<Vec<u32>>, Duration), ForwardError> {
        let start = Instant::now();
        let mut drafting = Vec::new();
        let mut budget = self.limits().max_batch_tokens;
        // One call evaluates the last tokens of all sequences.
        let share = budget / running.len().max(1);
        for (index, &count) in counts.iter().enumerate().filter(|(_, count)| **count > 0) {
            let sequence = &mut running[index];
            let count = count.min(self.limits().context.saturating_sub(sequence.tokens.len()));
            if count > 0
                && self.catch_up(sequence, pages, share, &mut budget)?
                && let Some(sampler) = sequence.fork_sampler()
            {
                drafting.push(Drafting { sequence: index, count, sampler, drafts: Vec::new(), goes_on: true });
            }
        }
        let caught_up = start.elapsed();
        while drafting.iter().any(|one| one.goes_on) {
            self.next_drafts(running, &mut drafting, tokenizer)?;
        }
        let mut drafts = vec![Vec::new(); running.len()];
        for one in drafting {
            let sequence = &mut running[one.sequence];
            // The last draft is not evaluated. The engine subtracts rejected ones later.
            sequence.draft_evaluated = sequence.tokens.len() + one.drafts.len().saturating_sub(1);
            note_pages(sequence, pages);
            drafts[one.sequence] = one.drafts;
        }
        Ok((drafts, caught_up))
    }

    /// Evaluates tokens that the draft model has not evaluated yet, except up to `share` final
    /// ones. Returns `false` if the token budget of this step does not suffice.
    fn catch_up(
        &mut self,
        sequence: &mut Sequence,
        pages: &mut Pages,
        share: usize,
        budget: &mut usize,
    ) -> Result<bool, ForwardError> {
        let size = pages.size();
        while let Some(&page) = sequence.pages[..sequence.published].get(sequence.draft_evaluated / size)
            && pages.is_drafted(page)
        {
            sequence.draft_evaluated = (sequence.draft_evaluated / size + 1) * size;
        }
        let at = sequence.draft_evaluated;
        let published = sequence.published * size;
        // Another sequence of the same batch may have a shared page in its page table, so a batch
        // must not write it.
        let is_shared =
            at < published && sequence.pages[at / size..sequence.published].iter().any(|page| pages.is_shared(*page));
        let length = sequence.tokens.len();
        let mut end = if is_shared { published } else { at };
        if length - end > share {
            end = length - 1;
        }
        let reached = end.min(at + *budget);
        if reached > at {
            let tokens = self.known(&sequence.tokens[at..reached]);
            let chunk =
                Chunk { tokens: &tokens, start: at, pages: &sequence.pages, state: None, output: OutputKind::None };
            call::evaluate(self.forward.as_mut(), &[chunk])?;
            *budget -= reached - at;
            sequence.draft_evaluated = reached;
            note_pages(sequence, pages);
        }
        Ok(reached == end)
    }

    /// Drafts one token for each sequence that continues.
    fn next_drafts(
        &mut self,
        running: &[Sequence],
        drafting: &mut [Drafting],
        tokenizer: &Tokenizer,
    ) -> Result<(), ForwardError> {
        let mut active: Vec<&mut Drafting> = drafting.iter_mut().filter(|one| one.goes_on).collect();
        let inputs = active.iter().map(|one| {
            let sequence = &running[one.sequence];
            match one.drafts.last() {
                None => (self.known(&sequence.tokens[sequence.draft_evaluated..]), sequence.draft_evaluated),
                Some(&last) => (self.known(&[last]), sequence.tokens.len() + one.drafts.len() - 1),
            }
        });
        let inputs: Vec<(Vec<u32>, usize)> = inputs.collect();
        let chunk = |(one, (tokens, start))| {
            let (one, tokens, start): (&&mut Drafting, &Vec<u32>, &usize) = (one, tokens, start);
            let pages = &running[one.sequence].pages;
            Chunk { tokens, start: *start, pages, state: None, output: OutputKind::LastLogits }
        };
        let chunks: Vec<Chunk<'_>> =
            active.iter().zip(inputs.iter().map(|(tokens, start)| (tokens, start))).map(chunk).collect();
        let outputs = call::evaluate(self.forward.as_mut(), &chunks)?;
        for (one, output) in active.iter_mut().zip(outputs) {
            let token = self.sample(&mut one.sampler, output);
            one.drafts.extend(token);
            let ends = token.is_none_or(|token| running[one.sequence].ends_with(token, tokenizer));
            one.goes_on = !ends && one.drafts.len() < one.count;
        }
        Ok(())
    }

    /// The token that the sequence's sampler takes from these logits; `None` if they are invalid.
    fn sample(&self, sampler: &mut Sampler, output: Output) -> Option<u32> {
        let mut logits = output.rows.into_iter().next()?;
        logits.resize(self.vocabulary, f32::NEG_INFINITY);
        sampler.sample(&logits, None).ok()
    }

    /// The tokens; those beyond the draft model's padded vocabulary, which do not occur in text,
    /// become 0.
    fn known(&self, tokens: &[u32]) -> Vec<u32> {
        let vocabulary = self.limits().vocabulary;
        tokens.iter().map(|&token| if (token as usize) < vocabulary { token } else { 0 }).collect()
    }
}

/// Checks that the KV cache has the same number and size of pages as the target's.
pub(super) fn check_pages(limits: &Limits, target: &Limits) -> Result<(), DraftModelError> {
    if (limits.pages, limits.page_size) == (target.pages, target.page_size) {
        return Ok(());
    }
    let text = |limits: &Limits| format!("{} x {}", limits.pages, limits.page_size);
    Err(DraftModelError::Pages { found: text(limits), expected: text(target) })
}

/// Records which published pages of a sequence the draft model has evaluated.
fn note_pages(sequence: &Sequence, pages: &mut Pages) {
    let whole = sequence.draft_evaluated.min(sequence.evaluated) / pages.size();
    // From the end: earlier pages are already recorded.
    for &page in sequence.pages[..whole.min(sequence.published)].iter().rev() {
        if pages.is_drafted(page) {
            break;
        }
        pages.note_drafted(page);
    }
}
