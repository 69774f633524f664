//! Errors in OpenAI's format.

use axum::response::{IntoResponse, Response};
use http::header::{CONTENT_TYPE, RETRY_AFTER, WWW_AUTHENTICATE};
use http::{HeaderValue, StatusCode};
use roci_base::Hint;
use roci_engine::EngineError;
use serde_json::{Value, json};

/// An error response.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct ApiError {
    pub(crate) status: StatusCode,
    pub(crate) message: String,
    /// The invalid field, such as `messages[0].role`.
    pub(crate) param: Option<String>,
    pub(crate) code: Option<&'static str>,
}

impl ApiError {
    /// Code of errors while the model loads.
    pub(crate) const LOADING: &'static str = "loading_model";

    pub(crate) fn new(status: StatusCode, message: impl Into<String>) -> Self {
        Self { status, message: message.into(), param: None, code: None }
    }

    /// The error for an invalid field.
    pub(crate) fn field(param: impl Into<String>, what: impl std::fmt::Display) -> Self {
        let param = param.into();
        let message = if param.is_empty() { format!("the body {what}") } else { format!("`{param}` {what}") };
        Self { param: Some(param).filter(|param| !param.is_empty()), ..Self::new(StatusCode::BAD_REQUEST, message) }
    }

    pub(crate) fn with_code(self, code: &'static str) -> Self {
        Self { code: Some(code), ..self }
    }

    /// The error as JSON, for a body or a stream.
    pub(crate) fn value(&self) -> Value {
        let kind = match self.status {
            StatusCode::TOO_MANY_REQUESTS => "rate_limit_error",
            status if status.is_server_error() => "server_error",
            _ => "invalid_request_error",
        };
        json!({"error": {"message": self.message, "type": kind, "param": self.param, "code": self.code}})
    }
}

impl IntoResponse for ApiError {
    fn into_response(self) -> Response {
        let mut response = (self.status, self.value().to_string()).into_response();
        let headers = response.headers_mut();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        match self.status {
            // A slot becomes free when an answer ends, which takes seconds. A lost device does not
            // recover by itself.
            StatusCode::SERVICE_UNAVAILABLE if self.code == Some(Self::LOADING) => {
                headers.insert(RETRY_AFTER, HeaderValue::from_static("2"));
            }
            StatusCode::TOO_MANY_REQUESTS => {
                headers.insert(RETRY_AFTER, HeaderValue::from_static("2"));
            }
            StatusCode::UNAUTHORIZED => {
                headers.insert(WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
            }
            _ => {}
        }
        response
    }
}

/// An error followed by its hint, in one line.
pub(crate) fn with_hint(error: &dyn std::fmt::Display, hint: Option<String>) -> String {
    match hint {
        Some(hint) => format!("{error}: {hint}"),
        None => error.to_string(),
    }
}

impl From<EngineError> for ApiError {
    fn from(error: EngineError) -> Self {
        let message = with_hint(&error, error.hint());
        let bad = |param: &str| Self {
            param: Some(param.to_owned()).filter(|param| !param.is_empty()),
            ..Self::new(StatusCode::BAD_REQUEST, message.clone())
        };
        match &error {
            EngineError::TooLong { .. } => bad("").with_code("context_length_exceeded"),
            EngineError::Adapter { .. } => bad("lora").with_code("unknown_adapter"),
            EngineError::Empty | EngineError::UnknownToken { .. } => bad(""),
            EngineError::Pooling(_) | EngineError::NoScores(_) => bad("").with_code("unsupported_pooling"),
            EngineError::NotGenerative => bad("").with_code("not_generative"),
            EngineError::TextTooLong { .. } => bad("").with_code("context_length_exceeded"),
            EngineError::Sampling(error) => bad(error.name()),
            // A bias or grammar that leaves no token to sample is the client's error.
            EngineError::Sample(_) => bad("").with_code("no_token"),
            EngineError::Busy { .. } => Self::new(StatusCode::TOO_MANY_REQUESTS, message).with_code("queue_full"),
            EngineError::Device(error) if error.lost => {
                Self::new(StatusCode::SERVICE_UNAVAILABLE, message).with_code("device_lost")
            }
            EngineError::Closed => Self::new(StatusCode::SERVICE_UNAVAILABLE, message).with_code("shutting_down"),
            _ => Self::new(StatusCode::INTERNAL_SERVER_ERROR, message),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use roci_engine::ForwardError;

    #[test]
    fn engine_errors_map_to_status_codes() {
        let device = |lost| EngineError::Device(ForwardError { message: "x".into(), hint: None, lost });
        for (error, status, code) in [
            (EngineError::TooLong { prompt: 9, context: 8 }, 400, Some("context_length_exceeded")),
            (EngineError::Empty, 400, None),
            (EngineError::Busy { waiting: 3 }, 429, Some("queue_full")),
            (device(true), 503, Some("device_lost")),
            (device(false), 500, None),
            (EngineError::Closed, 503, Some("shutting_down")),
        ] {
            let error = ApiError::from(error);
            assert_eq!((error.status.as_u16(), error.code), (status, code), "{}", error.message);
        }
    }

    #[test]
    fn a_field_is_named_in_param_and_message() {
        let value = ApiError::field("messages[0].role", "is not a string").value();
        assert_eq!(value["error"]["param"], "messages[0].role");
        assert_eq!(value["error"]["message"], "`messages[0].role` is not a string");
        assert_eq!(value["error"]["type"], "invalid_request_error");
        assert!(value["error"]["code"].is_null());
    }
}
