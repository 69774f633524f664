//! Errors of reading models.

use std::path::PathBuf;

use roci_base::Hint;
use roci_graph::OpError;

use crate::OPSETS;

/// Why a model cannot be read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A file cannot be read.
    #[error("cannot read {}: {error}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// The cause.
        error: std::io::Error,
    },
    /// The bytes are not an ONNX model.
    #[error("not an ONNX model: {0}")]
    Protobuf(String),
    /// The model is inconsistent; the text names the location.
    #[error("{0}")]
    Invalid(String),
    /// A node is invalid or not supported.
    #[error("node `{node}` ({op}, opset {opset}): {reason}")]
    Node {
        /// The node's name.
        node: String,
        /// The operation, with the domain if it is not ONNX's own.
        op: String,
        /// The operator set version that the model declares.
        opset: i64,
        /// The cause.
        reason: String,
    },
}

impl Error {
    pub(crate) fn invalid(text: impl Into<String>) -> Self {
        Self::Invalid(text.into())
    }
}

impl From<OpError> for Error {
    fn from(error: OpError) -> Self {
        Self::Invalid(error.to_string())
    }
}

impl Hint for Error {
    fn hint(&self) -> Option<String> {
        Some(match self {
            Self::File { .. } => "check the path and its permissions".to_owned(),
            Self::Protobuf(_) => "export or download the model again; `onnx.checker` reports details".to_owned(),
            Self::Invalid(text) if text.ends_with("not supported") => {
                "export the model without it; docs/guide/onnx.md lists what is not supported".to_owned()
            }
            Self::Invalid(_) => "check the model with Python's `onnx.checker.check_model`".to_owned(),
            Self::Node { reason, .. } if !reason.ends_with("not supported") => {
                "check the model with Python's `onnx.checker.check_model`".to_owned()
            }
            Self::Node { .. } => format!(
                "export the model with operations of ONNX's own domain, of opset {} to {}; docs/guide/onnx.md lists what is not supported",
                OPSETS.start(),
                OPSETS.end()
            ),
        })
    }
}
