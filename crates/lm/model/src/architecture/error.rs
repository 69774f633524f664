//! Errors of model descriptions.

/// Why a model is not supported or its file is invalid.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ModelError {
    /// A metadata key is missing or has the wrong type.
    #[error(transparent)]
    File(#[from] roci_gguf::Error),
    /// An unsupported architecture.
    #[error("the architecture `{name}` is not supported; supported are {known}")]
    Architecture {
        /// Name in the file.
        name: String,
        /// Supported names.
        known: String,
    },
    /// A hyperparameter out of range, or inconsistent with others.
    #[error("the key `{key}`: {reason}")]
    Config {
        /// Key in the metadata.
        key: String,
        /// What is wrong.
        reason: String,
    },
    /// A tensor with an unexpected shape.
    #[error("tensor `{tensor}` has shape {found:?}, expected {expected:?}")]
    Shape {
        /// Name of the tensor.
        tensor: String,
        /// Shape in the file.
        found: Vec<u64>,
        /// Shape that follows from the hyperparameters.
        expected: Vec<u64>,
    },
    /// A tensor that the architecture has no use for.
    #[error("tensor `{tensor}` is not part of the architecture `{architecture}`")]
    Unused {
        /// Name of the tensor.
        tensor: String,
        /// Name of the architecture.
        architecture: String,
    },
    /// A tensor of a type that its use does not allow.
    #[error("tensor `{tensor}` has type {found}, which is not supported for this tensor")]
    Type {
        /// Name of the tensor.
        tensor: String,
        /// Its type.
        found: roci_gguf::Type,
    },
}

impl ModelError {
    /// What the user can do, in one sentence.
    pub fn hint(&self) -> Option<String> {
        Some(match self {
            Self::File(error) => return error.hint(),
            Self::Architecture { .. } => "choose a model of one of these architectures".to_owned(),
            Self::Unused { .. } => {
                "the file is of another variant of this architecture, which is not supported; get another file"
                    .to_owned()
            }
            Self::Config { .. } | Self::Shape { .. } | Self::Type { .. } => {
                "convert the model again with a current converter, or get another file of it".to_owned()
            }
        })
    }

    pub(super) fn config(key: impl Into<String>, reason: impl Into<String>) -> Self {
        Self::Config { key: key.into(), reason: reason.into() }
    }
}
