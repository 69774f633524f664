//! The page to talk to the model.

use axum::response::{IntoResponse, Response};
use http::header::{CONTENT_SECURITY_POLICY, CONTENT_TYPE, REFERRER_POLICY, X_FRAME_OPTIONS};

/// The page, with a word in the place of what makes its own script and style known.
const PAGE: &str = include_str!("page.html");
const NONCE: &str = "@NONCE@";

/// Sends the page. Its policy lets nothing run or be loaded but what it carries, marked by a word that is new each time.
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
