//! What all requests share.

use std::sync::{Arc, OnceLock};
use std::time::SystemTime;

use roci_engine::{Engine, EngineError};
use roci_llm::json::Json;
use roci_llm::template::ChatTemplate;
use roci_tokenizer::{Encode, Tokenizer};

use crate::chat::ToolStyle;
use crate::error::ApiError;
use crate::metrics::Counters;
use crate::settings::ServeSettings;

/// A model to be served.
#[derive(Clone)]
pub struct Served {
    /// What answers.
    pub engine: Engine,
    /// Its tokens.
    pub tokenizer: Arc<Tokenizer>,
    /// How conversations are written for it.
    pub template: Arc<ChatTemplate>,
    /// The name that clients see.
    pub model: String,
    /// When the model was made, or loaded.
    pub created: SystemTime,
    /// What else is told of it at `/v1/models`.
    pub details: Vec<(String, Json)>,
}

pub(crate) struct App {
    pub(crate) served: Served,
    pub(crate) settings: ServeSettings,
    pub(crate) counters: Counters,
    pub(crate) tools: ToolStyle,
    /// Why the device is of no more use, once it is.
    lost: OnceLock<String>,
}

impl App {
    pub(crate) fn new(served: Served, settings: ServeSettings) -> Self {
        let tools = ToolStyle::of(&served.template);
        Self { served, settings, counters: Counters::default(), tools, lost: OnceLock::new() }
    }

    /// An error of the engine for a client; that the device is lost is kept in mind.
    pub(crate) fn failure(&self, error: EngineError) -> ApiError {
        if let EngineError::Device(device) = &error
            && device.lost
        {
            let _ = self.lost.set(device.message.clone());
        }
        error.into()
    }

    /// Why the device is of no more use.
    pub(crate) fn lost(&self) -> Option<&str> {
        self.lost.get().map(String::as_str)
    }

    /// The tokens of a prompt. Templates often write the token that starts a text themselves; it comes once.
    pub(crate) fn prompt(&self, text: &str) -> Vec<u32> {
        let tokenizer = &self.served.tokenizer;
        let mut tokens = tokenizer.encode(text, Encode { add_special: false, parse_special: true });
        let special = tokenizer.special();
        if let Some(bos) = special.bos.filter(|bos| special.add_bos && tokens.first() != Some(bos)) {
            tokens.insert(0, bos);
        }
        tokens
    }

    /// Seconds since 1970 of the model.
    pub(crate) fn created(&self) -> u64 {
        seconds(self.served.created)
    }
}

/// Seconds since 1970.
pub(crate) fn seconds(time: SystemTime) -> u64 {
    time.duration_since(SystemTime::UNIX_EPOCH).map_or(0, |since| since.as_secs())
}

/// A name for an answer that no other has.
pub(crate) fn id(prefix: &str) -> String {
    format!("{prefix}{}", std::iter::repeat_with(fastrand::alphanumeric).take(24).collect::<String>())
}
