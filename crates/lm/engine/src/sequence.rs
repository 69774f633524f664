//! State of one active request.

use std::borrow::Cow;
use std::sync::Arc;
use std::time::{Duration, Instant};

use roci_lm::reference::PooledHead;
use roci_lm::sample::Sampler;
use roci_tokenizer::Tokenizer;
use tokio::sync::{mpsc, oneshot};

use crate::generator::Generator;
use crate::images::PlacedImages;
use crate::slots::SequenceState;
use crate::state::RequestSlot;
use crate::text::EmbedTask;
use crate::{EngineError, Event, FinishReason, Output, OutputKind, Summary, Timings};

/// An active request: its tokens, its KV pages, and how far it is evaluated.
#[derive(Debug)]
pub(crate) struct Sequence {
    /// Prompt and generated tokens.
    pub(crate) tokens: Vec<u32>,
    /// Number of evaluated tokens, whose keys and values are in the pages.
    pub(crate) evaluated: usize,
    /// Page table, from the first token on.
    pub(crate) pages: Vec<u32>,
    /// Number of pages that are full and published in the prefix cache.
    pub(crate) published: usize,
    /// Recurrent state, while it runs on a model with such layers.
    pub(crate) state: Option<SequenceState>,
    /// Number of tokens that the draft model has evaluated, if there is one.
    pub(crate) draft_evaluated: usize,
    /// Inputs of the prediction head for the tokens from `draft_evaluated` on: the hidden state of
    /// each previous token.
    pub(crate) head_inputs: Vec<Vec<f32>>,
    /// Drafted tokens, which the next step evaluates after the pending ones; empty between steps.
    pub(crate) drafts: Vec<u32>,
    /// Number of accepted tokens that the next step evaluates again: their step also had rejected
    /// tokens, so it could not keep the recurrent state.
    pub(crate) evaluated_again: usize,
    /// Token counts after which the state is kept as a checkpoint. Chunks of prefill end there.
    pub(crate) checkpoints: Vec<usize>,
    /// Images in the prompt.
    pub(crate) images: PlacedImages,
    /// Scales of all LoRA adapters.
    pub(crate) adapters: Arc<[f32]>,
    /// The root of its pages in the prefix cache.
    pub(crate) root: Option<u32>,
    task: Task,
    prompt_tokens: usize,
    /// Prompt tokens that came from the prefix cache.
    cached_tokens: usize,
    drafted_tokens: usize,
    accepted_tokens: usize,
    clock: Clock,
    _slot: RequestSlot,
}

#[derive(Debug)]
enum Task {
    Generate(Box<Generator>),
    Embed(EmbedTask),
}

#[derive(Debug)]
struct Clock {
    submitted: Instant,
    /// When it was first admitted.
    scheduled: Option<Instant>,
    /// When its first chunk was submitted.
    prefill_start: Option<Instant>,
    first_token: Option<Instant>,
    last_token: Option<Instant>,
}

/// The last message of a request. It is sent after the statistics are published, so that a caller
/// who receives it sees statistics that include the request.
#[derive(Debug)]
pub(crate) enum FinalMessage {
    Event(mpsc::UnboundedSender<Event>, Event),
    Reply(oneshot::Sender<Result<Vec<f32>, EngineError>>, Result<Vec<f32>, EngineError>),
}

impl FinalMessage {
    /// Sends the message. The receiver may have been dropped.
    pub(crate) fn send(self) {
        match self {
            Self::Event(events, event) => drop(events.send(event)),
            Self::Reply(reply, answer) => drop(reply.send(answer)),
        }
    }
}

/// State of a sequence after a step.
#[derive(Debug, PartialEq)]
pub(crate) enum Progress {
    /// More tokens follow.
    More,
    /// The generation finished; the text is what the stop filter withheld.
    Finished(FinishReason, String),
    /// All tokens of an embedding are evaluated.
    Embedded,
}

impl Sequence {
    /// A generation request.
    pub(crate) fn generate(tokens: Vec<u32>, generator: Generator, slot: RequestSlot) -> Self {
        Self::new(tokens, Task::Generate(Box::new(generator)), slot)
    }

    /// A request for an embedding or a score.
    pub(crate) fn embed(tokens: Vec<u32>, task: EmbedTask, slot: RequestSlot) -> Self {
        Self::new(tokens, Task::Embed(task), slot)
    }

    fn new(tokens: Vec<u32>, task: Task, slot: RequestSlot) -> Self {
        let clock = Clock {
            submitted: Instant::now(),
            scheduled: None,
            prefill_start: None,
            first_token: None,
            last_token: None,
        };
        let prompt_tokens = tokens.len();
        Self {
            tokens,
            evaluated: 0,
            pages: Vec::new(),
            published: 0,
            state: None,
            draft_evaluated: 0,
            head_inputs: Vec::new(),
            drafts: Vec::new(),
            evaluated_again: 0,
            checkpoints: Vec::new(),
            images: PlacedImages::default(),
            adapters: Arc::default(),
            root: None,
            task,
            prompt_tokens,
            cached_tokens: 0,
            drafted_tokens: 0,
            accepted_tokens: 0,
            clock,
            _slot: slot,
        }
    }

    /// The parent of a page in the prefix cache: the page before it, or the root.
    pub(crate) fn parent(&self, page: usize) -> Option<u32> {
        page.checked_sub(1).map(|parent| self.pages[parent]).or(self.root)
    }

    /// Whether the caller dropped the receiver.
    pub(crate) fn is_canceled(&self) -> bool {
        match &self.task {
            Task::Generate(generator) => generator.events.is_closed(),
            Task::Embed(task) => task.reply.is_closed(),
        }
    }

    /// Whether the request asks for no tokens at all.
    pub(crate) fn is_complete(&self) -> bool {
        matches!(&self.task, Task::Generate(generator) if generator.max_tokens == Some(0))
    }

    /// Length of the prefix that may come from the prefix cache: no output of its tokens is needed.
    pub(crate) fn shareable(&self) -> usize {
        match &self.task {
            Task::Generate(_) => self.tokens.len().saturating_sub(1),
            Task::Embed(task) if task.whole => 0,
            Task::Embed(task) => task.pooled.start,
        }
    }

    /// Whether all of its tokens must be in one call.
    pub(crate) fn is_whole(&self) -> bool {
        matches!(&self.task, Task::Embed(task) if task.whole)
    }

    /// Whether the next `count` tokens are within that prefix.
    pub(crate) fn may_share(&self, count: usize) -> bool {
        self.evaluated + count <= self.shareable()
    }

    /// Tokens that are not evaluated yet.
    pub(crate) fn pending(&self) -> &[u32] {
        &self.tokens[self.evaluated..]
    }

    /// Number of tokens that the next chunk of prefill may have.
    pub(crate) fn prefill_length(&self) -> usize {
        let next = self.checkpoints.iter().copied().filter(|&end| end > self.evaluated).min();
        self.pending().len().min(next.map_or(usize::MAX, |end| end - self.evaluated))
    }

    /// Whether it is in the decode phase. Otherwise it evaluates its prompt, or evaluates its
    /// tokens again after a preemption.
    pub(crate) fn is_decoding(&self) -> bool {
        matches!(&self.task, Task::Generate(generator) if generator.generated > 0)
            && self.pending().len() == 1 + self.evaluated_again
    }

    /// Maximum number of tokens to draft: the remaining tokens except the sampled one. Prompts with
    /// images have no drafts, because ids of image rows cannot be sampled.
    pub(crate) fn draftable(&self, context: usize) -> usize {
        let Task::Generate(generator) = &self.task else { return 0 };
        if !self.images.is_empty() {
            return 0;
        }
        let left = generator.max_tokens.map_or(usize::MAX, |max| max.saturating_sub(generator.generated));
        left.min(context.saturating_sub(self.tokens.len())).saturating_sub(1)
    }

    /// The next `count` pending tokens; with drafts, all pending tokens, followed by the drafts.
    pub(crate) fn next_tokens(&self, count: usize) -> Cow<'_, [u32]> {
        match self.pending() {
            pending if self.drafts.is_empty() => Cow::Borrowed(&pending[..count]),
            pending => Cow::Owned([pending, &self.drafts].concat()),
        }
    }

    /// A sampler that selects the same tokens, without the grammar.
    pub(crate) fn fork_sampler(&self) -> Option<Sampler> {
        match &self.task {
            Task::Generate(generator) => Some(generator.sampler.fork()),
            Task::Embed(_) => None,
        }
    }

    /// Whether the generation ends with this token.
    pub(crate) fn ends_with(&self, token: u32, tokenizer: &Tokenizer) -> bool {
        let ignores = matches!(&self.task, Task::Generate(generator) if generator.ignore_eos);
        !ignores && tokenizer.ends_generation(token)
    }

    /// Number of drafted tokens, and how many of them were accepted.
    pub(crate) fn drafted(&self) -> (usize, usize) {
        (self.drafted_tokens, self.accepted_tokens)
    }

    /// The output needed for the next `count` tokens.
    pub(crate) fn output_kind(&self, count: usize) -> OutputKind {
        match &self.task {
            Task::Embed(EmbedTask { pooled, .. })
                if pooled.start < self.evaluated + count && self.evaluated < pooled.end =>
            {
                OutputKind::HiddenStates
            }
            Task::Embed(_) => OutputKind::None,
            Task::Generate(_) if !self.drafts.is_empty() => OutputKind::AllLogits,
            Task::Generate(_) if count == self.pending().len() => OutputKind::LastLogits,
            Task::Generate(_) => OutputKind::None,
        }
    }

    /// Records when the request was first admitted.
    pub(crate) fn mark_scheduled(&mut self) {
        self.clock.scheduled.get_or_insert_with(Instant::now);
    }

    /// Skips tokens whose pages came from the prefix cache. Returns how many prompt tokens the
    /// statistics have not counted yet.
    pub(crate) fn skip(&mut self, count: usize) -> usize {
        self.evaluated += count;
        if self.clock.first_token.is_some() || self.evaluated <= self.cached_tokens {
            return 0;
        }
        let before = std::mem::replace(&mut self.cached_tokens, self.evaluated.min(self.prompt_tokens));
        self.cached_tokens - before
    }

    /// Records when the first chunk was submitted.
    pub(crate) fn mark_submitted(&mut self) {
        self.clock.prefill_start.get_or_insert_with(Instant::now);
    }

    /// Resets the sequence after its pages were released.
    pub(crate) fn preempt(&mut self) {
        self.evaluated = 0;
        self.evaluated_again = 0;
        self.draft_evaluated = 0;
        self.head_inputs.clear();
        self.published = 0;
        if let Task::Embed(task) = &mut self.task {
            task.sum.fill(0.0);
        }
    }

    /// Handles the output of the next `count` tokens. `context` is the maximum sequence length.
    ///
    /// # Errors
    /// If no token can be sampled.
    pub(crate) fn advance(
        &mut self,
        count: usize,
        output: &Output,
        tokenizer: &Tokenizer,
        context: usize,
    ) -> Result<Progress, EngineError> {
        let start = self.evaluated;
        let drafts = std::mem::take(&mut self.drafts);
        self.evaluated += count - drafts.len();
        let complete = self.evaluated == self.tokens.len();
        match &mut self.task {
            Task::Embed(EmbedTask { pooled, sum, .. }) => {
                let rows = (start..).zip(&output.rows).filter(|(position, _)| pooled.contains(position));
                for (_, row) in rows {
                    sum.iter_mut().zip(row).for_each(|(sum, value)| *sum += f64::from(*value));
                }
                Ok(if complete { Progress::Embedded } else { Progress::More })
            }
            Task::Generate(generator) => {
                if generator.generated == 0 {
                    // A send fails if the request was canceled, which the scheduler handles before
                    // the next call.
                    let _ = generator.events.send(Event::Prefill { done: self.evaluated, total: self.prompt_tokens });
                }
                if !complete {
                    return Ok(Progress::More);
                }
                let now = Instant::now();
                self.clock.first_token.get_or_insert(now);
                self.clock.last_token = Some(now);
                // The rows after the last token and after each draft.
                let first = output.rows.len().saturating_sub(1 + drafts.len());
                let before = self.tokens.len();
                let mut accepted = 0;
                let progress = loop {
                    let logits = output.rows.get(first + accepted).map(Vec::as_slice).unwrap_or_default();
                    let progress = generator.sample(logits, tokenizer, &mut self.tokens, context)?;
                    if progress != Progress::More || self.tokens.last() != drafts.get(accepted) {
                        break progress;
                    }
                    accepted += 1;
                };
                self.drafted_tokens += drafts.len();
                self.accepted_tokens += accepted;
                self.draft_evaluated = self.draft_evaluated.min(before + accepted);
                if self.state.is_none() || accepted == drafts.len() {
                    self.evaluated += accepted;
                    self.evaluated_again = 0;
                } else {
                    // The state after only the accepted tokens is unknown.
                    self.evaluated_again = self.evaluated - start + accepted;
                    self.evaluated = start;
                }
                Ok(progress)
            }
        }
    }

    /// The final message after [`Progress::Finished`].
    pub(crate) fn finish(self, reason: FinishReason, text: String) -> FinalMessage {
        let Task::Generate(generator) = self.task else { return self.finish_embedding(None) };
        let summary = Summary {
            reason,
            text,
            prompt_tokens: self.prompt_tokens,
            cached_tokens: self.cached_tokens,
            generated_tokens: generator.generated,
            drafted_tokens: self.drafted_tokens,
            accepted_tokens: self.accepted_tokens,
            timings: self.clock.timings(),
        };
        FinalMessage::Event(generator.events, Event::Finished(summary))
    }

    /// The final message of the only running sequence, for which no pages are left.
    pub(crate) fn finish_without_pages(mut self) -> FinalMessage {
        let text = match &mut self.task {
            Task::Generate(generator) => generator.stop.finish().text,
            Task::Embed(_) => String::new(),
        };
        self.finish(FinishReason::Context, text)
    }

    /// The final message after [`Progress::Embedded`].
    pub(crate) fn finish_embedding(self, head: Option<&PooledHead>) -> FinalMessage {
        match self.task {
            Task::Generate(_) => self.fail(EngineError::Closed),
            Task::Embed(task) => {
                let vector = task.finish(head);
                FinalMessage::Reply(task.reply, Ok(vector))
            }
        }
    }

    /// The final message after an error.
    pub(crate) fn fail(self, error: EngineError) -> FinalMessage {
        match self.task {
            Task::Generate(generator) => FinalMessage::Event(generator.events, Event::Failed(error)),
            Task::Embed(task) => FinalMessage::Reply(task.reply, Err(error)),
        }
    }
}

impl Clock {
    fn timings(&self) -> Timings {
        let between = |from: Option<Instant>, to: Option<Instant>| match (from, to) {
            (Some(from), Some(to)) => to.saturating_duration_since(from),
            _ => Duration::ZERO,
        };
        Timings {
            queued: between(Some(self.submitted), self.scheduled),
            prefill: between(self.prefill_start, self.first_token),
            decode: between(self.first_token, self.last_token),
        }
    }
}
