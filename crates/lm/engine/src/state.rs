//! State that callers share with the scheduler's thread.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};

use parking_lot::Mutex;
use roci_lm::grammar::Vocabulary;
use roci_tokenizer::Tokenizer;

use crate::{AdapterSetting, ForwardError, Images, Limits};

/// Counters and gauges of an engine.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct Statistics {
    /// Requests that are running now.
    pub running: usize,
    /// Requests in the queue now.
    pub waiting: usize,
    /// Requests that finished.
    pub completed: u64,
    /// Requests whose caller dropped them before they finished.
    pub canceled: u64,
    /// Requests that failed.
    pub failed: u64,
    /// How often a request lost its pages and returned to the queue because the KV cache was full.
    pub preemptions: u64,
    /// Prompt tokens that were evaluated.
    pub prompt_tokens: u64,
    /// Prompt tokens that came from the prefix cache.
    pub cached_tokens: u64,
    /// Generated tokens.
    pub generated_tokens: u64,
    /// Total duration in seconds of device calls that included prompt tokens.
    pub prefill_seconds: f64,
    /// Total duration in seconds of device calls with decode steps only.
    pub decode_seconds: f64,
    /// Tokens that speculation drafted.
    pub drafted_tokens: u64,
    /// Drafted tokens that were accepted.
    pub accepted_tokens: u64,
    /// Whether speculation is paused because it made generation slower.
    pub speculation_paused: bool,
    /// KV pages in use by requests.
    pub pages_used: usize,
    /// Unused KV pages that are kept in the prefix cache.
    pub pages_cached: usize,
    /// Total number of KV pages.
    pub pages: usize,
}

/// State shared by callers and the scheduler's thread.
#[derive(Debug)]
pub(crate) struct EngineState {
    pub(crate) limits: Limits,
    pub(crate) tokenizer: Arc<Tokenizer>,
    pub(crate) images: Arc<Images>,
    /// LoRA adapters, with the scales of requests that choose none.
    pub(crate) adapters: Mutex<Vec<AdapterSetting>>,
    /// Maximum number of requests that run concurrently.
    pub(crate) max_batch: usize,
    /// The error that lost the device.
    pub(crate) lost: OnceLock<ForwardError>,
    pub(crate) statistics: Mutex<Statistics>,
    /// Requests that are running or waiting.
    pub(crate) active_requests: AtomicUsize,
    /// Token trie for grammars, built for the first request that has one.
    pub(crate) vocabulary: OnceLock<Arc<Vocabulary>>,
}

impl EngineState {
    /// The longest sequence: the model's context, or what the KV pages hold if that is less.
    pub(crate) fn context(&self) -> usize {
        self.limits.context.min(self.limits.pages.saturating_mul(self.limits.page_size))
    }

    /// The default scales of all adapters.
    pub(crate) fn adapter_scales(&self) -> Arc<[f32]> {
        self.adapters.lock().iter().map(|adapter| adapter.scale).collect()
    }

    pub(crate) fn vocabulary(&self) -> Arc<Vocabulary> {
        let make = || {
            let pieces = (0u32..).take(self.tokenizer.len()).map(|token| self.tokenizer.piece(token, false));
            Arc::new(Vocabulary::new(pieces, self.tokenizer.special().end_of_generation.iter().copied()))
        };
        Arc::clone(self.vocabulary.get_or_init(make))
    }
}

/// Counts as one active request until it is dropped.
#[derive(Debug)]
pub(crate) struct RequestSlot(pub(crate) Arc<EngineState>);

impl Drop for RequestSlot {
    fn drop(&mut self) {
        self.0.active_requests.fetch_sub(1, Ordering::AcqRel);
    }
}
