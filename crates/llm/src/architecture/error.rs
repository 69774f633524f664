//! Why a file's model cannot be run.

/// What is wrong with a model, or not known of it.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ModelError {
    /// The file says something else than is needed, or lacks it.
    #[error(transparent)]
    File(#[from] roci_gguf::Error),
    /// A kind of model that is not known.
    #[error("the architecture `{name}` is not supported; supported are {known}")]
    Architecture {
        /// Its name.
        name: String,
        /// Those that are known.
        known: String,
    },
    /// A number that makes no sense, or not together with others.
    #[error("the key `{key}`: {reason}")]
    Config {
        /// The key in the file.
        key: String,
        /// What is wrong.
        reason: String,
    },
    /// A tensor of another shape than the numbers say.
    #[error("tensor `{tensor}` has the shape {found:?}, but {wanted:?} is expected")]
    Shape {
        /// Its name.
        tensor: String,
        /// Its shape in the file.
        found: Vec<u64>,
        /// What the metadata makes of it.
        wanted: Vec<u64>,
    },
    /// A tensor of a type that it cannot have.
    #[error("tensor `{tensor}` is of the type {found}, which its use does not allow")]
    Type {
        /// Its name.
        tensor: String,
        /// Its type.
        found: roci_gguf::Type,
    },
}

impl ModelError {
    /// What to do, as one sentence.
    pub fn hint(&self) -> Option<String> {
        Some(match self {
            Self::File(error) => return error.hint(),
            Self::Architecture { .. } => "choose a model of one of these architectures".to_owned(),
            Self::Config { .. } | Self::Shape { .. } | Self::Type { .. } => {
                "convert the model again with a current converter, or get another file of it".to_owned()
            }
        })
    }

    pub(super) fn config(key: impl Into<String>, reason: impl Into<String>) -> Self {
        Self::Config { key: key.into(), reason: reason.into() }
    }
}
