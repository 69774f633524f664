//! Read-only endpoints: the model, health, metrics, the page.

use serde_json::json;

use crate::http;
use crate::test_server::{TestServerOptions, ask, start};

#[test]
fn the_model_is_listed() {
    let server = start();
    let list = server.get("/v1/models").json();
    assert_eq!(list["object"], "list");
    let model = &list["data"][0];
    assert_eq!((&model["id"], &model["object"]), (&json!("fake"), &json!("model")));
    assert_eq!((&model["created"], &model["context_length"]), (&json!(1_700_000_000), &json!(1024)));
    assert_eq!(model["architecture"], "fake");
    assert_eq!(&server.get("/v1/models/fake").json(), model);
    let other = server.get("/v1/models/some/other");
    assert_eq!((other.status, &other.json()["error"]["code"]), (404, &json!("model_not_found")));
}

#[test]
fn metrics_count_requests_and_tokens() {
    let server = start();
    server.chat("abc", json!({}));
    server.get("/nowhere");
    assert_eq!(server.get("/health").json(), json!({"status": "ok"}));
    let figures = server.get("/metrics");
    assert_eq!(figures.header("content-type"), Some("text/plain; version=0.0.4; charset=utf-8"));
    for line in [
        "roci_requests_completed_total 1",
        "roci_http_requests_total{path=\"/v1/chat/completions\",status=\"200\"} 1",
        "roci_http_requests_total{path=\"other\",status=\"404\"} 1",
        "roci_device_lost 0",
        "# TYPE roci_generated_tokens_total counter",
        "# TYPE roci_http_connections gauge",
    ] {
        assert!(figures.body.lines().any(|found| found == line), "{line} in\n{}", figures.body);
    }
    // Prometheus text format: each line is a comment or a name with a value.
    for line in figures.body.lines().filter(|line| !line.starts_with('#')) {
        let (name, value) = line.rsplit_once(' ').expect("a name and a value");
        assert!(name.starts_with("roci_") && value.parse::<f64>().is_ok(), "{line}");
    }
}

#[test]
fn drafted_and_accepted_tokens_are_counted() {
    let message = "one two three four five one two three four five";
    let plain = start().chat(message, json!({"temperature": 0}));
    assert_eq!(plain["timings"]["draft_n"], json!(null));
    let server = TestServerOptions { lookup: true, ..TestServerOptions::default() }.start();
    // The model repeats the message.
    let answer = server.chat(message, json!({"temperature": 0}));
    assert_eq!(answer["choices"], plain["choices"]);
    assert_eq!(answer["choices"][0]["message"]["content"], message);
    let count = |name: &str| answer["timings"][name].as_u64().expect("a number");
    let (drafted, accepted) = (count("draft_n"), count("draft_n_accepted"));
    assert!(accepted > 10 && drafted >= accepted, "{accepted} of {drafted}");
    let figures = server.get("/metrics").body;
    for line in [
        format!("roci_drafted_tokens_total {drafted}"),
        format!("roci_accepted_tokens_total {accepted}"),
        "roci_speculation_paused 0".to_owned(),
    ] {
        assert!(figures.lines().any(|found| found == line), "{line} in\n{figures}");
    }
}

#[test]
fn renamed_metrics_are_also_written_under_their_old_names() {
    let server = start();
    server.chat("abc", json!({}));
    let text = server.get("/metrics").body;
    let line = |start: String| text.lines().find_map(|line| line.strip_prefix(&start));
    for (old, current) in [
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
    ] {
        let value = line(format!("{current} ")).unwrap_or_else(|| panic!("{current} in\n{text}"));
        assert_eq!(line(format!("{old} ")), Some(value), "{old} has the value of {current}");
        let kind = line(format!("# TYPE {current} "));
        assert!(kind.is_some() && line(format!("# TYPE {old} ")) == kind, "{old} has the type of {current}");
        assert_eq!(line(format!("# HELP {old} ")), Some(format!("Old name of {current}.").as_str()));
    }
}

#[test]
fn the_page_is_self_contained() {
    let server = start();
    let page = server.get("/");
    assert_eq!((page.status, page.header("content-type")), (200, Some("text/html; charset=utf-8")));
    let policy = page.header("content-security-policy").expect("a policy").to_owned();
    assert!(policy.starts_with("default-src 'none'") && !policy.contains("unsafe"), "{policy}");
    let nonce = policy.split("'nonce-").nth(1).and_then(|rest| rest.split('\'').next()).expect("a nonce");
    assert!(page.body.contains(&format!("<script nonce=\"{nonce}\">")), "the script is its own");
    for foreign in ["http://", "https://", "innerHTML", "insertAdjacentHTML", "@NONCE@", " style=", " onclick="] {
        assert!(!page.body.contains(foreign), "{foreign}");
    }
    assert_ne!(
        server.get("/").header("content-security-policy"),
        Some(policy.as_str()),
        "the nonce is new for each response"
    );
    assert_eq!(page.header("x-content-type-options"), Some("nosniff"));
}

#[test]
fn the_api_key_is_required_for_the_api() {
    let mut setup = TestServerOptions::default();
    setup.settings.api_key = Some("secret".into());
    let server = setup.start();
    let body = ask("hello", json!({})).to_string();
    let post = |more: &str| {
        let reading = http::send(server.address, "POST", "/v1/chat/completions", body.as_bytes(), more);
        reading.and_then(http::ResponseReader::whole).expect("an answer")
    };
    let refused = post("");
    assert_eq!((refused.status, &refused.json()["error"]["code"]), (401, &json!("invalid_api_key")));
    assert_eq!(refused.header("www-authenticate"), Some("Bearer"));
    assert_eq!(post("Authorization: Bearer wrong\r\n").status, 401);
    assert_eq!(post("Authorization: Bearer secret\r\n").status, 200);
    for (path, status) in [("/v1/models", 401), ("/metrics", 401), ("/health", 200), ("/", 200)] {
        assert_eq!(server.get(path).status, status, "{path}");
    }
}

#[test]
fn configured_origins_are_allowed_by_cors() {
    let origin = "Origin: https://example.org\r\n";
    let preflight =
        format!("{origin}Access-Control-Request-Method: POST\r\nAccess-Control-Request-Headers: content-type\r\n");
    let ask = |setup: TestServerOptions, method: &str, more: &str| {
        let server = setup.start();
        let reading = http::send(server.address, method, "/v1/completions", b"{\"prompt\":\"a\"}", more);
        reading.and_then(http::ResponseReader::whole).expect("an answer")
    };
    let allowed = || {
        let mut setup = TestServerOptions::default();
        setup.settings.cors = vec!["https://example.org".into()];
        setup
    };
    let answer = ask(allowed(), "OPTIONS", &preflight);
    assert_eq!((answer.status, answer.header("access-control-allow-origin")), (200, Some("https://example.org")));
    let answer = ask(allowed(), "POST", origin);
    assert_eq!((answer.status, answer.header("access-control-allow-origin")), (200, Some("https://example.org")));
    let answer = ask(TestServerOptions::default(), "OPTIONS", &preflight);
    assert_eq!((answer.status, answer.header("access-control-allow-origin")), (405, None));
}

#[test]
fn foreign_host_names_are_rejected() {
    let server = start();
    let with = |host: &str| {
        use std::io::Write;
        let mut stream = http::connect(server.address).expect("a connection");
        let head = format!("GET /v1/models HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n");
        stream.write_all(head.as_bytes()).expect("the write succeeds");
        http::ResponseReader::begin(stream).expect("an answer").status
    };
    assert_eq!((with("localhost:80"), with("127.0.0.1"), with("evil.example")), (200, 200, 403));
}
