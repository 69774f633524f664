//! The same scenarios with the `kube` crate: the fake cluster speaks HTTP on loopback.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;

use roci_lab::executor::kubernetes::Cluster;
use roci_lab::executor::kubernetes::client::Client;
use serde_json::Value;

use crate::fake_api::{FakeApi, LogSegment};
use crate::kubernetes;

/// Serves a fake cluster, and connects to it.
fn http(api: Arc<FakeApi>) -> Arc<dyn Cluster> {
    let listener = TcpListener::bind("127.0.0.1:0").expect("loopback");
    let address = format!("http://{}", listener.local_addr().expect("bound"));
    std::thread::spawn(move || {
        for stream in listener.incoming().map_while(Result::ok) {
            let api = Arc::clone(&api);
            // Clients that disconnect are part of the scenarios.
            std::thread::spawn(move || serve(&api, stream).ok());
        }
    });
    Arc::new(Client::at(&address).expect("an address"))
}

/// Answers one request and closes the connection.
fn serve(api: &FakeApi, stream: TcpStream) -> std::io::Result<()> {
    let mut reader = BufReader::new(stream.try_clone()?);
    let mut line = String::new();
    reader.read_line(&mut line)?;
    let mut words = line.split_whitespace().map(str::to_owned);
    let (verb, path) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
    let mut length = 0;
    loop {
        let mut header = String::new();
        reader.read_line(&mut header)?;
        match header.trim().split_once(':') {
            Some((name, value)) if name.eq_ignore_ascii_case("content-length") => {
                length = value.trim().parse().unwrap_or(0);
            }
            Some(_) => {}
            None => break,
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body)?;
    if path.contains("/log?") {
        return serve_log(api, &path, stream);
    }
    let (status, answer) = api.answer(&verb, &path, &serde_json::from_slice(&body).unwrap_or(Value::Null));
    let answer = answer.to_string();
    let length = answer.len();
    write!(
        &stream,
        "HTTP/1.1 {status} As It Is\r\nContent-Type: application/json\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n{answer}"
    )
}

/// Streams a log in chunks; the connection may break.
fn serve_log(api: &FakeApi, path: &str, mut stream: TcpStream) -> std::io::Result<()> {
    write!(
        stream,
        "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n"
    )?;
    let mut sent = 0;
    while let Some(part) = api.log(path, sent) {
        match part {
            LogSegment::Bytes(bytes) => {
                write!(stream, "{:x}\r\n", bytes.len())?;
                stream.write_all(bytes)?;
                write!(stream, "\r\n")?;
                stream.flush()?;
            }
            LogSegment::Pause(time) => std::thread::sleep(time),
            LogSegment::Lost => return Ok(()),
        }
        sent += 1;
    }
    write!(stream, "0\r\n\r\n")
}

#[test]
fn a_run_completes_over_http() {
    kubernetes::a_run_completes(&http);
}

#[test]
fn a_run_that_hangs_is_removed_over_http() {
    kubernetes::a_run_that_hangs_is_removed(&http);
}

#[test]
fn leftover_runs_are_found_over_http() {
    kubernetes::leftover_runs_are_found(&http);
}

#[test]
fn refusals_are_reported_over_http() {
    kubernetes::refusals_are_reported(&http);
}

#[test]
fn a_missing_cluster_is_an_error_with_a_remedy() {
    // Bound and closed: nothing listens there.
    let port = TcpListener::bind("127.0.0.1:0").and_then(|listener| listener.local_addr()).expect("loopback").port();
    let client = Client::at(&format!("http://127.0.0.1:{port}")).expect("an address");
    let error = client.call(roci_lab::executor::kubernetes::Verb::Get, "/api", None).expect_err("no server answers");
    assert!(error.reason.starts_with("the request to the cluster failed: ") && error.hint.is_some(), "{error:?}");
    Client::at("not an address").err().expect("it is none");
}
