//! Tokens to text, as they come: a character of several bytes may come in several tokens.

use crate::Tokenizer;

/// Turns bytes into text as they come, holding some back until they are whole characters.
#[derive(Clone, Debug, Default)]
pub struct Characters {
    /// Bytes that are not yet a character: at most three.
    held: Vec<u8>,
}

impl Characters {
    /// The text that is complete with these bytes. Bytes that can be no character become U+FFFD.
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
                    // `None`: the text may go on here.
                    let Some(length) = error.error_len() else { break };
                    text.push(char::REPLACEMENT_CHARACTER);
                    rest = &rest[length..];
                }
            }
        }
        self.held = rest.to_vec();
        text
    }

    /// What is left at the end: U+FFFD for a character that was never completed, or nothing.
    pub fn finish(&mut self) -> String {
        String::from_utf8_lossy(&std::mem::take(&mut self.held)).into_owned()
    }
}

/// Turns tokens into text one by one, holding bytes back until they are whole characters.
pub struct Decoder<'a> {
    tokenizer: &'a Tokenizer,
    show_special: bool,
    characters: Characters,
    /// Whether a space at the start of the next token belongs to the vocabulary's spelling rather than to the text.
    strip_space: bool,
}

impl<'a> Decoder<'a> {
    pub(crate) fn new(tokenizer: &'a Tokenizer, show_special: bool, strip_space: bool) -> Self {
        Self { tokenizer, show_special, characters: Characters::default(), strip_space }
    }

    /// The text that is complete with this token. Bytes that can be no character become U+FFFD.
    pub fn push(&mut self, id: u32) -> String {
        let mut piece = self.tokenizer.piece(id, self.show_special);
        if std::mem::take(&mut self.strip_space) {
            piece = piece.strip_prefix(b" ").unwrap_or(piece);
        }
        self.characters.push(piece)
    }

    /// What is left at the end: U+FFFD for a character that was never completed, or nothing.
    pub fn finish(mut self) -> String {
        self.characters.finish()
    }
}
