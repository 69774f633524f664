//! SentencePiece unigram, as in T5, XLM-RoBERTa and embedding models of that family: splits text
//! into the tokens with the highest sum of scores.
//!
//! First, a map in the file replaces character sequences, which normalizes the text.

use roci_gguf::{Array, Metadata, Value};

use crate::Error;
use crate::spm::SPACE;
use crate::vocabulary::{Kind, Vocabulary};

/// A character without a token scores this much less than the lowest-scoring token.
const UNKNOWN_PENALTY: f32 = 10.0;

/// The parts of the tokenizer besides the vocabulary.
pub(crate) struct Unigram {
    /// Tokens that the text is split into.
    tokens: Prefixes,
    /// Tokens that normalization does not change.
    user_defined: Prefixes,
    /// Score of a character without a token.
    unknown_score: f64,
    replacements: Option<Replacements>,
    pub(crate) space_before: bool,
    merge_spaces: bool,
}

impl Unigram {
    pub(crate) fn new(metadata: &Metadata, vocabulary: &Vocabulary) -> Result<Self, Error> {
        let flag = |key: &str| metadata.get::<bool>(&format!("tokenizer.ggml.{key}"));
        let of = |kinds: &[Kind]| Prefixes::new(vocabulary, kinds);
        let scores = vocabulary.iter().filter(|(.., kind)| *kind == Kind::Normal).map(|(id, ..)| vocabulary.score(id));
        let lowest = scores.fold(f32::MAX, f32::min);
        Ok(Self {
            tokens: of(&[Kind::Normal, Kind::UserDefined, Kind::Unused]),
            user_defined: of(&[Kind::UserDefined]),
            unknown_score: f64::from(lowest - UNKNOWN_PENALTY),
            replacements: Replacements::read(metadata)?,
            space_before: flag("add_space_prefix")?.unwrap_or(false),
            merge_spaces: flag("remove_extra_whitespaces")?.unwrap_or(false),
        })
    }

    /// Encodes a text and appends its tokens.
    pub(crate) fn encode(&self, vocabulary: &Vocabulary, unknown: Option<u32>, text: &str, out: &mut Vec<u32>) {
        let bytes = self.normalize(vocabulary, text.as_bytes());
        /// The best split of a prefix of the text: its score, and the start and id of its last
        /// token.
        #[derive(Clone, Copy)]
        struct Best {
            score: f64,
            token: Option<u32>,
            start: usize,
        }
        let mut best = vec![Best { score: f64::MIN, token: unknown, start: 0 }; bytes.len() + 1];
        best[0].score = 0.0;
        let mut start = 0;
        while start < bytes.len() {
            let character = character_length(bytes[start]).min(bytes.len() - start);
            let before = best[start].score;
            let mut offer = |length: usize, token: Option<u32>, score: f64| {
                let end = &mut best[start + length];
                if before + score > end.score {
                    *end = Best { score: before + score, token, start };
                }
            };
            let mut is_token = false;
            self.tokens.matches(vocabulary, &bytes[start..], |length, id| {
                is_token |= length == character;
                let user_defined = vocabulary.kind(id) == Some(Kind::UserDefined);
                offer(length, Some(id), if user_defined { 0.0 } else { f64::from(vocabulary.score(id)) });
            });
            if !is_token {
                offer(character, unknown, self.unknown_score);
            }
            start += character;
        }
        let first = out.len();
        let mut end = bytes.len();
        let mut after_unknown = false;
        while end > 0 {
            let Best { token, start, .. } = best[end];
            let is_unknown = token == unknown;
            if !(is_unknown && after_unknown) {
                out.extend(token);
            }
            after_unknown = is_unknown;
            // A prefix is at least one byte longer than the one before it.
            end = start.min(end - 1);
        }
        out[first..].reverse();
    }

    fn normalize(&self, vocabulary: &Vocabulary, text: &[u8]) -> Vec<u8> {
        let mut normalized: Vec<u8> = Vec::with_capacity(text.len() + SPACE.len());
        let (mut has_prefix, mut in_word) = (false, false);
        let mut rest = text;
        while !rest.is_empty() {
            let (written, consumed) = self.normalize_prefix(vocabulary, rest);
            for &byte in written {
                if byte == b' ' {
                    in_word = false;
                    if !self.merge_spaces {
                        normalized.extend(SPACE.bytes());
                    }
                    continue;
                }
                if !in_word {
                    in_word = true;
                    if self.merge_spaces || (self.space_before && !has_prefix) {
                        normalized.extend(SPACE.bytes());
                        has_prefix = true;
                    }
                }
                normalized.push(byte);
            }
            rest = rest.get(consumed.max(1)..).unwrap_or_default();
        }
        normalized
    }

    /// The replacement for the start of a text, and the number of bytes that it replaces.
    fn normalize_prefix<'a>(&'a self, vocabulary: &Vocabulary, text: &'a [u8]) -> (&'a [u8], usize) {
        // As in llama.cpp, normalization also keeps text that matches only the start of a
        // user-defined token, even if that ends within a character.
        let user_defined = self.user_defined.matches(vocabulary, text, |_, _| ());
        if user_defined > 0 {
            return (&text[..user_defined], user_defined);
        }
        if let Some(found) = self.replacements.as_ref().and_then(|map| map.longest(text)) {
            return found;
        }
        match text.utf8_chunks().next().and_then(|chunk| chunk.valid().chars().next()) {
            Some(first) => (&text[..first.len_utf8()], first.len_utf8()),
            None => (REPLACEMENT.as_bytes(), 1),
        }
    }
}

/// Replaces invalid bytes.
const REPLACEMENT: &str = "\u{fffd}";

/// The length of a character in bytes, by its first byte.
fn character_length(first: u8) -> usize {
    match first {
        0..0xc0 => 1,
        0xc0..0xe0 => 2,
        0xe0..0xf0 => 3,
        0xf0.. => 4,
    }
}

/// Finds all tokens that are prefixes of a text.
struct Prefixes {
    /// Tokens, sorted by their bytes; of equal ones only the last.
    sorted: Vec<u32>,
}

impl Prefixes {
    fn new(vocabulary: &Vocabulary, kinds: &[Kind]) -> Self {
        let chosen = vocabulary.iter().filter(|(.., kind)| kinds.contains(kind));
        let mut chosen: Vec<(&str, u32)> = chosen.map(|(id, text, _)| (text, id)).collect();
        chosen.sort_unstable_by(|(text, id), (other_text, other)| text.cmp(other_text).then(other.cmp(id)));
        chosen.dedup_by_key(|(text, _)| *text);
        Self { sorted: chosen.into_iter().map(|(_, id)| id).collect() }
    }

    /// Calls `found` with the length and id of each token that is a prefix of the text, shortest
    /// first. Returns the length of the longest prefix of the text that starts some token.
    fn matches(&self, vocabulary: &Vocabulary, text: &[u8], mut found: impl FnMut(usize, u32)) -> usize {
        let token = |id: &u32| vocabulary.text(*id).unwrap_or_default().as_bytes();
        let mut range = &self.sorted[..];
        for (at, &byte) in text.iter().enumerate() {
            // All of `range` starts with `text[..at]`; a token of just these bytes is the first.
            let start = range.partition_point(|id| token(id).get(at).is_none_or(|other| *other < byte));
            let end = range.partition_point(|id| token(id).get(at).is_none_or(|other| *other <= byte));
            range = &range[start..end];
            match range.first() {
                None => return at,
                Some(id) if token(id).len() == at + 1 => found(at + 1, *id),
                Some(_) => {}
            }
        }
        text.len()
    }
}

/// SentencePiece's `precompiled_charsmap`: a double array (XCDA) of character sequences, followed
/// by their replacements, each ended by a zero byte.
struct Replacements {
    nodes: Vec<u32>,
    texts: Vec<u8>,
}

impl Replacements {
    fn read(metadata: &Metadata) -> Result<Option<Self>, Error> {
        let key = "tokenizer.ggml.precompiled_charsmap";
        let bytes: Vec<u8> = match metadata.value(key).and_then(Value::as_array) {
            None => return Ok(None),
            Some(Array::U8(bytes)) => bytes.clone(),
            Some(Array::I8(bytes)) => bytes.iter().map(|byte| *byte as u8).collect(),
            Some(_) => return Err(Error::Vocabulary(format!("`{key}` is not a list of bytes"))),
        };
        let damaged = || Error::Vocabulary(format!("`{key}` is damaged"));
        let (length, rest) = bytes.split_first_chunk::<4>().ok_or_else(damaged)?;
        let (nodes, texts) = rest.split_at_checked(u32::from_le_bytes(*length) as usize).ok_or_else(damaged)?;
        let nodes = nodes.as_chunks().0.iter().map(|node| u32::from_le_bytes(*node)).collect();
        Ok(Some(Self { nodes, texts: texts.to_vec() }))
    }

    /// The replacement for the longest sequence that is a prefix of the text, and its length.
    fn longest(&self, text: &[u8]) -> Option<(&[u8], usize)> {
        // Bits 10 to 30 are the base, in units of 256 if bit 9 is set; bit 8 marks a node with a
        // value, in the node at its base; bits 0 to 7 and 31 are the check.
        let node = |index: usize| self.nodes.get(index).copied();
        let base = |node: u32| ((node >> 10) << ((node & (1 << 9)) >> 6)) as usize;
        let mut index = base(node(0)?);
        let mut found = None;
        for (at, &byte) in text.iter().enumerate().take_while(|(_, byte)| **byte != 0) {
            index ^= usize::from(byte);
            let Some(current) = node(index).filter(|node| node & (1 << 31 | 0xff) == u32::from(byte)) else { break };
            index ^= base(current);
            if current >> 8 & 1 == 1 {
                found = node(index).map(|value| ((value & !(1 << 31)) as usize, at + 1));
            }
        }
        let (start, length) = found?;
        let text = self.texts.get(start..)?;
        Some((&text[..text.iter().position(|byte| *byte == 0)?], length))
    }
}
