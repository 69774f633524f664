//! Requests from command-line options, and answers as they are generated.

use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

use roci_engine::{Event, FinishReason, Generation, Request, Summary};
use roci_lm::grammar::Grammar;
use roci_lm::json::Json;
use roci_lm::sample;

use super::LanguageError;
use crate::cli::{LanguageArgs, SamplingArgs};
use crate::interrupt;
use crate::printer::Printer;
use roci_probe::units;

/// A request with everything but the prompt.
pub(super) fn request(arguments: &LanguageArgs, printer: &Printer) -> Result<Request, LanguageError> {
    Ok(Request {
        max_tokens: arguments.max_tokens,
        sampling: sampling(&arguments.sampling),
        stop: arguments.stops.clone(),
        grammar: grammar(arguments, printer)?,
        ..Request::default()
    })
}

fn sampling(arguments: &SamplingArgs) -> sample::Settings {
    let defaults = sample::Settings::default();
    sample::Settings {
        logit_bias: Vec::new(),
        repeat_penalty: arguments.repeat_penalty.unwrap_or(defaults.repeat_penalty),
        frequency_penalty: arguments.frequency_penalty.unwrap_or(defaults.frequency_penalty),
        presence_penalty: arguments.presence_penalty.unwrap_or(defaults.presence_penalty),
        penalty_window: arguments.repeat_last_n.unwrap_or(defaults.penalty_window),
        top_k: arguments.top_k.unwrap_or(defaults.top_k),
        top_p: arguments.top_p.unwrap_or(defaults.top_p),
        min_p: arguments.min_p.unwrap_or(defaults.min_p),
        temperature: arguments.temperature.unwrap_or(defaults.temperature),
        seed: arguments.seed.unwrap_or_else(random_seed),
    }
}

/// A random seed, short enough to type.
fn random_seed() -> u64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |now| now.as_nanos() as u64);
    sample::Random::new(now).bits(u64::from(std::process::id())) % 1_000_000
}

fn grammar(arguments: &LanguageArgs, printer: &Printer) -> Result<Option<Grammar>, LanguageError> {
    let invalid = |path: &Path| {
        let path = path.to_owned();
        move |source| LanguageError::Grammar { path, source }
    };
    if let Some(path) = &arguments.grammar {
        return Grammar::parse(&read_text(path)?).map(Some).map_err(invalid(path));
    }
    let Some(path) = &arguments.json_schema else { return Ok(None) };
    let inline = path.to_str().filter(|text| text.trim_start().starts_with('{'));
    let text = inline.map_or_else(|| read_text(path), |text| Ok(text.to_owned()))?;
    let schema = Json::parse(&text)
        .map_err(|error| LanguageError::Json { path: path.clone(), reason: format!("it is not JSON: {error}") })?;
    let (grammar, written) = Grammar::of_schema(&schema).map_err(invalid(path))?;
    if !written.unchecked.is_empty() {
        printer
            .note(&format!("the grammar does not enforce these parts of the schema: {}", written.unchecked.join(", ")));
    }
    Ok(Some(grammar))
}

/// Reads a UTF-8 file.
fn read_text(path: &Path) -> Result<String, LanguageError> {
    let bytes = crate::input::read(path).map_err(|source| LanguageError::Read { path: path.to_owned(), source })?;
    let reason = "it is not UTF-8".to_owned();
    String::from_utf8(bytes).map_err(|_| LanguageError::Json { path: path.to_owned(), reason })
}

/// The result of a request.
pub(super) struct GenerationResult {
    pub(super) text: String,
    /// Why and when it ended; `None` if it was interrupted.
    pub(super) end: Option<Summary>,
    /// Generated tokens.
    pub(super) tokens: usize,
}

/// Reads an answer to its end and passes on each piece of text. Ctrl-C stops it.
pub(super) fn read_answer<E: From<LanguageError>>(
    generation: Generation,
    mut on_text: impl FnMut(&str) -> Result<(), E>,
) -> Result<GenerationResult, E> {
    let mut answer = GenerationResult { text: String::new(), end: None, tokens: 0 };
    for event in generation {
        let text = match event {
            Event::Token(token) => {
                answer.tokens += 1;
                token.text
            }
            Event::Finished(end) => {
                let text = end.text.clone();
                answer.end = Some(end);
                text
            }
            Event::Failed(error) => return Err(LanguageError::from(error).into()),
            _ => String::new(),
        };
        if !text.is_empty() {
            on_text(&text)?;
            answer.text.push_str(&text);
        }
        if interrupt::requested() {
            break;
        }
    }
    Ok(answer)
}

/// Replaces control characters for terminals: a model may generate escape sequences.
pub(super) fn sanitized(text: &str, terminal: bool) -> String {
    let is_escape = |one: char| one.is_control() && !matches!(one, '\n' | '\t');
    text.chars().map(|one| if terminal && is_escape(one) { char::REPLACEMENT_CHARACTER } else { one }).collect()
}

/// Why an answer ended, as in JSON.
pub(super) fn reason(end: Option<&Summary>) -> &'static str {
    match end.map(|end| end.reason) {
        None => "interrupted",
        Some(FinishReason::EndOfGeneration) => "end",
        Some(FinishReason::Stop(_)) => "stop",
        Some(FinishReason::Length) => "length",
        Some(FinishReason::Context) => "context",
    }
}

/// Token counts and speeds of an answer, as text.
pub(super) fn statistics(end: &Summary, seed: u64) -> String {
    let computed = end.prompt_tokens - end.cached_tokens;
    let shared = match end.cached_tokens {
        0 => String::new(),
        shared => format!(" ({shared} cached)"),
    };
    let timing = |tokens: usize, seconds: f64| {
        let rate = if seconds > 0.0 { format!(", {:.1}/s", tokens as f64 / seconds) } else { String::new() };
        format!("in {}{rate}", units::seconds(seconds))
    };
    let drafts = match end.drafted_tokens {
        0 => String::new(),
        drafted => format!(", {} of {drafted} drafted tokens accepted", end.accepted_tokens),
    };
    // Prefill generates the first token.
    let steps = end.generated_tokens.saturating_sub(1);
    format!(
        "prompt {} tokens{shared} {}; answer {} tokens {}{drafts}; seed {seed}",
        end.prompt_tokens,
        timing(computed, end.timings.prefill.as_secs_f64()),
        end.generated_tokens,
        timing(steps, end.timings.decode.as_secs_f64()),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn control_characters_are_replaced_on_terminals() {
        assert_eq!(sanitized("a\u{1b}[2J\r\n\tb", true), "a\u{fffd}[2J\u{fffd}\n\tb");
        assert_eq!(sanitized("a\u{1b}[2J", false), "a\u{1b}[2J");
    }

    #[test]
    fn options_override_defaults() {
        let arguments =
            SamplingArgs { temperature: Some(0.0), seed: Some(7), top_k: Some(3), ..SamplingArgs::default() };
        let settings = sampling(&arguments);
        let defaults = sample::Settings::default();
        assert_eq!(settings, sample::Settings { temperature: 0.0, seed: 7, top_k: 3, ..defaults });
    }
}
