//! A request made of options, and its answer as it comes.

use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

use roci_engine::{End, Event, Generation, Reason, Request};
use roci_llm::grammar::Grammar;
use roci_llm::json::Json;
use roci_llm::sample;

use super::LanguageError;
use crate::cli::{LanguageArgs, SamplingArgs};
use crate::interrupt;
use crate::printer::Printer;
use crate::units;

/// What every request of a command has in common: all but the prompt.
pub(super) fn request(arguments: &LanguageArgs, printer: &Printer) -> Result<Request, LanguageError> {
    Ok(Request {
        most: arguments.most,
        sampling: sampling(&arguments.sampling),
        stop: arguments.stops.clone(),
        grammar: grammar(arguments, printer)?,
        ..Request::default()
    })
}

fn sampling(arguments: &SamplingArgs) -> sample::Settings {
    let usual = sample::Settings::default();
    sample::Settings {
        logit_bias: Vec::new(),
        repeat_penalty: arguments.repeat_penalty.unwrap_or(usual.repeat_penalty),
        frequency_penalty: arguments.frequency_penalty.unwrap_or(usual.frequency_penalty),
        presence_penalty: arguments.presence_penalty.unwrap_or(usual.presence_penalty),
        penalty_window: arguments.penalty_window.unwrap_or(usual.penalty_window),
        top_k: arguments.top_k.unwrap_or(usual.top_k),
        top_p: arguments.top_p.unwrap_or(usual.top_p),
        min_p: arguments.min_p.unwrap_or(usual.min_p),
        temperature: arguments.temperature.unwrap_or(usual.temperature),
        seed: arguments.seed.unwrap_or_else(any_seed),
    }
}

/// A seed that is another one each time, short enough to be typed again.
fn any_seed() -> u64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |now| now.as_nanos() as u64);
    sample::Random::new(now).bits(u64::from(std::process::id())) % 1_000_000
}

fn grammar(arguments: &LanguageArgs, printer: &Printer) -> Result<Option<Grammar>, LanguageError> {
    let wrong = |path: &Path| {
        let path = path.to_owned();
        move |source| LanguageError::Grammar { path, source }
    };
    if let Some(path) = &arguments.grammar {
        return Grammar::parse(&text_of(path)?).map(Some).map_err(wrong(path));
    }
    let Some(path) = &arguments.schema else { return Ok(None) };
    let schema = Json::parse(&text_of(path)?)
        .map_err(|error| LanguageError::Json { path: path.clone(), reason: format!("it is no JSON: {error}") })?;
    let (grammar, written) = Grammar::of_schema(&schema).map_err(wrong(path))?;
    if !written.unchecked.is_empty() {
        printer.note(&format!("answers are not held to: {}", written.unchecked.join(", ")));
    }
    Ok(Some(grammar))
}

/// A text that people wrote to a file.
fn text_of(path: &Path) -> Result<String, LanguageError> {
    let bytes = crate::input::read(path).map_err(|source| LanguageError::Read { path: path.to_owned(), source })?;
    let reason = "it is not UTF-8".to_owned();
    String::from_utf8(bytes).map_err(|_| LanguageError::Json { path: path.to_owned(), reason })
}

/// What came of a request.
pub(super) struct Answer {
    pub(super) text: String,
    /// How it ended; `None` if somebody stopped it.
    pub(super) end: Option<End>,
    /// Tokens that came.
    pub(super) tokens: usize,
}

/// Reads an answer to its end, and hands each piece of text on; Ctrl-C stops it.
pub(super) fn read<E: From<LanguageError>>(
    generation: Generation,
    mut piece: impl FnMut(&str) -> Result<(), E>,
) -> Result<Answer, E> {
    let mut answer = Answer { text: String::new(), end: None, tokens: 0 };
    for event in generation {
        let text = match event {
            Event::Token(token) => {
                answer.tokens += 1;
                token.text
            }
            Event::End(end) => {
                let text = end.text.clone();
                answer.end = Some(end);
                text
            }
            Event::Failed(error) => return Err(LanguageError::from(error).into()),
            _ => String::new(),
        };
        if !text.is_empty() {
            piece(&text)?;
            answer.text.push_str(&text);
        }
        if interrupt::asked() {
            break;
        }
    }
    Ok(answer)
}

/// A model may write what a terminal would obey.
pub(super) fn harmless(text: &str, terminal: bool) -> String {
    let obeyed = |one: char| one.is_control() && !matches!(one, '\n' | '\t');
    text.chars().map(|one| if terminal && obeyed(one) { char::REPLACEMENT_CHARACTER } else { one }).collect()
}

/// Why an answer ended, in a word.
pub(super) fn reason(end: Option<&End>) -> &'static str {
    match end.map(|end| end.reason) {
        None => "interrupted",
        Some(Reason::End) => "end",
        Some(Reason::Stop(_)) => "stop",
        Some(Reason::Most) => "most",
        Some(Reason::Context) => "context",
    }
}

/// What an answer took, for people.
pub(super) fn statistics(end: &End, seed: u64) -> String {
    let computed = end.prompt_tokens - end.shared_tokens;
    let shared = match end.shared_tokens {
        0 => String::new(),
        shared => format!(" ({shared} at hand)"),
    };
    let part = |tokens: usize, seconds: f64| {
        let rate = if seconds > 0.0 { format!(", {:.1}/s", tokens as f64 / seconds) } else { String::new() };
        format!("in {}{rate}", units::seconds(seconds))
    };
    // The first token comes with the prompt's last step.
    let steps = end.tokens.saturating_sub(1);
    format!(
        "prompt {} tokens{shared} {}; answer {} tokens {}; seed {seed}",
        end.prompt_tokens,
        part(computed, end.timings.prompt.as_secs_f64()),
        end.tokens,
        part(steps, end.timings.generation.as_secs_f64()),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn terminals_get_nothing_that_they_would_obey() {
        assert_eq!(harmless("a\u{1b}[2J\r\n\tb", true), "a\u{fffd}[2J\u{fffd}\n\tb");
        assert_eq!(harmless("a\u{1b}[2J", false), "a\u{1b}[2J");
    }

    #[test]
    fn options_take_the_place_of_what_is_usual() {
        let arguments =
            SamplingArgs { temperature: Some(0.0), seed: Some(7), top_k: Some(3), ..SamplingArgs::default() };
        let settings = sampling(&arguments);
        let usual = sample::Settings::default();
        assert_eq!(settings, sample::Settings { temperature: 0.0, seed: 7, top_k: 3, ..usual });
    }
}
