//! The vocabulary: text, kind and score of each token.

use std::collections::HashMap;

use roci_gguf::{Array, Metadata};

use crate::Error;

/// Kind of a token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A piece of text.
    Normal,
    /// The unknown token, for text that no other token represents.
    Unknown,
    /// A marker without text, such as the beginning of a turn.
    Control,
    /// A piece of text that is always one token, matched before all others.
    UserDefined,
    /// A token that encoding never produces.
    Unused,
    /// A single byte, written `<0x0A>`.
    Byte,
}

impl Kind {
    fn from_number(number: i32) -> Self {
        match number {
            1 => Self::Normal,
            2 => Self::Unknown,
            3 => Self::Control,
            4 => Self::UserDefined,
            6 => Self::Byte,
            // 5, and undefined kinds: llama.cpp prints neither.
            _ => Self::Unused,
        }
    }
}

/// The tokens by ID and by text.
pub(crate) struct Vocabulary {
    texts: Vec<String>,
    pub(crate) kinds: Vec<Kind>,
    scores: Vec<f32>,
    by_text: HashMap<String, u32>,
    /// Length of the longest token in bytes.
    pub(crate) longest: usize,
}

impl Vocabulary {
    pub(crate) fn new(metadata: &Metadata) -> Result<Self, Error> {
        let texts = metadata.expect::<&[String]>("tokenizer.ggml.tokens")?;
        if texts.is_empty() || texts.len() > i32::MAX as usize {
            return Err(Error::Vocabulary(format!("it has {} tokens", texts.len())));
        }
        let kinds = metadata.get::<Vec<i32>>("tokenizer.ggml.token_type")?;
        let scores = match metadata.value("tokenizer.ggml.scores").and_then(roci_gguf::Value::as_array) {
            Some(Array::I32(list)) => Some(list.iter().map(|score| *score as f32).collect()),
            _ => metadata.get::<Vec<f32>>("tokenizer.ggml.scores")?,
        };
        let enough = |what: &str, length: Option<usize>| match length {
            Some(length) if length < texts.len() => {
                Err(Error::Vocabulary(format!("{} tokens, but {length} {what}", texts.len())))
            }
            _ => Ok(()),
        };
        enough("types", kinds.as_ref().map(Vec::len))?;
        enough("scores", scores.as_ref().map(Vec::len))?;
        // A token with empty text must not match everywhere.
        let named = |(id, text): (usize, &String)| if text.is_empty() { format!("[EMPTY_{id}]") } else { text.clone() };
        let texts: Vec<String> = texts.iter().enumerate().map(named).collect();
        let by_text = texts.iter().enumerate().map(|(id, text)| (text.clone(), id as u32)).collect();
        let longest = texts.iter().map(String::len).max().unwrap_or_default();
        let kinds = match kinds {
            Some(kinds) => kinds.into_iter().take(texts.len()).map(Kind::from_number).collect(),
            None => vec![Kind::Normal; texts.len()],
        };
        let scores = scores.unwrap_or_else(|| vec![0.0; texts.len()]);
        Ok(Self { texts, kinds, scores, by_text, longest })
    }

    pub(crate) fn len(&self) -> usize {
        self.texts.len()
    }

    pub(crate) fn id(&self, text: &str) -> Option<u32> {
        self.by_text.get(text).copied()
    }

    pub(crate) fn text(&self, id: u32) -> Option<&str> {
        self.texts.get(id as usize).map(String::as_str)
    }

    pub(crate) fn kind(&self, id: u32) -> Option<Kind> {
        self.kinds.get(id as usize).copied()
    }

    /// All tokens, by ascending ID.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (u32, &str, Kind)> {
        self.texts.iter().zip(&self.kinds).enumerate().map(|(id, (text, kind))| (id as u32, text.as_str(), *kind))
    }

    /// The score of a token; 0 for a missing or NaN score.
    pub(crate) fn score(&self, id: u32) -> f32 {
        self.scores.get(id as usize).copied().filter(|score| !score.is_nan()).unwrap_or_default()
    }

    /// The score of a token as a rank: a higher score is a lower rank. A missing or NaN score is
    /// the highest rank.
    pub(crate) fn rank(&self, id: u32) -> u32 {
        let score = match self.scores.get(id as usize) {
            Some(score) if !score.is_nan() => *score,
            _ => f32::NEG_INFINITY,
        };
        // Adding 0.0 turns -0.0 into +0.0. The bits of positive floats sort like the floats, those
        // of negative ones in reverse.
        let bits = (score + 0.0).to_bits();
        if bits >> 31 == 0 { !(bits | 1 << 31) } else { bits }
    }

    /// The token of a byte, such as `<0x0A>`.
    pub(crate) fn byte(&self, byte: u8) -> Option<u32> {
        self.id(&format!("<0x{byte:02X}>"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn metadata() -> Metadata {
        let mut metadata = Metadata::new();
        metadata.insert("tokenizer.ggml.tokens", vec!["a", "", "b", "<0x0A>", "c", "d"]);
        metadata.insert("tokenizer.ggml.scores", vec![1.5f32, 0.0, -0.0, -2.0, f32::NAN, f32::NEG_INFINITY]);
        metadata.insert("tokenizer.ggml.token_type", vec![1i32, 2, 3, 6, 4, 9]);
        metadata
    }

    #[test]
    fn a_high_score_is_a_low_rank() {
        let vocabulary = Vocabulary::new(&metadata()).expect("a vocabulary");
        let ranks: Vec<u32> = (0..6).map(|id| vocabulary.rank(id)).collect();
        assert!(ranks[0] < ranks[1] && ranks[1] == ranks[2] && ranks[2] < ranks[3] && ranks[3] < ranks[4]);
        assert_eq!(ranks[4], ranks[5]);
    }

    #[test]
    fn tokens_are_found_by_text_and_byte() {
        let vocabulary = Vocabulary::new(&metadata()).expect("a vocabulary");
        assert_eq!((vocabulary.id("b"), vocabulary.id(""), vocabulary.byte(10)), (Some(2), None, Some(3)));
        assert_eq!(vocabulary.text(1), Some("[EMPTY_1]"));
        assert_eq!(
            (vocabulary.kind(4), vocabulary.kind(5), vocabulary.kind(6)),
            (Some(Kind::UserDefined), Some(Kind::Unused), None)
        );
    }

    #[test]
    fn arrays_that_are_too_short_are_rejected() {
        for key in ["tokenizer.ggml.scores", "tokenizer.ggml.token_type"] {
            let mut metadata = metadata();
            match key {
                "tokenizer.ggml.scores" => metadata.insert(key, vec![1.0f32]),
                _ => metadata.insert(key, vec![1i32]),
            };
            let error = Vocabulary::new(&metadata).err().expect("too short");
            assert!(error.to_string().contains("6 tokens, but 1 "), "{error}");
        }
        let mut none = metadata();
        none.insert("tokenizer.ggml.tokens", Vec::<String>::new());
        assert!(Vocabulary::new(&none).is_err());
    }
}
