//! `roci run MODEL.gguf`: one prompt, one answer. `load` makes the engine, [`Engine::generate`] is
//! the next stop.
//!
//! [`Engine::generate`]: roci_engine::Engine::generate

use std::io::IsTerminal;
use std::sync::Arc;
use std::time::{Duration, Instant};

use roci_engine::{Image, Request, Settings, Summary, image_marker};
use roci_lm::json::Json;
use roci_lm::template::message;
use serde::Serialize;

use super::load::{LoadOptions, LoadedModel, ModelSummary, load};
use super::{LanguageError, generate};
use crate::cli::{DriverArgs, RunArgs};
use crate::error::CliError;
use crate::exit::ExitStatus;
use crate::interrupt;
use crate::printer::Printer;

#[derive(Serialize)]
struct Report {
    schema: &'static str,
    version: u32,
    model: ModelSummary,
    /// The generated text.
    text: String,
    /// `end`, `stop`, `length`, `context` or `interrupted`.
    reason: &'static str,
    seed: u64,
    prompt_tokens: usize,
    /// Generated tokens.
    completion_tokens: usize,
    /// Tokens that speculation drafted; null if interrupted.
    drafted_tokens: Option<usize>,
    /// Drafted tokens that were accepted; null if interrupted.
    accepted_tokens: Option<usize>,
    /// The name of `completion_tokens` in version 1.
    tokens: usize,
    load_seconds: f64,
    /// From the start of prefill to the first generated token; null if interrupted.
    prompt_seconds: Option<f64>,
    /// From the first generated token to the last; null if interrupted.
    generation_seconds: Option<f64>,
}

/// Answers or continues the prompt.
pub(crate) fn run(arguments: &RunArgs, drivers: &DriverArgs, printer: &Printer) -> Result<ExitStatus, CliError> {
    reject_onnx_options(arguments)?;
    let language = &arguments.language;
    let request = generate::request(language, printer)?;
    let prompt = prompt(arguments)?;
    let options = LoadOptions {
        devices: &arguments.devices,
        context: language.context,
        cache: language.cache_type,
        exact: language.exact,
        speculation: &language.speculation,
        mmproj: language.mmproj.as_deref(),
        adapters: &language.adapters,
        experts: language.experts.layers(),
        settings: Settings { max_batch: 1, max_waiting: 0 },
    };
    interrupt::listen();
    let started = Instant::now();
    let loaded = load(&arguments.model, &options, drivers, printer)?;
    let load_seconds = started.elapsed().as_secs_f64();
    let (prompt, images) = tokens(&loaded, arguments, &prompt)?;
    let (prompt_tokens, seed) = (prompt.len(), request.sampling.seed);
    let generation = loaded.engine.generate(Request { prompt, images, ..request }).map_err(LanguageError::from)?;
    let terminal = std::io::stdout().is_terminal();
    let answer = generate::read_answer::<CliError>(generation, |text| {
        if !arguments.format.json {
            printer.data(&generate::sanitized(text, terminal))?;
        }
        Ok(())
    })?;
    let end = answer.end.as_ref();
    if arguments.format.json {
        let seconds = |of: fn(&Summary) -> Duration| end.map(|end| of(end).as_secs_f64());
        printer.json(&Report {
            schema: "roci.answer",
            version: 2,
            model: loaded.summary.clone(),
            reason: generate::reason(end),
            seed,
            prompt_tokens,
            completion_tokens: answer.tokens,
            drafted_tokens: end.map(|end| end.drafted_tokens),
            accepted_tokens: end.map(|end| end.accepted_tokens),
            tokens: answer.tokens,
            load_seconds,
            prompt_seconds: seconds(|end| end.timings.prefill),
            generation_seconds: seconds(|end| end.timings.decode),
            text: answer.text,
        })?;
    } else if !answer.text.ends_with('\n') {
        printer.data("\n")?;
    }
    if let Some(end) = end.filter(|_| arguments.text.stats) {
        printer.note(&generate::statistics(end, seed));
    }
    loaded.engine.shut_down(Duration::ZERO);
    Ok(if interrupt::requested() { ExitStatus::Interrupted } else { ExitStatus::Success })
}

/// Rejects options for ONNX models instead of ignoring them.
fn reject_onnx_options(arguments: &RunArgs) -> Result<(), LanguageError> {
    let given = [
        ("--input", !arguments.inputs.is_empty()),
        ("--dim", !arguments.dims.is_empty()),
        ("--output", arguments.output.is_some()),
        ("--profile", arguments.profile.is_some()),
        ("--repeat", arguments.repeat != 1),
    ];
    match given.into_iter().find(|(_, given)| *given) {
        Some((option, _)) => Err(LanguageError::Option { option, kind: "language models" }),
        None => Ok(()),
    }
}

fn prompt(arguments: &RunArgs) -> Result<String, LanguageError> {
    match arguments.text.prompt.as_deref() {
        None => Err(LanguageError::NoPrompt),
        Some("-") => {
            let bytes = crate::input::read_stdin().map_err(|error| LanguageError::Input(error.to_string()))?;
            String::from_utf8(bytes).map_err(|_| LanguageError::Input("it is not UTF-8".to_owned()))
        }
        Some(text) => Ok(text.to_owned()),
    }
}

/// Tokens of the prompt and the images before it, with the chat template if there is one.
fn tokens(
    loaded: &LoadedModel,
    arguments: &RunArgs,
    prompt: &str,
) -> Result<(Vec<u32>, Vec<Arc<Image>>), LanguageError> {
    let paths = &arguments.text.images;
    let images = match (&loaded.vision, &paths[..]) {
        (_, []) => return Ok((text_tokens(loaded, arguments, prompt)?, Vec::new())),
        (None, _) => return Err(LanguageError::NoVision),
        (Some(vision), paths) => {
            paths.iter().map(|path| vision.image(path, &loaded.engine)).collect::<Result<Vec<_>, _>>()?
        }
    };
    let marker = image_marker();
    let text = format!("{}{prompt}", marker.repeat(images.len()));
    let (text, special) = match conversation(loaded, arguments, &text) {
        Some(messages) => (loaded.prompts.render(messages)?, true),
        None => (text, false),
    };
    let tokens = loaded.with_images(&text, &marker, &images, special)?;
    Ok((tokens, images))
}

/// Tokens of a prompt without images.
fn text_tokens(loaded: &LoadedModel, arguments: &RunArgs, prompt: &str) -> Result<Vec<u32>, LanguageError> {
    Ok(match conversation(loaded, arguments, prompt) {
        Some(messages) => loaded.prompts.encode_conversation(messages)?,
        None => loaded.prompts.encode(prompt, false),
    })
}

/// The conversation of a prompt; `None` to continue the prompt as plain text.
fn conversation(loaded: &LoadedModel, arguments: &RunArgs, prompt: &str) -> Option<Vec<Json>> {
    let system = arguments.language.system.as_deref();
    // A model without a chat template continues the text, unless a system prompt asks for a
    // conversation.
    if arguments.text.raw || (!loaded.prompts.has_own_template() && system.is_none()) {
        return None;
    }
    let system = system.map(|text| message("system", text));
    Some(system.into_iter().chain([message("user", prompt)]).collect())
}
