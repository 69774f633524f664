//! State shared by all requests.

use std::sync::{Arc, OnceLock};
use std::time::SystemTime;

use roci_engine::{Engine, EngineError, ImageRows, encode_pair};
use roci_lm::json::Json;
use roci_lm::template::ChatTemplate;
use roci_tokenizer::{Encode, Tokenizer};

use crate::chat::ToolStyle;
use crate::error::ApiError;
use crate::metrics::Counters;
use crate::settings::ServeSettings;

/// The vision tower of a model.
pub trait ImageEncoder: Send + Sync {
    /// Computes the rows of an image file. The error is one line.
    fn encode(&self, bytes: &[u8]) -> Result<ImageRows, String>;
}

/// A model to serve.
#[derive(Clone)]
pub struct ServedModel {
    /// The engine that generates the answers.
    pub engine: Engine,
    /// The model's tokenizer.
    pub tokenizer: Arc<Tokenizer>,
    /// The template that renders conversations into prompts.
    pub template: Arc<ChatTemplate>,
    /// The vision tower, if the model has one: images in messages are refused without it.
    pub images: Option<Arc<dyn ImageEncoder>>,
    /// Template for a query and a document, for some rerankers.
    pub pair_template: Option<Arc<str>>,
    /// The model name in responses and at `/v1/models`.
    pub model: String,
    /// When the model was created or loaded, reported as `created`.
    pub created: SystemTime,
    /// Additional fields of the model at `/v1/models`.
    pub details: Vec<(String, Json)>,
}

impl std::fmt::Debug for ServedModel {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ServedModel")
            .field("model", &self.model)
            .field("engine", &self.engine)
            .field("created", &self.created)
            .finish_non_exhaustive()
    }
}

pub(crate) struct App {
    pub(crate) served: ServedModel,
    pub(crate) settings: Arc<ServeSettings>,
    pub(crate) counters: Counters,
    pub(crate) tools: ToolStyle,
    /// Why the device is lost, once it is.
    lost: OnceLock<String>,
}

impl App {
    pub(crate) fn new(served: ServedModel, settings: Arc<ServeSettings>) -> Self {
        let tools = ToolStyle::of(&served.template);
        Self { served, settings, counters: Counters::default(), tools, lost: OnceLock::new() }
    }

    /// Converts an engine error for the client, and records a lost device.
    pub(crate) fn failure(&self, error: EngineError) -> ApiError {
        if let EngineError::Device(device) = &error
            && device.lost
        {
            let _ = self.lost.set(device.message.clone());
        }
        error.into()
    }

    /// Why the device is lost, if it is.
    pub(crate) fn lost(&self) -> Option<&str> {
        self.lost.get().map(String::as_str)
    }

    /// Tokens of a prompt. BOS is added if the tokenizer adds it and the template did not write it.
    pub(crate) fn prompt(&self, text: &str) -> Vec<u32> {
        let tokenizer = &self.served.tokenizer;
        let mut tokens = tokenizer.encode(text, Encode { add_special: false, parse_special: true });
        let special = tokenizer.special();
        if let Some(bos) = special.bos.filter(|bos| special.add_bos && tokens.first() != Some(bos)) {
            tokens.insert(0, bos);
        }
        tokens
    }

    /// Tokens of a query and a document.
    pub(crate) fn pair(&self, query: &str, document: &str) -> Vec<u32> {
        encode_pair(&self.served.tokenizer, self.served.pair_template.as_deref(), query, document)
    }

    /// Creation time of the model, in Unix seconds.
    pub(crate) fn created(&self) -> u64 {
        seconds(self.served.created)
    }
}

/// Unix time in seconds.
pub(crate) fn seconds(time: SystemTime) -> u64 {
    time.duration_since(SystemTime::UNIX_EPOCH).map_or(0, |since| since.as_secs())
}

/// A unique response ID.
pub(crate) fn id(prefix: &str) -> String {
    format!("{prefix}{}", std::iter::repeat_with(fastrand::alphanumeric).take(24).collect::<String>())
}
