//! Events that a request produces.

use std::time::Duration;

use crate::EngineError;

/// Why a generation finished.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FinishReason {
    /// The model sampled an end-of-generation token, or its grammar is complete.
    EndOfGeneration,
    /// One of the request's stop strings was generated. The value is its index in the request.
    Stop(usize),
    /// [`Request::max_tokens`](crate::Request::max_tokens) tokens were generated.
    Length,
    /// The context is full.
    Context,
}

/// A token with its log probability.
#[derive(Clone, Debug, PartialEq)]
pub struct Logprob {
    /// Token id.
    pub token: u32,
    /// Bytes of the token. They may end within a UTF-8 character.
    pub bytes: Vec<u8>,
    /// Natural logarithm of the probability.
    pub logprob: f32,
}

/// A generated token.
#[derive(Clone, Debug, PartialEq)]
pub struct Token {
    /// The sampled token. Its log probability is 0 if the request asked for none.
    pub chosen: Logprob,
    /// The most probable tokens at this position, if the request asked for them.
    pub top_logprobs: Vec<Logprob>,
    /// Text that is final now: whole characters, and nothing that may still turn out to be part of
    /// a stop string. Often empty.
    pub text: String,
}

/// Durations of the phases of a request.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct Timings {
    /// From submission until the request is scheduled for the first time.
    pub queued: Duration,
    /// From the first chunk of the prompt to the first generated token.
    pub prefill: Duration,
    /// From the first generated token to the last.
    pub decode: Duration,
}

/// Result of a finished generation.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Summary {
    /// Why it finished.
    pub reason: FinishReason,
    /// Text that was withheld as a possible stop string and is final now.
    pub text: String,
    /// Tokens of the prompt.
    pub prompt_tokens: usize,
    /// Tokens of the prompt that came from the prefix cache.
    pub cached_tokens: usize,
    /// Generated tokens.
    pub generated_tokens: usize,
    /// Tokens that speculation drafted.
    pub drafted_tokens: usize,
    /// Number of drafted tokens that were accepted; they also count as generated.
    pub accepted_tokens: usize,
    /// Durations of the phases.
    pub timings: Timings,
}

/// Events of a request, in order. [`Finished`](Self::Finished) or [`Failed`](Self::Failed) is the
/// last.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Event {
    /// Progress of the prefill.
    Prefill {
        /// Prompt tokens evaluated so far.
        done: usize,
        /// Total number of prompt tokens.
        total: usize,
    },
    /// The next generated token.
    Token(Token),
    /// The generation is complete.
    Finished(Summary),
    /// The generation was aborted.
    Failed(EngineError),
}

/// Handle of a running request. Dropping it cancels the request.
#[derive(Debug)]
pub struct Generation {
    pub(crate) events: tokio::sync::mpsc::UnboundedReceiver<Event>,
}

/// Blocks for the next event; returns `None` after the last. Asynchronous callers must use
/// [`Generation::next_async`].
impl Iterator for Generation {
    type Item = Event;

    fn next(&mut self) -> Option<Event> {
        self.events.blocking_recv()
    }
}

impl Generation {
    /// Waits for the next event; returns `None` after the last.
    pub async fn next_async(&mut self) -> Option<Event> {
        self.events.recv().await
    }
}
