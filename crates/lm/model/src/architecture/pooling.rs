//! Pooling types of embeddings.

use std::fmt;

use super::blocks::PooledTokens;
use super::error::ModelError;
use super::keys::Keys;

/// How hidden states are pooled into the embedding of a sequence: llama.cpp's `llama_pooling_type`,
/// the metadata key `pooling_type`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Pooling {
    /// The file has no such key, as in most text generation models. llama.cpp treats them as
    /// [`None`](Self::None).
    Unspecified,
    /// Each token keeps its hidden state; the sequence has no embedding.
    None,
    /// Mean over all tokens.
    Mean,
    /// First token: `[CLS]`, where the tokenizer adds it.
    Cls,
    /// Last token.
    Last,
    /// A reranker: a classification head computes scores instead of an embedding.
    Rank,
}

impl Pooling {
    /// Types with their values in files.
    const NUMBERED: [Self; 5] = [Self::None, Self::Mean, Self::Cls, Self::Last, Self::Rank];

    pub(super) fn read(keys: &Keys<'_>) -> Result<Self, ModelError> {
        let Some(number) = keys.integer("pooling_type")? else { return Ok(Self::Unspecified) };
        let known = usize::try_from(number).ok().and_then(|number| Self::NUMBERED.get(number).copied());
        known.ok_or_else(|| {
            let names: Vec<String> = (0..).zip(Self::NUMBERED).map(|(at, known)| format!("{at} ({known})")).collect();
            let reason = format!("unknown pooling type {number}; known types: {}", names.join(", "));
            ModelError::config(keys.key("pooling_type"), reason)
        })
    }

    /// The tokens that an embedding is computed from; `None` if the type gives no embedding.
    pub fn tokens(self) -> Option<PooledTokens> {
        match self {
            Self::Mean => Some(PooledTokens::Mean),
            Self::Cls => Some(PooledTokens::First),
            Self::Last => Some(PooledTokens::Last),
            Self::Unspecified | Self::None | Self::Rank => None,
        }
    }
}

/// Spelled as in llama.cpp's `--pooling`.
impl fmt::Display for Pooling {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Unspecified => "unspecified",
            Self::None => "none",
            Self::Mean => "mean",
            Self::Cls => "cls",
            Self::Last => "last",
            Self::Rank => "rank",
        })
    }
}
