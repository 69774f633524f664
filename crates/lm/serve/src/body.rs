//! Reads JSON request bodies within the configured limits.

use axum::body::Body;
use axum::extract::Request;
use http::header::{CONTENT_LENGTH, CONTENT_TYPE};
use http::{HeaderMap, StatusCode};
use http_body_util::{BodyExt, LengthLimitError, Limited};
use roci_lm::json::Json;

use crate::error::ApiError;
use crate::generate;
use crate::settings::ServeSettings;

/// Bodies up to this many bytes are parsed on the async thread.
const SHORT: usize = 64 << 10;

/// Reads and parses a request body.
pub(crate) async fn json(request: Request, settings: &ServeSettings) -> Result<Json, ApiError> {
    is_json(request.headers())?;
    let limit = settings.body_limit;
    let announced = request.headers().get(CONTENT_LENGTH).and_then(|value| value.to_str().ok()?.parse::<u64>().ok());
    if announced.is_some_and(|length| length > limit as u64) {
        return Err(too_long(limit));
    }
    let bytes = tokio::time::timeout(settings.body_timeout, bytes(request.into_body(), limit)).await;
    let bytes = bytes.map_err(|_| {
        let message = format!("the body did not arrive within {} s", settings.body_timeout.as_secs_f32());
        ApiError::new(StatusCode::REQUEST_TIMEOUT, message)
    })??;
    // Longer ones are parsed on a blocking thread.
    match bytes.len() {
        0..=SHORT => parse(&bytes),
        _ => generate::prepare(move || parse(&bytes)).await,
    }
}

fn parse(bytes: &[u8]) -> Result<Json, ApiError> {
    let bad = |message: String| ApiError::new(StatusCode::BAD_REQUEST, message);
    let text = std::str::from_utf8(bytes)
        .map_err(|error| bad(format!("the body is not UTF-8: invalid byte at offset {}", error.valid_up_to())))?;
    Json::parse(text).map_err(|error| bad(format!("the body is not JSON: {error}")))
}

async fn bytes(body: Body, limit: usize) -> Result<Vec<u8>, ApiError> {
    match Limited::new(body, limit).collect().await {
        Ok(collected) => Ok(collected.to_bytes().into()),
        Err(error) if error.is::<LengthLimitError>() => Err(too_long(limit)),
        Err(error) => {
            let cause = error.source().map_or_else(|| error.to_string(), ToString::to_string);
            Err(ApiError::new(StatusCode::BAD_REQUEST, format!("the body is incomplete: {cause}")))
        }
    }
}

fn too_long(limit: usize) -> ApiError {
    let message = format!("the body is longer than {limit} bytes: send less, or allow more (`--body-limit`)");
    ApiError::new(StatusCode::PAYLOAD_TOO_LARGE, message)
}

/// Requires the JSON content type: browsers send other types, or none, across origins without a
/// preflight request.
fn is_json(headers: &HeaderMap) -> Result<(), ApiError> {
    let kind = headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let name = kind.split(';').next().unwrap_or_default().trim();
    if name.eq_ignore_ascii_case("application/json") {
        return Ok(());
    }
    let message = format!("the content type is `{name}`: send `Content-Type: application/json`");
    Err(ApiError::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, message))
}
