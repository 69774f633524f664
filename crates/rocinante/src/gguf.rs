//! GGUF language models on a device.

use std::path::Path;
use std::sync::Arc;

use roci_engine::{Engine, Event, Generation, PromptEncoder, Request, Settings};
use roci_gguf::Gguf;
use roci_lm::architecture::{Config, Model};
use roci_lm::template::message;
use roci_lm_device::{DeviceModel, Options};
use roci_tokenizer::Tokenizer;

use crate::device::Device;
use crate::error::Error;

/// Maximum default context length in tokens: the KV cache of a longer trained context may not fit.
const DEFAULT_CONTEXT: u32 = 4096;

/// A language model on a device, from [`Device::gguf`]. It serves concurrent requests from any
/// thread.
#[derive(Debug)]
pub struct LanguageModel {
    engine: Engine,
    prompts: PromptEncoder,
}

impl Device {
    /// Loads a GGUF file: its weights, its tokenizer and its chat template. The context is that of
    /// the model, at most 4,096 tokens.
    ///
    /// # Errors
    /// A file that cannot be read, an architecture or weight type that is not supported, or a
    /// device without enough memory.
    pub fn gguf(&self, path: impl AsRef<Path>) -> Result<LanguageModel, Error> {
        let file = Arc::new(Gguf::open(path.as_ref())?);
        let metadata = file.metadata();
        let context = Config::new(metadata)?.context.min(DEFAULT_CONTEXT);
        let model = Model::new(&file, Some(context))?;
        let tokenizer = Arc::new(Tokenizer::from_metadata(metadata)?);
        let prompts = PromptEncoder::new(Arc::clone(&tokenizer), metadata)?;
        let devices = [self.hal().clone()];
        let forward = DeviceModel::load(Arc::clone(&file), model, &devices, &Options::default(), &|_, _| {})?;
        let engine = Engine::start(Box::new(forward), tokenizer, Settings::default());
        Ok(LanguageModel { engine, prompts })
    }
}

impl LanguageModel {
    /// Answers a conversation of `(role, content)` messages, through the model's chat template.
    ///
    /// # Errors
    /// A conversation that the template rejects or that exceeds the context.
    pub fn chat(&self, messages: &[(&str, &str)]) -> Result<TextStream, Error> {
        let messages = messages.iter().map(|(role, content)| message(role, content)).collect();
        let prompt = self.prompts.encode_conversation(messages)?;
        self.generate(Request { prompt, ..Request::default() })
    }

    /// Continues a text, without a chat template.
    ///
    /// # Errors
    /// A text that exceeds the context.
    pub fn complete(&self, text: &str) -> Result<TextStream, Error> {
        self.generate(Request { prompt: self.prompts.encode(text, false), ..Request::default() })
    }

    /// Runs a request with all its settings: token limit, sampling, stop strings, grammar.
    ///
    /// # Errors
    /// A prompt that exceeds the context, or a lost device.
    pub fn generate(&self, request: Request) -> Result<TextStream, Error> {
        Ok(TextStream { generation: self.engine.generate(request)? })
    }

    /// Encodes text and conversations for [`generate`](Self::generate).
    pub fn prompts(&self) -> &PromptEncoder {
        &self.prompts
    }

    /// The underlying engine, with its statistics and embeddings.
    pub fn engine(&self) -> &Engine {
        &self.engine
    }
}

/// The text of an answer, streamed as the model generates it. Dropping it cancels the request.
#[derive(Debug)]
pub struct TextStream {
    generation: Generation,
}

impl TextStream {
    /// Waits for the whole text.
    ///
    /// # Errors
    /// A device that is lost during generation.
    pub fn text(self) -> Result<String, Error> {
        self.collect()
    }
}

impl Iterator for TextStream {
    type Item = Result<String, Error>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            let text = match self.generation.next()? {
                Event::Token(token) => token.text,
                Event::Finished(summary) => summary.text,
                Event::Failed(error) => return Some(Err(error.into())),
                _ => continue,
            };
            if !text.is_empty() {
                return Some(Ok(text));
            }
        }
    }
}
