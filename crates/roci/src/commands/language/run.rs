//! `roci run MODEL.gguf`: one answer.

use std::io::IsTerminal;
use std::time::{Duration, Instant};

use roci_engine::{End, Request, Settings};
use roci_llm::template::message;
use serde::Serialize;

use super::load::{About, Loaded, Options, load};
use super::{LanguageError, ask};
use crate::cli::{DriverArgs, RunArgs};
use crate::error::CliError;
use crate::exit::ExitStatus;
use crate::interrupt;
use crate::printer::Printer;

#[derive(Serialize)]
struct Report {
    schema: &'static str,
    version: u32,
    model: About,
    /// What was written.
    text: String,
    /// `end`, `stop`, `most`, `context` or `interrupted`.
    reason: &'static str,
    seed: u64,
    prompt_tokens: usize,
    tokens: usize,
    load_seconds: f64,
    /// From the first chunk of the prompt to the first token; null if it was interrupted.
    prompt_seconds: Option<f64>,
    /// From the first token to the last.
    generation_seconds: Option<f64>,
}

/// Continues a text, or answers it.
pub(crate) fn run(arguments: &RunArgs, drivers: &DriverArgs, printer: &Printer) -> Result<ExitStatus, CliError> {
    refuse_others(arguments)?;
    let language = &arguments.language;
    let request = ask::request(language, printer)?;
    let prompt = prompt(arguments)?;
    let options = Options {
        devices: &arguments.devices,
        context: language.context,
        cache: language.cache,
        exact: language.exact,
        settings: Settings { together: 1, waiting: 0 },
    };
    interrupt::listen();
    let begun = Instant::now();
    let loaded = load(&arguments.model, &options, drivers, printer)?;
    let load_seconds = begun.elapsed().as_secs_f64();
    let prompt = tokens(&loaded, arguments, &prompt)?;
    let (prompt_tokens, seed) = (prompt.len(), request.sampling.seed);
    let generation = loaded.engine.generate(Request { prompt, ..request }).map_err(LanguageError::from)?;
    let terminal = std::io::stdout().is_terminal();
    let answer = ask::read::<CliError>(generation, |text| {
        if !arguments.format.json {
            printer.data(&ask::harmless(text, terminal))?;
        }
        Ok(())
    })?;
    let end = answer.end.as_ref();
    if arguments.format.json {
        let seconds = |of: fn(&End) -> Duration| end.map(|end| of(end).as_secs_f64());
        printer.json(&Report {
            schema: "roci.answer",
            version: 1,
            model: loaded.about.clone(),
            reason: ask::reason(end),
            seed,
            prompt_tokens,
            tokens: answer.tokens,
            load_seconds,
            prompt_seconds: seconds(|end| end.timings.prompt),
            generation_seconds: seconds(|end| end.timings.generation),
            text: answer.text,
        })?;
    } else if !answer.text.ends_with('\n') {
        printer.data("\n")?;
    }
    if let Some(end) = end.filter(|_| arguments.text.stats) {
        printer.note(&ask::statistics(end, seed));
    }
    loaded.engine.shut_down(Duration::ZERO);
    Ok(if interrupt::asked() { ExitStatus::Interrupted } else { ExitStatus::Success })
}

/// Options for other models would be passed over in silence.
fn refuse_others(arguments: &RunArgs) -> Result<(), LanguageError> {
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

/// The prompt as the model wants it.
fn tokens(loaded: &Loaded, arguments: &RunArgs, prompt: &str) -> Result<Vec<u32>, LanguageError> {
    let system = arguments.language.system.as_deref();
    // A model without a template was not made for talk, unless somebody wants it to.
    if arguments.text.raw || (!loaded.own_template && system.is_none()) {
        return Ok(loaded.tokens(prompt, false));
    }
    let system = system.map(|text| message("system", text));
    loaded.conversation(system.into_iter().chain([message("user", prompt)]).collect())
}
