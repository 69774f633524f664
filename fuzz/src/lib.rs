//! Fuzz targets: one function for each kind of input that comes from outside.
//!
//! A target passes its bytes through a parser and through whatever reads the result. It returns for
//! every input: a panic, a hang and unbounded memory are bugs. `./test fuzz` runs each target under
//! libFuzzer for a minute, and `tests/corpus.rs` runs the inputs of `corpus/` and mutations of them
//! in a plain build.

#![deny(unsafe_code)]

pub mod targets;

/// A fuzz target.
pub type Target = fn(&[u8]);

/// Every target, by the name of its folder in `corpus/`.
pub const TARGETS: [(&str, Target); 15] = [
    ("adapter", targets::adapter::target),
    ("chat_template", targets::chat_template::target),
    ("codeobj", targets::codeobj::target),
    ("device_uri", targets::device_uri::target),
    ("gbnf", targets::gbnf::target),
    ("gguf", targets::gguf::target),
    ("http_body", targets::http_body::target),
    ("image", targets::image::target),
    ("imatrix", targets::imatrix::target),
    ("json_schema", targets::json_schema::target),
    ("log", targets::log::target),
    ("mmproj", targets::mmproj::target),
    ("npy", targets::npy::target),
    ("onnx", targets::onnx::target),
    ("wgsl", targets::wgsl::target),
];
