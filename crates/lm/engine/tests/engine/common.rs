//! Shared by the tests: a synthetic model with a vocabulary, and a mock device.

use std::collections::HashMap;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};

use roci_engine::{
    Chunk, Engine, Event, Forward, ForwardError, Generation, KvCapacity, Limits, Output, ReferenceForward, Request,
    Settings, Speculation, StateSlots, States, Summary,
};
use roci_lm::architecture::Model;
use roci_lm::reference::Reference;
use roci_lm::sample;
use roci_lm::synthetic::{Case, Recipe, talking, talking_hybrid, talking_predicting};
use roci_tokenizer::{Encode, Tokenizer};

/// Tokens per KV page.
pub(crate) const PAGE: usize = 8;

pub(crate) fn capacity(pages: usize) -> KvCapacity {
    KvCapacity { page_size: PAGE, pages, max_batch_tokens: 24, max_chunks: 12, state_slots: 12 }
}

/// The model, with mean pooling.
pub(crate) fn reference(context: u32) -> Reference {
    pooled(Some(1), context)
}

/// The model with a GGUF pooling type, or without one.
pub(crate) fn pooled(pooling: Option<u32>, context: u32) -> Reference {
    let mut case = talking();
    case.metadata.extend(pooling.map(|pooling| ("llama.pooling_type".to_owned(), pooling.into())));
    reference_of(&case, context)
}

/// A smaller model with the same vocabulary.
pub(crate) fn smaller() -> Reference {
    let case = talking();
    reference_of(&Case { recipe: Recipe { layers: 1, ..case.recipe }, ..case }, 256)
}

/// A model with recurrent layers and the same vocabulary.
pub(crate) fn hybrid() -> Reference {
    reference_of(&talking_hybrid(), 256)
}

/// The prediction head of [`hybrid`]. The model's own weights do not depend on it.
pub(crate) fn head() -> Reference {
    let file = talking_predicting().open().expect("the synthetic file is valid");
    let head = Model::prediction_head(&file, 256).expect("the file is valid").expect("it has a head");
    Reference::new(&file, head).expect("the file has all weights")
}

fn reference_of(case: &Case, context: u32) -> Reference {
    let file = case.open().expect("the synthetic file is valid");
    let model = Model::new(&file, Some(context)).expect("the architecture is supported");
    Reference::new(&file, model).expect("the file has all weights")
}

pub(crate) fn tokenizer() -> Arc<Tokenizer> {
    let file = talking().open().expect("the synthetic file is valid");
    Arc::new(Tokenizer::from_metadata(file.metadata()).expect("the vocabulary is valid"))
}

/// An engine with a context of 256 tokens.
pub(crate) fn engine(capacity: KvCapacity) -> Engine {
    start(Box::new(ReferenceForward::new(reference(256), capacity)))
}

pub(crate) fn start(forward: Box<dyn Forward>) -> Engine {
    Engine::start(forward, tokenizer(), Settings { max_batch: 8, max_waiting: 16 })
}

pub(crate) fn start_with(forward: Box<dyn Forward>, speculation: Speculation) -> Engine {
    Engine::start_with(forward, tokenizer(), Settings { max_batch: 8, max_waiting: 16 }, speculation)
}

pub(crate) fn tokens(text: &str) -> Vec<u32> {
    tokenizer().encode(text, Encode { add_special: true, parse_special: false })
}

/// A request for exactly `max_tokens` tokens, sampled with a seed.
pub(crate) fn request(prompt: &str, max_tokens: usize, seed: u64) -> Request {
    Request {
        prompt: tokens(prompt),
        max_tokens: Some(max_tokens),
        sampling: sample::Settings { seed, temperature: 1.0, ..sample::Settings::default() },
        ignore_eos: true,
        ..Request::default()
    }
}

/// A complete generation.
#[derive(Debug, PartialEq)]
pub(crate) struct Answer {
    pub(crate) tokens: Vec<u32>,
    pub(crate) text: String,
    pub(crate) summary: Summary,
}

/// Collects all events; panics on a failure.
pub(crate) fn answer(mut generation: Generation) -> Answer {
    let (mut tokens, mut text) = (Vec::new(), String::new());
    loop {
        match generation.next().expect("the stream ends with a summary") {
            Event::Token(token) => {
                tokens.push(token.chosen.token);
                text.push_str(&token.text);
            }
            Event::Finished(summary) => {
                assert_eq!(generation.next(), None, "the summary is the last event");
                text.push_str(&summary.text);
                assert_eq!(summary.generated_tokens, tokens.len());
                return Answer { tokens, text, summary };
            }
            Event::Failed(error) => panic!("the request failed: {error}"),
            _ => {}
        }
    }
}

/// The last event.
pub(crate) fn last(mut generation: Generation) -> Event {
    let events = std::iter::from_fn(|| generation.next());
    events.last().expect("the stream has events")
}

/// How a call of the mock device fails.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Fault {
    Fails,
    IsLost,
    Panics,
}

/// A mock device: checks its callers against the contract of [`Forward`], records calls, can block
/// before each call, and injects faults.
pub(crate) struct MockDevice {
    inner: ReferenceForward,
    calls: Arc<Mutex<Vec<Vec<usize>>>>,
    tokens: Arc<Mutex<Vec<Vec<u32>>>>,
    gate: Option<(Sender<()>, Receiver<()>)>,
    fault: Option<(usize, Fault)>,
}

/// Chunk sizes of all calls so far.
#[derive(Clone, Default)]
pub(crate) struct Calls(Arc<Mutex<Vec<Vec<usize>>>>);

impl Calls {
    pub(crate) fn list(&self) -> Vec<Vec<usize>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// Tokens of all chunks so far.
#[derive(Clone, Default)]
pub(crate) struct Chunks(Arc<Mutex<Vec<Vec<u32>>>>);

impl Chunks {
    pub(crate) fn list(&self) -> Vec<Vec<u32>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl MockDevice {
    pub(crate) fn new(capacity: KvCapacity) -> Self {
        Self::of(ReferenceForward::new(reference(256), capacity))
    }

    pub(crate) fn of(inner: ReferenceForward) -> Self {
        Self { inner, calls: Arc::default(), tokens: Arc::default(), gate: None, fault: None }
    }

    pub(crate) fn calls(&self) -> Calls {
        Calls(Arc::clone(&self.calls))
    }

    pub(crate) fn tokens(&self) -> Chunks {
        Chunks(Arc::clone(&self.tokens))
    }

    /// Makes call `number`, counted from 0, fail.
    pub(crate) fn with(mut self, number: usize, fault: Fault) -> Self {
        self.fault = Some((number, fault));
        self
    }

    /// Blocks each call until the gate opens. Dropping the gate opens it for good.
    pub(crate) fn gated(mut self) -> (Self, CallGate) {
        let ((arrive, arrived), (go, gate)) = (channel(), channel());
        self.gate = Some((arrive, gate));
        (self, CallGate { go, arrived })
    }
}

/// Releases blocked calls of a mock device, one at a time or, when dropped, all.
pub(crate) struct CallGate {
    go: Sender<()>,
    arrived: Receiver<()>,
}

impl CallGate {
    /// Waits until the engine is blocked in its next call. It receives no commands until then.
    pub(crate) fn wait(&self) {
        self.arrived.recv().expect("the engine is running");
    }

    /// Releases one call.
    pub(crate) fn go(&self) {
        self.go.send(()).expect("the engine is running");
    }
}

impl Forward for MockDevice {
    fn limits(&self) -> &Limits {
        self.inner.limits()
    }

    fn evaluate(&mut self, chunks: &[Chunk<'_>]) -> Result<Vec<Output>, ForwardError> {
        if let Some((arrive, gate)) = &self.gate {
            // A dropped gate stays open.
            let _ = arrive.send(());
            let _ = gate.recv();
        }
        self.record(chunks)?;
        self.inner.evaluate(chunks)
    }

    fn evaluate_with_states(
        &mut self,
        chunks: &[Chunk<'_>],
        before: Option<&[Vec<f32>]>,
    ) -> Result<Vec<(Output, States)>, ForwardError> {
        self.record(chunks)?;
        self.inner.evaluate_with_states(chunks, before)
    }
}

impl MockDevice {
    /// Checks and records a call, or fails it.
    fn record(&self, chunks: &[Chunk<'_>]) -> Result<(), ForwardError> {
        let mut calls = self.calls.lock().unwrap_or_else(PoisonError::into_inner);
        let number = calls.len();
        calls.push(chunks.iter().map(|chunk| chunk.tokens.len()).collect());
        drop(calls);
        let mut tokens = self.tokens.lock().unwrap_or_else(PoisonError::into_inner);
        tokens.extend(chunks.iter().map(|chunk| chunk.tokens.to_vec()));
        drop(tokens);
        check(chunks);
        let error = |lost| ForwardError { message: "the card fell off".into(), hint: Some("push it".into()), lost };
        match self.fault {
            Some((at, Fault::Fails)) if at == number => Err(error(false)),
            Some((at, Fault::IsLost)) if at == number => Err(error(true)),
            Some((at, Fault::Panics)) if at == number => panic!("a bug in the driver"),
            _ => Ok(()),
        }
    }
}

/// Asserts that no chunk writes a page or a state that another chunk names.
fn check(chunks: &[Chunk<'_>]) {
    let states: Vec<StateSlots> = chunks.iter().filter_map(|chunk| chunk.state).collect();
    for (at, written) in states.iter().enumerate() {
        let others = states.iter().enumerate().filter(|(other, _)| *other != at);
        let mut named = others.flat_map(|(_, state)| state.read.into_iter().chain([state.write]));
        assert!(named.all(|slot| slot != written.write), "state {} is written and named twice", written.write);
    }
    let mut named: HashMap<u32, usize> = HashMap::new();
    for chunk in chunks {
        assert!(!chunk.tokens.is_empty());
        assert!(chunk.pages.len() * PAGE >= chunk.start + chunk.tokens.len(), "the page table covers the chunk");
        chunk.pages.iter().for_each(|page| *named.entry(*page).or_default() += 1);
    }
    for chunk in chunks {
        for position in chunk.start..chunk.start + chunk.tokens.len() {
            let page = chunk.pages[position / PAGE];
            assert_eq!(named[&page], 1, "page {page} is written and named by another chunk");
        }
    }
}
