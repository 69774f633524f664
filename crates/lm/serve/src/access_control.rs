//! Access control: API key, `Host` header and CORS.

use std::sync::Arc;

use axum::extract::{Request, State};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use http::header::{AUTHORIZATION, CONTENT_TYPE, HOST};
use http::uri::Authority;
use http::{HeaderMap, HeaderValue, Method, StatusCode};
use subtle::ConstantTimeEq;
use tower_http::cors::{AllowOrigin, CorsLayer};

use crate::app::App;
use crate::error::ApiError;
use crate::settings::{ServeError, ServeSettings};

/// Requires the API key, if one is configured.
pub(crate) async fn key(State(app): State<Arc<App>>, request: Request, next: Next) -> Response {
    match &app.settings.api_key {
        Some(key) if !has_key(request.headers(), key) => {
            let message = "the API key is missing or wrong: send `Authorization: Bearer KEY`";
            ApiError::new(StatusCode::UNAUTHORIZED, message).with_code("invalid_api_key").into_response()
        }
        _ => next.run(request).await,
    }
}

/// Whether the headers have the key. Compares in constant time for a given length.
fn has_key(headers: &HeaderMap, key: &str) -> bool {
    let Some(value) = headers.get(AUTHORIZATION) else { return false };
    let bytes = value.as_bytes();
    let Some((scheme, shown)) = bytes.split_at_checked(7) else { return false };
    scheme.eq_ignore_ascii_case(b"Bearer ") && shown.trim_ascii().ct_eq(key.as_bytes()).into()
}

/// Rejects foreign host names on a loopback-only server without a key. This prevents DNS rebinding:
/// a web page whose name resolves to this machine could otherwise send requests.
pub(crate) async fn host(State(app): State<Arc<App>>, request: Request, next: Next) -> Response {
    let local = app.settings.address.ip().is_loopback() && app.settings.api_key.is_none();
    let named = request.headers().get(HOST).and_then(|host| host.to_str().ok());
    if local && !named.is_none_or(is_local) {
        let message =
            "this server accepts only local requests: use `localhost`, or start it with an API key (`--api-key`)";
        return ApiError::new(StatusCode::FORBIDDEN, message).with_code("host_not_allowed").into_response();
    }
    next.run(request).await
}

fn is_local(host: &str) -> bool {
    let Ok(authority) = host.parse::<Authority>() else { return false };
    let name = authority.host();
    let name = name.strip_prefix('[').and_then(|name| name.strip_suffix(']')).unwrap_or(name);
    name.eq_ignore_ascii_case("localhost")
        || name.parse::<std::net::IpAddr>().is_ok_and(|address| address.is_loopback())
}

/// The CORS layer for the configured origins; `None` without any.
pub(crate) fn cors(settings: &ServeSettings) -> Result<Option<CorsLayer>, ServeError> {
    if settings.cors.is_empty() {
        return Ok(None);
    }
    let mut origins = Vec::new();
    for origin in &settings.cors {
        let wrong = || ServeError::Origin { origin: origin.clone() };
        let plain = origin.contains("://") && !origin.ends_with('/') && !origin.contains(char::is_whitespace);
        if origin != "*" && !plain {
            return Err(wrong());
        }
        origins.push(HeaderValue::from_str(origin).map_err(|_| wrong())?);
    }
    let allowed = match settings.cors.iter().any(|origin| origin == "*") {
        true => AllowOrigin::any(),
        false => AllowOrigin::list(origins),
    };
    let layer = CorsLayer::new()
        .allow_origin(allowed)
        .allow_methods([Method::GET, Method::POST])
        .allow_headers([AUTHORIZATION, CONTENT_TYPE]);
    Ok(Some(layer))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_loopback_names_are_local() {
        for host in ["localhost", "LOCALHOST:8080", "127.0.0.1", "127.0.0.1:1", "127.9.9.9", "[::1]:8080", "[::1]"] {
            assert!(is_local(host), "{host}");
        }
        for host in ["example.org", "localhost.example.org", "10.0.0.1", "0.0.0.0:80", "[::2]", "", "a b"] {
            assert!(!is_local(host), "{host}");
        }
    }

    #[test]
    fn only_the_exact_key_is_accepted() {
        let with = |value: &str| {
            let mut headers = HeaderMap::new();
            headers.insert(AUTHORIZATION, HeaderValue::from_str(value).expect("a header"));
            has_key(&headers, "secret")
        };
        assert!(with("Bearer secret") && with("bearer  secret "));
        for wrong in ["secret", "Bearer", "Bearer ", "Bearer secre", "Bearer secrets", "Basic secret", "Bearer Secret"]
        {
            assert!(!with(wrong), "{wrong}");
        }
        assert!(!has_key(&HeaderMap::new(), "secret"));
    }

    #[test]
    fn invalid_origins_are_rejected() {
        let with = |cors: &[&str]| {
            cors_of(&ServeSettings { cors: cors.iter().map(ToString::to_string).collect(), ..ServeSettings::default() })
        };
        fn cors_of(settings: &ServeSettings) -> Result<bool, ServeError> {
            cors(settings).map(|layer| layer.is_some())
        }
        assert!(matches!(with(&[]), Ok(false)));
        assert!(matches!(with(&["https://example.org", "http://localhost:3000"]), Ok(true)));
        assert!(matches!(with(&["*"]), Ok(true)));
        for wrong in ["example.org", "https://example.org/", "https://exa mple", "https://a\n"] {
            assert!(with(&[wrong]).is_err(), "{wrong}");
        }
    }
}
