//! Clients that are slow, disconnect, or are still connected when the server stops.

use std::io::{Read, Write};
use std::time::Duration;

use roci_serve::ShutdownSummary;
use serde_json::json;

use crate::http;
use crate::test_server::{TestServerOptions, ask};

const CHAT: &str = "/v1/chat/completions";

fn slow(delay: u64) -> TestServerOptions {
    TestServerOptions { delay: Duration::from_millis(delay), context: 4096, ..Default::default() }
}

#[test]
fn a_disconnected_client_frees_its_slot() {
    let server = slow(2).start();
    for stream in [true, false] {
        let before = server.engine.statistics().canceled;
        let body = ask("forever", json!({"stream": stream})).to_string();
        let mut connection = http::connect(server.address).expect("a connection");
        let head = http::head("POST", CHAT, body.len(), "");
        connection.write_all(format!("{head}{body}").as_bytes()).expect("the write succeeds");
        server.wait("the text", |now| now.running == 1);
        drop(connection);
        server.wait("its end", |now| now.running == 0 && now.canceled == before + 1 && now.pages_used == 0);
    }
}

#[test]
fn a_client_that_does_not_read_is_dropped() {
    let mut setup = TestServerOptions { context: 1 << 16, ..slow(0) };
    setup.settings.write_timeout = Duration::from_millis(300);
    setup.engine.max_batch = 1;
    setup.engine.max_waiting = 0;
    let server = setup.start();
    // More than any socket buffers: each token comes with its 20 most likely alternatives.
    let body = ask("forever", json!({"stream": true, "logprobs": true, "top_logprobs": 20})).to_string();
    let mut connection = http::connect(server.address).expect("a connection");
    let head = http::head("POST", CHAT, body.len(), "");
    connection.write_all(format!("{head}{body}").as_bytes()).expect("the write succeeds");
    server.wait("the text", |now| now.running == 1);
    server.wait("its end", |now| now.canceled == 1 && now.running == 0 && now.waiting == 0);
    server.chat("others have room", json!({}));
    drop(connection);
}

/// Sends a byte from time to time until the server closes the connection, and returns its response.
fn drip(server: &crate::test_server::TestServer, text: &str) -> String {
    let mut connection = http::connect(server.address).expect("a connection");
    let mut response = Vec::new();
    connection.set_read_timeout(Some(Duration::from_millis(20))).expect("a time");
    let mut bytes = text.bytes().chain(std::iter::repeat(b'x'));
    loop {
        let sent = connection.write_all(&[bytes.next().expect("there is always more")]);
        let mut buffer = [0; 1024];
        match connection.read(&mut buffer) {
            Ok(0) => break,
            Ok(count) => response.extend_from_slice(&buffer[..count]),
            Err(error) if matches!(error.kind(), std::io::ErrorKind::WouldBlock | std::io::ErrorKind::TimedOut) => {}
            Err(_) => break,
        }
        if sent.is_err() {
            break;
        }
    }
    String::from_utf8_lossy(&response).into_owned()
}

#[test]
fn slow_heads_and_bodies_time_out() {
    let mut setup = slow(0);
    setup.settings.head_timeout = Duration::from_millis(300);
    setup.settings.body_timeout = Duration::from_millis(300);
    let server = setup.start();
    let head = drip(&server, "GET /health HTTP/1.1\r\nHost: localhost\r\nX: ");
    assert!(head.is_empty() || head.starts_with("HTTP/1.1 408"), "{head}");
    // The head is sent at once; the body never ends.
    let mut connection = http::connect(server.address).expect("a connection");
    connection.write_all(http::head("POST", CHAT, 5000, "").as_bytes()).expect("the write succeeds");
    let answer = http::ResponseReader::begin(connection).and_then(http::ResponseReader::whole).expect("an answer");
    assert_eq!(answer.status, 408, "{}", answer.body);
    // A connection that sends nothing is closed as well.
    let mut idle = http::connect(server.address).expect("a connection");
    let mut response = Vec::new();
    let _ = idle.read_to_end(&mut response);
    assert!(response.is_empty(), "an idle connection is closed without a response");
    server.chat("others are served", json!({}));
}

#[test]
fn connections_beyond_the_limit_wait() {
    let mut setup = slow(0);
    setup.settings.connections = 1;
    setup.settings.head_timeout = Duration::from_millis(500);
    let server = setup.start();
    let idle = http::connect(server.address).expect("a connection");
    // It is served once the first connection is closed.
    assert_eq!(server.get("/health").status, 200);
    drop(idle);
}

#[test]
fn shutdown_completes_requests_in_flight() {
    let server = slow(3).start();
    let body = ask("a text of some length, so that it takes a while", json!({"stream": true})).to_string();
    let reading = http::send(server.address, "POST", CHAT, body.as_bytes(), "").expect("an answer");
    server.wait("the text", |now| now.running == 1);
    server.handle.shut_down();
    let events = reading.events().expect("a whole stream");
    assert_eq!(events.last().map(String::as_str), Some("[DONE]"));
    let address = server.address;
    assert_eq!(server.ended(), ShutdownSummary { aborted_connections: 0 });
    assert!(http::connect(address).is_err(), "the server no longer listens");
}

#[test]
fn shutdown_aborts_requests_after_the_timeout() {
    let mut setup = slow(3);
    setup.settings.shutdown_timeout = Duration::from_millis(100);
    let server = setup.start();
    let body = ask("forever", json!({"stream": true})).to_string();
    let reading = http::send(server.address, "POST", CHAT, body.as_bytes(), "").expect("an answer");
    // An idle connection does not delay shutdown.
    let idle = http::connect(server.address).expect("a connection");
    server.wait("the text", |now| now.running == 1);
    server.handle.shut_down();
    assert_eq!(server.ended(), ShutdownSummary { aborted_connections: 1 });
    assert!(reading.events().is_err(), "the stream is truncated");
    drop(idle);
}

#[test]
fn a_port_in_use_is_named() {
    let server = slow(0).start();
    let mut setup = slow(0);
    setup.settings.address = server.address;
    let served = setup.served();
    let bind =
        |settings| roci_serve::Server::bind(settings, served.clone()).map(|_| ()).expect_err("the port is in use");
    let error = bind(setup.settings.clone());
    assert!(error.to_string().starts_with(&format!("cannot listen on {}", server.address)), "{error}");
    assert!(roci_base::Hint::hint(&error).is_some_and(|hint| hint.contains("--port")));
    bind(roci_serve::ServeSettings { api_key: Some("a b".into()), ..setup.settings.clone() });
    bind(roci_serve::ServeSettings { api_key: Some(String::new()), ..setup.settings.clone() });
    bind(roci_serve::ServeSettings { cors: vec!["here".into()], ..setup.settings });
}

#[test]
fn requests_fail_with_503_while_the_model_loads() {
    let setup = slow(0);
    let listener = roci_serve::Listener::bind(setup.settings.clone()).expect("there is a port");
    let address = listener.address();
    for (method, path) in [("GET", "/health"), ("POST", "/v1/chat/completions"), ("GET", "/unknown")] {
        let reading = crate::http::send(address, method, path, b"{}", "").expect("an answer");
        assert_eq!((reading.status, reading.header("retry-after")), (503, Some("2")), "{path}");
    }
    assert_eq!(crate::http::get(address, "/health").json()["error"]["code"], "loading_model");
    let server = listener.into_server(setup.served()).expect("the settings are valid");
    assert_eq!(server.address(), address);
    let handle = server.handle();
    let thread = std::thread::spawn(move || server.run());
    assert_eq!(crate::http::get(address, "/health").status, 200);
    handle.shut_down();
    assert_eq!(thread.join().expect("no panic"), ShutdownSummary { aborted_connections: 0 });
}
