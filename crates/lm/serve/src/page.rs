//! The built-in chat page.

use axum::response::{IntoResponse, Response};
use http::header::{CONTENT_SECURITY_POLICY, CONTENT_TYPE, REFERRER_POLICY, X_FRAME_OPTIONS};

/// The page, with a placeholder for the nonce of its script and style.
const PAGE: &str = include_str!("page.html");
const NONCE: &str = "@NONCE@";

/// Sends the page. Its content security policy allows only the embedded script and style,
/// identified by a fresh nonce.
pub(crate) async fn show() -> Response {
    let nonce: String = std::iter::repeat_with(fastrand::alphanumeric).take(24).collect();
    let policy = format!(
        "default-src 'none'; script-src 'nonce-{nonce}'; style-src 'nonce-{nonce}'; connect-src 'self'; img-src data:; \
         base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    );
    let headers = [
        (CONTENT_TYPE, "text/html; charset=utf-8".to_owned()),
        (CONTENT_SECURITY_POLICY, policy),
        (REFERRER_POLICY, "no-referrer".to_owned()),
        (X_FRAME_OPTIONS, "DENY".to_owned()),
    ];
    (headers, PAGE.replace(NONCE, &nonce)).into_response()
}
