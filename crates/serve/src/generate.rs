//! Answers under way: all at once, or as a stream of server-sent events.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use axum::response::sse::{self, KeepAlive, Sse};
use axum::response::{IntoResponse, Response};
use futures_util::stream::{self, SelectAll, Stream, StreamExt};
use http::{HeaderName, HeaderValue, StatusCode};
use roci_engine::{End, Event, Generation, Request, Token};
use serde_json::{Value, json};

use crate::app::App;
use crate::error::ApiError;

/// How often a stream shows that it lives while a prompt is read.
const SIGN_OF_LIFE: Duration = Duration::from_secs(10);

/// Asks the engine for all of them or none.
pub(crate) fn start(app: &App, requests: Vec<Request>) -> Result<Vec<Generation>, ApiError> {
    let started: Result<Vec<_>, _> = requests.into_iter().map(|request| app.served.engine.generate(request)).collect();
    started.map_err(|error| app.failure(error))
}

/// Does what takes a while, such as writing and cutting a long conversation, where it holds nobody up.
pub(crate) async fn prepare<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, ApiError> + Send + 'static,
) -> Result<T, ApiError> {
    let lost =
        |_| ApiError::new(StatusCode::INTERNAL_SERVER_ERROR, "the request could not be prepared: please report it");
    tokio::task::spawn_blocking(work).await.map_err(lost)?
}

/// What makes answers of tokens.
pub(crate) trait Writer: Send + 'static {
    /// What is sent first.
    fn begin(&mut self) -> Vec<Value>;
    /// What is sent for a token of an answer.
    fn token(&mut self, answer: usize, token: Token) -> Vec<Value>;
    /// What is sent when an answer ends.
    fn end(&mut self, answer: usize, end: &End) -> Vec<Value>;
    /// What is sent at last.
    fn finish(&mut self, usage: &Usage) -> Vec<Value>;
}

/// Tokens of a request, over all answers.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Usage {
    prompt: usize,
    shared: usize,
    written: usize,
    queued: Duration,
    reading: Duration,
    writing: Duration,
}

impl Usage {
    /// Adds an answer; answers to the same prompt count it once.
    pub(crate) fn add(&mut self, end: &End, first_of_prompt: bool) {
        if first_of_prompt {
            self.prompt += end.prompt_tokens;
            self.shared += end.shared_tokens;
        }
        self.written += end.tokens;
        self.queued = self.queued.max(end.timings.queued);
        self.reading = self.reading.max(end.timings.prompt);
        self.writing = self.writing.max(end.timings.generation);
    }

    pub(crate) fn value(&self) -> Value {
        json!({
            "prompt_tokens": self.prompt,
            "completion_tokens": self.written,
            "total_tokens": self.prompt + self.written,
            "prompt_tokens_details": {"cached_tokens": self.shared},
        })
    }

    /// How long it took, of several answers the longest each.
    pub(crate) fn timings(&self) -> Value {
        let milliseconds = |time: Duration| (time.as_secs_f64() * 1e6).round() / 1e3;
        json!({
            "queued_ms": milliseconds(self.queued),
            "prompt_ms": milliseconds(self.reading),
            "generation_ms": milliseconds(self.writing),
        })
    }
}

/// Reads an answer to its end.
pub(crate) async fn collect(
    app: &App,
    generation: &mut Generation,
    mut take: impl FnMut(Token),
) -> Result<End, ApiError> {
    loop {
        match generation.next_async().await {
            Some(Event::Token(token)) => take(token),
            Some(Event::End(end)) => return Ok(end),
            Some(Event::Failed(error)) => return Err(app.failure(error)),
            Some(_) => {}
            None => return Err(broken_off()),
        }
    }
}

fn broken_off() -> ApiError {
    ApiError::new(StatusCode::INTERNAL_SERVER_ERROR, "the answer broke off: see the server's output")
}

type Events = SelectAll<Pin<Box<dyn Stream<Item = (usize, Option<Event>)> + Send>>>;

struct Streaming<W> {
    app: Arc<App>,
    events: Events,
    writer: W,
    /// How many answers belong to a prompt.
    each: usize,
    usage: Usage,
    ready: VecDeque<String>,
    left: usize,
}

/// Sends answers as they are written. Dropping the response, as a client that goes away does, drops the generations.
pub(crate) fn stream<W: Writer>(app: Arc<App>, generations: Vec<Generation>, each: usize, mut writer: W) -> Response {
    let left = generations.len();
    let events = generations.into_iter().enumerate().map(|(answer, generation)| {
        // After its last event, a generation gives nothing; that it broke off before is told once.
        let next = move |state: Option<Generation>| async move {
            let mut generation = state?;
            let event = generation.next_async().await;
            let last = matches!(event, None | Some(Event::End(_) | Event::Failed(_)));
            Some(((answer, event), (!last).then_some(generation)))
        };
        Box::pin(stream::unfold(Some(generation), next)) as Pin<Box<dyn Stream<Item = _> + Send>>
    });
    let ready = writer.begin().iter().map(Value::to_string).collect();
    let streaming =
        Streaming { app, events: stream::select_all(events), writer, each, usage: Usage::default(), ready, left };
    let texts = stream::unfold(streaming, |mut streaming| async move {
        let text = streaming.next().await?;
        Some((Ok::<_, Infallible>(sse::Event::default().data(text)), streaming))
    });
    let mut response = Sse::new(texts).keep_alive(KeepAlive::new().interval(SIGN_OF_LIFE)).into_response();
    // Proxies that gather answers would hold tokens back.
    response.headers_mut().insert(HeaderName::from_static("x-accel-buffering"), HeaderValue::from_static("no"));
    response
}

impl<W: Writer> Streaming<W> {
    /// The next text to send.
    async fn next(&mut self) -> Option<String> {
        loop {
            if let Some(text) = self.ready.pop_front() {
                return Some(text);
            }
            let (answer, event) = self.events.next().await?;
            match event {
                Some(Event::Token(token)) => {
                    let values = self.writer.token(answer, token);
                    self.send(&values);
                }
                Some(Event::End(end)) => self.end(answer, &end),
                Some(Event::Failed(error)) => {
                    let error = self.app.failure(error);
                    self.fail(&error);
                }
                None => self.fail(&broken_off()),
                Some(_) => {}
            }
        }
    }

    fn send(&mut self, values: &[Value]) {
        self.ready.extend(values.iter().map(Value::to_string));
    }

    fn end(&mut self, answer: usize, end: &End) {
        self.usage.add(end, answer.is_multiple_of(self.each));
        let values = self.writer.end(answer, end);
        self.send(&values);
        self.left -= 1;
        if self.left == 0 {
            let values = self.writer.finish(&self.usage);
            self.send(&values);
            self.ready.push_back("[DONE]".to_owned());
        }
    }

    /// Says what went wrong; the head of the answer, with its status, is long sent.
    fn fail(&mut self, error: &ApiError) {
        self.events.clear();
        self.send(&[error.value()]);
    }
}
