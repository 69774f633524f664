//! Why a request is rejected or fails.

use roci_base::Hint;
use roci_lm::architecture::Pooling;

use crate::ForwardError;

/// Why a request is rejected or fails.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum EngineError {
    /// The prompt fills the context.
    #[error("the prompt has {prompt} tokens, but the context holds only {context}")]
    TooLong {
        /// Tokens of the prompt.
        prompt: usize,
        /// Context length in tokens.
        context: usize,
    },
    /// The prompt has no tokens.
    #[error("the prompt is empty")]
    Empty,
    /// A token id outside the vocabulary.
    #[error("token {token} is not in the vocabulary of {vocabulary} tokens")]
    UnknownToken {
        /// The token id.
        token: u32,
        /// Vocabulary size.
        vocabulary: usize,
    },
    /// An image exceeds a batch.
    #[error("an image of {rows} rows is evaluated in one batch, which holds only {batch} tokens")]
    ImageTooLarge {
        /// Rows of the image.
        rows: usize,
        /// Tokens of a batch.
        batch: usize,
    },
    /// The model's pooling type gives no embedding of a sequence.
    #[error("a model with pooling type `{0}` gives no embeddings")]
    Pooling(Pooling),
    /// The model is not a reranker.
    #[error("a model with pooling type `{0}` gives no scores")]
    NoScores(Pooling),
    /// The model is not causal.
    #[error("the model is not causal and cannot generate text")]
    NotGenerative,
    /// A text of a non-causal model exceeds a batch.
    #[error("the text has {tokens} tokens, but a text is evaluated in one batch, which holds only {batch}")]
    TextTooLong {
        /// Tokens of the text.
        tokens: usize,
        /// Tokens of a batch.
        batch: usize,
    },
    /// A sampling parameter is out of range.
    #[error(transparent)]
    Sampling(#[from] roci_lm::sample::SettingsError),
    /// No token could be sampled.
    #[error(transparent)]
    Sample(#[from] roci_lm::sample::SampleError),
    /// No such LoRA adapter, or no such scale.
    #[error("LoRA adapter {id} with scale {scale}: the model has {count} adapters, and scales are finite")]
    Adapter {
        /// Number of the adapter.
        id: usize,
        /// Its scale.
        scale: f32,
        /// Adapters of the model.
        count: usize,
    },
    /// The queue is full.
    #[error("the queue is full: {waiting} requests are waiting")]
    Busy {
        /// Requests in the queue.
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
            Self::Empty => Some("send a prompt of at least one token".into()),
            Self::UnknownToken { .. } => Some("encode the prompt with this model's tokenizer".into()),
            Self::ImageTooLarge { .. } => Some("run fewer sequences in parallel (`--parallel`)".into()),
            Self::Pooling(pooling) => {
                let why = match pooling {
                    Pooling::Unspecified => {
                        "its file has no key `pooling_type`, which is usual for text generation models; "
                    }
                    Pooling::Rank => "it is a reranker; ",
                    _ => "",
                };
                Some(format!("{why}load an embedding model, whose pooling type is `mean`, `cls` or `last`"))
            }
            Self::NoScores(Pooling::Rank) => {
                Some("its file has no classification head; get another file of the model".into())
            }
            Self::NoScores(_) => Some("load a reranker, whose pooling type is `rank`".into()),
            Self::NotGenerative => Some(
                "it is for embeddings or scores: `roci embed`, or `/v1/embeddings` and `/v1/rerank` of `roci serve`"
                    .into(),
            ),
            Self::TextTooLong { .. } => Some("split the text into shorter ones".into()),
            Self::Sampling(error) => Some(error.hint()),
            Self::Sample(error) => Some(error.hint()),
            Self::Adapter { count: 0, .. } => Some("load the model with adapters (`--lora`)".into()),
            Self::Adapter { count, .. } => Some(format!("use the numbers 0 to {}", count - 1)),
            Self::Busy { .. } => Some("try again later, or allow a longer queue (`--queue`)".into()),
            Self::Device(error) => error.hint(),
            Self::Closed => None,
        }
    }
}
