//! Request fields common to chat and text completions.

use roci_engine::Request;
use roci_lm::json::Json;
use roci_lm::sample;

use crate::adapters;
use crate::error::ApiError;
use crate::fields::{self, Fields, shown};
use crate::format::Format;

/// Maximum number of answers per prompt (`n`).
pub(crate) const MAX_ANSWERS: usize = 64;
/// Maximum number of stop strings, and the maximum length of one.
const MAX_STOPS: usize = 32;
const MAX_STOP_BYTES: usize = 1024;
/// Maximum number of top log probabilities per token.
pub(crate) const MAX_TOP_LOGPROBS: usize = 20;

/// The parsed common fields. The endpoint adds the prompt.
#[derive(Clone, Debug)]
pub(crate) struct GenerationParams {
    /// Generation parameters, with an empty prompt.
    pub(crate) request: Request,
    /// Number of answers per prompt.
    pub(crate) answers: usize,
    pub(crate) stream: bool,
    /// Whether a stream ends with a usage chunk (`stream_options.include_usage`).
    pub(crate) usage: bool,
    /// The format that the request's grammar was made from.
    pub(crate) format: Option<Format>,
}

impl GenerationParams {
    pub(crate) fn of(fields: &Fields<'_>) -> Result<Self, ApiError> {
        let stream = fields.flag("stream")?.unwrap_or(false);
        let usage = match fields.object("stream_options")? {
            Some(options) => options.flag("include_usage")?.unwrap_or(false),
            None => false,
        };
        let format = Format::of(fields)?;
        let request = Request {
            max_tokens: max_tokens_limit(fields)?,
            sampling: sampling(fields)?,
            stop: stop(fields)?,
            grammar: format.as_ref().map(|format| format.grammar.clone()),
            adapters: adapters::chosen(fields)?,
            ignore_eos: fields.flag("ignore_eos")?.unwrap_or(false),
            ..Request::default()
        };
        Ok(Self { request, answers: fields.count("n", 1, MAX_ANSWERS)?.unwrap_or(1), stream, usage, format })
    }

    /// One request per answer, each with a different seed.
    pub(crate) fn requests(&self, prompt: &[u32]) -> Vec<Request> {
        let request = |answer: usize| {
            let mut request = Request { prompt: prompt.to_vec(), ..self.request.clone() };
            request.sampling.seed = request.sampling.seed.wrapping_add(answer as u64);
            request
        };
        (0..self.answers).map(request).collect()
    }
}

/// Maximum number of generated tokens: the smallest of the limits given.
fn max_tokens_limit(fields: &Fields<'_>) -> Result<Option<usize>, ApiError> {
    let any = i64::MAX as usize;
    // llama.cpp's name. -1 means no limit but the context, even if the endpoint has a default.
    let predicted = match fields.integer("n_predict", -1..=i64::MAX)? {
        Some(-1) => Some(any),
        _ => fields.count("n_predict", 1, any)?,
    };
    let limits = [fields.count("max_completion_tokens", 1, any)?, fields.count("max_tokens", 1, any)?, predicted];
    Ok(limits.into_iter().flatten().min())
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
        seed: match fields.integer("seed", i64::MIN..=i64::MAX)? {
            Some(seed) => seed.cast_unsigned(),
            None => fastrand::u64(..),
        },
    })
}

fn logit_bias(fields: &Fields<'_>) -> Result<Vec<(u32, f32)>, ApiError> {
    let Some(biases) = fields.object("logit_bias")? else { return Ok(Vec::new()) };
    let mut list = Vec::new();
    for (token, _) in biases.entries() {
        let wrong = |_| ApiError::field(biases.name(&shown(token)), "is not a token ID");
        let number = token.parse::<u32>().map_err(wrong)?;
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
                other => Err(fields::wrong(format!("stop[{place}]"), "a string", other)),
            };
            return check_stops(list.iter().enumerate().map(text).collect::<Result<_, _>>()?);
        }
        Some(other) => return Err(fields::wrong("stop", "a string or a list of strings", other)),
    };
    check_stops(texts.into_iter().map(str::to_owned).collect())
}

fn check_stops(stops: Vec<String>) -> Result<Vec<String>, ApiError> {
    if stops.len() > MAX_STOPS {
        return Err(ApiError::field("stop", format!("has {} strings; at most {MAX_STOPS} are allowed", stops.len())));
    }
    if stops.iter().any(|stop| stop.is_empty() || stop.len() > MAX_STOP_BYTES) {
        return Err(ApiError::field(
            "stop",
            format!("has a string that is empty or longer than {MAX_STOP_BYTES} bytes"),
        ));
    }
    Ok(stops)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<GenerationParams, ApiError> {
        let body = Json::parse(text).expect("valid JSON");
        GenerationParams::of(&crate::schema::CHAT.fields(&body)?)
    }

    #[test]
    fn fields_are_applied() {
        let params = read(
            r#"{"n":3,"temperature":0,"top_p":0.5,"top_k":7,"min_p":0.1,"seed":-1,"stop":["a","b"],"max_tokens":9,
               "presence_penalty":0.5,"frequency_penalty":-1,"logit_bias":{"5":-100},"stream":true,"stream_options":{"include_usage":true}}"#,
        )
        .expect("the request is valid");
        let sampling = &params.request.sampling;
        assert_eq!((sampling.temperature, sampling.top_p, sampling.top_k, sampling.min_p), (0.0, 0.5, 7, 0.1));
        assert_eq!((sampling.presence_penalty, sampling.frequency_penalty), (0.5, -1.0));
        assert_eq!(sampling.logit_bias, [(5, -100.0)]);
        assert_eq!((params.request.max_tokens, params.answers, params.stream, params.usage), (Some(9), 3, true, true));
        assert_eq!(params.request.stop, ["a", "b"]);
        let seeds: Vec<u64> = params.requests(&[1]).iter().map(|request| request.sampling.seed).collect();
        assert_eq!(seeds, [u64::MAX, 0, 1]);
    }

    #[test]
    fn the_smallest_token_limit_applies() {
        for (text, most) in [
            ("{}", None),
            (r#"{"n_predict":-1}"#, Some(i64::MAX as usize)),
            (r#"{"n_predict":4}"#, Some(4)),
            (r#"{"max_tokens":3,"max_completion_tokens":5,"n_predict":-1}"#, Some(3)),
            (r#"{"max_tokens":7,"max_completion_tokens":5,"n_predict":6}"#, Some(5)),
        ] {
            assert_eq!(read(text).expect(text).request.max_tokens, most, "{text}");
        }
    }

    #[test]
    fn every_schema_field_gives_the_same_grammar() {
        let schema = r#"{"type":"array","items":{"type":"integer"},"maxItems":2}"#;
        for text in [
            format!(r#"{{"json_schema":{schema}}}"#),
            format!(r#"{{"json_schema":{schema},"grammar":"","response_format":{{"type":"text"}}}}"#),
            format!(r#"{{"response_format":{{"type":"json_object","schema":{schema}}}}}"#),
            format!(r#"{{"response_format":{{"type":"json_schema","json_schema":{{"name":"n","schema":{schema}}}}}}}"#),
        ] {
            let grammar = read(&text).expect(&text).request.grammar.expect("a grammar");
            assert_eq!(grammar.matches(b"[1, 2]"), Ok(true), "{text}");
            assert_eq!(grammar.matches(b"[1, 2, 3]"), Ok(false), "{text}");
        }
        let loose =
            r#"{"response_format":{"type":"json_schema","json_schema":{"schema":{"type":"number","minimum":1}}}}"#;
        assert!(read(loose).is_ok(), "without `strict`, unsupported keywords are ignored");
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
            (r#"{"grammar":"root ::= \"a\"","json_schema":{}}"#, "json_schema"),
            (r#"{"json_schema":{},"response_format":{"type":"json_object"}}"#, "json_schema"),
            (r#"{"json_schema":5}"#, "json_schema"),
            (r#"{"json_schema":{"type":"number","minimum":1}}"#, "json_schema"),
            (r#"{"response_format":{"type":"json_object","schema":{"uniqueItems":true}}}"#, "response_format.schema"),
            (
                r#"{"response_format":{"type":"json_schema","json_schema":{"strict":true,"schema":{"multipleOf":2}}}}"#,
                "response_format.json_schema.schema",
            ),
            (r#"{"response_format":{"type":"text","schema":{}}}"#, "response_format.schema"),
            (r#"{"response_format":{"type":"json_object","json_schema":{}}}"#, "response_format.json_schema"),
            (r#"{"n_predict":0}"#, "n_predict"),
            (r#"{"n_predict":-2}"#, "n_predict"),
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
