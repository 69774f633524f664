//! Pre-tokenizers: split text into words; BPE then merges only within a word.
//!
//! A pre-tokenizer is a list of steps, and each step splits the pieces of the previous one. A match
//! of the pattern becomes a piece, and so does the text between two matches. The patterns are data;
//! `tests/data` compares them with llama.cpp's results.

mod table;

use std::ops::Range;

use regex::Regex;

pub(crate) use self::table::PreTokenizer;
use self::table::Split::{self, Lines, Pattern, Thousands, Words};
use self::table::TABLE;
use crate::Error;

/// Names of all pre-tokenizers.
pub fn names() -> Vec<&'static str> {
    TABLE.iter().flat_map(|pre| pre.names).copied().collect()
}

/// Finds a pre-tokenizer by name.
pub(crate) fn find(name: &str) -> Result<&'static PreTokenizer, Error> {
    TABLE.iter().find(|pre| pre.names.contains(&name)).ok_or_else(|| Error::PreTokenizer(name.to_owned()))
}

/// A pre-tokenizer with compiled patterns.
pub(crate) struct Splitter {
    steps: Vec<(Option<Regex>, &'static Split)>,
}

impl Splitter {
    pub(crate) fn new(pre: &'static PreTokenizer) -> Self {
        let compile = |step: &'static Split| match step {
            // The patterns are constants, and a test compiles all of them.
            Pattern(text) | Words(text) | Lines(text) => (Regex::new(text).ok(), step),
            Thousands => (None, step),
        };
        Self { steps: pre.steps.iter().map(compile).collect() }
    }

    /// Splits a text into words.
    pub(crate) fn split<'a>(&self, text: &'a str) -> Vec<&'a str> {
        let mut pieces = vec![text];
        for (regex, step) in &self.steps {
            let mut cut = Vec::new();
            for piece in pieces {
                let add = |part: Range<usize>| {
                    if !part.is_empty() {
                        cut.push(&piece[part]);
                    }
                };
                match regex {
                    Some(regex) => by_pattern(piece, regex, step, add),
                    None => thousands(piece, add),
                }
            }
            pieces = cut;
        }
        pieces
    }
}

fn by_pattern(text: &str, regex: &Regex, step: &Split, mut add: impl FnMut(Range<usize>)) {
    let mut done = 0;
    while let Some(found) = regex.find_at(text, done) {
        let end = match step {
            Words(_) => leave_last(text, found.range(), false),
            Lines(_) => leave_last(text, found.range(), true),
            Pattern(_) | Thousands => found.end(),
        };
        add(done..found.start());
        add(found.start()..end);
        done = end;
    }
    add(done..text.len());
}

/// End of a whitespace match that leaves its last character to the next word. A single character is
/// kept, and so is whitespace at the end of the text.
fn leave_last(text: &str, found: Range<usize>, keep_lines: bool) -> usize {
    let space = &text[found.clone()];
    let Some(last) = space.chars().next_back().filter(|last| last.is_whitespace()) else { return found.end };
    let before = found.end - last.len_utf8();
    let alone = before == found.start || found.end == text.len();
    let line = keep_lines && matches!(last, '\r' | '\n');
    // A match that ends in whitespace is all whitespace, unless it ends a line.
    if alone || line || !space.chars().all(char::is_whitespace) { found.end } else { before }
}

/// Splits runs of digits into groups of three, with the remainder in the first group. Text before a
/// run stays in the run's first group, and the next step splits it off. This is llama.cpp's
/// behavior: the next step's whitespace patterns see the digit that follows.
fn thousands(text: &str, mut add: impl FnMut(Range<usize>)) {
    let is_digit = |character: char| {
        use unicode_properties::{GeneralCategoryGroup, UnicodeGeneralCategory};
        character.general_category_group() == GeneralCategoryGroup::Number
    };
    let mut done = 0;
    while let Some(start) = text[done..].find(is_digit).map(|at| done + at) {
        let run = text[start..].find(|character| !is_digit(character)).map_or(text.len(), |length| start + length);
        let count = text[start..run].chars().count();
        for (seen, (at, _)) in text[start..run].char_indices().enumerate().skip(1) {
            if (count - seen).is_multiple_of(3) {
                add(done..start + at);
                done = start + at;
            }
        }
        add(done..run);
        done = run;
    }
    add(done..text.len());
}

#[cfg(test)]
mod tests {
    use super::*;

    fn split<'a>(name: &str, text: &'a str) -> Vec<&'a str> {
        Splitter::new(find(name).expect("a name")).split(text)
    }

    #[test]
    fn every_pattern_compiles_and_names_are_unique() {
        for pre in TABLE {
            for step in pre.steps {
                if let Pattern(text) | Words(text) | Lines(text) = step {
                    assert!(Regex::new(text).is_ok(), "{:?}: {text}", pre.names);
                }
                if let Words(text) | Lines(text) = step {
                    assert!(text.ends_with(r"|\s+"), "{text}");
                }
            }
        }
        let mut all = names();
        all.sort_unstable();
        assert!(all.windows(2).all(|pair| pair[0] != pair[1]));
        assert!(find("no-such").is_err_and(|error| error.hint().is_some_and(|hint| hint.contains("llama-bpe"))));
    }

    #[test]
    fn whitespace_leaves_its_last_character_to_the_word() {
        assert_eq!(split("gpt-2", "a   b \n\n c  "), ["a", "  ", " b", " \n\n", " c", "  "]);
        assert_eq!(split("gpt-2", "a\n\nb"), ["a", "\n", "\n", "b"]);
        assert_eq!(split("llama-bpe", "a   b \n\n c  \nd"), ["a", "  ", " b", " \n\n", " c", "  \n", "d"]);
        assert_eq!(split("llama-bpe", "a\n\tb"), ["a", "\n", "\tb"]);
    }

    #[test]
    fn each_pre_tokenizer_splits_numbers_and_contractions_by_its_rules() {
        assert_eq!(split("gpt-2", "it's IT'S 12345"), ["it", "'s", " IT", "'", "S", " 12345"]);
        assert_eq!(split("llama-bpe", "IT'S 12345"), ["IT", "'S", " ", "123", "45"]);
        assert_eq!(split("qwen2", "x 12"), ["x", " ", "1", "2"]);
        assert_eq!(split("gpt-4o", "it's HelloWorld"), ["it's", " Hello", "World"]);
        assert_eq!(split("tiny_aya", "ab1234567 12"), ["ab", "1", "234", "567", " ", "12"]);
    }

    #[test]
    fn words_concatenate_to_the_text() {
        let text = "Hé?! 1234\n\n  naïve\u{3000}東京 x_y\u{301} <|x|>\t.\r\n 'll";
        for name in names() {
            assert_eq!(split(name, text).concat(), text, "{name}");
            assert_eq!(split(name, ""), Vec::<&str>::new(), "{name}");
        }
    }
}
