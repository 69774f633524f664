//! A minimal HTTP client that can also send malformed requests.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use serde_json::Value;

/// A complete response.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    headers: Vec<(String, String)>,
    pub(crate) body: String,
}

impl Answer {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(key, _)| key.eq_ignore_ascii_case(name)).map(|(_, value)| value.as_str())
    }

    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|error| panic!("{error}: {}", self.body))
    }
}

/// A response being read.
#[derive(Debug)]
pub(crate) struct ResponseReader {
    reader: BufReader<TcpStream>,
    pub(crate) status: u16,
    headers: Vec<(String, String)>,
    chunked: bool,
    left: usize,
    ended: bool,
}

fn bad(text: impl Into<String>) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, text.into())
}

/// Connects with a read timeout of one minute.
pub(crate) fn connect(address: SocketAddr) -> io::Result<TcpStream> {
    let stream = TcpStream::connect(address)?;
    stream.set_read_timeout(Some(Duration::from_secs(60)))?;
    stream.set_nodelay(true)?;
    Ok(stream)
}

/// The head of a request with a JSON body, with `Connection: close`.
pub(crate) fn head(method: &str, path: &str, length: usize, more: &str) -> String {
    format!(
        "{method} {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Type: application/json\r\n\
         Content-Length: {length}\r\n{more}\r\n"
    )
}

/// Sends a request and reads the head of the response.
pub(crate) fn send(
    address: SocketAddr,
    method: &str,
    path: &str,
    body: &[u8],
    more: &str,
) -> io::Result<ResponseReader> {
    let mut stream = connect(address)?;
    let mut bytes = head(method, path, body.len(), more).into_bytes();
    bytes.extend_from_slice(body);
    stream.write_all(&bytes)?;
    ResponseReader::begin(stream)
}

pub(crate) fn get(address: SocketAddr, path: &str) -> Answer {
    send(address, "GET", path, b"", "").and_then(ResponseReader::whole).expect("there is an answer")
}

pub(crate) fn post(address: SocketAddr, path: &str, body: &Value) -> Answer {
    send(address, "POST", path, body.to_string().as_bytes(), "")
        .and_then(ResponseReader::whole)
        .expect("there is an answer")
}

impl ResponseReader {
    /// Reads the head of a response.
    pub(crate) fn begin(stream: TcpStream) -> io::Result<Self> {
        let mut reader = BufReader::new(stream);
        let mut line = String::new();
        reader.read_line(&mut line)?;
        let status = line.split(' ').nth(1).and_then(|status| status.parse().ok());
        let status = status.ok_or_else(|| bad(format!("no status: {line:?}")))?;
        let mut headers = Vec::new();
        loop {
            line.clear();
            reader.read_line(&mut line)?;
            match line.trim_end().split_once(':') {
                Some((key, value)) => headers.push((key.to_owned(), value.trim().to_owned())),
                None => break,
            }
        }
        let mut reading = Self { reader, status, headers, chunked: false, left: 0, ended: false };
        reading.chunked = reading.header("transfer-encoding").is_some_and(|value| value == "chunked");
        reading.left = reading.header("content-length").and_then(|value| value.parse().ok()).unwrap_or(0);
        Ok(reading)
    }

    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(key, _)| key.eq_ignore_ascii_case(name)).map(|(_, value)| value.as_str())
    }

    /// The next part of the body; `None` at the end. A truncated body is an error.
    fn part(&mut self) -> io::Result<Option<Vec<u8>>> {
        if self.ended {
            return Ok(None);
        }
        if !self.chunked {
            self.ended = true;
            let mut bytes = vec![0; self.left];
            self.reader.read_exact(&mut bytes)?;
            return Ok(Some(bytes));
        }
        let mut line = String::new();
        self.reader.read_line(&mut line)?;
        let size =
            usize::from_str_radix(line.trim_end(), 16).map_err(|_| bad(format!("the body is truncated: {line:?}")))?;
        let mut bytes = vec![0; size + 2];
        self.reader.read_exact(&mut bytes)?;
        bytes.truncate(size);
        self.ended = size == 0;
        Ok(Some(bytes).filter(|bytes| !bytes.is_empty()))
    }

    pub(crate) fn whole(mut self) -> io::Result<Answer> {
        let mut body = Vec::new();
        while let Some(part) = self.part()? {
            body.extend(part);
        }
        let body = String::from_utf8(body).map_err(|_| bad("the body is not UTF-8"))?;
        Ok(Answer { status: self.status, headers: self.headers, body })
    }

    /// Data of the next server-sent event.
    pub(crate) fn event(&mut self, held: &mut String) -> io::Result<Option<String>> {
        loop {
            if let Some((event, rest)) = held.split_once("\n\n") {
                let data = event.strip_prefix("data: ").map(str::to_owned);
                *held = rest.to_owned();
                match data {
                    Some(data) => return Ok(Some(data)),
                    None => continue,
                }
            }
            match self.part()? {
                Some(part) => held.push_str(&String::from_utf8(part).map_err(|_| bad("the body is not UTF-8"))?),
                None => return Ok(None),
            }
        }
    }

    /// Data of all events of a stream.
    pub(crate) fn events(mut self) -> io::Result<Vec<String>> {
        let mut buffer = String::new();
        let mut events = Vec::new();
        while let Some(event) = self.event(&mut buffer)? {
            events.push(event);
        }
        Ok(events)
    }
}
