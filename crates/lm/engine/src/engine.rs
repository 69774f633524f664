//! The engine: validates requests and hands them to the scheduler's thread.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock, mpsc};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use roci_lm::architecture::Pooling;
use roci_lm::grammar::Matcher;
use roci_lm::sample::Sampler;
use roci_tokenizer::Tokenizer;

use crate::adapters;
use crate::generator::Generator;
use crate::images::PlacedImages;
use crate::scheduler::{Command, Scheduler};
use crate::sequence::Sequence;
use crate::state::{EngineState, RequestSlot, Statistics};
use crate::stop::StopFilter;
use crate::text::{EmbedTask, TextVector};
use crate::{
    AdapterSetting, Drafter, EngineError, Forward, ForwardError, Generation, Images, Limits, Request, Speculation,
};

/// Concurrency limits of an engine.
// Not `#[non_exhaustive]`: callers build it with `..Settings::default()`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// Maximum number of requests that run concurrently. The device's limits may lower it.
    pub max_batch: usize,
    /// Maximum number of requests in the queue.
    pub max_waiting: usize,
}

impl Default for Settings {
    fn default() -> Self {
        Self { max_batch: 8, max_waiting: 64 }
    }
}

/// Handle of an engine. Clones share it; its thread ends when the last handle is dropped and all
/// requests are complete.
#[derive(Clone, Debug)]
pub struct Engine {
    handle: Arc<EngineHandle>,
}

#[derive(Debug)]
struct EngineHandle {
    state: Arc<EngineState>,
    max_waiting: usize,
    /// Commands to the scheduler; `None` after shutdown has begun.
    commands: Mutex<Option<mpsc::Sender<Command>>>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

impl Engine {
    /// Starts the scheduler's thread, which owns the device.
    pub fn start(forward: Box<dyn Forward>, tokenizer: Arc<Tokenizer>, settings: Settings) -> Self {
        Self::start_with(forward, tokenizer, settings, Speculation::off())
    }

    /// [`start`](Self::start), with speculative decoding.
    pub fn start_with(
        mut forward: Box<dyn Forward>,
        tokenizer: Arc<Tokenizer>,
        settings: Settings,
        speculation: Speculation,
    ) -> Self {
        let limits = forward.limits().clone();
        // Each running request gets at least one token of each call, so that none starves.
        let max_batch = settings.max_batch.min(limits.max_chunks).min(limits.max_batch_tokens);
        let drafts = speculation.drafter.as_ref().and_then(Drafter::limits);
        let max_batch = drafts.map_or(max_batch, |one| max_batch.min(one.max_chunks).min(one.max_batch_tokens));
        // Each has a recurrent state. One more slot lets a lone sequence start from a checkpoint.
        let states = if limits.state_slots == 0 { usize::MAX } else { limits.state_slots - 1 };
        let max_batch = max_batch.min(states).max(1);
        let images = Arc::new(Images::default());
        forward.attach_images(Arc::clone(&images));
        let statistics = Statistics { pages: limits.pages, ..Statistics::default() };
        let state = Arc::new(EngineState {
            limits,
            tokenizer,
            images,
            adapters: Mutex::new(forward.adapters()),
            max_batch,
            lost: OnceLock::new(),
            statistics: Mutex::new(statistics),
            active_requests: AtomicUsize::new(0),
            vocabulary: OnceLock::new(),
        });
        let (commands, receiver) = mpsc::channel();
        let scheduler = Scheduler::new(forward, speculation, Arc::clone(&state), receiver);
        let thread = std::thread::Builder::new().name("roci-engine".to_owned()).spawn(|| scheduler.run());
        let thread = thread.map_err(|error| {
            let message = format!("the engine's thread could not be started: {error}");
            let hint = Some("close other programs, or raise the thread limit (`ulimit -u`)".to_owned());
            state.lost.set(ForwardError { message, hint, lost: true })
        });
        let handle = EngineHandle {
            state,
            max_waiting: settings.max_waiting,
            commands: Mutex::new(Some(commands)),
            thread: Mutex::new(thread.ok()),
        };
        Self { handle: Arc::new(handle) }
    }

    /// Limits of the loaded model.
    pub fn limits(&self) -> &Limits {
        &self.handle.state.limits
    }

    /// The longest sequence in tokens: the model's context, or what the KV pages hold if that is
    /// less.
    pub fn context(&self) -> usize {
        self.handle.state.context()
    }

    /// Length of embeddings: that of hidden states, unless dense layers follow pooling.
    pub fn embedding_length(&self) -> usize {
        let limits = &self.handle.state.limits;
        limits.outputs.unwrap_or(limits.embedding)
    }

    /// Queues a request and returns the stream of its events.
    ///
    /// # Errors
    /// If the request is invalid or the queue is full.
    pub fn generate(&self, request: Request) -> Result<Generation, EngineError> {
        let state = &self.handle.state;
        if !state.limits.causal {
            return Err(EngineError::NotGenerative);
        }
        let Request {
            prompt,
            images,
            max_tokens,
            sampling,
            stop,
            grammar,
            show_special,
            ignore_eos,
            top_logprobs,
            adapters,
        } = request;
        let adapters = match adapters {
            Some(chosen) => adapters::scales(&chosen, state.adapters.lock().len())?,
            None => state.adapter_scales(),
        };
        let vocabulary = state.limits.vocabulary;
        let images = PlacedImages::find(&prompt, &images, vocabulary)
            .map_err(|token| EngineError::UnknownToken { token, vocabulary })?;
        // The context must hold at least one generated token.
        self.check(&prompt, state.context().saturating_sub(1))?;
        // Each other sequence may need one token in the same batch.
        let (rows, batch) = (images.largest(), (state.limits.max_batch_tokens + 1).saturating_sub(state.max_batch));
        if rows > batch {
            return Err(EngineError::ImageTooLarge { rows, batch });
        }
        let window = sampling.penalty_window;
        let mut sampler = Sampler::new(sampling, state.limits.vocabulary)?;
        let recent = prompt[prompt.len().saturating_sub(window)..].iter();
        recent.filter(|&&token| (token as usize) < vocabulary).for_each(|&token| sampler.observe(token));
        let slot = self.reserve_slot()?;
        let (events, receiver) = tokio::sync::mpsc::unbounded_channel();
        let generator = Generator {
            events,
            sampler,
            matcher: grammar.map(|grammar| Matcher::new(&grammar, state.vocabulary())),
            stop: StopFilter::new(stop),
            max_tokens,
            show_special,
            ignore_eos,
            top_logprobs,
            generated: 0,
        };
        let mut sequence = Sequence::generate(prompt, generator, slot);
        sequence.images = images;
        sequence.adapters = adapters;
        self.send(sequence)?;
        Ok(Generation { events: receiver })
    }

    /// Computes the embedding of a text. The hidden states after the final norm are pooled by
    /// [`Limits::pooling`], passed through the dense layers that follow, and scaled to an L2 norm
    /// of 1. Blocks until the result is available.
    ///
    /// # Errors
    /// Those of [`generate`](Self::generate); if the device fails, if the pooling type gives no
    /// embedding, or if the text of a non-causal model exceeds a batch.
    pub fn embed(&self, tokens: &[u32]) -> Result<Vec<f32>, EngineError> {
        self.queue_text(tokens, TextVector::Embedding)?.blocking_recv().unwrap_or(Err(EngineError::Closed))
    }

    /// [`embed`](Self::embed) for asynchronous callers.
    ///
    /// # Errors
    /// Those of [`embed`](Self::embed).
    pub async fn embed_async(&self, tokens: &[u32]) -> Result<Vec<f32>, EngineError> {
        self.queue_text(tokens, TextVector::Embedding)?.await.unwrap_or(Err(EngineError::Closed))
    }

    /// Computes the score of a query and a document ([`PromptEncoder::encode_pair`]) by a reranker.
    /// Blocks until the result is available.
    ///
    /// [`PromptEncoder::encode_pair`]: crate::PromptEncoder::encode_pair
    ///
    /// # Errors
    /// Those of [`embed`](Self::embed), and if the model is not a reranker.
    pub fn score(&self, tokens: &[u32]) -> Result<f32, EngineError> {
        let scores = self.queue_text(tokens, TextVector::Score)?.blocking_recv();
        scores.unwrap_or(Err(EngineError::Closed)).map(first)
    }

    /// [`score`](Self::score) for asynchronous callers.
    ///
    /// # Errors
    /// Those of [`score`](Self::score).
    pub async fn score_async(&self, tokens: &[u32]) -> Result<f32, EngineError> {
        self.queue_text(tokens, TextVector::Score)?.await.unwrap_or(Err(EngineError::Closed)).map(first)
    }

    fn queue_text(
        &self,
        tokens: &[u32],
        vector: TextVector,
    ) -> Result<tokio::sync::oneshot::Receiver<Result<Vec<f32>, EngineError>>, EngineError> {
        let state = &self.handle.state;
        let limits = &state.limits;
        let vocabulary = limits.vocabulary;
        if let Some(&token) = tokens.iter().find(|&&token| token as usize >= vocabulary) {
            return Err(EngineError::UnknownToken { token, vocabulary });
        }
        self.check(tokens, state.context())?;
        let pooled = match (vector, limits.pooling) {
            (TextVector::Embedding, Pooling::Rank) => return Err(EngineError::Pooling(limits.pooling)),
            (TextVector::Score, pooling) if pooling != Pooling::Rank => return Err(EngineError::NoScores(pooling)),
            (TextVector::Embedding, _) => limits.pooled.ok_or(EngineError::Pooling(limits.pooling))?,
            (TextVector::Score, _) => limits.pooled.ok_or(EngineError::NoScores(limits.pooling))?,
        };
        let whole = !limits.causal;
        if whole && tokens.len() > limits.max_batch_tokens {
            return Err(EngineError::TextTooLong { tokens: tokens.len(), batch: limits.max_batch_tokens });
        }
        let slot = self.reserve_slot()?;
        let (reply, receiver) = tokio::sync::oneshot::channel();
        let pooled = pooled.range(tokens.len());
        let task = EmbedTask { pooled, sum: vec![0.0; limits.embedding], vector, whole, reply };
        let mut sequence = Sequence::embed(tokens.to_vec(), task, slot);
        sequence.adapters = state.adapter_scales();
        self.send(sequence)?;
        Ok(receiver)
    }

    /// A snapshot of the counters and gauges.
    pub fn statistics(&self) -> Statistics {
        let statistics = *self.handle.state.statistics.lock();
        let active = self.handle.state.active_requests.load(Ordering::Acquire);
        Statistics { waiting: active.saturating_sub(statistics.running), ..statistics }
    }

    /// Stops taking requests, lets those that are queued or running continue for `timeout`, fails
    /// the rest with [`EngineError::Closed`], and joins the thread.
    pub fn shut_down(&self, timeout: Duration) {
        if let Some(commands) = self.handle.commands.lock().take() {
            // The thread may have ended already.
            let _ = commands.send(Command::ShutDown(Instant::now().checked_add(timeout)));
        }
        if let Some(thread) = self.handle.thread.lock().take() {
            // A panic of the thread was reported to the requests.
            let _ = thread.join();
        }
    }

    /// The images that prompts may contain.
    pub fn images(&self) -> &Images {
        &self.handle.state.images
    }

    /// The LoRA adapters of the model, with the scales of requests that choose none.
    pub fn adapters(&self) -> Vec<AdapterSetting> {
        self.handle.state.adapters.lock().clone()
    }

    /// Sets the scales of later requests that choose none: those of the adapters with these numbers,
    /// and zero for the others.
    ///
    /// # Errors
    /// If there is no adapter with such a number, or a scale is not finite.
    pub fn set_adapter_scales(&self, chosen: &[(usize, f32)]) -> Result<(), EngineError> {
        let mut adapters = self.handle.state.adapters.lock();
        let scales = adapters::scales(chosen, adapters.len())?;
        adapters.iter_mut().zip(scales.iter()).for_each(|(adapter, scale)| adapter.scale = *scale);
        Ok(())
    }

    /// Validates a prompt of at most `max_length` tokens.
    fn check(&self, tokens: &[u32], max_length: usize) -> Result<(), EngineError> {
        let state = &self.handle.state;
        if let Some(error) = state.lost.get() {
            return Err(error.clone().into());
        }
        if tokens.is_empty() {
            return Err(EngineError::Empty);
        }
        if tokens.len() > max_length {
            return Err(EngineError::TooLong { prompt: tokens.len(), context: state.context() });
        }
        Ok(())
    }

    /// Checks whether the queue has room for one more request.
    ///
    /// # Errors
    /// If it is full.
    pub fn check_queue(&self) -> Result<(), EngineError> {
        let state = &self.handle.state;
        let count = state.active_requests.load(Ordering::Acquire);
        match count < state.max_batch.saturating_add(self.handle.max_waiting) {
            true => Ok(()),
            false => Err(EngineError::Busy { waiting: count.saturating_sub(state.max_batch) }),
        }
    }

    /// Reserves a slot, unless the queue is full.
    fn reserve_slot(&self) -> Result<RequestSlot, EngineError> {
        let state = &self.handle.state;
        let max_active = state.max_batch.saturating_add(self.handle.max_waiting);
        let increment = |count: usize| (count < max_active).then_some(count + 1);
        match state.active_requests.fetch_update(Ordering::AcqRel, Ordering::Acquire, increment) {
            Ok(_) => Ok(RequestSlot(Arc::clone(state))),
            Err(count) => Err(EngineError::Busy { waiting: count.saturating_sub(state.max_batch) }),
        }
    }

    fn send(&self, sequence: Sequence) -> Result<(), EngineError> {
        let commands = self.handle.commands.lock();
        let closed = |_| match self.handle.state.lost.get() {
            Some(error) => EngineError::Device(error.clone()),
            None => EngineError::Closed,
        };
        commands.as_ref().ok_or(EngineError::Closed)?.send(Command::Run(Box::new(sequence))).map_err(closed)
    }
}

/// The score: the first output of the classification head.
fn first(scores: Vec<f32>) -> f32 {
    scores.first().copied().unwrap_or_default()
}
