//! The vocabulary file `tokenizer.bin` of llama2.c.

use roci_gguf::Value;

use super::ConvertError;

/// The pieces of the vocabulary.
#[derive(Debug)]
pub(super) struct Tokens {
    texts: Vec<String>,
    scores: Vec<f32>,
}

/// Reads the length of the longest piece, then the score, length and bytes of each token.
pub(super) fn read(bytes: &[u8], count: usize) -> Result<Tokens, ConvertError> {
    let mut tokens = Tokens { texts: Vec::new(), scores: Vec::new() };
    let mut rest = bytes.get(4..).unwrap_or_default();
    for token in 0..count {
        let ends = || ConvertError::Tokens { token, count };
        let (score, after) = rest.split_first_chunk().ok_or_else(ends)?;
        let (length, after) = after.split_first_chunk().ok_or_else(ends)?;
        let length = usize::try_from(i32::from_le_bytes(*length)).map_err(|_| ends())?;
        let (text, after) = after.split_at_checked(length).ok_or_else(ends)?;
        tokens.texts.push(piece(token, &String::from_utf8_lossy(text)));
        tokens.scores.push(f32::from_le_bytes(*score));
        rest = after;
    }
    if rest.is_empty() { Ok(tokens) } else { Err(ConvertError::MoreTokens { count }) }
}

/// A piece in SentencePiece's spelling. llama2.c writes plain spaces, and line feeds around the
/// start and end tokens.
fn piece(token: usize, text: &str) -> String {
    match token {
        0 => "<unk>".to_owned(),
        1 => "<s>".to_owned(),
        2 => "</s>".to_owned(),
        _ => text.replace(' ', "▁"),
    }
}

impl Tokens {
    /// The tokenizer's metadata.
    pub(super) fn metadata(&self) -> Vec<(String, Value)> {
        let is_byte = |text: &str| {
            let digits = text.strip_prefix("<0x").and_then(|text| text.strip_suffix('>'));
            digits.is_some_and(|digits| digits.len() == 2 && u8::from_str_radix(digits, 16).is_ok())
        };
        let kind = |(token, text): (usize, &String)| match token {
            0 => 2i32,
            1 | 2 => 3,
            _ if is_byte(text) => 6,
            _ => 1,
        };
        let kinds: Vec<i32> = self.texts.iter().enumerate().map(kind).collect();
        let texts: Vec<&str> = self.texts.iter().map(String::as_str).collect();
        let pairs: [(&str, Value); 9] = [
            ("model", "llama".into()),
            ("tokens", texts.into()),
            ("scores", self.scores.clone().into()),
            ("token_type", kinds.into()),
            ("bos_token_id", 1u32.into()),
            ("eos_token_id", 2u32.into()),
            ("unknown_token_id", 0u32.into()),
            ("add_bos_token", true.into()),
            ("add_space_prefix", true.into()),
        ];
        pairs.into_iter().map(|(key, value)| (format!("tokenizer.ggml.{key}"), value)).collect()
    }
}
