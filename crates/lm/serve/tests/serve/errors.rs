//! Errors have the right status.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use roci_engine::ImageRows;
use roci_serve::ImageEncoder;
use serde_json::{Value, json};

use crate::http;
use crate::test_server::{TestServer, TestServerOptions, ask, start};

fn raw(server: &TestServer, path: &str, body: &[u8]) -> http::Answer {
    http::send(server.address, "POST", path, body, "").and_then(http::ResponseReader::whole).expect("an answer")
}

/// Checks that a response is an error in OpenAI's format, and returns it.
fn check(answer: &http::Answer, status: u16) -> Value {
    assert_eq!(answer.status, status, "{}", answer.body);
    assert_eq!(answer.header("content-type"), Some("application/json"));
    let error = answer.json()["error"].clone();
    assert!(error["message"].as_str().is_some_and(|message| !message.is_empty() && !message.contains('\n')));
    assert!(error["type"].is_string());
    error
}

#[test]
fn invalid_bodies_are_rejected() {
    let server = start();
    for body in [
        &b""[..],
        b"{",
        b"[1,2",
        b"\xff\xfe",
        b"{\"messages\": \"\xc3\x28\"}",
        b"nonsense",
        b"5",
        b"null",
        &b"[".repeat(5000),
    ] {
        check(&raw(&server, "/v1/chat/completions", body), 400);
    }
    let kind = |kind: &str| {
        use std::io::Write;
        let mut stream = http::connect(server.address).expect("a connection");
        let head = format!(
            "POST /v1/completions HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n{kind}Content-Length: 2\r\n\r\n{{}}"
        );
        stream.write_all(head.as_bytes()).expect("the write succeeds");
        http::ResponseReader::begin(stream).and_then(http::ResponseReader::whole).expect("an answer")
    };
    check(&kind("Content-Type: text/plain\r\n"), 415);
    check(&kind(""), 415);
    check(&kind("Content-Type: application/json; charset=utf-8\r\n"), 400);
}

#[test]
fn unknown_paths_and_methods_are_named() {
    let server = start();
    check(&server.get("/v1/nothing"), 404);
    check(&server.get("/v1/chat/completions"), 405);
    check(&server.post("/v1/models", &json!({})), 405);
    check(&server.post("/", &json!({})), 405);
}

#[test]
fn long_bodies_are_rejected_with_and_without_content_length() {
    let mut setup = TestServerOptions::default();
    setup.settings.body_limit = 1000;
    let server = setup.start();
    let long = ask(&"x".repeat(2000), json!({})).to_string();
    check(&raw(&server, "/v1/chat/completions", long.as_bytes()), 413);
    use std::io::Write;
    let mut stream = http::connect(server.address).expect("a connection");
    let head = "POST /v1/chat/completions HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Type: application/json\r\n\
                Transfer-Encoding: chunked\r\n\r\n";
    stream.write_all(head.as_bytes()).expect("the write succeeds");
    stream.write_all(format!("{:x}\r\n{long}\r\n0\r\n\r\n", long.len()).as_bytes()).expect("the write succeeds");
    check(&http::ResponseReader::begin(stream).and_then(http::ResponseReader::whole).expect("an answer"), 413);
    assert_eq!(server.chat("short", json!({}))["choices"][0]["message"]["content"], "short");
}

#[test]
fn errors_name_the_invalid_field() {
    let server = start();
    for (path, body, param) in [
        ("/v1/chat/completions", json!({}), "messages"),
        ("/v1/chat/completions", ask("x", json!({"temperature": "hot"})), "temperature"),
        ("/v1/chat/completions", ask("x", json!({"top_logprobs": 3})), "top_logprobs"),
        ("/v1/chat/completions", ask("x", json!({"logprobs": true, "top_logprobs": 30})), "top_logprobs"),
        ("/v1/chat/completions", ask("x", json!({"logit_bias": {"99999": 1}})), "logit_bias"),
        ("/v1/chat/completions", ask("x", json!({"tools": [{"type": "function"}]})), "tools[0].function"),
        ("/v1/chat/completions", ask("x", json!({"chat_template_kwargs": 5})), "chat_template_kwargs"),
        ("/v1/completions", json!({}), "prompt"),
        ("/v1/completions", json!({"prompt": []}), "prompt"),
        ("/v1/completions", json!({"prompt": {"a": 1}}), "prompt"),
        ("/v1/completions", json!({"prompt": ["a", true]}), "prompt[1]"),
        ("/v1/completions", json!({"prompt": [1, "a"]}), "prompt[1]"),
        ("/v1/completions", json!({"prompt": [-1]}), "prompt[0]"),
        ("/v1/completions", json!({"prompt": "a", "suffix": "b"}), "suffix"),
        ("/v1/completions", json!({"prompt": "a", "best_of": 3}), "best_of"),
        ("/v1/completions", json!({"prompt": "a", "echo": true, "logprobs": 1}), "echo"),
        ("/v1/completions", json!({"prompt": vec!["a"; 40], "n": 2}), "prompt"),
        ("/v1/embeddings", json!({}), "input"),
        ("/v1/embeddings", json!({"input": 5}), "input"),
        ("/v1/embeddings", json!({"input": "a", "encoding_format": "hex"}), "encoding_format"),
        ("/v1/embeddings", json!({"input": "a", "dimensions": 3}), "dimensions"),
    ] {
        let error = check(&server.post(path, &body), 400);
        assert_eq!(error["param"], param, "{body}: {error}");
    }
    let too_long = check(&server.post("/v1/completions", &json!({"prompt": "abc ".repeat(1000)})), 400);
    assert_eq!(too_long["code"], "context_length_exceeded");
    check(&server.post("/v1/completions", &json!({"prompt": [999_999]})), 400);
}

#[test]
fn a_full_queue_is_reported_with_retry_after() {
    let mut setup = TestServerOptions { delay: std::time::Duration::from_millis(5), ..Default::default() };
    setup.engine.max_batch = 1;
    setup.engine.max_waiting = 1;
    let server = setup.start();
    let body = ask("forever", json!({"stream": true})).to_string();
    let open = || http::send(server.address, "POST", "/v1/chat/completions", body.as_bytes(), "").expect("an answer");
    let (first, second) = (open(), open());
    assert_eq!((first.status, second.status), (200, 200));
    let refused = server.post("/v1/chat/completions", &ask("me too", json!({})));
    assert_eq!(check(&refused, 429)["code"], "queue_full");
    assert!(refused.header("retry-after").is_some_and(|seconds| seconds.parse::<u32>().is_ok()));
    check(&server.post("/v1/completions", &json!({"prompt": "a", "n": 3})), 429);
    drop((first, second));
    server.wait("room", |now| now.running == 0 && now.waiting == 0);
    server.chat("me too", json!({}));
}

/// Counts the images that it refuses.
struct NoImages(AtomicUsize);

impl ImageEncoder for NoImages {
    fn encode(&self, _: &[u8]) -> Result<ImageRows, String> {
        self.0.fetch_add(1, Ordering::Relaxed);
        Err("there is no tower".to_owned())
    }
}

#[test]
fn a_full_queue_refuses_an_image_before_it_is_computed() {
    let encoder = Arc::new(NoImages(AtomicUsize::new(0)));
    let images: Arc<dyn ImageEncoder> = Arc::<NoImages>::clone(&encoder);
    let delay = std::time::Duration::from_millis(5);
    let mut setup = TestServerOptions { delay, images: Some(images), ..Default::default() };
    (setup.engine.max_batch, setup.engine.max_waiting) = (1, 0);
    let server = setup.start();
    let url = json!({"url": "data:image/png;base64,Y2F0"});
    let message = json!({"role": "user", "content": [{"type": "image_url", "image_url": url}]});
    let image = json!({ "messages": [message] });
    let body = ask("forever", json!({"stream": true})).to_string();
    let first = http::send(server.address, "POST", "/v1/chat/completions", body.as_bytes(), "").expect("an answer");
    assert_eq!(check(&server.post("/v1/chat/completions", &image), 429)["code"], "queue_full");
    assert_eq!(encoder.0.load(Ordering::Relaxed), 0);
    drop(first);
    server.wait("room", |now| now.running == 0 && now.waiting == 0);
    let error = check(&server.post("/v1/chat/completions", &image), 400);
    assert!(error["message"].as_str().is_some_and(|text| text.contains("there is no tower")), "{error}");
    assert_eq!(encoder.0.load(Ordering::Relaxed), 1);
}

#[test]
fn a_failed_call_fails_one_request_and_a_lost_device_fails_all() {
    let server = start();
    let failed = check(&server.post("/v1/chat/completions", &ask("fail", json!({}))), 500);
    assert_eq!(failed["message"], "the card fell off: push it");
    assert_eq!(server.chat("still here", json!({}))["choices"][0]["message"]["content"], "still here");
    assert_eq!(server.get("/health").status, 200);

    let body = ask("lose", json!({"stream": true})).to_string();
    let reading = http::send(server.address, "POST", "/v1/chat/completions", body.as_bytes(), "").expect("an answer");
    let events = reading.events().expect("a whole stream");
    let last: Value = serde_json::from_str(events.last().expect("events")).expect("valid JSON");
    assert_eq!(last["error"]["code"], "device_lost", "the stream ends with its cause");
    let later = check(&server.post("/v1/chat/completions", &ask("hello", json!({}))), 503);
    assert_eq!(later["code"], "device_lost");
    assert_eq!(check(&server.get("/health"), 503)["code"], "device_lost");
    assert!(server.get("/metrics").body.contains("\nroci_device_lost 1\n"));
}
