//! A model's file as something that answers: for `run`, `chat` and `serve` alike.

use std::path::Path;
use std::sync::Arc;

use indicatif::ProgressBar;
use roci_engine::{Engine, Forward, Settings};
use roci_gguf::Gguf;
use roci_hal::registry::AUTO;
use roci_hal::{Device, Registry, env};
use roci_llm::architecture::Model;
use roci_llm::json::Json;
use roci_llm::template::{ChatTemplate, Conversation};
use roci_llm_device::{CacheType, DeviceModel, estimate};
use roci_tokenizer::{Encode, Tokenizer};

use super::LanguageError;
use crate::cli::DriverArgs;
use crate::commands::auto;
use crate::printer::Printer;
use crate::registry::registry;
use crate::units;

/// The longest text where nobody says how long: keys and values of a model's whole context may not fit.
const USUAL_CONTEXT: u32 = 4096;

/// What `ROCI_BAKE` says of compiling kernels for the model.
pub(crate) fn bake() -> Result<Option<bool>, LanguageError> {
    match env::BAKE.get().as_deref() {
        None | Some("on") => Ok(None),
        Some("off") => Ok(Some(false)),
        Some(other) => {
            let wrong = roci_hal::Error::invalid(env::BAKE.name, format!("it is `{other}`"));
            Err(wrong.hinted("set it to `on` or `off`").into())
        }
    }
}

/// How a model is loaded.
#[derive(Debug)]
pub(crate) struct Options<'a> {
    /// Devices to run on, in their order; the best real one if there is none.
    pub(crate) devices: &'a [String],
    /// The longest text.
    pub(crate) context: Option<u32>,
    /// How keys and values are kept.
    pub(crate) cache: Option<CacheType>,
    /// Whether nothing is rounded to bytes on GPUs.
    pub(crate) exact: bool,
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
    let file = Arc::new(file);
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
    let forward = forward(Arc::clone(&file), model, options, drivers, printer, &mut about)?;
    let engine = Engine::start(forward, Arc::clone(&tokenizer), options.settings.clone());
    about.context = engine.context();
    let own_template = template.note().is_none();
    Ok(Loaded { engine, tokenizer, template, own_template, about })
}

/// Puts a model on devices, with a bar while that takes.
fn forward(
    file: Arc<Gguf>,
    model: Model,
    options: &Options<'_>,
    drivers: &DriverArgs,
    printer: &Printer,
    about: &mut About,
) -> Result<Box<dyn Forward>, LanguageError> {
    let registry = registry(drivers);
    let (devices, options) = place(&registry, &file, &model, options, printer)?;
    about.devices = devices.iter().map(|device| device.info().uri.to_string()).collect();
    let bar = printer.progress(1);
    bar.set_message(format!("loading {} ({})", about.name, units::bytes(about.file_bytes)));
    let tell = |done: u64, total: u64| {
        bar.set_length(total);
        bar.set_position(done);
    };
    let mut forward = DeviceModel::load(file, model, &devices, &options, &tell)?;
    load_kernels(&mut forward, &bar)?;
    bar.finish_and_clear();
    Ok(Box::new(forward))
}

/// Loads the kernels of a model, which most devices compile the first time, with a bar meanwhile.
pub(crate) fn load_kernels(model: &mut DeviceModel, bar: &ProgressBar) -> Result<(), roci_llm_device::Error> {
    bar.set_message("compiling kernels");
    model.load_kernels(&|done, total| {
        bar.set_length(total as u64);
        bar.set_position(done as u64);
    })
}

/// Opens the devices that a model shall run on: those that are named, or the best real one, with the CPU beside it for what does not fit.
fn place(
    registry: &Registry,
    file: &Gguf,
    model: &Model,
    options: &Options<'_>,
    printer: &Printer,
) -> Result<(Vec<Device>, roci_llm_device::Options), LanguageError> {
    let named = auto::named(options.devices, printer);
    let uris = named.iter().map(|text| registry.parse(text)).collect::<Result<Vec<_>, _>>()?;
    let open = |uri| registry.open(&auto::resolve(registry, uri, printer)?, None);
    let mut devices = uris.into_iter().map(open).collect::<Result<Vec<_>, _>>()?;
    let fits = |devices: &[Device], wanted: &roci_llm_device::Options| {
        let infos: Vec<_> = devices.iter().map(Device::info).collect();
        estimate(file, model, &infos, wanted)
    };
    let one = model.context as usize;
    let cache = options.cache.unwrap_or_default();
    let exact = options.exact;
    let bake = bake()?;
    let wanted = |kept: usize| roci_llm_device::Options { cache, exact, bake, kept: Some(kept), ..Default::default() };
    // Texts share the memory of keys and values: as many as are worked on together where that fits, and one at the least.
    let all = wanted(one.saturating_mul(options.settings.together.max(1)));
    if fits(&devices, &all).is_ok() {
        return Ok((devices, all));
    }
    let least = wanted(one);
    if let Err(error) = fits(&devices, &least) {
        let on_cpu = devices.iter().any(|device| roci_kernels::takes_native(device.info()));
        if named != [AUTO] || on_cpu {
            return Err(error.into());
        }
        devices.push(registry.open(&registry.parse("cpu")?, None)?);
        let shares = fits(&devices, &least)?.shares;
        let layers = shares.first().map_or(0, |share| share.layers.len());
        printer.note(&format!("{error}: it has {layers} of {} layers, the CPU the others", model.layers.len()));
    }
    Ok((devices, least))
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
