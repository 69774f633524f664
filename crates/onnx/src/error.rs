//! Why a model cannot be read.

use std::path::PathBuf;

use roci_graph::OpError;
use roci_hal::Hint;

use crate::OPSETS;

/// What is wrong with a model, or with us.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A file that cannot be read.
    #[error("cannot read {}: {error}", path.display())]
    File {
        /// Which.
        path: PathBuf,
        /// Why.
        error: std::io::Error,
    },
    /// Bytes that are no ONNX model.
    #[error("this is no ONNX model: {0}")]
    Protobuf(String),
    /// A model that contradicts itself; the text has the place.
    #[error("{0}")]
    Invalid(String),
    /// A node that is not understood.
    #[error("node `{node}` ({op}, opset {opset}): {reason}")]
    Node {
        /// The node's name.
        node: String,
        /// Its operation, with the domain where that is not ONNX's own.
        op: String,
        /// The version of the operation set that the model names.
        opset: i64,
        /// What is wrong.
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
            Self::Protobuf(_) => "export or download the model again; `onnx.checker` tells more".to_owned(),
            Self::Invalid(text) if text.ends_with("not supported") => {
                "export the model without it; docs/models.md says what is not there".to_owned()
            }
            Self::Invalid(_) => "check the model with Python's `onnx.checker.check_model`".to_owned(),
            Self::Node { reason, .. } if !reason.ends_with("not supported") => {
                "check the model with Python's `onnx.checker.check_model`".to_owned()
            }
            Self::Node { .. } => format!(
                "export the model with operations of ONNX's own, of opset {} to {}; docs/models.md says what is not there",
                OPSETS.start(),
                OPSETS.end()
            ),
        })
    }
}
