//! Streaming detokenization: a character's UTF-8 bytes may span several tokens.

use crate::Tokenizer;

/// Streaming UTF-8 decoder that buffers incomplete characters.
#[derive(Clone, Debug, Default)]
pub struct Characters {
    /// Bytes of an incomplete character, at most three.
    held: Vec<u8>,
}

impl Characters {
    /// Adds bytes and returns the text that is complete. Invalid bytes become U+FFFD.
    pub fn push(&mut self, bytes: &[u8]) -> String {
        self.held.extend_from_slice(bytes);
        let mut text = String::new();
        let mut rest = &self.held[..];
        loop {
            match std::str::from_utf8(rest) {
                Ok(valid) => {
                    text.push_str(valid);
                    rest = &[];
                    break;
                }
                Err(error) => {
                    let (valid, after) = rest.split_at(error.valid_up_to());
                    text.push_str(&String::from_utf8_lossy(valid));
                    rest = after;
                    // `None` means an incomplete character at the end.
                    let Some(length) = error.error_len() else { break };
                    text.push(char::REPLACEMENT_CHARACTER);
                    rest = &rest[length..];
                }
            }
        }
        self.held = rest.to_vec();
        text
    }

    /// Ends the stream: returns U+FFFD for an incomplete character, otherwise an empty string.
    pub fn finish(&mut self) -> String {
        String::from_utf8_lossy(&std::mem::take(&mut self.held)).into_owned()
    }
}

/// Streaming detokenizer that buffers the bytes of incomplete characters.
#[derive(Debug)]
pub struct Decoder<'a> {
    tokenizer: &'a Tokenizer,
    show_special: bool,
    characters: Characters,
    /// Whether to strip the next token's leading space, which the vocabulary adds at the start of a
    /// text.
    strip_space: bool,
}

impl<'a> Decoder<'a> {
    pub(crate) fn new(tokenizer: &'a Tokenizer, show_special: bool, strip_space: bool) -> Self {
        Self { tokenizer, show_special, characters: Characters::default(), strip_space }
    }

    /// Adds a token and returns the text that is complete. Invalid bytes become U+FFFD.
    pub fn push(&mut self, id: u32) -> String {
        let mut piece = self.tokenizer.piece(id, self.show_special);
        if std::mem::take(&mut self.strip_space) {
            piece = piece.strip_prefix(b" ").unwrap_or(piece);
        }
        self.characters.push(piece)
    }

    /// Ends the stream: returns U+FFFD for an incomplete character, otherwise an empty string.
    pub fn finish(mut self) -> String {
        self.characters.finish()
    }
}
