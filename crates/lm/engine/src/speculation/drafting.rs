//! Sequences that draft token by token: what draft models and prediction heads share.

use roci_lm::sample::Sampler;
use roci_tokenizer::Tokenizer;

use crate::sequence::Sequence;
use crate::{Chunk, ForwardError, Output, OutputKind, States};

/// A sequence that drafts in this step.
pub(super) struct Drafting {
    /// Index of the sequence.
    pub(super) sequence: usize,
    /// Maximum number of tokens to draft.
    count: usize,
    /// Draws the same random numbers as the sequence's own sampler.
    sampler: Sampler,
    pub(super) drafts: Vec<u32>,
    /// The hidden state at the last token or draft, if the drafter returns hidden states.
    pub(super) state: Vec<f32>,
    /// Whether the last draft may be followed by another.
    goes_on: bool,
}

impl Drafting {
    pub(super) fn new(sequence: usize, count: usize, sampler: Sampler) -> Self {
        Self { sequence, count, sampler, drafts: Vec::new(), state: Vec::new(), goes_on: true }
    }

    /// The next tokens to evaluate, and the position of the first: those that the drafter has not
    /// evaluated yet, then the last draft.
    pub(super) fn input<'a>(&'a self, sequence: &'a Sequence) -> (&'a [u32], usize) {
        match self.drafts.last() {
            None => (&sequence.tokens[sequence.draft_evaluated..], sequence.draft_evaluated),
            Some(last) => (std::slice::from_ref(last), sequence.tokens.len() + self.drafts.len() - 1),
        }
    }

    /// Drafts the token that the sequence's sampler selects from these logits, unless they are
    /// invalid.
    fn add(&mut self, output: Output, states: States, vocabulary: usize, sequence: &Sequence, tokenizer: &Tokenizer) {
        let logits = output.rows.into_iter().next();
        let token = logits.and_then(|mut logits| {
            logits.resize(vocabulary, f32::NEG_INFINITY);
            self.sampler.sample(&logits, None).ok()
        });
        self.drafts.extend(token);
        self.state = states.into_iter().next_back().unwrap_or_default();
        let ends = token.is_none_or(|token| sequence.ends_with(token, tokenizer));
        self.goes_on = !ends && self.drafts.len() < self.count;
    }
}

/// Drafts one token after another for all sequences. `evaluate` returns the logits after the
/// [`input`](Drafting::input) of each, which are then cut to the length of the vocabulary.
pub(super) fn draft(
    running: &[Sequence],
    drafting: &mut [Drafting],
    vocabulary: usize,
    tokenizer: &Tokenizer,
    mut evaluate: impl FnMut(&[&Drafting]) -> Result<Vec<(Output, States)>, ForwardError>,
) -> Result<(), ForwardError> {
    loop {
        let mut active: Vec<&mut Drafting> = drafting.iter_mut().filter(|one| one.goes_on).collect();
        if active.is_empty() {
            return Ok(());
        }
        let outputs = evaluate(&active.iter().map(|one| &**one).collect::<Vec<_>>())?;
        for (one, (output, states)) in active.iter_mut().zip(outputs) {
            one.add(output, states, vocabulary, &running[one.sequence], tokenizer);
        }
    }
}

/// The chunk that evaluates tokens of a sequence for a draft.
pub(super) fn chunk<'a>((tokens, start): (&'a [u32], usize), sequence: &'a Sequence) -> Chunk<'a> {
    Chunk { tokens, start, pages: &sequence.pages, state: None, output: OutputKind::LastLogits }
}
