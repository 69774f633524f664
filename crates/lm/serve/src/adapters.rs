//! `/lora-adapters`, and the field `lora` of requests, as in llama.cpp's server.

use std::sync::Arc;

use axum::extract::{Request, State};
use axum::response::Response;
use roci_lm::json::Json;
use serde_json::{Value, json};

use crate::app::App;
use crate::body;
use crate::error::ApiError;
use crate::fields::{self, Fields};
use crate::routes::reply;
use crate::schema;

/// The adapters, with the scales of requests that choose none.
pub(crate) async fn list(State(app): State<Arc<App>>) -> Response {
    let adapters = app.served.engine.adapters().into_iter().enumerate();
    let adapters = adapters.map(|(id, adapter)| json!({"id": id, "path": adapter.name, "scale": adapter.scale}));
    reply(&Value::Array(adapters.collect()))
}

/// Sets the scales of later requests that choose none.
pub(crate) async fn set(State(app): State<Arc<App>>, request: Request) -> Result<Response, ApiError> {
    let body = body::json(request, &app.settings).await?;
    let list = body.as_array().ok_or_else(|| fields::wrong("", "a list", &body))?;
    let chosen = entries(list, "")?;
    app.served.engine.set_adapter_scales(&chosen).map_err(|error| app.failure(error))?;
    Ok(reply(&json!({"success": true})))
}

/// The adapters that a request chooses, by number; `None` for the default scales.
pub(crate) fn chosen(fields: &Fields<'_>) -> Result<Option<Vec<(usize, f32)>>, ApiError> {
    let list = fields.list("lora")?.filter(|list| !list.is_empty());
    list.map(|list| entries(list, "lora")).transpose()
}

fn entries(list: &[Json], path: &str) -> Result<Vec<(usize, f32)>, ApiError> {
    let entry = |(place, value): (usize, &Json)| {
        let fields = schema::adapter(value, format!("{path}[{place}]"))?;
        let missing = |name: &str| ApiError::field(fields.name(name), "is missing; it must be a number");
        let id = fields.count("id", 0, u32::MAX as usize)?.ok_or_else(|| missing("id"))?;
        let range = f64::from(f32::MIN)..=f64::from(f32::MAX);
        let scale = fields.number("scale", range)?.ok_or_else(|| missing("scale"))?;
        Ok((id, scale))
    };
    list.iter().enumerate().map(entry).collect()
}
