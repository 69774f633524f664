//! Loads a model file for `run`, `chat` and `serve`.

use std::path::Path;
use std::sync::Arc;

use indicatif::ProgressBar;
use roci_base::env;
use roci_engine::{Engine, Image, PromptEncoder, Settings, encode_with_images};
use roci_gguf::Gguf;
use roci_hal::registry::AUTO;
use roci_hal::{Device, Registry};
use roci_lm::architecture::Model;
use roci_lm::llama2c;
use roci_lm_device::{CacheType, DeviceModel, ModelAdapter};
use roci_tokenizer::Tokenizer;

use super::adapters;
use super::placement::{self, DevicePlacement};
use super::vision::{Vision, VisionFile};
use super::{LanguageError, speculation};
use crate::cli::{AdapterArgs, DriverArgs, SpeculationArgs};
use crate::commands::auto;
use crate::printer::Printer;
use crate::registry::registry;
use roci_probe::units;

/// Default context size in tokens: the KV cache of a model's whole context may not fit in memory.
const DEFAULT_CONTEXT: u32 = 4096;
/// Default tokens per batch if images must be evaluated in one batch.
const DEFAULT_BATCH: usize = 512;

/// Whether `ROCI_SPECIALIZE` permits kernels specialized for the model; `None` leaves the choice to
/// the device.
pub(crate) fn specialize() -> Result<Option<bool>, LanguageError> {
    match env::SPECIALIZE.get().as_deref() {
        None | Some("on") => Ok(None),
        Some("off") => Ok(Some(false)),
        Some(other) => {
            let error = roci_hal::Error::invalid(env::SPECIALIZE.name, format!("it is `{other}`"));
            Err(error.with_hint("set it to `on` or `off`").into())
        }
    }
}

/// Options for loading a model.
#[derive(Debug)]
pub(crate) struct LoadOptions<'a> {
    /// Devices to run on, in order; if empty, the best real device.
    pub(crate) devices: &'a [String],
    /// Context size in tokens; `None` for the default.
    pub(crate) context: Option<u32>,
    /// Data type of the KV cache.
    pub(crate) cache: Option<CacheType>,
    /// Whether activations are never quantized to int8 on GPUs.
    pub(crate) exact: bool,
    /// Speculative decoding.
    pub(crate) speculation: &'a SpeculationArgs,
    /// The model's mmproj file, for images.
    pub(crate) mmproj: Option<&'a Path>,
    /// LoRA adapters of the model.
    pub(crate) adapters: &'a AdapterArgs,
    /// Number of leading layers whose experts run on the CPU; if `None`, chosen by memory.
    pub(crate) experts: Option<usize>,
    /// Batching settings of the engine.
    pub(crate) settings: Settings,
}

#[derive(Debug)]
pub(crate) struct LoadedModel {
    /// The engine with the model on its devices.
    pub(crate) engine: Engine,
    /// Encodes prompts with the model's tokenizer and chat template.
    pub(crate) prompts: PromptEncoder,
    /// The vision tower, if `--mmproj` is given.
    pub(crate) vision: Option<Arc<Vision>>,
    pub(crate) summary: ModelSummary,
}

impl LoadedModel {
    /// Tokens of a text in which markers stand for images.
    pub(crate) fn with_images(
        &self,
        text: &str,
        marker: &str,
        images: &[Arc<Image>],
        parse_special: bool,
    ) -> Result<Vec<u32>, LanguageError> {
        let start = |text: &str| self.prompts.encode(text, parse_special);
        Ok(encode_with_images(&self.prompts.tokenizer, text, marker, images, start)?)
    }
}

/// Properties of a model for display.
#[derive(Clone, Debug, serde::Serialize)]
pub(crate) struct ModelSummary {
    /// The name in the metadata, else the file name.
    pub(crate) name: String,
    /// `general.architecture` of the metadata.
    pub(crate) architecture: &'static str,
    /// Number of parameters.
    pub(crate) parameters: u64,
    /// Total size of the model's files in bytes.
    pub(crate) file_bytes: u64,
    /// Context size in use, in tokens.
    pub(crate) context: usize,
    /// Context size that the model was trained with, in tokens.
    pub(crate) trained_context: u32,
    /// URIs of the devices that it runs on.
    pub(crate) devices: Vec<String>,
    /// Layers and bytes on each device.
    pub(crate) placement: Vec<DevicePlacement>,
}

/// Loads a model. The file is checked and described first, so that errors in it are reported before
/// anything slow starts.
pub(crate) fn load(
    path: &Path,
    options: &LoadOptions<'_>,
    drivers: &DriverArgs,
    printer: &Printer,
) -> Result<LoadedModel, LanguageError> {
    let file = Arc::new(open(path)?);
    let vision = options.mmproj.map(VisionFile::open).transpose()?;
    let metadata = file.metadata();
    let trained = roci_lm::architecture::Config::new(metadata)?.context;
    let context = options.context.unwrap_or(trained.min(DEFAULT_CONTEXT));
    if context > trained {
        printer.note(&format!(
            "the context exceeds the {trained} tokens that the model was trained with: longer answers get worse"
        ));
    }
    let model = Model::new(&file, Some(context))?;
    let adapters = adapters::open(options.adapters, &file, &model)?;
    let tokenizer = Arc::new(Tokenizer::from_metadata(metadata)?);
    if tokenizer.len() > model.config.vocabulary {
        let vocabulary = model.config.vocabulary;
        return Err(LanguageError::Vocabulary { tokens: tokenizer.len(), vocabulary });
    }
    let prompts =
        PromptEncoder::new(Arc::clone(&tokenizer), metadata).map_err(roci_lm::architecture::ModelError::from)?;

    let name = model.config.name.clone().filter(|name| !name.is_empty());
    let file_name = || path.file_stem().unwrap_or(path.as_os_str()).to_string_lossy().into_owned();
    let mut summary = ModelSummary {
        name: name.unwrap_or_else(file_name),
        architecture: model.config.architecture,
        parameters: file.tensors().map(|tensor| tensor.info().values()).sum(),
        file_bytes: file.file_bytes(),
        context: context as usize,
        trained_context: trained,
        devices: Vec::new(),
        placement: Vec::new(),
    };
    let drafts = speculation::open(options.speculation, &file, &tokenizer, context)?;
    let registry = registry(drivers);
    let (devices, mut device_options) = open_devices(&registry, (&file, &model, &adapters), options, printer)?;
    if let Some(rows) = vision.as_ref().map(|vision| vision.batch_rows(&model.config)).filter(|rows| *rows > 0) {
        device_options.max_batch_tokens = Some((rows + options.settings.max_batch).max(DEFAULT_BATCH));
    }
    let first = devices.first().cloned().ok_or_else(|| roci_hal::Error::invalid("--device", "no device is given"))?;
    if let Some(note) =
        placement::larger_than_memory(&file, &devices, &placement::fits(&file, &model, &devices, &device_options)?)
    {
        printer.note(&note);
    }
    summary.devices = devices.iter().map(|device| device.info().uri.to_string()).collect();
    let message = format!("loading {} ({})", summary.name, units::bytes(summary.file_bytes));
    let forward = load_on_devices(&file, model, &devices, &device_options, &message, printer)?;
    summary.placement = placement::placement(&devices, forward.estimate());
    let load = |vision: VisionFile| vision.load(first, &forward);
    let vision = vision.map(load).transpose()?.map(Arc::new);
    // A prediction head is one layer, on the device with the model's last layers.
    let last = &devices[devices.len().saturating_sub(1)..];
    let load = |file: &Arc<Gguf>, model: Model, message: &str| {
        let devices = if model.prediction_input.is_some() { last } else { &devices };
        let options = roci_lm_device::Options { cpu_expert_layers: 0, adapters: Vec::new(), ..device_options.clone() };
        load_on_devices(file, model, devices, &options, message, printer)
    };
    let speculation = speculation::start(options.speculation, drafts, (&file, &forward), load)?;
    let engine = Engine::start_with(Box::new(forward), tokenizer, options.settings.clone(), speculation);
    summary.context = engine.context();
    Ok(LoadedModel { engine, prompts, vision, summary })
}

/// Opens a GGUF file.
pub(crate) fn open(path: &Path) -> Result<Gguf, LanguageError> {
    Gguf::open(path).map_err(|source| match llama2c::is_checkpoint(path) {
        Ok(true) => LanguageError::Checkpoint { path: path.to_owned() },
        _ => LanguageError::File { path: path.to_owned(), source },
    })
}

/// Uploads a model to its devices and compiles its kernels, with a progress bar.
pub(super) fn load_on_devices(
    file: &Arc<Gguf>,
    model: Model,
    devices: &[Device],
    options: &roci_lm_device::Options,
    message: &str,
    printer: &Printer,
) -> Result<DeviceModel, LanguageError> {
    let bar = printer.progress(1);
    bar.set_message(message.to_owned());
    let on_progress = |done: u64, total: u64| {
        bar.set_length(total);
        bar.set_position(done);
    };
    let mut forward = DeviceModel::load(Arc::clone(file), model, devices, options, &on_progress)?;
    load_kernels(&mut forward, &bar)?;
    bar.finish_and_clear();
    Ok(forward)
}

/// Loads the kernels of a model, with a progress bar, because most devices compile them on first
/// use.
pub(crate) fn load_kernels(model: &mut DeviceModel, bar: &ProgressBar) -> Result<(), roci_lm_device::Error> {
    bar.set_message("compiling kernels");
    model.load_kernels(&|done, total| {
        bar.set_length(total as u64);
        bar.set_position(done as u64);
    })
}

/// Opens the devices for a model: the named ones, else the best real device, plus the CPU for
/// layers that do not fit.
pub(super) fn open_devices(
    registry: &Registry,
    (file, model, adapters): (&Gguf, &Model, &[ModelAdapter]),
    options: &LoadOptions<'_>,
    printer: &Printer,
) -> Result<(Vec<Device>, roci_lm_device::Options), LanguageError> {
    let requested = auto::requested_uris(options.devices, printer);
    let uris = requested.iter().map(|text| registry.parse(text)).collect::<Result<Vec<_>, _>>()?;
    let open = |uri| registry.open(&auto::resolve(registry, uri, printer)?, None);
    let mut devices = uris.into_iter().map(open).collect::<Result<Vec<_>, _>>()?;
    if options.experts.is_some_and(|layers| layers > 0) {
        placement::add_cpu(registry, &mut devices)?;
    }
    let fits = |devices: &[Device], options: &roci_lm_device::Options| placement::fits(file, model, devices, options);
    let describe = |devices: &[Device], options: &roci_lm_device::Options| -> Result<String, LanguageError> {
        let placement = placement::placement(devices, &fits(devices, options)?);
        Ok(placement::describe(model, options, &placement))
    };
    let context = model.context as usize;
    let cache = options.cache.unwrap_or_default();
    let exact = options.exact;
    let specialize = specialize()?;
    // Speculation needs another state slot per sequence, for the state before a step.
    let speculates = options.speculation.method().is_some();
    let options_for = |sequences: usize| roci_lm_device::Options {
        cache,
        exact,
        specialize,
        cpu_expert_layers: options.experts.unwrap_or(0),
        adapters: adapters.to_vec(),
        cache_tokens: Some(context.saturating_mul(sequences)),
        state_slots: roci_lm_device::Options::state_slots(sequences) + if speculates { sequences } else { 0 },
        ..Default::default()
    };
    // Sequences share the KV cache and the slots of recurrent state, which are sized for
    // `max_batch` sequences if memory permits, and for at least one.
    let largest = options_for(options.settings.max_batch.max(1));
    if fits(&devices, &largest).is_ok() {
        if largest.cpu_expert_layers > 0 {
            printer.note(&describe(&devices, &largest)?);
        }
        return Ok((devices, largest));
    }
    let smallest = options_for(1);
    if let Err(error) = fits(&devices, &smallest) {
        let on_cpu = devices.iter().any(|device| roci_kernels::runs_native_kernels(device.info()));
        if requested != [AUTO] || on_cpu {
            return Err(error.into());
        }
        placement::add_cpu(registry, &mut devices)?;
        let infos: Vec<_> = devices.iter().map(Device::info).collect();
        let split = placement::with_fewest_experts(file, model, &infos, &smallest);
        if let Some(split) = split.filter(|_| options.experts.is_none()) {
            printer.note(&format!("{error}: {}", describe(&devices, &split)?));
            return Ok((devices, split));
        }
        let shares = fits(&devices, &smallest)?.shares;
        let layers = shares.first().map_or(0, |share| share.layers.len());
        printer.note(&format!("{error}: {layers} of {} layers run on it, the others on the CPU", model.layers.len()));
    } else if smallest.cpu_expert_layers > 0 {
        printer.note(&describe(&devices, &smallest)?);
    }
    Ok((devices, smallest))
}
