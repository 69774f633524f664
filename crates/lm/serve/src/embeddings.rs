//! `/v1/embeddings`: converts texts to vectors.

use std::sync::Arc;

use axum::extract::{Request, State};
use axum::response::Response;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use futures_util::{StreamExt as _, TryStreamExt as _, stream};
use roci_engine::{Engine, EngineError};
use roci_lm::json::Json;
use roci_tokenizer::Encode;
use serde_json::{Value, json};

use crate::app::App;
use crate::body;
use crate::completions::{TextOrTokens, texts};
use crate::error::ApiError;
use crate::generate;
use crate::routes::reply;
use crate::schema;

/// Maximum number of inputs per request, as in OpenAI's API.
const MAX_INPUTS: usize = 2048;

/// Maximum number of texts of one request in the engine at a time: enough to share batches, without
/// filling the queue.
const IN_FLIGHT: usize = 8;

pub(crate) async fn answer(State(app): State<Arc<App>>, request: Request) -> Result<Response, ApiError> {
    let body = body::json(request, &app.settings).await?;
    let (texts, packed) = {
        let app = Arc::clone(&app);
        generate::prepare(move || prepare(&app, &body)).await?
    };
    let tokens: usize = texts.iter().map(Vec::len).sum();
    let embed = |engine: Engine, text: Vec<u32>| async move { engine.embed_async(&text).await };
    let embeddings = in_order(&app, texts, embed).await?;
    let entry = |(index, embedding): (usize, Vec<f32>)| json!({"object": "embedding", "index": index, "embedding": write(&embedding, packed)});
    let data: Vec<Value> = embeddings.into_iter().enumerate().map(entry).collect();
    Ok(reply(&json!({
        "object": "list",
        "data": data,
        "model": app.served.model,
        "usage": {"prompt_tokens": tokens, "total_tokens": tokens},
    })))
}

/// Computes something for each text, several at once; the results have the order of the texts.
pub(crate) async fn in_order<T, F>(
    app: &App,
    texts: Vec<Vec<u32>>,
    compute: impl Fn(Engine, Vec<u32>) -> F,
) -> Result<Vec<T>, ApiError>
where
    F: Future<Output = Result<T, EngineError>>,
{
    let started = texts.into_iter().map(|text| compute(app.served.engine.clone(), text));
    let results = stream::iter(started).buffered(IN_FLIGHT);
    results.map_err(|error| app.failure(error)).try_collect().await
}

fn prepare(app: &App, body: &Json) -> Result<(Vec<Vec<u32>>, bool), ApiError> {
    let fields = schema::EMBEDDINGS.fields(body)?;
    let packed = match fields.text("encoding_format")? {
        None | Some("float") => false,
        Some("base64") => true,
        Some(other) => {
            return Err(ApiError::field("encoding_format", format!("is `{other}`; it must be `float` or `base64`")));
        }
    };
    let length = app.served.engine.embedding_length();
    if let Some(asked) = fields.count("dimensions", 1, i64::MAX as usize)?.filter(|asked| *asked != length) {
        return Err(ApiError::field(
            "dimensions",
            format!("is {asked}; this model's embeddings have {length} values and cannot be truncated"),
        ));
    }
    let expected = "a string, a list of strings, a list of tokens, or a list of lists of tokens";
    let input =
        fields.get("input").ok_or_else(|| ApiError::field("input", format!("is missing; it must be {expected}")))?;
    let texts = texts(input, "input", expected)?;
    if texts.len() > MAX_INPUTS {
        return Err(ApiError::field("input", format!("has {} inputs; at most {MAX_INPUTS} are allowed", texts.len())));
    }
    let how = Encode { add_special: true, parse_special: false };
    let tokens = texts.into_iter().map(|text| match text {
        TextOrTokens::Text(text) => app.served.tokenizer.encode(text, how),
        TextOrTokens::Tokens(tokens) => tokens,
    });
    Ok((tokens.collect(), packed))
}

/// Encodes as a list of numbers, or as base64 of little-endian f32, which OpenAI's client requests.
fn write(embedding: &[f32], packed: bool) -> Value {
    if !packed {
        return embedding.iter().map(|&value| Value::from(value)).collect();
    }
    let bytes: Vec<u8> = embedding.iter().flat_map(|value| value.to_le_bytes()).collect();
    Value::from(STANDARD.encode(bytes))
}
