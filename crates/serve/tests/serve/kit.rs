//! A server with a model that says what it is told to.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::{Duration, Instant, SystemTime};

use roci_engine::{Engine, Settings, Statistics};
use roci_llm::architecture::Pooling;
use roci_llm::template::ChatTemplate;
use roci_serve::{Ended, Handle, ServeSettings, Served, Server};
use serde_json::{Value, json};

use crate::http::{self, Answer};
use crate::parrot::Parrot;

/// How long a test waits for what comes soon, unless something is wrong.
const SOON: Duration = Duration::from_secs(60);

/// A server that runs; it is stopped when dropped.
pub(crate) struct Running {
    pub(crate) address: SocketAddr,
    pub(crate) engine: Engine,
    pub(crate) handle: Handle,
    thread: Option<JoinHandle<Ended>>,
}

/// What a test's server is like.
pub(crate) struct Setup {
    pub(crate) settings: ServeSettings,
    pub(crate) engine: Settings,
    pub(crate) context: usize,
    /// How long each token takes.
    pub(crate) delay: Duration,
    pub(crate) template: Option<&'static str>,
    pub(crate) pooling: Pooling,
}

impl Default for Setup {
    fn default() -> Self {
        let address = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
        Self {
            settings: ServeSettings { address, patience: Duration::from_secs(30), ..ServeSettings::default() },
            engine: Settings { together: 4, waiting: 16 },
            context: 1024,
            delay: Duration::ZERO,
            template: None,
            pooling: Pooling::Mean,
        }
    }
}

impl Setup {
    pub(crate) fn start(self) -> Running {
        let parrot = Parrot::new(self.context, self.engine.together, self.delay, self.pooling);
        let tokenizer = crate::parrot::tokenizer();
        let engine = Engine::start(Box::new(parrot), Arc::clone(&tokenizer), self.engine);
        let served = Served {
            engine: engine.clone(),
            tokenizer,
            template: Arc::new(ChatTemplate::of_model(self.template, "<s>", "</s>")),
            model: "parrot".into(),
            created: SystemTime::UNIX_EPOCH + Duration::from_secs(1_700_000_000),
            details: vec![("architecture".into(), "parrot".into())],
        };
        let server = Server::bind(self.settings, served).expect("there is a port");
        let (address, handle) = (server.address(), server.handle());
        let thread = Some(std::thread::spawn(move || server.run()));
        Running { address, engine, handle, thread }
    }
}

pub(crate) fn start() -> Running {
    Setup::default().start()
}

impl Running {
    pub(crate) fn get(&self, path: &str) -> Answer {
        http::get(self.address, path)
    }

    pub(crate) fn post(&self, path: &str, body: &Value) -> Answer {
        http::post(self.address, path, body)
    }

    /// Asks for an answer to one message, with more fields, and expects it to be given.
    pub(crate) fn chat(&self, message: &str, more: Value) -> Value {
        let answer = self.post("/v1/chat/completions", &ask(message, more));
        assert_eq!(answer.status, 200, "{}", answer.body);
        answer.json()
    }

    /// The events of a stream but the last, which must be the end of all.
    pub(crate) fn stream(&self, path: &str, body: &Value) -> Vec<Value> {
        let reading = http::send(self.address, "POST", path, body.to_string().as_bytes(), "").expect("an answer");
        assert_eq!(reading.status, 200);
        assert_eq!(reading.header("content-type"), Some("text/event-stream"));
        let mut events = reading.events().expect("a whole stream");
        assert_eq!(events.pop().as_deref(), Some("[DONE]"));
        events.iter().map(|event| serde_json::from_str(event).expect("it is JSON")).collect()
    }

    /// Waits until the engine's figures are as a test wants them.
    pub(crate) fn wait(&self, what: &str, reached: impl Fn(&Statistics) -> bool) {
        let start = Instant::now();
        while !reached(&self.engine.statistics()) {
            assert!(start.elapsed() < SOON, "{what} did not come: {:?}", self.engine.statistics());
            std::thread::sleep(Duration::from_millis(2));
        }
    }

    /// Waits for the end of a server that was asked to stop.
    pub(crate) fn ended(mut self) -> Ended {
        self.thread.take().expect("it runs").join().expect("it does not panic")
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.handle.shut_down();
        if let Some(thread) = self.thread.take() {
            let ended = thread.join();
            assert!(ended.is_ok() || std::thread::panicking(), "the server panicked");
        }
    }
}

/// The body of a question with more fields.
pub(crate) fn ask(message: &str, more: Value) -> Value {
    let mut body = json!({"messages": [{"role": "user", "content": message}]});
    if let Value::Object(more) = more {
        more.into_iter().for_each(|(key, value)| body[key] = value);
    }
    body
}
