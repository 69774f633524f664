//! Fields that all ways of asking have in common.

use roci_engine::Request;
use roci_llm::json::Json;
use roci_llm::sample;

use crate::error::ApiError;
use crate::fields::{self, Fields, shown};
use crate::format::Format;

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
    /// What the request's grammar was made from.
    pub(crate) format: Option<Format>,
}

impl Asking {
    pub(crate) fn of(fields: &Fields<'_>) -> Result<Self, ApiError> {
        let stream = fields.flag("stream")?.unwrap_or(false);
        let usage = match fields.object("stream_options")? {
            Some(options) => options.flag("include_usage")?.unwrap_or(false),
            None => false,
        };
        let format = Format::of(fields)?;
        let request = Request {
            most: most_tokens(fields)?,
            sampling: sampling(fields)?,
            stop: stop(fields)?,
            grammar: format.as_ref().map(|format| format.grammar.clone()),
            ignore_end: fields.flag("ignore_eos")?.unwrap_or(false),
            ..Request::default()
        };
        Ok(Self { request, answers: fields.count("n", 1, MOST_ANSWERS)?.unwrap_or(1), stream, usage, format })
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

/// The most tokens of an answer. Of several limits, the smallest holds them all.
fn most_tokens(fields: &Fields<'_>) -> Result<Option<usize>, ApiError> {
    let any = i64::MAX as usize;
    // llama.cpp's name for it. -1 asks for as much as the context has room for, also where there is a default.
    let predicted = match fields.whole("n_predict", -1..=i64::MAX)? {
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
        let wrong = |_| ApiError::field(biases.name(&shown(token)), "is no token's number");
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

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Asking, ApiError> {
        let body = Json::parse(text).expect("it is JSON");
        Asking::of(&crate::schema::CHAT.fields(&body)?)
    }

    #[test]
    fn what_is_asked_for_is_taken_over() {
        let asking = read(
            r#"{"n":3,"temperature":0,"top_p":0.5,"top_k":7,"min_p":0.1,"seed":-1,"stop":["a","b"],"max_tokens":9,
               "presence_penalty":0.5,"frequency_penalty":-1,"logit_bias":{"5":-100},"stream":true,"stream_options":{"include_usage":true}}"#,
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
    fn the_smallest_limit_of_tokens_holds() {
        for (text, most) in [
            ("{}", None),
            (r#"{"n_predict":-1}"#, Some(i64::MAX as usize)),
            (r#"{"n_predict":4}"#, Some(4)),
            (r#"{"max_tokens":3,"max_completion_tokens":5,"n_predict":-1}"#, Some(3)),
            (r#"{"max_tokens":7,"max_completion_tokens":5,"n_predict":6}"#, Some(5)),
        ] {
            assert_eq!(read(text).expect(text).request.most, most, "{text}");
        }
    }

    #[test]
    fn a_schema_has_one_form_by_all_its_fields() {
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
        assert!(read(loose).is_ok(), "without `strict`, as far as can be");
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
