//! What the tests share: a talking model, and a device that is watched.

use std::collections::HashMap;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};

use roci_engine::{
    Chunk, End, Engine, Event, Forward, ForwardError, Generation, Limits, Output, ReferenceForward, Request, Room,
    Settings,
};
use roci_llm::architecture::Model;
use roci_llm::reference::Reference;
use roci_llm::sample;
use roci_llm::synthetic::talking;
use roci_tokenizer::{Encode, Tokenizer};

/// A page of the tests' devices.
pub(crate) const PAGE: usize = 8;

pub(crate) fn room(pages: usize) -> Room {
    Room { page: PAGE, pages, batch: 24, chunks: 12 }
}

/// The talking model, whose embeddings are means.
pub(crate) fn reference(context: u32) -> Reference {
    pooled(Some(1), context)
}

/// The same with a number for its pooling type, or with none.
pub(crate) fn pooled(pooling: Option<u32>, context: u32) -> Reference {
    let mut case = talking();
    case.metadata.extend(pooling.map(|pooling| ("llama.pooling_type".to_owned(), pooling.into())));
    let file = case.open().expect("the file can be made");
    let model = Model::new(&file, Some(context)).expect("the model is known");
    Reference::new(&file, model).expect("it has its weights")
}

pub(crate) fn tokenizer() -> Arc<Tokenizer> {
    let file = talking().open().expect("the file can be made");
    Arc::new(Tokenizer::from_metadata(file.metadata()).expect("the vocabulary is good"))
}

/// An engine for texts of up to 256 tokens.
pub(crate) fn engine(room: Room) -> Engine {
    start(Box::new(ReferenceForward::new(reference(256), room)))
}

pub(crate) fn start(forward: Box<dyn Forward>) -> Engine {
    Engine::start(forward, tokenizer(), Settings { together: 8, waiting: 16 })
}

pub(crate) fn tokens(text: &str) -> Vec<u32> {
    tokenizer().encode(text, Encode { add_special: true, parse_special: false })
}

/// A request for so many tokens, drawn by a seed. It does not end before.
pub(crate) fn request(prompt: &str, most: usize, seed: u64) -> Request {
    Request {
        prompt: tokens(prompt),
        most: Some(most),
        sampling: sample::Settings { seed, temperature: 1.0, ..sample::Settings::default() },
        ignore_end: true,
        ..Request::default()
    }
}

/// What an answer was.
#[derive(Debug, PartialEq)]
pub(crate) struct Answer {
    pub(crate) tokens: Vec<u32>,
    pub(crate) text: String,
    pub(crate) end: End,
}

/// Reads all events, of which none may be a failure.
pub(crate) fn answer(mut generation: Generation) -> Answer {
    let (mut tokens, mut text) = (Vec::new(), String::new());
    loop {
        match generation.next().expect("an end comes before nothing comes") {
            Event::Token(token) => {
                tokens.push(token.chosen.token);
                text.push_str(&token.text);
            }
            Event::End(end) => {
                assert_eq!(generation.next(), None, "nothing follows the end");
                text.push_str(&end.text);
                assert_eq!(end.tokens, tokens.len());
                return Answer { tokens, text, end };
            }
            Event::Failed(error) => panic!("the request failed: {error}"),
            _ => {}
        }
    }
}

/// The last event.
pub(crate) fn last(mut generation: Generation) -> Event {
    let events = std::iter::from_fn(|| generation.next());
    events.last().expect("there is a last event")
}

/// What goes wrong with a watched device.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Fault {
    Fails,
    IsLost,
    Panics,
}

/// A device that holds its callers to the contract, notes what they ask for, waits for leave before each call, and fails when told to.
pub(crate) struct Watched {
    inner: ReferenceForward,
    calls: Arc<Mutex<Vec<Vec<usize>>>>,
    held: Option<(Sender<()>, Receiver<()>)>,
    fault: Option<(usize, Fault)>,
}

/// The sizes of the chunks of all calls so far.
#[derive(Clone, Default)]
pub(crate) struct Calls(Arc<Mutex<Vec<Vec<usize>>>>);

impl Calls {
    pub(crate) fn list(&self) -> Vec<Vec<usize>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Watched {
    pub(crate) fn new(room: Room) -> Self {
        Self::of(ReferenceForward::new(reference(256), room))
    }

    pub(crate) fn of(inner: ReferenceForward) -> Self {
        Self { inner, calls: Arc::default(), held: None, fault: None }
    }

    pub(crate) fn calls(&self) -> Calls {
        Calls(Arc::clone(&self.calls))
    }

    /// Call `number`, counted from 0, goes wrong.
    pub(crate) fn with(mut self, number: usize, fault: Fault) -> Self {
        self.fault = Some((number, fault));
        self
    }

    /// Each call waits for leave, until that is dropped.
    pub(crate) fn held(mut self) -> (Self, Leave) {
        let ((arrive, arrived), (go, leave)) = (channel(), channel());
        self.held = Some((arrive, leave));
        (self, Leave { go, arrived })
    }
}

/// Lets calls of a device go on. When it is dropped, all of them may.
pub(crate) struct Leave {
    go: Sender<()>,
    arrived: Receiver<()>,
}

impl Leave {
    /// Waits until the engine is in its next call: it hears nothing until that may go on.
    pub(crate) fn wait(&self) {
        self.arrived.recv().expect("the engine lives");
    }

    /// Lets one call go on.
    pub(crate) fn go(&self) {
        self.go.send(()).expect("the engine lives");
    }
}

impl Forward for Watched {
    fn limits(&self) -> &Limits {
        self.inner.limits()
    }

    fn evaluate(&mut self, chunks: &[Chunk<'_>]) -> Result<Vec<Output>, ForwardError> {
        if let Some((arrive, leave)) = &self.held {
            // Nobody left to give it means that all may go on.
            let _ = arrive.send(());
            let _ = leave.recv();
        }
        let mut calls = self.calls.lock().unwrap_or_else(PoisonError::into_inner);
        let number = calls.len();
        calls.push(chunks.iter().map(|chunk| chunk.tokens.len()).collect());
        drop(calls);
        check(chunks);
        let error = |lost| ForwardError { message: "the card fell off".into(), hint: Some("push it".into()), lost };
        match self.fault {
            Some((at, Fault::Fails)) if at == number => Err(error(false)),
            Some((at, Fault::IsLost)) if at == number => Err(error(true)),
            Some((at, Fault::Panics)) if at == number => panic!("the driver's own fault"),
            _ => self.inner.evaluate(chunks),
        }
    }
}

/// A page that two chunks name may be written by neither.
fn check(chunks: &[Chunk<'_>]) {
    let mut named: HashMap<u32, usize> = HashMap::new();
    for chunk in chunks {
        assert!(!chunk.tokens.is_empty());
        assert!(chunk.pages.len() * PAGE >= chunk.start + chunk.tokens.len(), "there are too few pages");
        chunk.pages.iter().for_each(|page| *named.entry(*page).or_default() += 1);
    }
    for chunk in chunks {
        for position in chunk.start..chunk.start + chunk.tokens.len() {
            let page = chunk.pages[position / PAGE];
            assert_eq!(named[&page], 1, "page {page} is written, and named by another chunk");
        }
    }
}
