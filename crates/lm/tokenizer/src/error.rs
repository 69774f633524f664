//! Errors of loading a tokenizer.

/// Why a vocabulary cannot be loaded.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A metadata key is missing or has another type.
    #[error(transparent)]
    Metadata(#[from] roci_gguf::Error),
    /// Unsupported tokenizer model.
    #[error("the tokenizer model `{0}` is not supported; `llama`, `gpt2`, `bert`, `t5`, `rwkv` and `gemma4` are")]
    Model(String),
    /// Unsupported pre-tokenizer.
    #[error("unknown pre-tokenizer `{0}`")]
    PreTokenizer(String),
    /// The vocabulary is inconsistent.
    #[error("invalid vocabulary: {0}")]
    Vocabulary(String),
}

impl Error {
    /// What the user can do, as one sentence without a period; `None` if nothing is known to help.
    pub fn hint(&self) -> Option<String> {
        Some(match self {
            Self::Metadata(error) => return error.hint(),
            Self::Model(_) => "use a model with one of those tokenizers".to_owned(),
            Self::PreTokenizer(_) => {
                format!(
                    "set `tokenizer.ggml.pre` to a pre-tokenizer that splits text the same way: {}",
                    crate::pre::names().join(", ")
                )
            }
            Self::Vocabulary(_) => {
                "convert the model again with a current converter, or get another file of it".to_owned()
            }
        })
    }
}
