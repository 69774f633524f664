//! Bodies of HTTP requests to `roci serve`.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::sync::{Arc, LazyLock, Mutex, PoisonError};
use std::time::SystemTime;

use roci_engine::{Chunk, Engine, Forward, ForwardError, KvCapacity, Limits, Output, ReferenceForward, Settings};
use roci_lm::architecture::Model;
use roci_lm::reference::Reference;
use roci_lm::synthetic::talking;
use roci_lm::template::ChatTemplate;
use roci_serve::{ServeSettings, ServedModel, Server};
use roci_tokenizer::Tokenizer;

const PATHS: [&str; 3] = ["/v1/chat/completions", "/v1/completions", "/v1/embeddings"];
/// The longest text, in tokens.
const CONTEXT: u32 = 64;

static SERVER: LazyLock<Mutex<Client>> = LazyLock::new(|| Mutex::new(Client::new(serve())));

/// Posts the bytes after the first one to the endpoint that the first one selects. A server error
/// (5xx) is a bug for any body.
pub fn target(data: &[u8]) {
    let Some((first, body)) = data.split_first() else { return };
    let path = PATHS[usize::from(*first) % PATHS.len()];
    let mut client = SERVER.lock().unwrap_or_else(PoisonError::into_inner);
    let status = client.post(path, body).expect("the server answers");
    assert!(status < 500, "{path} answers {status}");
}

/// Starts a server on a free port that runs until the process ends.
fn serve() -> SocketAddr {
    let file = talking().open().expect("the synthetic model is valid");
    let tokenizer = Arc::new(Tokenizer::from_metadata(file.metadata()).expect("the vocabulary is valid"));
    let model = Model::new(&file, Some(CONTEXT)).expect("the synthetic model is valid");
    let model = Reference::new(&file, model).expect("the synthetic model is valid");
    let model = ReferenceForward::new(model, KvCapacity::for_sequences(CONTEXT as usize, 2));
    let end = tokenizer.id("<|im_end|>").expect("the vocabulary has it") as usize;
    let served = ServedModel {
        engine: Engine::start(Box::new(Brief { model, end }), Arc::clone(&tokenizer), Settings::default()),
        tokenizer,
        template: Arc::new(ChatTemplate::of_model(None, "<s>", "</s>")),
        images: None,
        pair_template: None,
        model: "fuzz".into(),
        created: SystemTime::UNIX_EPOCH,
        details: Vec::new(),
    };
    let address = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
    let server = Server::bind(ServeSettings { address, ..ServeSettings::default() }, served).expect("a free port");
    let address = server.address();
    std::thread::spawn(move || server.run());
    address
}

/// A model that ends each answer as early as possible, so that an input takes little time.
struct Brief {
    model: ReferenceForward,
    end: usize,
}

impl Forward for Brief {
    fn limits(&self) -> &Limits {
        self.model.limits()
    }

    fn evaluate(&mut self, chunks: &[Chunk<'_>]) -> Result<Vec<Output>, ForwardError> {
        let mut outputs = self.model.evaluate(chunks)?;
        for row in outputs.iter_mut().flat_map(|output| &mut output.rows) {
            // Rows of hidden states are shorter.
            if let Some(logit) = row.get_mut(self.end) {
                *logit = 100.0;
            }
        }
        Ok(outputs)
    }
}

/// Reuses one connection: a connection for each input would use up the ports within seconds.
struct Client {
    address: SocketAddr,
    connection: Option<BufReader<TcpStream>>,
}

impl Client {
    fn new(address: SocketAddr) -> Self {
        Self { address, connection: None }
    }

    /// Posts a body as JSON, reads the whole answer and returns its status.
    fn post(&mut self, path: &str, body: &[u8]) -> io::Result<u16> {
        let mut connection = match self.connection.take() {
            Some(connection) => connection,
            None => BufReader::new(TcpStream::connect(self.address)?),
        };
        let mut request = format!(
            "POST {path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n",
            body.len()
        )
        .into_bytes();
        request.extend_from_slice(body);
        connection.get_mut().write_all(&request)?;

        let mut status = String::new();
        connection.read_line(&mut status)?;
        let status = status.split(' ').nth(1).and_then(|code| code.parse().ok());
        let status = status.ok_or_else(|| io::Error::other("the answer has no status"))?;
        if read_answer(&mut connection)? {
            self.connection = Some(connection);
        }
        Ok(status)
    }
}

/// Reads the headers and the body of an answer. Returns whether the connection can be used again.
fn read_answer(connection: &mut impl BufRead) -> io::Result<bool> {
    let (mut length, mut is_chunked, mut is_open) = (0, false, true);
    loop {
        let line = line(connection)?.to_ascii_lowercase();
        match line.split_once(": ") {
            Some(("content-length", value)) => length = value.parse().map_err(io::Error::other)?,
            Some(("transfer-encoding", value)) => is_chunked = value == "chunked",
            Some(("connection", value)) => is_open = value != "close",
            Some(_) => {}
            None => break,
        }
    }
    if !is_chunked {
        skip(connection, length)?;
        return Ok(is_open);
    }
    loop {
        let length = u64::from_str_radix(&line(connection)?, 16).map_err(io::Error::other)?;
        skip(connection, length + 2)?;
        if length == 0 {
            return Ok(is_open);
        }
    }
}

fn line(connection: &mut impl BufRead) -> io::Result<String> {
    let mut line = String::new();
    connection.read_line(&mut line)?;
    Ok(line.trim_end().to_owned())
}

fn skip(connection: &mut impl BufRead, length: u64) -> io::Result<()> {
    let skipped = io::copy(&mut connection.take(length), &mut io::sink())?;
    if skipped == length { Ok(()) } else { Err(io::ErrorKind::UnexpectedEof.into()) }
}
