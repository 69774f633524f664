//! The same stories through the `kube` crate: the played cluster speaks HTTP on loopback.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;

use roci_lab::executor::kubernetes::Cluster;
use roci_lab::executor::kubernetes::client::Client;
use serde_json::Value;

use crate::fake_api::{FakeApi, Part};
use crate::kubernetes;

/// Serves a cluster, and connects to it.
fn http(api: Arc<FakeApi>) -> Arc<dyn Cluster> {
    let listener = TcpListener::bind("127.0.0.1:0").expect("loopback");
    let address = format!("http://{}", listener.local_addr().expect("bound"));
    std::thread::spawn(move || {
        for stream in listener.incoming().map_while(Result::ok) {
            let api = Arc::clone(&api);
            // A client that goes away in the middle is one of the stories.
            std::thread::spawn(move || serve(&api, stream).ok());
        }
    });
    Arc::new(Client::at(&address).expect("an address"))
}

/// Answers one request and closes.
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

/// A log comes in chunks, and may break off.
fn serve_log(api: &FakeApi, path: &str, mut stream: TcpStream) -> std::io::Result<()> {
    write!(
        stream,
        "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n"
    )?;
    let mut sent = 0;
    while let Some(part) = api.log(path, sent) {
        match part {
            Part::Bytes(bytes) => {
                write!(stream, "{:x}\r\n", bytes.len())?;
                stream.write_all(bytes)?;
                write!(stream, "\r\n")?;
                stream.flush()?;
            }
            Part::Pause(time) => std::thread::sleep(time),
            Part::Lost => return Ok(()),
        }
        sent += 1;
    }
    write!(stream, "0\r\n\r\n")
}

#[test]
fn a_run_goes_its_way_over_http() {
    kubernetes::a_run_goes_its_way(&http);
}

#[test]
fn a_run_that_hangs_is_removed_over_http() {
    kubernetes::a_run_that_hangs_is_removed(&http);
}

#[test]
fn what_is_left_is_found_over_http() {
    kubernetes::what_is_left_is_found(&http);
}

#[test]
fn refusals_are_told_over_http() {
    kubernetes::refusals_are_told(&http);
}

#[test]
fn a_cluster_that_is_not_there_is_one_line_and_a_remedy() {
    // Bound and closed: nobody listens there.
    let port = TcpListener::bind("127.0.0.1:0").and_then(|listener| listener.local_addr()).expect("loopback").port();
    let client = Client::at(&format!("http://127.0.0.1:{port}")).expect("an address");
    let error = client.call(roci_lab::executor::kubernetes::Verb::Get, "/api", None).expect_err("nobody answers");
    assert!(error.reason.starts_with("the cluster cannot be asked: ") && error.hint.is_some(), "{error:?}");
    Client::at("not an address").err().expect("it is none");
}
