//! `/v1/rerank`: scores documents by their relevance to a query.

use std::sync::Arc;

use axum::extract::{Request, State};
use axum::response::Response;
use roci_engine::Engine;
use roci_lm::json::Json;
use serde_json::{Value, json};

use crate::app::App;
use crate::body;
use crate::embeddings::in_order;
use crate::error::ApiError;
use crate::fields;
use crate::generate;
use crate::routes::reply;
use crate::schema;

/// Maximum number of documents per request.
const MAX_DOCUMENTS: usize = 2048;

/// A parsed request.
struct Prepared {
    /// Tokens of the query with each document.
    pairs: Vec<Vec<u32>>,
    /// The documents, if they are requested in the answer.
    documents: Option<Vec<String>>,
    top: usize,
}

pub(crate) async fn answer(State(app): State<Arc<App>>, request: Request) -> Result<Response, ApiError> {
    let body = body::json(request, &app.settings).await?;
    let Prepared { pairs, documents, top } = {
        let app = Arc::clone(&app);
        generate::prepare(move || prepare(&app, &body)).await?
    };
    let tokens: usize = pairs.iter().map(Vec::len).sum();
    let score = |engine: Engine, pair: Vec<u32>| async move { engine.score_async(&pair).await };
    let scores = in_order(&app, pairs, score).await?;
    let mut results: Vec<(usize, f32)> = scores.into_iter().enumerate().collect();
    results.sort_by(|(_, a), (_, b)| b.total_cmp(a));
    let result = |(index, score): (usize, f32)| {
        let mut result = json!({"index": index, "relevance_score": score});
        if let Some(document) = documents.as_ref().and_then(|documents| documents.get(index)) {
            result["document"] = json!({ "text": document });
        }
        result
    };
    let results: Vec<Value> = results.into_iter().take(top).map(result).collect();
    Ok(reply(&json!({
        "object": "list",
        "model": app.served.model,
        "results": results,
        "usage": {"prompt_tokens": tokens, "total_tokens": tokens},
    })))
}

fn prepare(app: &App, body: &Json) -> Result<Prepared, ApiError> {
    let fields = schema::RERANK.fields(body)?;
    let missing = |name: &str, expected: &str| ApiError::field(name, format!("is missing; it must be {expected}"));
    let query = fields.text("query")?.ok_or_else(|| missing("query", "a string"))?;
    let expected = "a list of strings";
    let list = fields.list("documents")?.ok_or_else(|| missing("documents", expected))?;
    if list.is_empty() {
        return Err(ApiError::field("documents", "is an empty list"));
    }
    if list.len() > MAX_DOCUMENTS {
        let what = format!("has {} documents; at most {MAX_DOCUMENTS} are allowed", list.len());
        return Err(ApiError::field("documents", what));
    }
    let text = |(place, value): (usize, &Json)| match value.as_str() {
        Some(text) => Ok(text.to_owned()),
        None => Err(fields::wrong(format!("documents[{place}]"), "a string", value)),
    };
    let documents: Vec<String> = list.iter().enumerate().map(text).collect::<Result<_, _>>()?;
    let top = fields.count("top_n", 1, i64::MAX as usize)?.unwrap_or(documents.len());
    let with_documents = fields.flag("return_documents")?.unwrap_or(false);
    let pairs = documents.iter().map(|document| app.pair(query, document)).collect();
    Ok(Prepared { pairs, documents: with_documents.then_some(documents), top })
}
