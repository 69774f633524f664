//! Byte-pair encoding: each word is split into single symbols, and adjacent symbols are merged in
//! the order of the merge list.
//!
//! A symbol is a number: the ID of a token, or a number after the last ID for a text that occurs
//! only in merges. A character that occurs in neither is its code point with the highest bit set.

use std::collections::HashMap;

use roci_gguf::Metadata;

use crate::merge::Merger;
use crate::pre::{PreTokenizer, Splitter};
use crate::spm::SPACE;
use crate::vocabulary::Vocabulary;
use crate::{Error, bytes};

/// Marks the symbol of a character that occurs in no token and no merge.
const UNKNOWN_CHARACTER: u32 = 1 << 31;

/// The BPE model: pre-tokenizer, merges and symbols.
pub(crate) struct Bpe {
    pre: &'static PreTokenizer,
    splitter: Splitter,
    /// Rank and result of merging two symbols.
    pairs: HashMap<(u32, u32), (u32, u32)>,
    /// Texts of symbols that are not tokens; the first one has the number after the last token.
    extra: Vec<String>,
    /// Symbol numbers of those texts.
    numbers: HashMap<String, u32>,
    /// The symbol of each byte.
    of_byte: Box<[u32; 256]>,
}

impl Bpe {
    pub(crate) fn new(metadata: &Metadata, vocabulary: &Vocabulary, pre: &'static PreTokenizer) -> Result<Self, Error> {
        let mut symbols = Symbols { vocabulary, extra: Vec::new(), numbers: HashMap::new() };
        let mut pairs = HashMap::new();
        for (rank, merge) in metadata.expect::<&[String]>("tokenizer.ggml.merges")?.iter().enumerate() {
            // Skips the first character, which may itself be a space.
            let space = merge.char_indices().skip(1).find(|(_, character)| *character == ' ');
            let Some((space, _)) = space else {
                return Err(Error::Vocabulary(format!(
                    "merge {rank} (`{merge}`) is not two symbols separated by a space"
                )));
            };
            let (left, right) = (&merge[..space], &merge[space + 1..]);
            let key = (symbols.number(left), symbols.number(right));
            let joined = symbols.number(&format!("{left}{right}"));
            pairs.entry(key).or_insert((rank as u32, joined));
        }
        let of_byte = Box::new(bytes::table().map(|character| symbols.number(character.encode_utf8(&mut [0; 4]))));
        Ok(Self { pre, splitter: Splitter::new(pre), pairs, extra: symbols.extra, numbers: symbols.numbers, of_byte })
    }

    /// Whether token texts are plain UTF-8, rather than one character per byte.
    pub(crate) fn is_raw(&self) -> bool {
        self.pre.raw
    }

    /// Encodes a text and appends its tokens.
    pub(crate) fn encode(&self, vocabulary: &Vocabulary, unknown: Option<u32>, text: &str, out: &mut Vec<u32>) {
        let escaped;
        let text = if self.pre.raw {
            escaped = text.replace(' ', SPACE);
            &escaped
        } else {
            text
        };
        let mut merger = Merger::new();
        for word in self.splitter.split(text) {
            if let Some(id) = self.whole(vocabulary, word) {
                out.push(id);
                continue;
            }
            let join = |left, right| self.pairs.get(&(left, right)).copied();
            let symbol_out = |symbol| self.put(vocabulary, unknown, symbol, out);
            if self.pre.raw {
                merger.run(word.chars().map(|character| self.of_character(vocabulary, character)), join, symbol_out);
            } else {
                merger.run(word.bytes().map(|byte| self.of_byte[usize::from(byte)]), join, symbol_out);
            }
        }
    }

    /// The token of a whole word, for words that are not split into symbols.
    fn whole(&self, vocabulary: &Vocabulary, word: &str) -> Option<u32> {
        if self.pre.ignore_merges {
            let table = bytes::table();
            return vocabulary.id(&word.bytes().map(|byte| table[usize::from(byte)]).collect::<String>());
        }
        // Merges cannot contain newlines, so runs of newlines are looked up as whole tokens.
        let newlines = self.pre.raw && word.bytes().all(|byte| byte == b'\n');
        newlines.then(|| vocabulary.id(word)).flatten()
    }

    fn of_character(&self, vocabulary: &Vocabulary, character: char) -> u32 {
        let mut buffer = [0; 4];
        let text = &*character.encode_utf8(&mut buffer);
        vocabulary
            .id(text)
            .or_else(|| self.numbers.get(text).copied())
            .unwrap_or(UNKNOWN_CHARACTER | u32::from(character))
    }

    /// Appends the token of a symbol. A symbol without a token becomes byte tokens, characters or
    /// the unknown token.
    fn put(&self, vocabulary: &Vocabulary, unknown: Option<u32>, symbol: u32, out: &mut Vec<u32>) {
        if (symbol as usize) < vocabulary.len() {
            return out.push(symbol);
        }
        let text = match char::from_u32(symbol ^ UNKNOWN_CHARACTER) {
            Some(character) if symbol & UNKNOWN_CHARACTER != 0 => character.to_string(),
            _ => self.extra.get(symbol as usize - vocabulary.len()).cloned().unwrap_or_default(),
        };
        if self.pre.raw {
            out.extend(text.bytes().filter_map(|byte| vocabulary.byte(byte).or(unknown)));
        } else {
            out.extend(text.chars().filter_map(|part| vocabulary.id(part.encode_utf8(&mut [0; 4])).or(unknown)));
        }
    }
}

/// Assigns numbers to symbols.
struct Symbols<'a> {
    vocabulary: &'a Vocabulary,
    extra: Vec<String>,
    numbers: HashMap<String, u32>,
}

impl Symbols<'_> {
    fn number(&mut self, text: &str) -> u32 {
        if let Some(id) = self.vocabulary.id(text).or_else(|| self.numbers.get(text).copied()) {
            return id;
        }
        let id = (self.vocabulary.len() + self.extra.len()) as u32;
        self.extra.push(text.to_owned());
        self.numbers.insert(text.to_owned(), id);
        id
    }
}
