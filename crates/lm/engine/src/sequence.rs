//! State of one active request.

use std::ops::Range;
use std::time::{Duration, Instant};

use roci_lm::grammar::Matcher;
use roci_lm::sample::{Constraint, Sampler, likeliest, log_probability};
use roci_tokenizer::Tokenizer;
use tokio::sync::{mpsc, oneshot};

use crate::images::PlacedImages;
use crate::slots::SequenceState;
use crate::state::RequestSlot;
use crate::stop::StopFilter;
use crate::{EngineError, Event, FinishReason, Logprob, Output, OutputKind, Summary, Timings, Token};

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
    /// Token counts after which the state is kept as a checkpoint. Chunks of prefill end there.
    pub(crate) checkpoints: Vec<usize>,
    /// Images in the prompt.
    pub(crate) images: PlacedImages,
    task: Task,
    prompt_tokens: usize,
    /// Prompt tokens that came from the prefix cache.
    cached_tokens: usize,
    clock: Clock,
    _slot: RequestSlot,
}

#[derive(Debug)]
enum Task {
    Generate(Box<Generator>),
    /// `sum` accumulates the hidden states of the positions `pooled`.
    Embed {
        pooled: Range<usize>,
        sum: Vec<f64>,
        reply: oneshot::Sender<Result<Vec<f32>, EngineError>>,
    },
}

/// Sampling state of a generation.
#[derive(Debug)]
pub(crate) struct Generator {
    pub(crate) events: mpsc::UnboundedSender<Event>,
    pub(crate) sampler: Sampler,
    pub(crate) matcher: Option<Matcher>,
    pub(crate) stop: StopFilter,
    pub(crate) max_tokens: Option<usize>,
    pub(crate) show_special: bool,
    pub(crate) ignore_eos: bool,
    pub(crate) top_logprobs: Option<usize>,
    /// Tokens generated so far.
    pub(crate) generated: usize,
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

    /// An embedding request over the hidden states of the positions `pooled`.
    pub(crate) fn embed(
        tokens: Vec<u32>,
        pooled: Range<usize>,
        embedding: usize,
        reply: oneshot::Sender<Result<Vec<f32>, EngineError>>,
        slot: RequestSlot,
    ) -> Self {
        Self::new(tokens, Task::Embed { pooled, sum: vec![0.0; embedding], reply }, slot)
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
            checkpoints: Vec::new(),
            images: PlacedImages::default(),
            task,
            prompt_tokens,
            cached_tokens: 0,
            clock,
            _slot: slot,
        }
    }

    /// Whether the caller dropped the receiver.
    pub(crate) fn is_canceled(&self) -> bool {
        match &self.task {
            Task::Generate(generator) => generator.events.is_closed(),
            Task::Embed { reply, .. } => reply.is_closed(),
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
            Task::Embed { pooled, .. } => pooled.start,
        }
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
        matches!(&self.task, Task::Generate(generator) if generator.generated > 0) && self.pending().len() == 1
    }

    /// The output needed for the next `count` tokens.
    pub(crate) fn output_kind(&self, count: usize) -> OutputKind {
        match &self.task {
            Task::Embed { pooled, .. } if pooled.start < self.evaluated + count && self.evaluated < pooled.end => {
                OutputKind::HiddenStates
            }
            Task::Embed { .. } => OutputKind::None,
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
        self.published = 0;
        if let Task::Embed { sum, .. } = &mut self.task {
            sum.fill(0.0);
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
        self.evaluated += count;
        let complete = self.evaluated == self.tokens.len();
        match &mut self.task {
            Task::Embed { pooled, sum, .. } => {
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
                let logits = output.rows.last().map(Vec::as_slice).unwrap_or_default();
                let now = Instant::now();
                self.clock.first_token.get_or_insert(now);
                self.clock.last_token = Some(now);
                generator.sample(logits, tokenizer, &mut self.tokens, context)
            }
        }
    }

    /// The final message after [`Progress::Finished`].
    pub(crate) fn finish(self, reason: FinishReason, text: String) -> FinalMessage {
        let Task::Generate(generator) = self.task else { return self.finish_embedding() };
        let summary = Summary {
            reason,
            text,
            prompt_tokens: self.prompt_tokens,
            cached_tokens: self.cached_tokens,
            generated_tokens: generator.generated,
            timings: self.clock.timings(),
        };
        FinalMessage::Event(generator.events, Event::Finished(summary))
    }

    /// The final message of the only running sequence, for which no pages are left.
    pub(crate) fn finish_without_pages(mut self) -> FinalMessage {
        let text = match &mut self.task {
            Task::Generate(generator) => generator.stop.finish().text,
            Task::Embed { .. } => String::new(),
        };
        self.finish(FinishReason::Context, text)
    }

    /// The final message after [`Progress::Embedded`]: the sum scaled to length 1. A mean's
    /// division by the token count cancels out.
    pub(crate) fn finish_embedding(self) -> FinalMessage {
        match self.task {
            Task::Generate(_) => self.fail(EngineError::Closed),
            Task::Embed { sum, reply, .. } => {
                let length = sum.iter().map(|value| value * value).sum::<f64>().sqrt();
                let scale = if length > 0.0 { 1.0 / length } else { 0.0 };
                FinalMessage::Reply(reply, Ok(sum.into_iter().map(|value| (value * scale) as f32).collect()))
            }
        }
    }

    /// The final message after an error.
    pub(crate) fn fail(self, error: EngineError) -> FinalMessage {
        match self.task {
            Task::Generate(generator) => FinalMessage::Event(generator.events, Event::Failed(error)),
            Task::Embed { reply, .. } => FinalMessage::Reply(reply, Err(error)),
        }
    }
}

impl Generator {
    /// Samples the next token and sends it.
    fn sample(
        &mut self,
        logits: &[f32],
        tokenizer: &Tokenizer,
        tokens: &mut Vec<u32>,
        context: usize,
    ) -> Result<Progress, EngineError> {
        let constraint = self.matcher.as_mut().map(|matcher| matcher as &mut dyn Constraint);
        let chosen = self.sampler.sample(logits, constraint)?;
        // A grammar that has accepted the end allows nothing after it.
        if tokenizer.ends_generation(chosen) && (!self.ignore_eos || self.matcher.is_some()) {
            return Ok(self.finish(FinishReason::EndOfGeneration));
        }
        tokens.push(chosen);
        self.generated += 1;
        let emitted = self.stop.push(tokenizer.piece(chosen, self.show_special));
        let entry = |token, logprob| Logprob { token, bytes: tokenizer.piece(token, true).to_vec(), logprob };
        let top = likeliest(logits, self.top_logprobs.unwrap_or(0));
        let token = Token {
            chosen: entry(chosen, self.top_logprobs.map_or(0.0, |_| log_probability(logits, chosen))),
            top_logprobs: top.into_iter().map(|one| entry(one.token, one.log_probability)).collect(),
            text: emitted.text,
        };
        let _ = self.events.send(Event::Token(token));
        if let Some(stop) = emitted.stop {
            return Ok(Progress::Finished(FinishReason::Stop(stop), String::new()));
        }
        Ok(if self.matcher.as_ref().is_some_and(Matcher::must_end) {
            self.finish(FinishReason::EndOfGeneration)
        } else if self.max_tokens.is_some_and(|max| self.generated >= max) {
            self.finish(FinishReason::Length)
        } else if tokens.len() >= context {
            self.finish(FinishReason::Context)
        } else {
            Progress::More
        })
    }

    fn finish(&mut self, reason: FinishReason) -> Progress {
        let emitted = self.stop.finish();
        Progress::Finished(emitted.stop.map_or(reason, FinishReason::Stop), emitted.text)
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
