//! What the server did, as Prometheus reads it.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use axum::extract::{MatchedPath, Request, State};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use http::header::CONTENT_TYPE;

use crate::app::App;

/// What is counted of HTTP.
#[derive(Debug, Default)]
pub(crate) struct Counters {
    connections: AtomicU64,
    /// How many answers of which status, and how many seconds they took up to their head.
    answers: Mutex<BTreeMap<(String, u16), (u64, f64)>>,
}

/// A connection that is open.
pub(crate) struct Open<'a>(&'a Counters);

impl Counters {
    /// Counts a connection as long as the result lives.
    pub(crate) fn open(&self) -> Open<'_> {
        self.connections.fetch_add(1, Ordering::Relaxed);
        Open(self)
    }

    fn add(&self, path: String, status: u16, seconds: f64) {
        let mut answers = self.answers.lock().unwrap_or_else(PoisonError::into_inner);
        let entry = answers.entry((path, status)).or_default();
        entry.0 += 1;
        entry.1 += seconds;
    }
}

impl Drop for Open<'_> {
    fn drop(&mut self) {
        self.0.connections.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Counts a request by the route that it took; what clients make up has one name for all.
pub(crate) async fn count(State(app): State<Arc<App>>, request: Request, next: Next) -> Response {
    let path = request.extensions().get::<MatchedPath>().map_or("other", |path| path.as_str()).to_owned();
    let start = Instant::now();
    let response = next.run(request).await;
    app.counters.add(path, response.status().as_u16(), start.elapsed().as_secs_f64());
    response
}

/// A value with its name, its kind and what it is.
fn value(text: &mut String, name: &str, kind: &str, help: &str, value: impl std::fmt::Display) {
    let _ = write!(text, "# HELP {name} {help}\n# TYPE {name} {kind}\n{name} {value}\n");
}

pub(crate) async fn show(State(app): State<Arc<App>>) -> Response {
    ([(CONTENT_TYPE, "text/plain; version=0.0.4; charset=utf-8")], write(&app)).into_response()
}

fn write(app: &App) -> String {
    let statistics = app.served.engine.statistics();
    let mut text = String::new();
    let out = &mut text;
    value(out, "roci_requests_working", "gauge", "Texts that are being written.", statistics.working);
    value(out, "roci_requests_waiting", "gauge", "Texts that wait for a place.", statistics.waiting);
    value(out, "roci_requests_ended_total", "counter", "Texts that ended by themselves.", statistics.ended);
    value(out, "roci_requests_dropped_total", "counter", "Texts whose client went away.", statistics.dropped);
    value(out, "roci_requests_failed_total", "counter", "Texts that failed.", statistics.failed);
    value(out, "roci_requests_put_back_total", "counter", "Texts put back for want of pages.", statistics.put_back);
    value(out, "roci_prompt_tokens_total", "counter", "Tokens of prompts computed.", statistics.prompt_tokens);
    value(out, "roci_shared_tokens_total", "counter", "Tokens of prompts that were at hand.", statistics.shared_tokens);
    value(out, "roci_tokens_total", "counter", "Tokens written.", statistics.tokens);
    let seconds = "Seconds of the device for calls with tokens of prompts.";
    value(out, "roci_prompt_seconds_total", "counter", seconds, statistics.prompt_seconds);
    let seconds = "Seconds of the device for calls without tokens of prompts.";
    value(out, "roci_generation_seconds_total", "counter", seconds, statistics.generation_seconds);
    value(out, "roci_pages", "gauge", "Pages of keys and values.", statistics.pages);
    value(out, "roci_pages_used", "gauge", "Pages in use by texts.", statistics.pages_used);
    value(out, "roci_pages_kept", "gauge", "Pages kept for texts that begin alike.", statistics.pages_kept);
    value(out, "roci_device_lost", "gauge", "1 once the device is lost.", u8::from(app.lost().is_some()));
    let open = app.counters.connections.load(Ordering::Relaxed);
    value(out, "roci_http_connections", "gauge", "Connections that are open.", open);

    let answers = app.counters.answers.lock().unwrap_or_else(PoisonError::into_inner);
    let _ =
        writeln!(out, "# HELP roci_http_requests_total Requests answered.\n# TYPE roci_http_requests_total counter");
    for ((path, status), (count, _)) in answers.iter() {
        let _ = writeln!(out, "roci_http_requests_total{{path=\"{path}\",status=\"{status}\"}} {count}");
    }
    let name = "roci_http_seconds_total";
    let _ = writeln!(out, "# HELP {name} Seconds from a request's head to its answer's.\n# TYPE {name} counter");
    for ((path, status), (_, seconds)) in answers.iter() {
        let _ = writeln!(out, "{name}{{path=\"{path}\",status=\"{status}\"}} {seconds}");
    }
    text
}
