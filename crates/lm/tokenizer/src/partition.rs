//! Splits text at special tokens.
//!
//! Longer tokens are matched first, over the whole text, then shorter ones in the remaining text. A
//! first pass finds the special tokens that occur at all. Otherwise the time would be the product
//! of the text length and the number of special tokens.

use aho_corasick::AhoCorasick;
use memchr::memmem;

use crate::Error;
use crate::vocabulary::{Kind, Vocabulary};

/// A fragment of a text: plain text or a special token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fragment<'a> {
    Text(&'a str),
    Token(u32),
}

/// Whether a token absorbs the whitespace before and after it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Strip {
    pub(crate) left: bool,
    pub(crate) right: bool,
}

struct Entry {
    id: u32,
    text: String,
    kind: Kind,
    strip: Strip,
}

/// The special tokens to match, longest first.
pub(crate) struct Partition {
    entries: Vec<Entry>,
    search: AhoCorasick,
}

impl Partition {
    pub(crate) fn new(vocabulary: &Vocabulary, strip: impl Fn(&str) -> Strip) -> Result<Self, Error> {
        let mut entries: Vec<Entry> = vocabulary
            .iter()
            .filter(|(_, _, kind)| matches!(kind, Kind::Control | Kind::UserDefined | Kind::Unknown))
            .map(|(id, text, kind)| Entry { id, text: text.to_owned(), kind, strip: strip(text) })
            .collect();
        entries.sort_by_key(|entry| std::cmp::Reverse(entry.text.len()));
        let search = AhoCorasick::new(entries.iter().map(|entry| &entry.text)).map_err(|error| {
            Error::Vocabulary(format!("the search for its special tokens cannot be built: {error}"))
        })?;
        Ok(Self { entries, search })
    }

    /// Splits a text. Control tokens and the unknown token are matched only if `parse_special` is
    /// set.
    pub(crate) fn split<'a>(&self, text: &'a str, parse_special: bool) -> Vec<Fragment<'a>> {
        let is_matched = |entry: &Entry| parse_special || entry.kind == Kind::UserDefined;
        let mut occurs = vec![false; self.entries.len()];
        for found in self.search.find_overlapping_iter(text) {
            occurs[found.pattern().as_usize()] = true;
        }
        let mut fragments = vec![Fragment::Text(text)];
        for (entry, _) in self.entries.iter().zip(occurs).filter(|(entry, occurs)| *occurs && is_matched(entry)) {
            let finder = memmem::Finder::new(&entry.text);
            fragments = fragments.into_iter().flat_map(|fragment| cut(fragment, entry, &finder)).collect();
        }
        fragments.retain(|fragment| *fragment != Fragment::Text(""));
        fragments
    }
}

/// Splits a fragment at every occurrence of the token.
fn cut<'a>(fragment: Fragment<'a>, entry: &Entry, finder: &memmem::Finder<'_>) -> Vec<Fragment<'a>> {
    let Fragment::Text(mut text) = fragment else { return vec![fragment] };
    let mut pieces = Vec::new();
    while let Some(at) = finder.find(text.as_bytes()) {
        let (left, right) = (&text[..at], &text[at + entry.text.len()..]);
        pieces.push(Fragment::Text(if entry.strip.left { left.trim_end_matches(is_space) } else { left }));
        pieces.push(Fragment::Token(entry.id));
        text = if entry.strip.right { right.trim_start_matches(is_space) } else { right };
    }
    pieces.push(Fragment::Text(text));
    pieces
}

/// Whitespace as defined by C's `isspace`.
fn is_space(character: char) -> bool {
    matches!(character, ' ' | '\t'..='\r')
}

#[cfg(test)]
mod tests {
    use roci_gguf::Metadata;

    use super::*;

    fn split(text: &str, parse_special: bool) -> Vec<Fragment<'_>> {
        let mut metadata = Metadata::new();
        metadata.insert("tokenizer.ggml.tokens", vec!["ab", "bcd", "<s>", "a", "\n\n", "\n", "<m>"]);
        metadata.insert("tokenizer.ggml.token_type", vec![4i32, 4, 3, 1, 4, 4, 3]);
        let vocabulary = Vocabulary::new(&metadata).expect("a vocabulary");
        let strip = |text: &str| Strip { left: text == "<m>", right: text == "<s>" };
        Partition::new(&vocabulary, strip).expect("tokens").split(text, parse_special)
    }

    #[test]
    fn longer_special_tokens_are_matched_first() {
        use Fragment::{Text, Token};
        assert_eq!(split("abcd", true), [Text("a"), Token(1)]);
        assert_eq!(split("ab\n\n\nab", true), [Token(0), Token(4), Token(5), Token(0)]);
        assert_eq!(split("", true), []);
        assert_eq!(split("xyz", true), [Text("xyz")]);
    }

    #[test]
    fn control_tokens_are_text_unless_parsed() {
        use Fragment::{Text, Token};
        assert_eq!(split("x<s>ab", false), [Text("x<s>"), Token(0)]);
        assert_eq!(split("x<s> \t y <m>z<m>", true), [Text("x"), Token(2), Text("y"), Token(6), Text("z"), Token(6)]);
    }
}
