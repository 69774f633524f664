//! The tokenizer of RWKV: the longest token that matches, byte by byte. Tokens are arbitrary bytes,
//! written with escapes in the file.

use crate::vocabulary::Vocabulary;

/// The tokens of a vocabulary by their bytes.
pub(crate) struct Rwkv {
    /// Sorted by bytes, without duplicates.
    tokens: Vec<(Vec<u8>, u32)>,
}

impl Rwkv {
    pub(crate) fn new(vocabulary: &Vocabulary) -> Self {
        let mut tokens: Vec<_> = vocabulary.iter().map(|(id, text, _)| (unescaped(text), id)).collect();
        // The last one of equal tokens, as in llama.cpp.
        tokens.sort_by(|a, b| a.0.cmp(&b.0).then(b.1.cmp(&a.1)));
        tokens.dedup_by(|later, first| later.0 == first.0);
        Self { tokens }
    }

    /// Encodes a text and appends its tokens.
    pub(crate) fn encode(&self, unknown: Option<u32>, text: &str, out: &mut Vec<u32>) {
        let mut rest = text.as_bytes();
        while !rest.is_empty() {
            let (length, id) = self.longest(rest).map_or((1, unknown), |(length, id)| (length, Some(id)));
            out.extend(id);
            rest = &rest[length..];
        }
    }

    /// The longest token at the start of a text, and its length in bytes.
    fn longest(&self, text: &[u8]) -> Option<(usize, u32)> {
        // Tokens that start with the bytes so far.
        let mut range = &self.tokens[..];
        let mut found = None;
        for (at, byte) in text.iter().enumerate() {
            let start = range.partition_point(|(token, _)| token.get(at) < Some(byte));
            let end = range.partition_point(|(token, _)| token.get(at) <= Some(byte));
            range = &range[start..end];
            let Some((token, id)) = range.first() else { break };
            if token.len() == at + 1 {
                found = Some((at + 1, *id));
            }
        }
        found
    }
}

/// The bytes of a token: `\t`, `\n`, `\r`, `\x0a`, and any other character after a backslash stands
/// for itself.
pub(crate) fn unescaped(text: &str) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((first, after)) = rest.split_first() {
        rest = after;
        if *first != b'\\' {
            bytes.push(*first);
            continue;
        }
        let Some((escape, after)) = rest.split_first() else { break };
        rest = after;
        match escape {
            b't' => bytes.push(b'\t'),
            b'n' => bytes.push(b'\n'),
            b'r' => bytes.push(b'\r'),
            b'x' => {
                let Some((digits, after)) = rest.split_at_checked(2) else { break };
                rest = after;
                let digit = |digit: u8| char::from(digit).to_digit(16).unwrap_or(0) as u8;
                bytes.push(digit(digits[0]) << 4 | digit(digits[1]));
            }
            other => bytes.push(*other),
        }
    }
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escapes_are_bytes() {
        assert_eq!(unescaped(r"a\n\t\r\\\'\xe6\x9d"), b"a\n\t\r\\'\xe6\x9d");
        assert_eq!(unescaped("東"), "東".as_bytes());
        assert_eq!([unescaped(r"a\"), unescaped(r"a\x4"), unescaped(r"\xzz")], [b"a".to_vec(), b"a".to_vec(), vec![0]]);
    }

    #[test]
    fn the_longest_token_wins() {
        let tokens = |texts: &[&str]| {
            let mut tokens: Vec<_> = texts.iter().zip(0..).map(|(text, id)| (unescaped(text), id)).collect();
            tokens.sort();
            Rwkv { tokens }
        };
        let rwkv = tokens(&["a", "b", "abc", "abcdx", "c", r"\xe6"]);
        let encode = |text: &str| {
            let mut out = Vec::new();
            rwkv.encode(Some(9), text, &mut out);
            out
        };
        assert_eq!(encode("abcdabab"), [2, 9, 0, 1, 0, 1]);
        // The first byte of the character alone is a token.
        assert_eq!(encode("東"), [5, 9, 9]);
    }
}
