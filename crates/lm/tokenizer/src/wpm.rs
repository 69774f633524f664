//! WordPiece, as in BERT: text is normalized and split into words, and each word is split greedily
//! into the longest matching tokens.

use unicode_normalization::char::decompose_canonical;
use unicode_properties::{GeneralCategoryGroup, UnicodeGeneralCategory};

use crate::spm::SPACE;
use crate::vocabulary::Vocabulary;

/// Normalization applied before splitting.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Normalizer {
    pub(crate) lowercase: bool,
    pub(crate) strip_accents: bool,
}

/// Encodes a text and appends its tokens.
pub(crate) fn encode(
    vocabulary: &Vocabulary,
    unknown: Option<u32>,
    normalizer: Normalizer,
    text: &str,
    out: &mut Vec<u32>,
) {
    for word in words(text, normalizer) {
        let start = out.len();
        if !pieces(vocabulary, &format!("{SPACE}{word}"), out) {
            out.truncate(start);
            out.extend(unknown);
        }
    }
}

/// Appends the tokens of a word. Returns `false` if no token matches the rest of the word.
fn pieces(vocabulary: &Vocabulary, mut word: &str, out: &mut Vec<u32>) -> bool {
    while !word.is_empty() {
        let longest = word.len().min(vocabulary.longest);
        let starts = (1..=longest).rev().filter(|end| word.is_char_boundary(*end));
        let Some((end, id)) = starts.filter_map(|end| Some((end, vocabulary.id(&word[..end])?))).next() else {
            return false;
        };
        out.push(id);
        word = &word[end..];
    }
    true
}

fn words(text: &str, normalizer: Normalizer) -> Vec<String> {
    let mut words = vec![String::new()];
    for character in text.chars() {
        let character = if normalizer.strip_accents { base(character) } else { character };
        if character.is_whitespace() {
            words.push(String::new());
            continue;
        }
        let group = character.general_category_group();
        let hidden = matches!(character, '\0' | '\u{fffd}') || is_control(character);
        if hidden || (normalizer.strip_accents && group == GeneralCategoryGroup::Mark) {
            continue;
        }
        let written = if normalizer.lowercase { lower(character) } else { character };
        let alone = group == GeneralCategoryGroup::Punctuation
            || (character < '\u{7f}' && group == GeneralCategoryGroup::Symbol)
            || is_ideograph(character);
        if alone {
            words.push(written.to_string());
            words.push(String::new());
        } else if let Some(word) = words.last_mut() {
            word.push(written);
        }
    }
    words.retain(|word| !word.is_empty());
    words
}

/// The first character of the canonical decomposition: the letter without accents.
fn base(character: char) -> char {
    let mut first = None;
    decompose_canonical(character, |part| {
        first.get_or_insert(part);
    });
    first.unwrap_or(character)
}

/// The lowercase letter, if it is a single character.
fn lower(character: char) -> char {
    let mut small = character.to_lowercase();
    match (small.next(), small.next()) {
        (Some(only), None) => only,
        _ => character,
    }
}

fn is_control(character: char) -> bool {
    use unicode_properties::GeneralCategory::{Control, Format, PrivateUse, Surrogate};
    matches!(character.general_category(), Control | Format | PrivateUse | Surrogate)
}

/// The ideograph blocks of BERT's reference, except for one range that its Rust port omits.
fn is_ideograph(character: char) -> bool {
    matches!(u32::from(character),
        0x4e00..=0x9fff | 0x3400..=0x4dbf | 0x20000..=0x2a6df | 0x2a700..=0x2b73f | 0x2b740..=0x2b81f | 0x2b920..=0x2ceaf
        | 0xf900..=0xfaff | 0x2f800..=0x2fa1f)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_normalized_and_split_into_words() {
        let uncased = Normalizer { lowercase: true, strip_accents: true };
        assert_eq!(words("Ça va\u{301}?\u{200b} $5 東京\tİx", uncased), ["ca", "va", "?", "$", "5", "東", "京", "ix"]);
        let cased = Normalizer { lowercase: false, strip_accents: false };
        assert_eq!(words("Ça Va", cased), ["Ça", "Va"]);
        assert_eq!(words(" \n", cased), Vec::<String>::new());
    }
}
