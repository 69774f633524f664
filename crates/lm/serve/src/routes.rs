//! The router.

use std::sync::Arc;

use axum::Router;
use axum::extract::{Request, State};
use axum::middleware::{Next, from_fn, from_fn_with_state};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use http::header::{CACHE_CONTROL, CONTENT_TYPE, X_CONTENT_TYPE_OPTIONS};
use http::{HeaderValue, Method, StatusCode, Uri};
use serde_json::{Value, json};

use crate::adapters;
use crate::app::App;
use crate::error::ApiError;
use crate::settings::ServeError;
use crate::{access_control, chat, completions, embeddings, metrics, models, page, rerank};

pub(crate) fn router(app: Arc<App>) -> Result<Router, ServeError> {
    let cors = access_control::cors(&app.settings)?;
    let guarded = Router::new()
        .route("/v1/chat/completions", post(chat::answer))
        .route("/v1/completions", post(completions::answer))
        .route("/v1/embeddings", post(embeddings::answer))
        .route("/v1/rerank", post(rerank::answer))
        // Aliases of llama.cpp's server.
        .route("/v1/reranking", post(rerank::answer))
        .route("/rerank", post(rerank::answer))
        .route("/reranking", post(rerank::answer))
        .route("/v1/models", get(models::list))
        .route("/v1/models/{*id}", get(models::one))
        .route("/lora-adapters", get(adapters::list).post(adapters::set))
        .route("/metrics", get(metrics::show))
        .layer(from_fn_with_state(Arc::clone(&app), access_control::key));
    let router = Router::new()
        .route("/", get(page::show))
        .route("/health", get(health))
        .merge(guarded)
        .fallback(unknown)
        .method_not_allowed_fallback(wrong_method)
        .layer(from_fn(plain));
    let router = match cors {
        Some(cors) => router.layer(cors),
        None => router,
    };
    let router = router.layer(from_fn_with_state(Arc::clone(&app), access_control::host));
    Ok(router.layer(from_fn_with_state(Arc::clone(&app), metrics::count)).with_state(app))
}

/// A JSON response.
pub(crate) fn reply(value: &Value) -> Response {
    ([(CONTENT_TYPE, "application/json")], value.to_string()).into_response()
}

/// Adds headers that disable caching and content sniffing.
pub(crate) async fn plain(request: Request, next: Next) -> Response {
    let mut response = next.run(request).await;
    let headers = response.headers_mut();
    headers.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    headers.entry(CACHE_CONTROL).or_insert(HeaderValue::from_static("no-store"));
    response
}

async fn health(State(app): State<Arc<App>>) -> Response {
    match app.lost() {
        None => reply(&json!({"status": "ok"})),
        Some(cause) => {
            let message = format!("the device is lost: {cause}: restart the server");
            ApiError::new(StatusCode::SERVICE_UNAVAILABLE, message).with_code("device_lost").into_response()
        }
    }
}

async fn unknown(uri: Uri) -> ApiError {
    ApiError::new(StatusCode::NOT_FOUND, format!("unknown path `{}`", uri.path())).with_code("unknown_url")
}

async fn wrong_method(method: Method, uri: Uri) -> ApiError {
    let message = format!("`{}` does not support `{method}`", uri.path());
    ApiError::new(StatusCode::METHOD_NOT_ALLOWED, message).with_code("method_not_allowed")
}
