//! SentencePiece BPE, as in Llama 2, Mistral, Phi-3 and Gemma: characters are merged to tokens, the
//! highest score first. Text without a token is encoded as bytes.

use crate::merge::Merger;
use crate::vocabulary::Vocabulary;

/// SentencePiece's character for a space.
pub(crate) const SPACE: &str = "▁";

/// A fragment of the text: byte offset and length.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Span {
    start: u32,
    length: u32,
}

/// Encodes a text and appends its tokens, optionally with a space prepended.
pub(crate) fn encode(
    vocabulary: &Vocabulary,
    unknown: Option<u32>,
    text: &str,
    space_before: bool,
    out: &mut Vec<u32>,
) {
    let mut escaped = String::with_capacity(text.len() + SPACE.len());
    if space_before {
        escaped.push_str(SPACE);
    }
    escaped.extend(text.split_inclusive(' ').flat_map(|part| match part.strip_suffix(' ') {
        Some(word) => [word, SPACE],
        None => [part, ""],
    }));
    let slice = |span: Span| &escaped[span.start as usize..][..span.length as usize];
    let characters = escaped
        .char_indices()
        .map(|(start, character)| Span { start: start as u32, length: character.len_utf8() as u32 });
    let join = |left: Span, right: Span| {
        let joined = Span { start: left.start, length: left.length + right.length };
        if joined.length as usize > vocabulary.longest {
            return None;
        }
        vocabulary.id(slice(joined)).map(|id| (vocabulary.rank(id), joined))
    };
    Merger::new().run(characters, join, |span| match vocabulary.id(slice(span)) {
        Some(id) => out.push(id),
        None => out.extend(slice(span).bytes().filter_map(|byte| vocabulary.byte(byte).or(unknown))),
    });
}
