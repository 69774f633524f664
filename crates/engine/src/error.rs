//! Why a request is refused or fails.

use roci_hal::Hint;
use roci_llm::architecture::Pooling;

use crate::ForwardError;

/// Why a request is refused or fails.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum EngineError {
    /// The prompt leaves no room for an answer.
    #[error("the prompt has {prompt} tokens, and the context {context}")]
    TooLong {
        /// Tokens of the prompt.
        prompt: usize,
        /// Tokens of the context.
        context: usize,
    },
    /// There is no token to begin with.
    #[error("the prompt is empty")]
    Empty,
    /// A token that the model does not have.
    #[error("the model has no token {token}; it has {vocabulary}")]
    UnknownToken {
        /// The token.
        token: u32,
        /// How many there are.
        vocabulary: usize,
    },
    /// An embedding of a model that has none for a text.
    #[error("a model with the pooling type `{0}` gives no embeddings")]
    Pooling(Pooling),
    /// A setting of sampling that makes no sense.
    #[error(transparent)]
    Sampling(#[from] roci_llm::sample::SettingsError),
    /// No token could be chosen.
    #[error(transparent)]
    Sample(#[from] roci_llm::sample::SampleError),
    /// Too many requests wait already.
    #[error("{waiting} requests wait already")]
    Busy {
        /// So many.
        waiting: usize,
    },
    /// The device failed.
    #[error(transparent)]
    Device(#[from] ForwardError),
    /// The engine is shutting down.
    #[error("the engine is shutting down")]
    Closed,
}

impl Hint for EngineError {
    fn hint(&self) -> Option<String> {
        match self {
            Self::TooLong { .. } => {
                Some("shorten the prompt, or load the model with a larger context (`--context`)".into())
            }
            Self::Empty => Some("give a text".into()),
            Self::UnknownToken { .. } => Some("take tokens of this model's tokenizer".into()),
            Self::Pooling(pooling) => {
                let why = match pooling {
                    Pooling::Unspecified => {
                        "its file has no key `pooling_type`, which is usual for models that write text; "
                    }
                    Pooling::Rank => "it is a reranker; ",
                    _ => "",
                };
                Some(format!("{why}load a model for embeddings, whose pooling type is `mean`, `cls` or `last`"))
            }
            Self::Sampling(error) => Some(error.hint()),
            Self::Sample(error) => Some(error.hint()),
            Self::Busy { .. } => Some("try again later, or allow more (`--queue`)".into()),
            Self::Device(error) => error.hint(),
            Self::Closed => None,
        }
    }
}
