//! A model's file as something that answers: for `run`, `chat` and `serve` alike.

use std::path::Path;
use std::sync::Arc;

use roci_engine::{Engine, Forward, ReferenceForward, Room, Settings};
use roci_gguf::Gguf;
use roci_llm::architecture::Model;
use roci_llm::json::Json;
use roci_llm::reference::Reference;
use roci_llm::template::{ChatTemplate, Conversation};
use roci_tokenizer::{Encode, Tokenizer};

use super::LanguageError;
use crate::cli::DriverArgs;
use crate::printer::Printer;
use crate::registry::registry;
use crate::units;

/// The longest text where nobody says how long: keys and values of a model's whole context may not fit.
const USUAL_CONTEXT: u32 = 4096;

/// How a model is loaded.
#[derive(Debug)]
pub(crate) struct Options<'a> {
    /// Devices to run on, in their order; the best real one if there is none.
    pub(crate) devices: &'a [String],
    /// The longest text.
    pub(crate) context: Option<u32>,
    /// How requests share the device.
    pub(crate) settings: Settings,
}

/// A model that answers.
#[derive(Debug)]
pub(crate) struct Loaded {
    pub(crate) engine: Engine,
    pub(crate) tokenizer: Arc<Tokenizer>,
    pub(crate) template: ChatTemplate,
    /// Whether the template is the model's own.
    pub(crate) own_template: bool,
    pub(crate) about: About,
}

/// What people want to know of a model.
#[derive(Clone, Debug, serde::Serialize)]
pub(crate) struct About {
    /// Its name, or that of its file.
    pub(crate) name: String,
    /// `general.architecture`.
    pub(crate) architecture: &'static str,
    /// How many numbers it has learnt.
    pub(crate) parameters: u64,
    /// Bytes of its files.
    pub(crate) file_bytes: u64,
    /// The longest text here.
    pub(crate) context: usize,
    /// The longest text that it was trained for.
    pub(crate) trained_context: u32,
    /// What it runs on.
    pub(crate) devices: Vec<String>,
}

/// Loads a model: the file is checked and described first, so that what is wrong with it is told before anything takes long.
pub(crate) fn load(
    path: &Path,
    options: &Options<'_>,
    drivers: &DriverArgs,
    printer: &Printer,
) -> Result<Loaded, LanguageError> {
    let file = Gguf::open(path).map_err(|source| LanguageError::File { path: path.to_owned(), source })?;
    let metadata = file.metadata();
    let trained = roci_llm::architecture::Config::new(metadata)?.context;
    let context = options.context.unwrap_or(trained.min(USUAL_CONTEXT));
    if context > trained {
        printer.note(&format!("the model was trained for {trained} tokens: beyond them answers get worse"));
    }
    let model = Model::new(&file, Some(context))?;
    let tokenizer = Arc::new(Tokenizer::from_metadata(metadata)?);
    if tokenizer.len() > model.config.vocabulary {
        let vocabulary = model.config.vocabulary;
        return Err(LanguageError::Vocabulary { tokens: tokenizer.len(), vocabulary });
    }
    let source = metadata.get::<&str>("tokenizer.chat_template").map_err(roci_llm::architecture::ModelError::from)?;
    let text = |token: Option<u32>| token.and_then(|token| tokenizer.text(token)).unwrap_or_default();
    let special = tokenizer.special();
    let template = ChatTemplate::of_model(source, text(special.bos), text(special.eos));

    let name = model.config.name.clone().filter(|name| !name.is_empty());
    let file_name = || path.file_stem().unwrap_or(path.as_os_str()).to_string_lossy().into_owned();
    let mut about = About {
        name: name.unwrap_or_else(file_name),
        architecture: model.config.architecture,
        parameters: file.tensors().map(|tensor| tensor.info().values()).sum(),
        file_bytes: file.file_bytes(),
        context: context as usize,
        trained_context: trained,
        devices: Vec::new(),
    };
    let forward = forward(&file, model, options, drivers, printer, &mut about)?;
    let engine = Engine::start(forward, Arc::clone(&tokenizer), options.settings.clone());
    about.context = engine.context();
    let own_template = template.note().is_none();
    Ok(Loaded { engine, tokenizer, template, own_template, about })
}

/// Puts a model on devices, with a bar while that takes.
fn forward(
    file: &Gguf,
    model: Model,
    options: &Options<'_>,
    drivers: &DriverArgs,
    printer: &Printer,
    about: &mut About,
) -> Result<Box<dyn Forward>, LanguageError> {
    let registry = registry(drivers);
    for device in options.devices {
        registry.parse(device)?;
    }
    let bar = printer.progress(1);
    bar.set_message(format!("loading {} ({})", about.name, units::bytes(about.file_bytes)));
    let mut progress = |done: usize, total: usize| {
        bar.set_length(total as u64);
        bar.set_position(done as u64);
    };
    let room = Room::for_texts(about.context, options.settings.together);
    // In the place of this line comes the crate that puts models on devices.
    let forward = ReferenceForward::new(Reference::with_progress(file, model, &mut progress)?, room);
    about.devices = vec!["reference".to_owned()];
    if !options.devices.is_empty() {
        printer.note("language models run on no device yet: this one is evaluated by the slow reference");
    }
    bar.finish_and_clear();
    Ok(Box::new(forward))
}

impl Loaded {
    /// The tokens of a prompt; `parse_special` takes the spelling of control tokens for them, as templates want it.
    pub(crate) fn tokens(&self, text: &str, parse_special: bool) -> Vec<u32> {
        let special = self.tokenizer.special();
        let bos = special.bos.and_then(|bos| self.tokenizer.text(bos)).filter(|bos| !bos.is_empty());
        // Many templates write the token that starts a text themselves, and it must not be there twice.
        let written = parse_special && bos.is_some_and(|bos| text.starts_with(bos));
        let mut tokens = self.tokenizer.encode(text, Encode { add_special: !written, parse_special });
        // A prompt does not end: it is gone on from.
        if !written && special.add_eos && special.eos.is_some() && tokens.last() == special.eos.as_ref() {
            tokens.pop();
        }
        tokens
    }

    /// The tokens of a conversation that is to be answered now.
    pub(crate) fn conversation(&self, messages: Vec<Json>) -> Result<Vec<u32>, LanguageError> {
        Ok(self.tokens(&self.template.render(&Conversation::new(messages))?, true))
    }
}
