//! `/v1/completions`: continues texts.

use std::sync::Arc;
use std::time::SystemTime;

use axum::extract::{Request, State};
use axum::response::Response;
use roci_engine::{FinishReason, Summary, Token};
use roci_lm::json::Json;
use serde_json::{Value, json};

use crate::app::{App, id, seconds};
use crate::body;
use crate::error::ApiError;
use crate::fields::{self, Fields};
use crate::generate::{self, Usage, Writer};
use crate::logprobs;
use crate::params::{GenerationParams, MAX_ANSWERS, MAX_TOP_LOGPROBS};
use crate::routes::reply;
use crate::schema;

/// Default `max_tokens`, as in OpenAI's API.
const TOKENS: usize = 16;

/// A prompt as given: text or tokens.
enum Prompt {
    Text(String),
    Tokens(Vec<u32>),
}

struct PreparedCompletions {
    params: GenerationParams,
    prompts: Vec<Vec<u32>>,
    /// Per prompt: the text to repeat before each answer; empty without `echo`.
    echoes: Vec<String>,
}

pub(crate) async fn answer(State(app): State<Arc<App>>, request: Request) -> Result<Response, ApiError> {
    let body = body::json(request, &app.settings).await?;
    let prepared = {
        let app = Arc::clone(&app);
        generate::prepare(move || prepare(&app, &body)).await?
    };
    let PreparedCompletions { params, prompts, echoes } = prepared;
    let requests = prompts.iter().flat_map(|prompt| params.requests(prompt)).collect();
    let mut generations = generate::start(&app, requests)?;
    let mut writer = Completion::new(&app, &params, echoes);
    if params.stream {
        return Ok(generate::stream(app, generations, params.answers, writer));
    }
    let mut usage = Usage::default();
    let mut choices = Vec::new();
    for (answer, generation) in generations.iter_mut().enumerate() {
        let mut text = writer.echo(answer);
        let mut tokens = Vec::new();
        let end = generate::collect(&app, generation, |token| {
            text.push_str(&token.text);
            tokens.extend(writer.probabilities.then_some(token));
        })
        .await?;
        text.push_str(&end.text);
        usage.add(&end, answer.is_multiple_of(params.answers));
        choices.push(writer.choice(answer, &text, &tokens, Some(finish_reason(end.reason))));
    }
    let mut value = writer.envelope(choices);
    value["usage"] = usage.value();
    value["timings"] = usage.timings();
    Ok(reply(&value))
}

/// OpenAI's `finish_reason`.
pub(crate) fn finish_reason(reason: FinishReason) -> &'static str {
    match reason {
        FinishReason::EndOfGeneration | FinishReason::Stop(_) => "stop",
        FinishReason::Length | FinishReason::Context => "length",
    }
}

fn prepare(app: &App, body: &Json) -> Result<PreparedCompletions, ApiError> {
    let fields = schema::COMPLETIONS.fields(body)?;
    let mut params = GenerationParams::of(&fields)?;
    params.request.max_tokens = params.request.max_tokens.or(Some(TOKENS));
    params.request.top_logprobs = fields.count("logprobs", 0, MAX_TOP_LOGPROBS)?;
    if fields.count("best_of", 1, MAX_ANSWERS)?.is_some_and(|best| best != params.answers) {
        return Err(ApiError::field("best_of", "must equal `n`: use `n` for several answers"));
    }
    let echo = fields.flag("echo")?.unwrap_or(false);
    if echo && params.request.top_logprobs.is_some() {
        return Err(ApiError::field(
            "echo",
            "cannot be combined with `logprobs`: those of the prompt are not computed",
        ));
    }
    let prompts = prompts(&fields)?;
    if prompts.len() * params.answers > MAX_ANSWERS {
        let what = format!("and `n` request more than {MAX_ANSWERS} answers: send several requests");
        return Err(ApiError::field("prompt", what));
    }
    let tokenizer = &app.served.tokenizer;
    let echoes = match echo {
        false => Vec::new(),
        true => prompts
            .iter()
            .map(|prompt| match prompt {
                Prompt::Text(text) => text.clone(),
                Prompt::Tokens(tokens) => tokenizer.decode(tokens),
            })
            .collect(),
    };
    let tokens = prompts.into_iter().map(|prompt| match prompt {
        Prompt::Text(text) => app.prompt(&text),
        Prompt::Tokens(tokens) => tokens,
    });
    Ok(PreparedCompletions { params, prompts: tokens.collect(), echoes })
}

/// Parses `prompt`: a string, a list of strings, tokens, or a list of token lists.
fn prompts(fields: &Fields<'_>) -> Result<Vec<Prompt>, ApiError> {
    let expected = "a string, a list of strings, a list of tokens, or a list of lists of tokens";
    match fields.get("prompt") {
        None => Err(ApiError::field("prompt", format!("is missing; it must be {expected}"))),
        Some(value) => texts(value, "prompt", expected).map(|list| {
            let prompt = |text| match text {
                TextOrTokens::Text(text) => Prompt::Text(text.to_owned()),
                TextOrTokens::Tokens(tokens) => Prompt::Tokens(tokens),
            };
            list.into_iter().map(prompt).collect()
        }),
    }
}

/// A text or token list of a request.
pub(crate) enum TextOrTokens<'a> {
    Text(&'a str),
    Tokens(Vec<u32>),
}

/// Parses one or more texts.
pub(crate) fn texts<'a>(value: &'a Json, name: &str, expected: &str) -> Result<Vec<TextOrTokens<'a>>, ApiError> {
    let tokens = |list: &[Json], name: &str| {
        let token = |(place, value): (usize, &Json)| {
            fields::token(value).ok_or_else(|| fields::wrong(format!("{name}[{place}]"), "a token", value))
        };
        list.iter().enumerate().map(token).collect::<Result<Vec<_>, _>>()
    };
    match value {
        Json::String(text) => Ok(vec![TextOrTokens::Text(text)]),
        Json::Array(list) if list.is_empty() => Err(ApiError::field(name, "is an empty list")),
        Json::Array(list) if matches!(list[0], Json::Number(_)) => Ok(vec![TextOrTokens::Tokens(tokens(list, name)?)]),
        Json::Array(list) => {
            let text = |(place, value): (usize, &'a Json)| match value {
                Json::String(text) => Ok(TextOrTokens::Text(text)),
                Json::Array(list) => Ok(TextOrTokens::Tokens(tokens(list, &format!("{name}[{place}]"))?)),
                other => Err(fields::wrong(format!("{name}[{place}]"), "a string or a list of tokens", other)),
            };
            list.iter().enumerate().map(text).collect()
        }
        other => Err(fields::wrong(name, expected, other)),
    }
}

/// Writes answers in the text completion format.
struct Completion {
    id: String,
    created: u64,
    model: String,
    echoes: Vec<String>,
    each: usize,
    probabilities: bool,
    usage: bool,
    /// Per answer: the number of characters already reported with log probabilities.
    offsets: Vec<usize>,
}

impl Completion {
    fn new(app: &App, params: &GenerationParams, echoes: Vec<String>) -> Self {
        Self {
            id: id("cmpl-"),
            created: seconds(SystemTime::now()),
            model: app.served.model.clone(),
            echoes,
            each: params.answers,
            probabilities: params.request.top_logprobs.is_some(),
            usage: params.usage,
            offsets: Vec::new(),
        }
    }

    fn echo(&self, answer: usize) -> String {
        self.echoes.get(answer / self.each).cloned().unwrap_or_default()
    }

    fn envelope(&self, choices: Vec<Value>) -> Value {
        json!({
            "id": self.id, "object": "text_completion", "created": self.created, "model": self.model, "choices": choices,
        })
    }

    fn choice(&mut self, answer: usize, text: &str, tokens: &[Token], reason: Option<&str>) -> Value {
        if self.offsets.len() <= answer {
            self.offsets.resize(answer + 1, 0);
        }
        let probabilities = match self.probabilities && !tokens.is_empty() {
            true => logprobs::completion(tokens, &mut self.offsets[answer]),
            false => Value::Null,
        };
        json!({"index": answer, "text": text, "logprobs": probabilities, "finish_reason": reason})
    }
}

impl Writer for Completion {
    fn begin(&mut self) -> Vec<Value> {
        let answers = self.echoes.len() * self.each;
        (0..answers)
            .map(|answer| {
                let text = self.echo(answer);
                let choice = self.choice(answer, &text, &[], None);
                self.envelope(vec![choice])
            })
            .collect()
    }

    fn token(&mut self, answer: usize, token: Token) -> Vec<Value> {
        if token.text.is_empty() && !self.probabilities {
            return Vec::new();
        }
        let choice = self.choice(answer, &token.text, std::slice::from_ref(&token), None);
        vec![self.envelope(vec![choice])]
    }

    fn end(&mut self, answer: usize, end: &Summary) -> Vec<Value> {
        let choice = self.choice(answer, &end.text, &[], Some(finish_reason(end.reason)));
        vec![self.envelope(vec![choice])]
    }

    fn finish(&mut self, usage: &Usage) -> Vec<Value> {
        if !self.usage {
            return Vec::new();
        }
        let mut value = self.envelope(Vec::new());
        value["usage"] = usage.value();
        value["timings"] = usage.timings();
        vec![value]
    }
}
