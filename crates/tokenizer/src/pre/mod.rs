//! Pre-tokenizers: how text is cut into words before byte pairs are joined within each.
//!
//! A pre-tokenizer is a list of steps; each cuts the pieces that the step before it left. What a pattern matches is a piece,
//! and what lies between two matches is one too. The patterns are data; `tests/data` holds them to llama.cpp's results.

mod table;

use std::ops::Range;

use regex::Regex;

pub(crate) use self::table::PreTokenizer;
use self::table::Step::{self, Lines, Pattern, Thousands, Words};
use self::table::TABLE;
use crate::Error;

/// The names of all pre-tokenizers.
pub fn names() -> Vec<&'static str> {
    TABLE.iter().flat_map(|pre| pre.names).copied().collect()
}

/// The pre-tokenizer of a name.
pub(crate) fn find(name: &str) -> Result<&'static PreTokenizer, Error> {
    TABLE.iter().find(|pre| pre.names.contains(&name)).ok_or_else(|| Error::PreTokenizer(name.to_owned()))
}

/// A pre-tokenizer that is ready to run: its patterns are compiled.
pub(crate) struct Splitter {
    steps: Vec<(Option<Regex>, &'static Step)>,
}

impl Splitter {
    pub(crate) fn new(pre: &'static PreTokenizer) -> Self {
        let compile = |step: &'static Step| match step {
            // The patterns are our own, and a test compiles them all.
            Pattern(text) | Words(text) | Lines(text) => (Regex::new(text).ok(), step),
            Thousands => (None, step),
        };
        Self { steps: pre.steps.iter().map(compile).collect() }
    }

    /// Cuts a text into words.
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

fn by_pattern(text: &str, regex: &Regex, step: &Step, mut add: impl FnMut(Range<usize>)) {
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

/// Where white space ends that leaves its last character to the word after it. One character alone stays, and so does the
/// end of the text.
fn leave_last(text: &str, found: Range<usize>, keep_lines: bool) -> usize {
    let space = &text[found.clone()];
    let Some(last) = space.chars().next_back().filter(|last| last.is_whitespace()) else { return found.end };
    let before = found.end - last.len_utf8();
    let alone = before == found.start || found.end == text.len();
    let line = keep_lines && matches!(last, '\r' | '\n');
    // Words end in white space only where they are nothing else, or where they end a line.
    if alone || line || !space.chars().all(char::is_whitespace) { found.end } else { before }
}

/// Groups of three digits, the first of a run having what is left over. Text before a run stays with its first group, for the
/// next step to cut off: so it is in llama.cpp, and white space there sees that a digit follows.
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
    fn every_pattern_compiles_and_every_name_is_there_once() {
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
    fn white_space_leaves_its_last_character_to_the_word() {
        assert_eq!(split("gpt-2", "a   b \n\n c  "), ["a", "  ", " b", " \n\n", " c", "  "]);
        assert_eq!(split("gpt-2", "a\n\nb"), ["a", "\n", "\n", "b"]);
        assert_eq!(split("llama-bpe", "a   b \n\n c  \nd"), ["a", "  ", " b", " \n\n", " c", "  \n", "d"]);
        assert_eq!(split("llama-bpe", "a\n\tb"), ["a", "\n", "\tb"]);
    }

    #[test]
    fn numbers_and_contractions_are_cut_as_each_has_it() {
        assert_eq!(split("gpt-2", "it's IT'S 12345"), ["it", "'s", " IT", "'", "S", " 12345"]);
        assert_eq!(split("llama-bpe", "IT'S 12345"), ["IT", "'S", " ", "123", "45"]);
        assert_eq!(split("qwen2", "x 12"), ["x", " ", "1", "2"]);
        assert_eq!(split("gpt-4o", "it's HelloWorld"), ["it's", " Hello", "World"]);
        assert_eq!(split("tiny_aya", "ab1234567 12"), ["ab", "1", "234", "567", " ", "12"]);
    }

    #[test]
    fn pieces_are_all_of_the_text() {
        let text = "Hé?! 1234\n\n  naïve\u{3000}東京 x_y\u{301} <|x|>\t.\r\n 'll";
        for name in names() {
            assert_eq!(split(name, text).concat(), text, "{name}");
            assert_eq!(split(name, ""), Vec::<&str>::new(), "{name}");
        }
    }
}
