//! Why a model cannot be run.

use std::path::PathBuf;

use roci_hal::Hint;

use crate::exit::ExitStatus;

/// What is wrong.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ModelError {
    /// The file.
    #[error(transparent)]
    Onnx(#[from] roci_onnx::Error),
    /// The run.
    #[error(transparent)]
    Runtime(#[from] roci_runtime::Error),
    /// What an input should be.
    #[error("input `{name}`: {reason}")]
    Input {
        /// Its name.
        name: String,
        /// What is wrong with it.
        reason: String,
        /// What would do.
        hint: String,
    },
    /// An argument of the form `NAME=VALUE` that is none.
    #[error("`{argument}` is not of the form {form}")]
    Argument {
        /// What was given.
        argument: String,
        /// What it should look like.
        form: &'static str,
    },
    /// A name that is given twice.
    #[error("`{name}` is given twice")]
    Twice {
        /// Which.
        name: String,
    },
    /// A dimension that the model has not.
    #[error("the model leaves no dimension open that is called `{name}`")]
    Dimension {
        /// What was given.
        name: String,
        /// Those that it leaves open.
        names: String,
    },
    /// A language model, where only others can be.
    #[error("{}: this is a language model; `roci inspect` shows ONNX models", path.display())]
    Language {
        /// Its file.
        path: PathBuf,
    },
    /// An output cannot be written.
    #[error("cannot write `{}`: {source}", path.display())]
    Output {
        /// Where.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
}

impl ModelError {
    /// How the command ends.
    pub(crate) fn status(&self) -> ExitStatus {
        match self {
            Self::Runtime(roci_runtime::Error::Hal(error)) => error.into(),
            _ => ExitStatus::Error,
        }
    }
}

impl Hint for ModelError {
    fn hint(&self) -> Option<String> {
        match self {
            Self::Onnx(error) => error.hint(),
            Self::Runtime(error) => error.hint(),
            Self::Input { hint, .. } => Some(hint.clone()),
            Self::Argument { .. } => Some("`roci run --help` shows examples".into()),
            Self::Twice { .. } => Some("name each once".into()),
            Self::Dimension { names, .. } if names.is_empty() => Some("it leaves none open".into()),
            Self::Dimension { names, .. } => Some(format!("it leaves open: {names}")),
            Self::Language { .. } => {
                Some("`roci run` and `roci chat` run it, `roci bench` says what it is and how fast".into())
            }
            Self::Output { .. } => Some("name a folder that you may write to".into()),
        }
    }
}
