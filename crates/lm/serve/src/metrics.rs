//! Metrics in Prometheus format.

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

/// Counters of HTTP requests and connections.
#[derive(Debug, Default)]
pub(crate) struct Counters {
    connections: AtomicU64,
    /// Per route and status: the number of responses, and total seconds until their head.
    answers: Mutex<BTreeMap<(String, u16), (u64, f64)>>,
}

/// An open connection.
pub(crate) struct ConnectionGuard<'a>(&'a Counters);

impl Counters {
    /// Counts a connection as open until the result is dropped.
    pub(crate) fn open(&self) -> ConnectionGuard<'_> {
        self.connections.fetch_add(1, Ordering::Relaxed);
        ConnectionGuard(self)
    }

    fn add(&self, path: String, status: u16, seconds: f64) {
        let mut answers = self.answers.lock().unwrap_or_else(PoisonError::into_inner);
        let entry = answers.entry((path, status)).or_default();
        entry.0 += 1;
        entry.1 += seconds;
    }
}

impl Drop for ConnectionGuard<'_> {
    fn drop(&mut self) {
        self.0.connections.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Counts a request by its route; unknown paths share one label.
pub(crate) async fn count(State(app): State<Arc<App>>, request: Request, next: Next) -> Response {
    let path = request.extensions().get::<MatchedPath>().map_or("other", |path| path.as_str()).to_owned();
    let start = Instant::now();
    let response = next.run(request).await;
    app.counters.add(path, response.status().as_u16(), start.elapsed().as_secs_f64());
    response
}

/// Names until version 0.1.0 with the current ones. Both are written for one more release.
const OLD_NAMES: [(&str, &str); 11] = [
    ("roci_requests_working", "roci_requests_running"),
    ("roci_requests_ended_total", "roci_requests_completed_total"),
    ("roci_requests_dropped_total", "roci_requests_canceled_total"),
    ("roci_requests_put_back_total", "roci_preemptions_total"),
    ("roci_shared_tokens_total", "roci_cached_tokens_total"),
    ("roci_tokens_total", "roci_generated_tokens_total"),
    ("roci_prompt_seconds_total", "roci_prefill_seconds_total"),
    ("roci_generation_seconds_total", "roci_decode_seconds_total"),
    ("roci_pages_used", "roci_kv_pages_used"),
    ("roci_pages_kept", "roci_kv_pages_cached"),
    ("roci_pages", "roci_kv_pages"),
];

/// Appends a metric with its type and help text.
fn value(text: &mut String, name: &str, kind: &str, help: &str, value: impl std::fmt::Display) {
    let _ = write!(text, "# HELP {name} {help}\n# TYPE {name} {kind}\n{name} {value}\n");
    for (old, _) in OLD_NAMES.iter().filter(|(_, current)| *current == name) {
        let _ = write!(text, "# HELP {old} Old name of {name}.\n# TYPE {old} {kind}\n{old} {value}\n");
    }
}

pub(crate) async fn show(State(app): State<Arc<App>>) -> Response {
    ([(CONTENT_TYPE, "text/plain; version=0.0.4; charset=utf-8")], write(&app)).into_response()
}

fn write(app: &App) -> String {
    let statistics = app.served.engine.statistics();
    let mut text = String::new();
    let out = &mut text;
    value(out, "roci_requests_running", "gauge", "Running requests.", statistics.running);
    value(out, "roci_requests_waiting", "gauge", "Requests in the queue.", statistics.waiting);
    value(out, "roci_requests_completed_total", "counter", "Completed requests.", statistics.completed);
    value(out, "roci_requests_canceled_total", "counter", "Requests canceled by the client.", statistics.canceled);
    value(out, "roci_requests_failed_total", "counter", "Failed requests.", statistics.failed);
    value(
        out,
        "roci_preemptions_total",
        "counter",
        "Preemptions because the KV cache was full.",
        statistics.preemptions,
    );
    value(out, "roci_prompt_tokens_total", "counter", "Evaluated prompt tokens.", statistics.prompt_tokens);
    value(out, "roci_cached_tokens_total", "counter", "Prompt tokens from the prefix cache.", statistics.cached_tokens);
    value(out, "roci_generated_tokens_total", "counter", "Generated tokens.", statistics.generated_tokens);
    let seconds = "Seconds of device calls that included prompt tokens.";
    value(out, "roci_prefill_seconds_total", "counter", seconds, statistics.prefill_seconds);
    let seconds = "Seconds of device calls with decode steps only.";
    value(out, "roci_decode_seconds_total", "counter", seconds, statistics.decode_seconds);
    let (drafted, accepted) = (statistics.drafted_tokens, statistics.accepted_tokens);
    value(out, "roci_drafted_tokens_total", "counter", "Tokens drafted by speculation.", drafted);
    value(out, "roci_accepted_tokens_total", "counter", "Drafted tokens that were accepted.", accepted);
    let paused = u8::from(statistics.speculation_paused);
    value(out, "roci_speculation_paused", "gauge", "1 while speculation is paused because it is slower.", paused);
    value(out, "roci_kv_pages", "gauge", "Total KV pages.", statistics.pages);
    value(out, "roci_kv_pages_used", "gauge", "KV pages in use by requests.", statistics.pages_used);
    value(out, "roci_kv_pages_cached", "gauge", "Unused KV pages in the prefix cache.", statistics.pages_cached);
    value(out, "roci_device_lost", "gauge", "1 once the device is lost.", u8::from(app.lost().is_some()));
    let open = app.counters.connections.load(Ordering::Relaxed);
    value(out, "roci_http_connections", "gauge", "Open connections.", open);

    let answers = app.counters.answers.lock().unwrap_or_else(PoisonError::into_inner);
    let _ = writeln!(
        out,
        "# HELP roci_http_requests_total Completed HTTP requests.\n# TYPE roci_http_requests_total counter"
    );
    for ((path, status), (count, _)) in answers.iter() {
        let _ = writeln!(out, "roci_http_requests_total{{path=\"{path}\",status=\"{status}\"}} {count}");
    }
    let name = "roci_http_seconds_total";
    let _ =
        writeln!(out, "# HELP {name} Total seconds from the request head to the response head.\n# TYPE {name} counter");
    for ((path, status), (_, seconds)) in answers.iter() {
        let _ = writeln!(out, "{name}{{path=\"{path}\",status=\"{status}\"}} {seconds}");
    }
    text
}
