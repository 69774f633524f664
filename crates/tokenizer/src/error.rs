//! Why a tokenizer cannot be made.

/// What is wrong with a vocabulary, or not known of it.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A key that is missing or of another type.
    #[error(transparent)]
    Metadata(#[from] roci_gguf::Error),
    /// A kind of tokenizer that is not known.
    #[error("the tokenizer `{0}` is not known, only `llama`, `gpt2`, `bert` and `gemma4`")]
    Model(String),
    /// A pre-tokenizer that is not known.
    #[error("the pre-tokenizer `{0}` is not known")]
    PreTokenizer(String),
    /// A vocabulary that contradicts itself.
    #[error("the vocabulary is not usable: {0}")]
    Vocabulary(String),
}

impl Error {
    /// What can be done about it, as one sentence without a full stop.
    pub fn hint(&self) -> Option<String> {
        Some(match self {
            Self::Metadata(error) => return error.hint(),
            Self::Model(_) => "use a model with one of those tokenizers".to_owned(),
            Self::PreTokenizer(_) => {
                format!("set `tokenizer.ggml.pre` to one that splits text alike: {}", crate::pre::names().join(", "))
            }
            Self::Vocabulary(_) => {
                "convert the model again with a current converter, or get another file of it".to_owned()
            }
        })
    }
}
