//! Errors of ONNX models.

use std::path::PathBuf;

use roci_base::Hint;

use crate::exit::ExitStatus;

/// Why a model cannot be run.
#[derive(Debug, thiserror::Error)]
pub(crate) enum OnnxError {
    /// The model file cannot be loaded.
    #[error(transparent)]
    Onnx(#[from] roci_onnx::Error),
    /// The run failed.
    #[error(transparent)]
    Runtime(#[from] roci_runtime::Error),
    /// An input or a size is invalid.
    #[error(transparent)]
    Input(#[from] roci_graph_tools::inputs::InputError),
    /// A language model was given to a command for ONNX models.
    #[error("{}: this is a language model; `roci inspect` shows ONNX models", path.display())]
    Language { path: PathBuf },
    /// An output cannot be written.
    #[error("cannot write `{}`: {source}", path.display())]
    Output { path: PathBuf, source: std::io::Error },
}

impl OnnxError {
    pub(crate) fn status(&self) -> ExitStatus {
        match self {
            Self::Runtime(roci_runtime::Error::Hal(error)) => error.into(),
            _ => ExitStatus::Error,
        }
    }
}

impl Hint for OnnxError {
    fn hint(&self) -> Option<String> {
        match self {
            Self::Onnx(error) => error.hint(),
            Self::Runtime(error) => error.hint(),
            Self::Input(error) => error.hint(),
            Self::Language { .. } => {
                Some("`roci run` and `roci chat` run it; `roci bench` prints its architecture, size and speed".into())
            }
            Self::Output { .. } => Some("choose a folder that you may write to".into()),
        }
    }
}
