//! The targets.

pub mod adapter;
pub mod chat_template;
pub mod codeobj;
pub mod device_uri;
pub mod gbnf;
pub mod gguf;
pub mod http_body;
pub mod image;
pub mod imatrix;
pub mod json_schema;
pub mod log;
pub mod mmproj;
pub mod npy;
pub mod onnx;
pub mod wgsl;

/// Splits an input at its first zero byte into a text and the bytes to feed to it. `None` if the
/// text is not UTF-8.
fn text_and_rest(data: &[u8]) -> Option<(&str, &[u8])> {
    let end = data.iter().position(|byte| *byte == 0).unwrap_or(data.len());
    let rest = data.get(end + 1..).unwrap_or_default();
    Some((std::str::from_utf8(&data[..end]).ok()?, rest))
}
