//! The engine: requests in, events out.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock, mpsc};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use roci_llm::grammar::{Matcher, Vocabulary};
use roci_llm::sample::Sampler;
use roci_tokenizer::Tokenizer;

use crate::scheduler::{Command, Scheduler};
use crate::sequence::{Sequence, Writer};
use crate::text::Answer;
use crate::{EngineError, Forward, ForwardError, Generation, Limits, Request};

/// How an engine shares its device.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// How many requests are worked on together. The device's own limits may make it fewer.
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
    /// How often a request was put back, for want of pages, to be read again later.
    pub put_back: u64,
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

/// What callers and the engine's thread both look at.
#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) limits: Limits,
    pub(crate) tokenizer: Arc<Tokenizer>,
    /// How many requests are worked on together.
    pub(crate) together: usize,
    /// Why the device is of no more use.
    pub(crate) lost: OnceLock<ForwardError>,
    pub(crate) statistics: Mutex<Statistics>,
    /// Requests that are worked on or wait.
    under_way: AtomicUsize,
    /// The tokens as grammars see them, made when the first grammar comes.
    vocabulary: OnceLock<Arc<Vocabulary>>,
}

impl Shared {
    /// The longest text: a device may have fewer pages than its model's context asks for.
    pub(crate) fn context(&self) -> usize {
        self.limits.context.min(self.limits.pages.saturating_mul(self.limits.page))
    }

    fn vocabulary(&self) -> Arc<Vocabulary> {
        let make = || {
            let pieces = (0u32..).take(self.tokenizer.len()).map(|token| self.tokenizer.piece(token, false));
            Arc::new(Vocabulary::new(pieces, self.tokenizer.special().end_of_generation.iter().copied()))
        };
        Arc::clone(self.vocabulary.get_or_init(make))
    }
}

/// A place among the requests that an engine takes; given back when dropped.
#[derive(Debug)]
pub(crate) struct Place(Arc<Shared>);

impl Drop for Place {
    fn drop(&mut self) {
        self.0.under_way.fetch_sub(1, Ordering::AcqRel);
    }
}

/// A model that answers. Cheap to clone; the thread ends when the last clone is gone and all requests have ended.
#[derive(Clone, Debug)]
pub struct Engine {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    shared: Arc<Shared>,
    waiting: usize,
    /// How the thread is told of work; `None` once it shall take no more.
    commands: Mutex<Option<mpsc::Sender<Command>>>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

impl Engine {
    /// Starts the thread that owns the device.
    pub fn start(forward: Box<dyn Forward>, tokenizer: Arc<Tokenizer>, settings: Settings) -> Self {
        let limits = forward.limits().clone();
        // Everybody who has a place takes part in each call with one token at least: that way nobody starves.
        let together = settings.together.min(limits.chunks).min(limits.batch).max(1);
        let statistics = Statistics { pages: limits.pages, ..Statistics::default() };
        let shared = Arc::new(Shared {
            limits,
            tokenizer,
            together,
            lost: OnceLock::new(),
            statistics: Mutex::new(statistics),
            under_way: AtomicUsize::new(0),
            vocabulary: OnceLock::new(),
        });
        let (commands, receiver) = mpsc::channel();
        let scheduler = Scheduler::new(forward, Arc::clone(&shared), receiver);
        let thread = std::thread::Builder::new().name("roci-engine".to_owned()).spawn(|| scheduler.run());
        let thread = thread.map_err(|error| {
            let message = format!("the engine's thread cannot be started: {error}");
            let hint = Some("close other programs, or raise the limit of threads (`ulimit -u`)".to_owned());
            shared.lost.set(ForwardError { message, hint, lost: true })
        });
        let inner = Inner {
            shared,
            waiting: settings.waiting,
            commands: Mutex::new(Some(commands)),
            thread: Mutex::new(thread.ok()),
        };
        Self { inner: Arc::new(inner) }
    }

    /// What the model can take.
    pub fn limits(&self) -> &Limits {
        &self.inner.shared.limits
    }

    /// The longest text in tokens: the model's context, or as much of it as there are pages for.
    pub fn context(&self) -> usize {
        self.inner.shared.context()
    }

    /// Asks for a text to be continued.
    ///
    /// # Errors
    /// If the request makes no sense or there is no room for it; nothing was begun then.
    pub fn generate(&self, request: Request) -> Result<Generation, EngineError> {
        let shared = &self.inner.shared;
        let Request { prompt, most, sampling, stop, grammar, show_special, ignore_end, likeliest } = request;
        // There must be room for one token more.
        self.check(&prompt, shared.context().saturating_sub(1))?;
        let window = sampling.penalty_window;
        let mut sampler = Sampler::new(sampling, shared.limits.vocabulary)?;
        prompt[prompt.len().saturating_sub(window)..].iter().for_each(|&token| sampler.observe(token));
        let place = self.place()?;
        let (events, receiver) = tokio::sync::mpsc::unbounded_channel();
        let writer = Writer {
            events,
            sampler,
            matcher: grammar.map(|grammar| Matcher::new(&grammar, shared.vocabulary())),
            answer: Answer::new(stop),
            most,
            show_special,
            ignore_end,
            likeliest,
            written: 0,
        };
        self.send(Sequence::write(prompt, writer, place))?;
        Ok(Generation { events: receiver })
    }

    /// The embedding of a text: its hidden states after the last norm, pooled as [`Limits::pooling`] says, of length 1. Waits for its turn.
    ///
    /// # Errors
    /// As [`generate`](Self::generate), if the device fails, and if the model's pooling type gives no embedding of a text.
    pub fn embed(&self, tokens: &[u32]) -> Result<Vec<f32>, EngineError> {
        self.begin_embedding(tokens)?.blocking_recv().unwrap_or(Err(EngineError::Closed))
    }

    /// The same for asynchronous callers, which must not use [`embed`](Self::embed).
    ///
    /// # Errors
    /// As [`embed`](Self::embed).
    pub async fn embed_async(&self, tokens: &[u32]) -> Result<Vec<f32>, EngineError> {
        self.begin_embedding(tokens)?.await.unwrap_or(Err(EngineError::Closed))
    }

    fn begin_embedding(
        &self,
        tokens: &[u32],
    ) -> Result<tokio::sync::oneshot::Receiver<Result<Vec<f32>, EngineError>>, EngineError> {
        let shared = &self.inner.shared;
        self.check(tokens, shared.context())?;
        let pooling = shared.limits.pooling;
        let pooled = pooling.tokens(tokens.len()).ok_or(EngineError::Pooling(pooling))?;
        let place = self.place()?;
        let (reply, receiver) = tokio::sync::oneshot::channel();
        self.send(Sequence::embed(tokens.to_vec(), pooled, shared.limits.embedding, reply, place))?;
        Ok(receiver)
    }

    /// What it has done.
    pub fn statistics(&self) -> Statistics {
        let statistics = *self.inner.shared.statistics.lock();
        let under_way = self.inner.shared.under_way.load(Ordering::Acquire);
        Statistics { waiting: under_way.saturating_sub(statistics.working), ..statistics }
    }

    /// Takes no more requests, lets those that wait and those that are worked on go on for `patience`, ends what is left with
    /// [`EngineError::Closed`], and waits for the thread.
    pub fn shut_down(&self, patience: Duration) {
        if let Some(commands) = self.inner.commands.lock().take() {
            // A thread that is gone needs no telling.
            let _ = commands.send(Command::ShutDown(Instant::now().checked_add(patience)));
        }
        if let Some(thread) = self.inner.thread.lock().take() {
            // What it had to say went to the requests.
            let _ = thread.join();
        }
    }

    /// Whether a text can be taken at all.
    fn check(&self, tokens: &[u32], longest: usize) -> Result<(), EngineError> {
        let shared = &self.inner.shared;
        if let Some(error) = shared.lost.get() {
            return Err(error.clone().into());
        }
        let vocabulary = shared.limits.vocabulary;
        if tokens.is_empty() {
            return Err(EngineError::Empty);
        }
        if let Some(&token) = tokens.iter().find(|&&token| token as usize >= vocabulary) {
            return Err(EngineError::UnknownToken { token, vocabulary });
        }
        if tokens.len() > longest {
            return Err(EngineError::TooLong { prompt: tokens.len(), context: shared.context() });
        }
        Ok(())
    }

    /// A place for one request more.
    fn place(&self) -> Result<Place, EngineError> {
        let shared = &self.inner.shared;
        let most = shared.together.saturating_add(self.inner.waiting);
        let more = |count: usize| (count < most).then_some(count + 1);
        match shared.under_way.fetch_update(Ordering::AcqRel, Ordering::Acquire, more) {
            Ok(_) => Ok(Place(Arc::clone(shared))),
            Err(count) => Err(EngineError::Busy { waiting: count.saturating_sub(shared.together) }),
        }
    }

    fn send(&self, sequence: Sequence) -> Result<(), EngineError> {
        let commands = self.inner.commands.lock();
        let closed = |_| match self.inner.shared.lost.get() {
            Some(error) => EngineError::Device(error.clone()),
            None => EngineError::Closed,
        };
        commands.as_ref().ok_or(EngineError::Closed)?.send(Command::Work(Box::new(sequence))).map_err(closed)
    }
}
