//! Generation of answers: as one response, or as a stream of server-sent events.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use axum::response::sse::{self, KeepAlive, Sse};
use axum::response::{IntoResponse, Response};
use futures_util::stream::{self, SelectAll, Stream, StreamExt};
use http::{HeaderName, HeaderValue, StatusCode};
use roci_engine::{Event, Generation, Request, Summary, Token};
use serde_json::{Value, json};

use crate::app::App;
use crate::error::ApiError;

/// Interval of keep-alive comments in a stream while the prompt is processed.
const KEEP_ALIVE_INTERVAL: Duration = Duration::from_secs(10);

/// Starts all generations, or none.
pub(crate) fn start(app: &App, requests: Vec<Request>) -> Result<Vec<Generation>, ApiError> {
    let started: Result<Vec<_>, _> = requests.into_iter().map(|request| app.served.engine.generate(request)).collect();
    started.map_err(|error| app.failure(error))
}

/// Runs slow preparation, such as rendering and tokenizing a long conversation, on a blocking
/// thread.
pub(crate) async fn prepare<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, ApiError> + Send + 'static,
) -> Result<T, ApiError> {
    let lost =
        |_| ApiError::new(StatusCode::INTERNAL_SERVER_ERROR, "the request could not be prepared: please report it");
    tokio::task::spawn_blocking(work).await.map_err(lost)?
}

/// Formats tokens as events of an endpoint's stream.
pub(crate) trait Writer: Send + 'static {
    /// Events before the first token.
    fn begin(&mut self) -> Vec<Value>;
    /// Events for a token of an answer.
    fn token(&mut self, answer: usize, token: Token) -> Vec<Value>;
    /// Events at the end of an answer.
    fn end(&mut self, answer: usize, end: &Summary) -> Vec<Value>;
    /// Events after the last answer.
    fn finish(&mut self, usage: &Usage) -> Vec<Value>;
}

/// Token counts of a request, summed over its answers.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Usage {
    prompt: usize,
    shared: usize,
    written: usize,
    drafted: usize,
    accepted: usize,
    queued: Duration,
    reading: Duration,
    writing: Duration,
}

impl Usage {
    /// Adds an answer. A prompt's tokens are counted once for all its answers.
    pub(crate) fn add(&mut self, end: &Summary, first_of_prompt: bool) {
        if first_of_prompt {
            self.prompt += end.prompt_tokens;
            self.shared += end.cached_tokens;
        }
        self.written += end.generated_tokens;
        self.drafted += end.drafted_tokens;
        self.accepted += end.accepted_tokens;
        self.queued = self.queued.max(end.timings.queued);
        self.reading = self.reading.max(end.timings.prefill);
        self.writing = self.writing.max(end.timings.decode);
    }

    pub(crate) fn value(&self) -> Value {
        json!({
            "prompt_tokens": self.prompt,
            "completion_tokens": self.written,
            "total_tokens": self.prompt + self.written,
            "prompt_tokens_details": {"cached_tokens": self.shared},
        })
    }

    /// Durations; with several answers, the longest of each. With speculation, also the numbers of
    /// drafted and accepted tokens, named as in llama.cpp's server.
    pub(crate) fn timings(&self) -> Value {
        let milliseconds = |time: Duration| (time.as_secs_f64() * 1e6).round() / 1e3;
        let mut timings = json!({
            "queued_ms": milliseconds(self.queued),
            "prompt_ms": milliseconds(self.reading),
            "generation_ms": milliseconds(self.writing),
        });
        if self.drafted > 0 {
            timings["draft_n"] = self.drafted.into();
            timings["draft_n_accepted"] = self.accepted.into();
        }
        timings
    }
}

/// Collects the events of all answers until they end.
pub(crate) async fn collect(
    app: &App,
    generation: &mut Generation,
    mut take: impl FnMut(Token),
) -> Result<Summary, ApiError> {
    loop {
        match generation.next_async().await {
            Some(Event::Token(token)) => take(token),
            Some(Event::Finished(end)) => return Ok(end),
            Some(Event::Failed(error)) => return Err(app.failure(error)),
            Some(_) => {}
            None => return Err(aborted()),
        }
    }
}

fn aborted() -> ApiError {
    ApiError::new(StatusCode::INTERNAL_SERVER_ERROR, "the answer was aborted: see the server's output")
}

type Events = SelectAll<Pin<Box<dyn Stream<Item = (usize, Option<Event>)> + Send>>>;

struct Streaming<W> {
    app: Arc<App>,
    events: Events,
    writer: W,
    /// Number of answers per prompt.
    each: usize,
    usage: Usage,
    ready: VecDeque<String>,
    running: usize,
}

/// Streams answers as they are generated. If the client disconnects, the response is dropped, which
/// cancels the generations.
pub(crate) fn stream<W: Writer>(app: Arc<App>, generations: Vec<Generation>, each: usize, mut writer: W) -> Response {
    let running = generations.len();
    let events = generations.into_iter().enumerate().map(|(answer, generation)| {
        // A generation yields nothing after its last event; an early end (`None`) is reported once.
        let next = move |state: Option<Generation>| async move {
            let mut generation = state?;
            let event = generation.next_async().await;
            let last = matches!(event, None | Some(Event::Finished(_) | Event::Failed(_)));
            Some(((answer, event), (!last).then_some(generation)))
        };
        Box::pin(stream::unfold(Some(generation), next)) as Pin<Box<dyn Stream<Item = _> + Send>>
    });
    let ready = writer.begin().iter().map(Value::to_string).collect();
    let streaming =
        Streaming { app, events: stream::select_all(events), writer, each, usage: Usage::default(), ready, running };
    let texts = stream::unfold(streaming, |mut streaming| async move {
        let text = streaming.next().await?;
        Some((Ok::<_, Infallible>(sse::Event::default().data(text)), streaming))
    });
    let mut response = Sse::new(texts).keep_alive(KeepAlive::new().interval(KEEP_ALIVE_INTERVAL)).into_response();
    // Keeps nginx and other proxies from buffering tokens.
    response.headers_mut().insert(HeaderName::from_static("x-accel-buffering"), HeaderValue::from_static("no"));
    response
}

impl<W: Writer> Streaming<W> {
    /// The next event to send.
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
                Some(Event::Finished(end)) => self.end(answer, &end),
                Some(Event::Failed(error)) => {
                    let error = self.app.failure(error);
                    self.fail(&error);
                }
                None => self.fail(&aborted()),
                Some(_) => {}
            }
        }
    }

    fn send(&mut self, values: &[Value]) {
        self.ready.extend(values.iter().map(Value::to_string));
    }

    fn end(&mut self, answer: usize, end: &Summary) {
        self.usage.add(end, answer.is_multiple_of(self.each));
        let values = self.writer.end(answer, end);
        self.send(&values);
        self.running -= 1;
        if self.running == 0 {
            let values = self.writer.finish(&self.usage);
            self.send(&values);
            self.ready.push_back("[DONE]".to_owned());
        }
    }

    /// Reports an error inside the stream, because the status was already sent.
    fn fail(&mut self, error: &ApiError) {
        self.events.clear();
        self.send(&[error.value()]);
    }
}
