//! `roci perplexity`: how well a language model predicts a text.

use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use roci_engine::{EngineError, Forward as _, PromptEncoder, Settings};
use roci_lm::architecture::{Model, ModelError};
use roci_lm_bench::{Perplexity, perplexity};
use roci_probe::units;
use roci_tokenizer::Tokenizer;
use serde::Serialize;

use super::load::{LoadOptions, load_on_devices, open, open_devices};
use super::{LanguageError, adapters};
use crate::cli::{DriverArgs, PerplexityArgs, SpeculationArgs};
use crate::error::CliError;
use crate::exit::ExitStatus;
use crate::interrupt;
use crate::printer::Printer;
use crate::registry::registry;

#[derive(Serialize)]
struct Report {
    schema: &'static str,
    version: u32,
    model: String,
    devices: Vec<String>,
    /// Tokens of the text, counted or not.
    text_tokens: usize,
    /// Tokens of a chunk.
    context: usize,
    chunks: usize,
    /// Predictions that were counted.
    tokens: usize,
    /// Mean negative log-likelihood in nats.
    loss: f64,
    perplexity: f64,
    standard_error: f64,
    /// The perplexity of the text up to the end of each chunk.
    after_chunk: Vec<f64>,
    /// Negative log-likelihood of each counted token in nats, with `--losses`.
    losses: Option<Vec<f32>>,
    seconds: f64,
    /// Whether it ended before the last chunk.
    interrupted: bool,
}

pub(crate) fn run(arguments: &PerplexityArgs, drivers: &DriverArgs, printer: &Printer) -> Result<ExitStatus, CliError> {
    let text = text(&arguments.file)?;
    interrupt::listen();
    let file = Arc::new(open(&arguments.model)?);
    let model = Model::new(&file, Some(arguments.context)).map_err(LanguageError::from)?;
    let tokenizer = Arc::new(Tokenizer::from_metadata(file.metadata()).map_err(LanguageError::from)?);
    let prompts = PromptEncoder::new(Arc::clone(&tokenizer), file.metadata())
        .map_err(|error| LanguageError::from(ModelError::from(error)))?;
    let tokens = prompts.encode(&text, false);
    let context = arguments.context as usize;
    let available = tokens.len() / context;
    if available == 0 {
        return Err(LanguageError::ShortText { tokens: tokens.len(), context }.into());
    }
    let chunks = arguments.chunks.map_or(available, |chunks| available.min(chunks as usize));
    let special = tokenizer.special();
    let bos = special.bos.filter(|_| special.add_bos);

    let options = LoadOptions {
        devices: &arguments.devices,
        context: Some(arguments.context),
        cache: Some(arguments.cache_type),
        exact: arguments.exact,
        speculation: &SpeculationArgs::default(),
        mmproj: None,
        adapters: &arguments.adapters,
        experts: None,
        settings: Settings { max_batch: 1, max_waiting: 0 },
    };
    let registry = registry(drivers);
    let adapters = adapters::open(&arguments.adapters, &file, &model)?;
    let (devices, device_options) = open_devices(&registry, (&file, &model, &adapters), &options, printer)?;
    let message = format!("loading {} ({})", arguments.model.display(), units::bytes(file.file_bytes()));
    let mut forward = load_on_devices(&file, model, &devices, &device_options, &message, printer)?;
    if !forward.limits().causal {
        return Err(LanguageError::NoPredictions.into());
    }

    let bar = printer.progress(chunks);
    let started = Instant::now();
    let mut after_chunk = Vec::new();
    let sum = perplexity(&mut forward, &tokens, bos, context, chunks, |sum| {
        bar.set_message(format!("chunks, perplexity {:.4}", sum.value()));
        bar.set_position(sum.chunks as u64);
        after_chunk.push(sum.value());
        !interrupt::requested()
    });
    bar.finish_and_clear();
    let sum = sum.map_err(|error| LanguageError::from(EngineError::Device(error)))?;
    let report = Report {
        schema: "roci.perplexity",
        version: 1,
        model: arguments.model.display().to_string(),
        devices: devices.iter().map(|device| device.info().uri.to_string()).collect(),
        text_tokens: tokens.len(),
        context,
        chunks: sum.chunks,
        tokens: sum.losses.len(),
        loss: sum.loss(),
        perplexity: sum.value(),
        standard_error: sum.standard_error(),
        after_chunk,
        losses: arguments.losses.then(|| sum.losses.clone()),
        seconds: started.elapsed().as_secs_f64(),
        interrupted: sum.chunks < chunks,
    };
    if arguments.format.json {
        printer.json(&report)?;
    } else {
        printer.data(&sentence(&sum, &report))?;
    }
    Ok(if report.interrupted { ExitStatus::Interrupted } else { ExitStatus::Success })
}

fn sentence(sum: &Perplexity, report: &Report) -> String {
    format!(
        "perplexity {:.4} ± {:.4} ({} predictions in {} chunks of {} tokens, {})\n",
        sum.value(),
        sum.standard_error(),
        report.tokens,
        sum.chunks,
        report.context,
        units::seconds(report.seconds),
    )
}

fn text(path: &Path) -> Result<String, LanguageError> {
    let read = |source| LanguageError::Read { path: path.to_owned(), source };
    let bytes = match path.as_os_str() == "-" {
        true => crate::input::read_stdin().map_err(|error| LanguageError::Input(error.to_string()))?,
        false => crate::input::read(path).map_err(read)?,
    };
    String::from_utf8(bytes).map_err(|error| read(std::io::Error::new(std::io::ErrorKind::InvalidData, error)))
}
