//! Fields that all ways of asking have in common.

use roci_engine::Request;
use roci_llm::grammar::Grammar;
use roci_llm::json::Json;
use roci_llm::sample;

use crate::error::ApiError;
use crate::fields::{self, Fields};

/// The most answers that one request may ask for.
pub(crate) const MOST_ANSWERS: usize = 64;
/// The most texts that end an answer, and how long one may be.
const MOST_STOPS: usize = 32;
const LONGEST_STOP: usize = 1024;
/// The most likeliest tokens that are told.
pub(crate) const MOST_LIKELIEST: usize = 20;

/// What is asked for, whatever the prompt.
#[derive(Clone, Debug)]
pub(crate) struct Asking {
    /// All but the prompt.
    pub(crate) request: Request,
    /// How many answers a prompt shall have.
    pub(crate) answers: usize,
    pub(crate) stream: bool,
    /// Whether a stream ends with how many tokens there were.
    pub(crate) usage: bool,
}

impl Asking {
    pub(crate) fn of(fields: &Fields<'_>) -> Result<Self, ApiError> {
        let most = match fields.count("max_completion_tokens", 1, i64::MAX as usize)? {
            None => fields.count("max_tokens", 1, i64::MAX as usize)?,
            most => most,
        };
        let stream = fields.flag("stream")?.unwrap_or(false);
        let usage = match fields.object("stream_options")? {
            Some(options) => options.flag("include_usage")?.unwrap_or(false),
            None => false,
        };
        let request = Request {
            most,
            sampling: sampling(fields)?,
            stop: stop(fields)?,
            grammar: grammar(fields)?,
            ignore_end: fields.flag("ignore_eos")?.unwrap_or(false),
            ..Request::default()
        };
        Ok(Self { request, answers: fields.count("n", 1, MOST_ANSWERS)?.unwrap_or(1), stream, usage })
    }

    /// The requests for a prompt, each with random numbers of its own.
    pub(crate) fn requests(&self, prompt: &[u32]) -> Vec<Request> {
        let request = |answer: usize| {
            let mut request = Request { prompt: prompt.to_vec(), ..self.request.clone() };
            request.sampling.seed = request.sampling.seed.wrapping_add(answer as u64);
            request
        };
        (0..self.answers).map(request).collect()
    }
}

fn sampling(fields: &Fields<'_>) -> Result<sample::Settings, ApiError> {
    let default = sample::Settings::default();
    let any = f64::from(f32::MIN)..=f64::from(f32::MAX);
    let share = || 0.0..=1.0;
    Ok(sample::Settings {
        logit_bias: logit_bias(fields)?,
        repeat_penalty: fields.number("repeat_penalty", 0.01..=100.0)?.unwrap_or(default.repeat_penalty),
        frequency_penalty: fields.number("frequency_penalty", any.clone())?.unwrap_or(default.frequency_penalty),
        presence_penalty: fields.number("presence_penalty", any)?.unwrap_or(default.presence_penalty),
        penalty_window: fields.count("repeat_last_n", 0, 1 << 20)?.unwrap_or(default.penalty_window),
        top_k: fields.count("top_k", 0, i64::MAX as usize)?.unwrap_or(default.top_k),
        top_p: fields.number("top_p", share())?.unwrap_or(default.top_p),
        min_p: fields.number("min_p", share())?.unwrap_or(default.min_p),
        temperature: fields.number("temperature", 0.0..=100.0)?.unwrap_or(default.temperature),
        seed: match fields.whole("seed", i64::MIN..=i64::MAX)? {
            Some(seed) => seed.cast_unsigned(),
            None => fastrand::u64(..),
        },
    })
}

fn logit_bias(fields: &Fields<'_>) -> Result<Vec<(u32, f32)>, ApiError> {
    let Some(biases) = fields.object("logit_bias")? else { return Ok(Vec::new()) };
    let mut list = Vec::new();
    for (token, _) in biases.entries() {
        let number = token.parse::<u32>().map_err(|_| ApiError::field(biases.name(token), "is no token's number"))?;
        if let Some(bias) = biases.number(token, -100.0..=100.0)? {
            list.push((number, bias));
        }
    }
    Ok(list)
}

fn stop(fields: &Fields<'_>) -> Result<Vec<String>, ApiError> {
    let texts: Vec<&str> = match fields.get("stop") {
        None => Vec::new(),
        Some(Json::String(text)) => vec![text],
        Some(Json::Array(list)) => {
            let text = |(place, value): (usize, &'_ Json)| match value {
                Json::String(text) => Ok(text.clone()),
                other => Err(fields::wrong(format!("stop[{place}]"), "a text", other)),
            };
            return check_stops(list.iter().enumerate().map(text).collect::<Result<_, _>>()?);
        }
        Some(other) => return Err(fields::wrong("stop", "a text or a list of texts", other)),
    };
    check_stops(texts.into_iter().map(str::to_owned).collect())
}

fn check_stops(stops: Vec<String>) -> Result<Vec<String>, ApiError> {
    if stops.len() > MOST_STOPS {
        return Err(ApiError::field("stop", format!("has {} texts; {MOST_STOPS} are allowed", stops.len())));
    }
    if stops.iter().any(|stop| stop.is_empty() || stop.len() > LONGEST_STOP) {
        return Err(ApiError::field("stop", format!("has a text that is empty or longer than {LONGEST_STOP} bytes")));
    }
    Ok(stops)
}

/// What the answer must look like: by `response_format`, or by a grammar in llama.cpp's notation.
fn grammar(fields: &Fields<'_>) -> Result<Option<Grammar>, ApiError> {
    let written = match fields.text("grammar")?.filter(|text| !text.is_empty()) {
        Some(text) => Some(Grammar::parse(text).map_err(|error| refused("grammar", &error))?),
        None => None,
    };
    let formatted = match fields.object("response_format")? {
        Some(format) => response_format(&format)?,
        None => None,
    };
    match (written, formatted) {
        (Some(_), Some(_)) => Err(ApiError::field("grammar", "cannot stand beside a `response_format` of JSON")),
        (written, formatted) => Ok(written.or(formatted)),
    }
}

fn response_format(format: &Fields<'_>) -> Result<Option<Grammar>, ApiError> {
    let kind = format.text("type")?.ok_or_else(|| ApiError::field(format.name("type"), "is missing"))?;
    match kind {
        "text" => Ok(None),
        "json_object" => match format.get("schema") {
            Some(schema) => of_schema(schema, &format.name("schema")).map(Some),
            None => Ok(Some(Grammar::json_object())),
        },
        "json_schema" => {
            let inner = format.object("json_schema")?;
            let inner = inner.ok_or_else(|| ApiError::field(format.name("json_schema"), "is missing"))?;
            match inner.get("schema") {
                Some(schema) => of_schema(schema, &inner.name("schema")).map(Some),
                None => Err(ApiError::field(inner.name("schema"), "is missing")),
            }
        }
        other => {
            let what = format!("is `{other}`; it must be `text`, `json_object` or `json_schema`");
            Err(ApiError::field(format.name("type"), what))
        }
    }
}

/// The grammar of a schema, with its place in the request for messages.
pub(crate) fn of_schema(schema: &Json, name: &str) -> Result<Grammar, ApiError> {
    Grammar::of_schema(schema).map(|(grammar, _)| grammar).map_err(|error| refused(name, &error))
}

/// A grammar that cannot be used.
pub(crate) fn refused(name: &str, error: &roci_llm::grammar::GrammarError) -> ApiError {
    ApiError::field(name, format!("cannot be followed: {error}: {}", error.hint()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Asking, ApiError> {
        let body = Json::parse(text).expect("it is JSON");
        Asking::of(&Fields::of(&body, "")?)
    }

    #[test]
    fn what_is_asked_for_is_taken_over() {
        let asking = read(
            r#"{"n":3,"temperature":0,"top_p":0.5,"top_k":7,"min_p":0.1,"seed":-1,"stop":["a","b"],"max_tokens":9,
               "presence_penalty":0.5,"frequency_penalty":-1,"logit_bias":{"5":-100},"stream":true,"stream_options":{"include_usage":true},
               "unknown":{"x":1}}"#,
        )
        .expect("it makes sense");
        let sampling = &asking.request.sampling;
        assert_eq!((sampling.temperature, sampling.top_p, sampling.top_k, sampling.min_p), (0.0, 0.5, 7, 0.1));
        assert_eq!((sampling.presence_penalty, sampling.frequency_penalty), (0.5, -1.0));
        assert_eq!(sampling.logit_bias, [(5, -100.0)]);
        assert_eq!((asking.request.most, asking.answers, asking.stream, asking.usage), (Some(9), 3, true, true));
        assert_eq!(asking.request.stop, ["a", "b"]);
        let seeds: Vec<u64> = asking.requests(&[1]).iter().map(|request| request.sampling.seed).collect();
        assert_eq!(seeds, [u64::MAX, 0, 1]);
    }

    #[test]
    fn wrong_fields_are_named() {
        for (text, param) in [
            (r#"{"temperature":"hot"}"#, "temperature"),
            (r#"{"temperature":-1}"#, "temperature"),
            (r#"{"top_p":2}"#, "top_p"),
            (r#"{"n":0}"#, "n"),
            (r#"{"n":1.5}"#, "n"),
            (r#"{"max_tokens":0}"#, "max_tokens"),
            (r#"{"max_completion_tokens":-1}"#, "max_completion_tokens"),
            (r#"{"stop":[1]}"#, "stop[0]"),
            (r#"{"stop":""}"#, "stop"),
            (r#"{"stop":{}}"#, "stop"),
            (r#"{"seed":"x"}"#, "seed"),
            (r#"{"logit_bias":{"x":1}}"#, "logit_bias.x"),
            (r#"{"logit_bias":{"1":1000}}"#, "logit_bias.1"),
            (r#"{"logit_bias":[1]}"#, "logit_bias"),
            (r#"{"stream":1}"#, "stream"),
            (r#"{"stream_options":true}"#, "stream_options"),
            (r#"{"response_format":{"type":"xml"}}"#, "response_format.type"),
            (r#"{"response_format":{"type":"json_schema"}}"#, "response_format.json_schema"),
            (r#"{"response_format":{"type":"json_schema","json_schema":{}}}"#, "response_format.json_schema.schema"),
            (
                r#"{"response_format":{"type":"json_schema","json_schema":{"schema":{"type":"zebra"}}}}"#,
                "response_format.json_schema.schema",
            ),
            (r#"{"grammar":"root ::= other"}"#, "grammar"),
            (r#"{"grammar":"root ::= \"a\"","response_format":{"type":"json_object"}}"#, "grammar"),
        ] {
            let error = read(text).expect_err(text);
            assert_eq!(
                (error.status.as_u16(), error.param.as_deref()),
                (400, Some(param)),
                "{text}: {}",
                error.message
            );
        }
    }
}
