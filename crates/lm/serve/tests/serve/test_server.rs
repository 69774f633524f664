//! A test server whose fake model gives predictable answers.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::{Duration, Instant, SystemTime};

use roci_engine::{Drafter, Engine, Settings, Speculation, Statistics};
use roci_lm::architecture::Pooling;
use roci_lm::template::ChatTemplate;
use roci_serve::{Handle, ImageEncoder, ServeSettings, ServedModel, Server, ShutdownSummary};
use serde_json::{Value, json};

use crate::fake_model::FakeModel;
use crate::http::{self, Answer};

/// Timeout for events that should happen soon.
const SOON: Duration = Duration::from_secs(60);

/// A running server; stopped when dropped.
pub(crate) struct TestServer {
    pub(crate) address: SocketAddr,
    pub(crate) engine: Engine,
    pub(crate) handle: Handle,
    thread: Option<JoinHandle<ShutdownSummary>>,
}

/// Parameters of a test server.
pub(crate) struct TestServerOptions {
    pub(crate) settings: ServeSettings,
    pub(crate) engine: Settings,
    pub(crate) context: usize,
    /// Delay per token.
    pub(crate) delay: Duration,
    pub(crate) template: Option<&'static str>,
    pub(crate) pooling: Pooling,
    /// Whether tokens are drafted by n-gram lookup.
    pub(crate) lookup: bool,
    pub(crate) images: Option<Arc<dyn ImageEncoder>>,
}

impl Default for TestServerOptions {
    fn default() -> Self {
        let address = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
        Self {
            settings: ServeSettings { address, shutdown_timeout: Duration::from_secs(30), ..ServeSettings::default() },
            engine: Settings { max_batch: 4, max_waiting: 16 },
            context: 1024,
            delay: Duration::ZERO,
            template: None,
            pooling: Pooling::Mean,
            lookup: false,
            images: None,
        }
    }
}

impl TestServerOptions {
    /// The fake model, with an engine of its own.
    pub(crate) fn served(&self) -> ServedModel {
        let model = FakeModel::new(self.context, self.engine.max_batch, self.delay, self.pooling);
        let tokenizer = crate::fake_model::tokenizer();
        let drafter = self.lookup.then_some(Drafter::Lookup);
        let speculation = Speculation { drafter, ..Speculation::off() };
        ServedModel {
            engine: Engine::start_with(Box::new(model), Arc::clone(&tokenizer), self.engine.clone(), speculation),
            tokenizer,
            template: Arc::new(ChatTemplate::of_model(self.template, "<s>", "</s>")),
            images: self.images.clone(),
            pair_template: None,
            model: "fake".into(),
            created: SystemTime::UNIX_EPOCH + Duration::from_secs(1_700_000_000),
            details: vec![("architecture".into(), "fake".into())],
        }
    }

    pub(crate) fn start(self) -> TestServer {
        let served = self.served();
        let engine = served.engine.clone();
        let server = Server::bind(self.settings, served).expect("there is a port");
        let (address, handle) = (server.address(), server.handle());
        let thread = Some(std::thread::spawn(move || server.run()));
        TestServer { address, engine, handle, thread }
    }
}

pub(crate) fn start() -> TestServer {
    TestServerOptions::default().start()
}

impl TestServer {
    pub(crate) fn get(&self, path: &str) -> Answer {
        http::get(self.address, path)
    }

    pub(crate) fn post(&self, path: &str, body: &Value) -> Answer {
        http::post(self.address, path, body)
    }

    /// Sends one message with additional fields, and expects success.
    pub(crate) fn chat(&self, message: &str, more: Value) -> Value {
        let answer = self.post("/v1/chat/completions", &ask(message, more));
        assert_eq!(answer.status, 200, "{}", answer.body);
        answer.json()
    }

    /// The events of a stream without the final `[DONE]`, which is checked.
    pub(crate) fn stream(&self, path: &str, body: &Value) -> Vec<Value> {
        let reading = http::send(self.address, "POST", path, body.to_string().as_bytes(), "").expect("an answer");
        assert_eq!(reading.status, 200);
        assert_eq!(reading.header("content-type"), Some("text/event-stream"));
        let mut events = reading.events().expect("a whole stream");
        assert_eq!(events.pop().as_deref(), Some("[DONE]"));
        events.iter().map(|event| serde_json::from_str(event).expect("valid JSON")).collect()
    }

    /// Waits until the engine's statistics satisfy a predicate.
    pub(crate) fn wait(&self, what: &str, reached: impl Fn(&Statistics) -> bool) {
        let start = Instant::now();
        while !reached(&self.engine.statistics()) {
            assert!(start.elapsed() < SOON, "no {what}: {:?}", self.engine.statistics());
            std::thread::sleep(Duration::from_millis(2));
        }
    }

    /// Waits for a server that was asked to stop.
    pub(crate) fn ended(mut self) -> ShutdownSummary {
        self.thread.take().expect("the server is running").join().expect("the server does not panic")
    }
}

impl Drop for TestServer {
    fn drop(&mut self) {
        self.handle.shut_down();
        if let Some(thread) = self.thread.take() {
            let ended = thread.join();
            assert!(ended.is_ok() || std::thread::panicking(), "the server panicked");
        }
    }
}

/// A chat request body with one message and additional fields.
pub(crate) fn ask(message: &str, more: Value) -> Value {
    let mut body = json!({"messages": [{"role": "user", "content": message}]});
    if let Value::Object(more) = more {
        more.into_iter().for_each(|(key, value)| body[key] = value);
    }
    body
}
