//! The engine: requests in, events out.

use std::sync::Arc;

use roci_tokenizer::Tokenizer;

use crate::{EngineError, Forward, Generation, Limits, Request};

/// How an engine shares its device.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// How many requests are worked on together.
    pub together: usize,
    /// How many may wait for a place.
    pub waiting: usize,
}

impl Default for Settings {
    fn default() -> Self {
        Self { together: 8, waiting: 64 }
    }
}

/// What an engine has done so far, and what it does now.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Statistics {
    /// Requests worked on now.
    pub working: usize,
    /// Requests that wait now.
    pub waiting: usize,
    /// Requests that ended by themselves.
    pub ended: u64,
    /// Requests that were dropped before their end.
    pub dropped: u64,
    /// Requests that failed.
    pub failed: u64,
    /// Tokens of prompts that were computed.
    pub prompt_tokens: u64,
    /// Tokens of prompts that were at hand already.
    pub shared_tokens: u64,
    /// Tokens written.
    pub tokens: u64,
    /// Seconds that the device worked on calls with tokens of prompts, and on those without.
    pub prompt_seconds: f64,
    /// See above.
    pub generation_seconds: f64,
    /// Pages in use by requests.
    pub pages_used: usize,
    /// Pages kept for texts that begin alike.
    pub pages_kept: usize,
    /// All pages.
    pub pages: usize,
}

/// A model that answers. Cheap to clone; the thread ends when the last clone is gone.
#[derive(Clone, Debug)]
pub struct Engine {}

impl Engine {
    /// Starts the thread that owns the device.
    pub fn start(forward: Box<dyn Forward>, tokenizer: Arc<Tokenizer>, settings: Settings) -> Self {
        let _ = (forward, tokenizer, settings);
        todo!()
    }

    /// What the model can take.
    pub fn limits(&self) -> &Limits {
        todo!()
    }

    /// Asks for a text to be continued.
    ///
    /// # Errors
    /// If the request makes no sense or there is no room for it; nothing was begun then.
    pub fn generate(&self, request: Request) -> Result<Generation, EngineError> {
        let _ = request;
        todo!()
    }

    /// The mean of the last hidden states of a text, of length 1. Waits for its turn.
    ///
    /// # Errors
    /// As [`generate`](Self::generate), and if the device fails.
    pub fn embed(&self, tokens: &[u32]) -> Result<Vec<f32>, EngineError> {
        let _ = tokens;
        todo!()
    }

    /// What it has done.
    pub fn statistics(&self) -> Statistics {
        todo!()
    }

    /// Takes no more requests, ends those that wait and those that are worked on after `patience`, and waits for the thread.
    pub fn shut_down(&self, patience: std::time::Duration) {
        let _ = patience;
        todo!()
    }
}
