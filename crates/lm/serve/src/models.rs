//! `/v1/models`: the served model.

use std::sync::Arc;

use axum::extract::{Path, State};
use axum::response::{IntoResponse, Response};
use http::StatusCode;
use serde_json::{Value, json};

use crate::app::App;
use crate::error::ApiError;
use crate::routes::reply;

fn describe(app: &App) -> Value {
    let served = &app.served;
    let mut model = json!({
        "id": served.model,
        "object": "model",
        "created": app.created(),
        "owned_by": "roci",
        "context_length": served.engine.context(),
    });
    for (name, value) in &served.details {
        model[name] = serde_json::to_value(value).unwrap_or_default();
    }
    model
}

pub(crate) async fn list(State(app): State<Arc<App>>) -> Response {
    reply(&json!({"object": "list", "data": [describe(&app)]}))
}

pub(crate) async fn one(State(app): State<Arc<App>>, Path(id): Path<String>) -> Response {
    if id == app.served.model {
        return reply(&describe(&app));
    }
    let message = format!("unknown model `{id}`: this server has `{}`", app.served.model);
    ApiError::new(StatusCode::NOT_FOUND, message).with_code("model_not_found").into_response()
}
