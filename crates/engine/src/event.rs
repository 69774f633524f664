//! What a request gives.

use std::time::Duration;

use crate::EngineError;

/// Why an answer ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reason {
    /// The model ended it, or its grammar did.
    End,
    /// One of the request's texts came, which is told by its place in the list.
    Stop(usize),
    /// As many tokens were written as were asked for.
    Most,
    /// The context is full.
    Context,
}

/// A token and its probability.
#[derive(Clone, Debug, PartialEq)]
pub struct Likely {
    /// The token.
    pub token: u32,
    /// Its bytes, which need not be whole characters.
    pub bytes: Vec<u8>,
    /// The natural logarithm of its probability.
    pub log_probability: f32,
}

/// A token of the answer.
#[derive(Clone, Debug, PartialEq)]
pub struct Token {
    /// The token, and its probability (0 if none was asked for).
    pub chosen: Likely,
    /// The likeliest tokens in its place, if they were asked for.
    pub likeliest: Vec<Likely>,
    /// What can be shown now: whole characters, and nothing that may turn out to be one of the stop texts. Often empty.
    pub text: String,
}

/// How long things took.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Timings {
    /// Waiting for a place.
    pub queued: Duration,
    /// From the first chunk of the prompt to the first token.
    pub prompt: Duration,
    /// From the first token to the last.
    pub generation: Duration,
}

/// How a request ended.
#[derive(Clone, Debug, PartialEq)]
pub struct End {
    /// Why.
    pub reason: Reason,
    /// What was held back and can be shown now.
    pub text: String,
    /// Tokens of the prompt.
    pub prompt_tokens: usize,
    /// How many of them were at hand from another text that began alike.
    pub shared_tokens: usize,
    /// Tokens written.
    pub tokens: usize,
    /// How long it took.
    pub timings: Timings,
}

/// What happens to a request, in order. [`End`](Self::End) or [`Failed`](Self::Failed) is the last.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Event {
    /// So many tokens of the prompt have been read.
    Prompt {
        /// So many.
        done: usize,
        /// Of so many.
        total: usize,
    },
    /// The next token.
    Token(Token),
    /// All is told.
    End(End),
    /// It cannot go on.
    Failed(EngineError),
}

/// A request that is under way. Dropping it ends the request and frees its place.
#[derive(Debug)]
pub struct Generation {
    pub(crate) events: tokio::sync::mpsc::UnboundedReceiver<Event>,
}

/// Waits for the next event; `None` after the last. Asynchronous callers must not wait so, but by [`Generation::next_async`].
impl Iterator for Generation {
    type Item = Event;

    fn next(&mut self) -> Option<Event> {
        self.events.blocking_recv()
    }
}

impl Generation {
    /// The same for asynchronous callers.
    pub async fn next_async(&mut self) -> Option<Event> {
        self.events.recv().await
    }
}
