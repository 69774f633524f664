//! Many concurrent clients for some time, some of which disconnect in the middle of a response.
//!
//! `examples/soak.rs` runs the same against any server, for any duration.

use std::io;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use roci_lm::sample::Random;
use serde_json::{Value, json};

use crate::http;

/// Results of a run.
#[derive(Debug, Default)]
pub(crate) struct Report {
    pub(crate) complete: usize,
    pub(crate) left: usize,
    /// How often the queue was full, which is not an error.
    pub(crate) busy: usize,
    pub(crate) tokens: usize,
    pub(crate) errors: Vec<String>,
}

/// Parameters of a run.
#[derive(Clone, Debug)]
pub(crate) struct LoadSettings {
    pub(crate) address: SocketAddr,
    pub(crate) clients: usize,
    pub(crate) time: Duration,
    /// Maximum tokens of an answer.
    pub(crate) tokens: usize,
    /// Additional header lines of each request.
    pub(crate) headers: String,
}

enum Outcome {
    Complete(usize),
    Left,
    Busy,
}

/// Runs all clients for the given time, and every request to completion.
pub(crate) fn run(settings: &LoadSettings) -> Report {
    let over = AtomicBool::new(false);
    let number = AtomicUsize::new(0);
    let start = Instant::now();
    std::thread::scope(|scope| {
        let client = || {
            let mut report = Report::default();
            while !over.load(Ordering::Relaxed) && start.elapsed() < settings.time {
                match one(settings, number.fetch_add(1, Ordering::Relaxed) as u64) {
                    Ok(Outcome::Complete(tokens)) => {
                        report.complete += 1;
                        report.tokens += tokens;
                    }
                    Ok(Outcome::Left) => report.left += 1,
                    Ok(Outcome::Busy) => {
                        report.busy += 1;
                        std::thread::sleep(Duration::from_millis(50));
                    }
                    Err(error) => {
                        report.errors.push(error.to_string());
                        over.store(report.errors.len() > 20, Ordering::Relaxed);
                    }
                }
            }
            report
        };
        let clients: Vec<_> = (0..settings.clients).map(|_| scope.spawn(client)).collect();
        let mut sum = Report::default();
        for client in clients {
            let report = client.join().unwrap_or_default();
            sum.complete += report.complete;
            sum.left += report.left;
            sum.busy += report.busy;
            sum.tokens += report.tokens;
            sum.errors.extend(report.errors);
        }
        sum
    })
}

fn wrong(text: String) -> io::Error {
    io::Error::other(text)
}

/// One request: every fifth client disconnects early, the others validate the response.
fn one(settings: &LoadSettings, number: u64) -> io::Result<Outcome> {
    let random = Random::new(number);
    let most = 1 + random.bits(0) as usize % settings.tokens;
    let words = 1 + random.bits(1) as usize % 20;
    let leaves = number % 5 == 4;
    let message: String = (0..words as u64).map(|at| format!("word{} ", random.bits(2 + at) % 1000)).collect();
    let body = json!({
        "messages": [{"role": "system", "content": "All of them begin alike, and share what is kept of it."}, {"role": "user", "content": message.trim()}],
        "max_tokens": most, "stream": true, "stream_options": {"include_usage": true}, "seed": number,
    });
    let path = "/v1/chat/completions";
    let mut reading = http::send(settings.address, "POST", path, body.to_string().as_bytes(), &settings.headers)?;
    match reading.status {
        200 => {}
        429 => return Ok(Outcome::Busy),
        status => return Err(wrong(format!("status {status}: {}", reading.whole()?.body))),
    }
    let mut buffer = String::new();
    let (mut events, mut usage, mut reason, mut done) = (0, None, None, false);
    while let Some(event) = reading.event(&mut buffer)? {
        events += 1;
        if leaves && events > most / 2 {
            return Ok(Outcome::Left);
        }
        if event == "[DONE]" {
            done = true;
            continue;
        }
        let event: Value = serde_json::from_str(&event).map_err(|error| wrong(format!("{error}: {event}")))?;
        if !event["error"].is_null() {
            return Err(wrong(format!("the stream reports: {}", event["error"]["message"])));
        }
        usage = event["usage"]["completion_tokens"].as_u64().or(usage);
        reason = event["choices"][0]["finish_reason"].as_str().map(str::to_owned).or(reason);
    }
    match (done, usage, reason.as_deref()) {
        (true, Some(tokens), Some("length")) if tokens as usize == most => Ok(Outcome::Complete(most)),
        (true, Some(tokens), Some("stop")) if tokens as usize <= most => Ok(Outcome::Complete(tokens as usize)),
        other => Err(wrong(format!("a stream of {most} tokens ended with {other:?}"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_server::TestServerOptions;

    #[test]
    fn many_clients_get_complete_streams_and_leak_nothing() {
        let mut setup = TestServerOptions { delay: Duration::from_millis(1), ..Default::default() };
        setup.engine.max_waiting = 64;
        let server = setup.start();
        let (address, time) = (server.address, Duration::from_secs(3));
        let report = run(&LoadSettings { address, clients: 24, time, tokens: 40, headers: String::new() });
        assert!(report.errors.is_empty(), "{report:?}");
        // Each client sends at least one request, and every fifth disconnects.
        assert!(report.complete >= 15 && report.left > 0, "{report:?}");
        server.wait("an empty engine", |now| now.running == 0 && now.waiting == 0 && now.pages_used == 0);
        assert_eq!(server.engine.statistics().failed, 0);
    }

    #[test]
    fn a_truncated_stream_is_an_error() {
        let mut setup = TestServerOptions { delay: Duration::from_millis(5), ..Default::default() };
        setup.settings.shutdown_timeout = Duration::ZERO;
        let server = setup.start();
        let (address, handle) = (server.address, server.handle.clone());
        let settings =
            LoadSettings { address, clients: 4, time: Duration::from_secs(60), tokens: 200, headers: String::new() };
        let running = std::thread::spawn(move || run(&settings));
        server.wait("texts", |now| now.running > 0);
        handle.shut_down();
        assert!(!running.join().expect("it ends").errors.is_empty());
    }
}
