//! What a text's embedding is made of.

use std::fmt;
use std::ops::Range;

use super::config::Keys;
use super::error::ModelError;

/// Which hidden states make up a text's embedding: llama.cpp's `llama_pooling_type`, which files have under `pooling_type`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pooling {
    /// The file has no such key, as most models that write text. llama.cpp treats them as [`None`](Self::None).
    Unspecified,
    /// Each token keeps its vector; the text has none.
    None,
    /// The mean over all tokens.
    Mean,
    /// The first token: `[CLS]`, where the tokenizer adds one.
    Cls,
    /// The last token.
    Last,
    /// A reranker: a classification head makes scores, not an embedding.
    Rank,
}

impl Pooling {
    /// Those that files can name, by their number.
    const NUMBERED: [Self; 5] = [Self::None, Self::Mean, Self::Cls, Self::Last, Self::Rank];

    pub(super) fn read(keys: &Keys<'_>) -> Result<Self, ModelError> {
        let Some(number) = keys.integer("pooling_type")? else { return Ok(Self::Unspecified) };
        let known = usize::try_from(number).ok().and_then(|number| Self::NUMBERED.get(number).copied());
        known.ok_or_else(|| {
            let names: Vec<String> = (0..).zip(Self::NUMBERED).map(|(at, known)| format!("{at} ({known})")).collect();
            let reason = format!("{number} is an unknown pooling type; known are {}", names.join(", "));
            ModelError::config(keys.key("pooling_type"), reason)
        })
    }

    /// The tokens whose hidden states are averaged, of a text of `length`; `None` if a text has no embedding.
    pub fn tokens(self, length: usize) -> Option<Range<usize>> {
        match self {
            Self::Mean => Some(0..length),
            Self::Cls => Some(0..length.min(1)),
            Self::Last => Some(length.saturating_sub(1)..length),
            Self::Unspecified | Self::None | Self::Rank => None,
        }
    }
}

/// As llama.cpp's `--pooling` spells it.
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
