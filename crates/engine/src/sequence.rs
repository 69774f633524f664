//! One request under way.

use std::ops::Range;
use std::time::{Duration, Instant};

use roci_llm::grammar::Matcher;
use roci_llm::sample::{Constraint, Sampler, likeliest, log_probability};
use roci_tokenizer::Tokenizer;
use tokio::sync::{mpsc, oneshot};

use crate::engine::Place;
use crate::text::Answer;
use crate::{End, EngineError, Event, Likely, Output, Reason, Timings, Token, Wanted};

/// One request under way: its text, and how far the device has read it.
#[derive(Debug)]
pub(crate) struct Sequence {
    /// The prompt, and what was written after it.
    pub(crate) tokens: Vec<u32>,
    /// How many of them the device has read: their keys and values lie in the pages.
    pub(crate) read: usize,
    /// The text's pages, from its first token on.
    pub(crate) pages: Vec<u32>,
    /// How many of them are full, and known to others.
    pub(crate) known: usize,
    /// What is made of the text.
    task: Task,
    /// How many tokens the prompt has.
    prompt: usize,
    /// How many of them were at hand.
    shared: usize,
    clock: Clock,
    /// Its place among the requests that the engine takes.
    _place: Place,
}

#[derive(Debug)]
enum Task {
    Write(Box<Writer>),
    /// `sum` is over the hidden states of the tokens `pooled`.
    Embed {
        pooled: Range<usize>,
        sum: Vec<f64>,
        reply: oneshot::Sender<Result<Vec<f32>, EngineError>>,
    },
}

/// What continues a text.
#[derive(Debug)]
pub(crate) struct Writer {
    pub(crate) events: mpsc::UnboundedSender<Event>,
    pub(crate) sampler: Sampler,
    pub(crate) matcher: Option<Matcher>,
    pub(crate) answer: Answer,
    pub(crate) most: Option<usize>,
    pub(crate) show_special: bool,
    pub(crate) ignore_end: bool,
    pub(crate) likeliest: Option<usize>,
    /// How many tokens were written.
    pub(crate) written: usize,
}

#[derive(Debug)]
struct Clock {
    submitted: Instant,
    /// When it got its place first.
    begun: Option<Instant>,
    /// When its first chunk went to the device.
    read: Option<Instant>,
    first: Option<Instant>,
    last: Option<Instant>,
}

/// The last that is said of a request. It is sent once all else is done that the request asks for, so that who hears it finds statistics that know
/// of it.
#[derive(Debug)]
pub(crate) enum Last {
    /// To a generation.
    Event(mpsc::UnboundedSender<Event>, Event),
    /// To an embedding.
    Reply(oneshot::Sender<Result<Vec<f32>, EngineError>>, Result<Vec<f32>, EngineError>),
}

impl Last {
    /// Says it. Nobody need listen.
    pub(crate) fn send(self) {
        match self {
            Self::Event(events, event) => drop(events.send(event)),
            Self::Reply(reply, answer) => drop(reply.send(answer)),
        }
    }
}

/// What came of reading more.
#[derive(Debug, PartialEq)]
pub(crate) enum Step {
    /// It goes on.
    More,
    /// A text ended, with this left to be shown.
    Ended(Reason, String),
    /// All was read that an embedding needs.
    Embedded,
}

impl Sequence {
    /// A text to be continued.
    pub(crate) fn write(tokens: Vec<u32>, writer: Writer, place: Place) -> Self {
        Self::new(tokens, Task::Write(Box::new(writer)), place)
    }

    /// A text to be made into one vector, of the hidden states of the tokens `pooled`.
    pub(crate) fn embed(
        tokens: Vec<u32>,
        pooled: Range<usize>,
        embedding: usize,
        reply: oneshot::Sender<Result<Vec<f32>, EngineError>>,
        place: Place,
    ) -> Self {
        Self::new(tokens, Task::Embed { pooled, sum: vec![0.0; embedding], reply }, place)
    }

    fn new(tokens: Vec<u32>, task: Task, place: Place) -> Self {
        let clock = Clock { submitted: Instant::now(), begun: None, read: None, first: None, last: None };
        let prompt = tokens.len();
        Self { tokens, read: 0, pages: Vec::new(), known: 0, task, prompt, shared: 0, clock, _place: place }
    }

    /// Whether nobody waits for it any more.
    pub(crate) fn is_dropped(&self) -> bool {
        match &self.task {
            Task::Write(writer) => writer.events.is_closed(),
            Task::Embed { reply, .. } => reply.is_closed(),
        }
    }

    /// Whether no token is wanted of it.
    pub(crate) fn is_idle(&self) -> bool {
        matches!(&self.task, Task::Write(writer) if writer.most == Some(0))
    }

    /// The length of the prefix that may be shared: neither logits nor hidden states of its tokens are needed.
    pub(crate) fn shareable(&self) -> usize {
        match &self.task {
            Task::Write(_) => self.tokens.len().saturating_sub(1),
            Task::Embed { pooled, .. } => pooled.start,
        }
    }

    /// Whether the next `count` tokens lie within that prefix.
    pub(crate) fn may_share(&self, count: usize) -> bool {
        self.read + count <= self.shareable()
    }

    /// The tokens that the device has not read.
    pub(crate) fn pending(&self) -> &[u32] {
        &self.tokens[self.read..]
    }

    /// Whether the next token follows one that was just written. Otherwise it reads its prompt, or reads again what it had to let go of.
    pub(crate) fn is_writing(&self) -> bool {
        matches!(&self.task, Task::Write(writer) if writer.written > 0) && self.pending().len() == 1
    }

    /// What the device shall give for the next `count` tokens.
    pub(crate) fn wanted(&self, count: usize) -> Wanted {
        match &self.task {
            Task::Embed { pooled, .. } if pooled.start < self.read + count && self.read < pooled.end => Wanted::Hidden,
            Task::Embed { .. } => Wanted::Nothing,
            Task::Write(_) if count == self.pending().len() => Wanted::Last,
            Task::Write(_) => Wanted::Nothing,
        }
    }

    /// Notes that it has its place.
    pub(crate) fn begin(&mut self) {
        self.clock.begun.get_or_insert_with(Instant::now);
    }

    /// Notes that tokens follow which others have read; gives how many of them are new to the statistics.
    pub(crate) fn skip(&mut self, count: usize) -> usize {
        self.read += count;
        if self.clock.first.is_some() || self.read <= self.shared {
            return 0;
        }
        let before = std::mem::replace(&mut self.shared, self.read.min(self.prompt));
        self.shared - before
    }

    /// Notes that tokens go to the device.
    pub(crate) fn send(&mut self) {
        self.clock.read.get_or_insert_with(Instant::now);
    }

    /// Starts again, after the pages were taken away.
    pub(crate) fn start_over(&mut self) {
        self.read = 0;
        self.known = 0;
        if let Task::Embed { sum, .. } = &mut self.task {
            sum.fill(0.0);
        }
    }

    /// Takes what the device made of the next `count` tokens; `context` is the longest text.
    ///
    /// # Errors
    /// If no token can be chosen.
    pub(crate) fn advance(
        &mut self,
        count: usize,
        output: &Output,
        tokenizer: &Tokenizer,
        context: usize,
    ) -> Result<Step, EngineError> {
        let start = self.read;
        self.read += count;
        let complete = self.read == self.tokens.len();
        match &mut self.task {
            Task::Embed { pooled, sum, .. } => {
                let rows = (start..).zip(&output.rows).filter(|(position, _)| pooled.contains(position));
                for (_, row) in rows {
                    sum.iter_mut().zip(row).for_each(|(sum, value)| *sum += f64::from(*value));
                }
                Ok(if complete { Step::Embedded } else { Step::More })
            }
            Task::Write(writer) => {
                if writer.written == 0 {
                    // Nobody may listen any more; that is looked at before the next call.
                    let _ = writer.events.send(Event::Prompt { done: self.read, total: self.prompt });
                }
                if !complete {
                    return Ok(Step::More);
                }
                let logits = output.rows.last().map(Vec::as_slice).unwrap_or_default();
                let now = Instant::now();
                self.clock.first.get_or_insert(now);
                self.clock.last = Some(now);
                writer.choose(logits, tokenizer, &mut self.tokens, context)
            }
        }
    }

    /// The last that is said of it after [`Step::Ended`].
    pub(crate) fn end(self, reason: Reason, text: String) -> Last {
        let Task::Write(writer) = self.task else { return self.embedded() };
        let end = End {
            reason,
            text,
            prompt_tokens: self.prompt,
            shared_tokens: self.shared,
            tokens: writer.written,
            timings: self.clock.timings(),
        };
        Last::Event(writer.events, Event::End(end))
    }

    /// The same for a text whose pages ran out: what was held back is shown.
    pub(crate) fn end_for_want_of_room(mut self) -> Last {
        let text = match &mut self.task {
            Task::Write(writer) => writer.answer.finish().text,
            Task::Embed { .. } => String::new(),
        };
        self.end(Reason::Context, text)
    }

    /// The last that is said of it after [`Step::Embedded`]: the sum scaled to length 1, where the count that a mean divides by
    /// cancels out.
    pub(crate) fn embedded(self) -> Last {
        match self.task {
            Task::Write(_) => self.fail(EngineError::Closed),
            Task::Embed { sum, reply, .. } => {
                let length = sum.iter().map(|value| value * value).sum::<f64>().sqrt();
                let scale = if length > 0.0 { 1.0 / length } else { 0.0 };
                Last::Reply(reply, Ok(sum.into_iter().map(|value| (value * scale) as f32).collect()))
            }
        }
    }

    /// The last that is said of it if it cannot go on.
    pub(crate) fn fail(self, error: EngineError) -> Last {
        match self.task {
            Task::Write(writer) => Last::Event(writer.events, Event::Failed(error)),
            Task::Embed { reply, .. } => Last::Reply(reply, Err(error)),
        }
    }
}

impl Writer {
    /// Chooses the next token by its logits and tells of it.
    fn choose(
        &mut self,
        logits: &[f32],
        tokenizer: &Tokenizer,
        tokens: &mut Vec<u32>,
        context: usize,
    ) -> Result<Step, EngineError> {
        let constraint = self.matcher.as_mut().map(|matcher| matcher as &mut dyn Constraint);
        let chosen = self.sampler.sample(logits, constraint)?;
        // A grammar that was told of an end allows nothing after it.
        if tokenizer.ends_generation(chosen) && (!self.ignore_end || self.matcher.is_some()) {
            return Ok(self.finish(Reason::End));
        }
        tokens.push(chosen);
        self.written += 1;
        let shown = self.answer.push(tokenizer.piece(chosen, self.show_special));
        let likely =
            |token, log_probability| Likely { token, bytes: tokenizer.piece(token, true).to_vec(), log_probability };
        let others = likeliest(logits, self.likeliest.unwrap_or(0));
        let token = Token {
            chosen: likely(chosen, self.likeliest.map_or(0.0, |_| log_probability(logits, chosen))),
            likeliest: others.into_iter().map(|other| likely(other.token, other.log_probability)).collect(),
            text: shown.text,
        };
        let _ = self.events.send(Event::Token(token));
        if let Some(stop) = shown.stop {
            return Ok(Step::Ended(Reason::Stop(stop), String::new()));
        }
        Ok(if self.matcher.as_ref().is_some_and(Matcher::must_end) {
            self.finish(Reason::End)
        } else if self.most.is_some_and(|most| self.written >= most) {
            self.finish(Reason::Most)
        } else if tokens.len() >= context {
            self.finish(Reason::Context)
        } else {
            Step::More
        })
    }

    fn finish(&mut self, reason: Reason) -> Step {
        let shown = self.answer.finish();
        Step::Ended(shown.stop.map_or(reason, Reason::Stop), shown.text)
    }
}

impl Clock {
    fn timings(&self) -> Timings {
        let between = |from: Option<Instant>, to: Option<Instant>| match (from, to) {
            (Some(from), Some(to)) => to.saturating_duration_since(from),
            _ => Duration::ZERO,
        };
        Timings {
            queued: between(Some(self.submitted), self.begun),
            prompt: between(self.read, self.first),
            generation: between(self.first, self.last),
        }
    }
}
