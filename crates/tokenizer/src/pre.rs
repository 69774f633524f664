//! Pre-tokenizers: how text is cut into words before byte pairs are joined within each.
//!
//! A pre-tokenizer is a list of steps; each cuts the pieces that the step before it left. What a pattern matches is a piece,
//! and what lies between two matches is one too. The patterns are data; `tests/data` holds them to llama.cpp's results.

use std::ops::Range;

use regex::Regex;

use crate::Error;

/// One way to cut.
enum Step {
    /// What the pattern matches.
    Pattern(&'static str),
    /// The same, but white space before a word leaves its last character to the word: `\s+(?!\S)` of the usual patterns,
    /// which an engine without look-ahead cannot say. The pattern ends in `|\s+`.
    Words(&'static str),
    /// As `Words`, for patterns in which `\s*[\r\n]+` matches white space that ends a line: that stays whole.
    Lines(&'static str),
    /// Runs of digits in groups of three, counted from the right.
    Thousands,
}

use Step::{Lines, Pattern, Thousands, Words};

/// What vocabularies with one of these names have in common.
pub(crate) struct PreTokenizer {
    names: &'static [&'static str],
    steps: &'static [Step],
    /// A word that is a token stays whole, without a look at the merges.
    pub(crate) ignore_merges: bool,
    /// Texts start with the beginning-of-text token unless the file says otherwise.
    pub(crate) add_bos: bool,
    /// Characters as they are, with `▁` for spaces, rather than one character a byte.
    pub(crate) raw: bool,
}

const NONE: PreTokenizer = PreTokenizer { names: &[], steps: &[], ignore_merges: false, add_bos: false, raw: false };

const GPT2: Step = Words(r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+");
const DIGIT: Step = Pattern(r"\p{N}");
const LLAMA3: Step =
    Lines(r"'(?i-u:[stmd]|re|ve|ll)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+");
const QWEN2: Step =
    Lines(r"'(?i-u:[stmd]|re|ve|ll)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+");
const NEWLINES: Step = Pattern(r"[^\n]+|\n+");
/// Everything from U+0800 to the end of Hangul that is no white space, ideographs above all.
const WIDE: Step = Pattern(r"[\u{800}-\u{9fa5}\u{ac00}-\u{d7ff}--\s]+");
const FINNISH: Step = Pattern(r" ?[^(\s|.,!?\u{2026}\u{3002}\u{ff0c}\u{3001}\u{964}\u{6d4}\u{60c})]+");
/// The main pattern of DeepSeek's newer models.
const DEEPSEEK3: Step = Lines(
    r##"[!"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+| ?[\p{P}\p{S}]+[\r\n]*|\s*[\r\n]+|\s+"##,
);

/// All of them. Letters that are not in ASCII count as small and capital at once, as they do in llama.cpp.
static TABLE: &[PreTokenizer] = &[
    PreTokenizer {
        names: &["default"],
        steps: &[Pattern(r"[\p{P}$+<=>^~|]+"), GPT2, Pattern(r"\p{N}+"), Pattern(r"[0-9]{3}")],
        ..NONE
    },
    PreTokenizer {
        names: &[
            "llama-bpe",
            "llama3",
            "llama-v3",
            "falcon3",
            "falcon-h1",
            "pixtral",
            "midm-2.0",
            "lfm2",
            "jina-v5-nano",
        ],
        steps: &[LLAMA3],
        ignore_merges: true,
        add_bos: true,
        ..NONE
    },
    PreTokenizer { names: &["dbrx", "smaug-bpe", "chatglm-bpe"], steps: &[LLAMA3], ..NONE },
    PreTokenizer { names: &["glm4", "glm5"], steps: &[LLAMA3], ignore_merges: true, ..NONE },
    PreTokenizer {
        names: &["minicpm5"],
        steps: &[
            Pattern(r"\p{N}{1,3}"),
            Lines(r"'(?i-u:[stmd]|re|ve|ll)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}+| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+"),
        ],
        ignore_merges: true,
        ..NONE
    },
    PreTokenizer {
        names: &[
            "gpt-2",
            "phi-2",
            "jina-es",
            "jina-de",
            "gigachat",
            "jina-v2-es",
            "jina-v2-de",
            "a.x-4.0",
            "mellum",
            "modern-bert",
            "jina-v1-en",
            "jina-v2-code",
            "roberta-bpe",
            "mpt",
            "olmo",
            "jais",
            "trillion",
            "granite-docling",
            "exaone4",
        ],
        steps: &[GPT2],
        ..NONE
    },
    PreTokenizer {
        names: &["smollm", "starcoder", "refact", "command-r", "codeshell", "exaone", "minerva-7b", "mellum2"],
        steps: &[DIGIT, GPT2],
        ..NONE
    },
    PreTokenizer {
        names: &[
            "qwen2",
            "deepseek-r1-qwen",
            "kormo",
            "f2llmv2",
            "megrez",
            "stablelm2",
            "hunyuan",
            "solar-open",
            "grok-2",
        ],
        steps: &[QWEN2],
        ..NONE
    },
    PreTokenizer {
        names: &["qwen35"],
        steps: &[Lines(
            r"'(?i-u:[stmd]|re|ve|ll)|[^\r\n\p{L}\p{N}]?[\p{L}\p{M}]+|\p{N}| ?[^\s\p{L}\p{M}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+",
        )],
        ..NONE
    },
    PreTokenizer {
        names: &["ufakzeka"],
        steps: &[Lines(r"[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+")],
        ..NONE
    },
    PreTokenizer { names: &["laguna"], steps: &[NEWLINES, QWEN2], ..NONE },
    PreTokenizer {
        names: &["seed-coder"],
        steps: &[Lines(
            r"'(?i-u:[stmd]|re|ve|ll)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}\r\n]+|\s*[\r\n]+|\s+",
        )],
        ..NONE
    },
    PreTokenizer {
        names: &["bailingmoe", "bailingmoe2", "llada-moe"],
        steps: &[Lines(
            r"'(?i-u:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]|\s+",
        )],
        ..NONE
    },
    PreTokenizer {
        names: &["exaone-moe"],
        steps: &[Lines(
            r"'(?i-u:[stmd]|re|ve|ll)|[^\r\n\p{L}\p{N}]?(?:\p{L}\p{M}*(?: \p{L}\p{M}*)*)+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]?|\s*[\r\n]|\s+",
        )],
        ..NONE
    },
    PreTokenizer { names: &["falcon"], steps: &[Pattern(r"[\p{P}$+<=>^~|`]+"), GPT2, Pattern(r"[0-9]{3}")], ..NONE },
    PreTokenizer {
        names: &["deepseek-coder"],
        steps: &[Pattern(r"[\r\n]"), Pattern(r"\s?\p{L}+"), Pattern(r"\s?\p{P}+"), WIDE, DIGIT],
        ..NONE
    },
    PreTokenizer {
        names: &["deepseek-llm"],
        steps: &[
            Pattern(r"[\r\n]"),
            // The letters that have two cases, as the model's authors listed them.
            Pattern(
                r"(?x)\s?[
                    A-Za-z\u{b5}\u{c0}-\u{d6}\u{d8}-\u{f6}\u{f8}-\u{1ba}\u{1bc}-\u{1bf}\u{1c4}-\u{293}\u{295}-\u{2af}
                    \u{370}-\u{373}\u{376}\u{377}\u{37b}-\u{37d}\u{37f}\u{386}\u{388}-\u{38a}\u{38c}\u{38e}-\u{3a1}
                    \u{3a3}-\u{3f5}\u{3f7}-\u{481}\u{48a}-\u{52f}\u{531}-\u{556}\u{10a0}-\u{10c5}\u{13a0}-\u{13f5}
                    \u{13f8}-\u{13fd}\u{1c90}-\u{1cba}\u{1cbd}-\u{1cbf}\u{1d00}-\u{1d2b}\u{1d6b}-\u{1d77}
                    \u{1d79}-\u{1d9a}\u{1e00}-\u{1f15}\u{1f18}-\u{1f1d}\u{1f20}-\u{1f45}\u{1f48}-\u{1f4d}
                    \u{1f50}-\u{1f57}\u{1f59}\u{1f5b}\u{1f5d}\u{1f5f}-\u{1f7d}\u{1f80}-\u{1fb4}\u{1fb6}-\u{1fbc}\u{1fbe}
                    \u{1fc2}-\u{1fc4}\u{1fc6}-\u{1fcc}\u{1fd0}-\u{1fd3}\u{1fd6}-\u{1fdb}\u{1fe0}-\u{1fec}
                    \u{1ff2}-\u{1ff4}\u{1ff6}-\u{1ffc}\u{2102}\u{2107}\u{210a}-\u{2113}\u{2115}\u{2119}-\u{211d}\u{2124}
                    \u{2126}\u{2128}\u{212a}-\u{212d}\u{212f}-\u{2134}\u{2139}\u{213c}-\u{213f}\u{2145}-\u{2149}\u{214e}
                    \u{2183}\u{2184}\u{2c00}-\u{2c7b}\u{2c7e}-\u{2ce4}\u{2ceb}-\u{2cee}\u{2cf2}\u{2cf3}\u{a640}-\u{a66d}
                    \u{a680}-\u{a69b}\u{a722}-\u{a76f}\u{a771}-\u{a787}\u{a78b}-\u{a78e}\u{ab70}-\u{abbf}
                    \u{fb00}-\u{fb06}\u{fb13}-\u{fb17}\u{ff21}-\u{ff3a}\u{ff41}-\u{ff5a}\u{10400}-\u{1044f}
                    \u{104b0}-\u{104d3}\u{104d8}-\u{104fb}\u{10c80}-\u{10cb2}\u{10cc0}-\u{10cf2}\u{118a0}-\u{118df}
                    \u{1e900}-\u{1e943}
                ]+",
            ),
            // The list has the ideographic space, U+3000, which llama.cpp takes for white space alone.
            Pattern(r"\s?[!-/:-~\u{ff01}-\u{ff0f}\u{ff1a}-\u{ff5e}\u{2018}-\u{201f}\u{3001}-\u{3002}]+"),
            Pattern(r"\s+$"),
            WIDE,
            Pattern(r"\p{N}+"),
        ],
        ..NONE
    },
    PreTokenizer {
        names: &["deepseek-v3", "hunyuan-dense", "joyai-llm", "hy_v4"],
        steps: &[Pattern(r"\p{N}{1,3}"), Pattern(r"[\u{4e00}-\u{9fa5}\u{3040}-\u{30ff}]+"), DEEPSEEK3],
        ..NONE
    },
    PreTokenizer {
        names: &["afmoe"],
        steps: &[
            Thousands,
            Pattern(
                r"(?x)[
                    \u{4e00}-\u{9fff}\u{3400}-\u{4dbf}\u{8c48}-\u{faff}\u{3040}-\u{309f}\u{30a0}-\u{30ff}
                    \u{ff65}-\u{ff9f}\u{2f00}-\u{2fdf}\u{e40}-\u{e7f}\u{e80}-\u{eff}\u{1780}-\u{17ff}\u{1000}-\u{109f}
                    \u{aa60}-\u{aa7f}\u{a9e0}-\u{a9ff}\u{ac00}-\u{d7af}\u{1100}-\u{11ff}
                ]+",
            ),
            DEEPSEEK3,
        ],
        ..NONE
    },
    PreTokenizer {
        names: &["tekken"],
        steps: &[Lines(
            r"[^\r\n\p{L}\p{N}]?[\p{L}--[a-z]]*[\p{L}--[A-Z]]+|[^\r\n\p{L}\p{N}]?[\p{L}--[a-z]]+[\p{L}--[A-Z]]*|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+",
        )],
        ignore_merges: true,
        add_bos: true,
        ..NONE
    },
    PreTokenizer {
        names: &["gpt-4o", "llama4", "kanana2", "talkie", "minimax-m2"],
        steps: &[Lines(
            r"[^\r\n\p{L}\p{N}]?[\p{L}--[a-z]]*[\p{L}--[A-Z]]+(?i-u:'[stmd]|'re|'ve|'ll)?|[^\r\n\p{L}\p{N}]?[\p{L}--[a-z]]+[\p{L}--[A-Z]]*(?i-u:'[stmd]|'re|'ve|'ll)?|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+",
        )],
        ..NONE
    },
    PreTokenizer {
        names: &["granite-embed-multi-97m"],
        steps: &[Lines(
            r"[^\r\n\p{L}\p{N}]?[\p{L}\p{M}--[a-z]]*[\p{L}\p{M}--[A-Z]]+(?i-u:'[stmd]|'re|'ve|'ll)?|[^\r\n\p{L}\p{N}]?[\p{L}\p{M}--[a-z]]+[\p{L}\p{M}--[A-Z]]*(?i-u:'[stmd]|'re|'ve|'ll)?|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+",
        )],
        ignore_merges: true,
        ..NONE
    },
    PreTokenizer {
        names: &["tiny_aya", "cohere2moe"],
        steps: &[
            Thousands,
            Lines(
                r"[^\r\n\p{L}\p{N}]?[\p{L}\p{M}]+(?i-u:'[stmd]|'re|'ve|'ll)?|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+",
            ),
        ],
        ..NONE
    },
    PreTokenizer {
        names: &["youtu"],
        steps: &[
            Pattern(
                r"[\u{ac00}-\u{d7a3}\u{3131}-\u{318e}]+|[\u{ff01}\u{2026}\u{201c}\u{201d}\u{2018}\u{2019}\u{2014}\u{ff1a}\u{ff1b}\u{ff0c}\u{3001}-\u{303f}\u{fe30}-\u{fe4f}]+|[\u{3105}-\u{312f}]+|[\u{4e00}-\u{9fa5}\u{3040}-\u{309f}\u{30a0}-\u{30ff}]+",
            ),
            Lines(
                r"[^\r\n\p{L}\p{N}]?[\p{L}\p{M}]+(?i-u:'[stmd]|'re|'ve|'ll)?|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+",
            ),
        ],
        ignore_merges: true,
        ..NONE
    },
    PreTokenizer { names: &["poro-chat", "bloom", "gpt3-finnish"], steps: &[FINNISH], ..NONE },
    PreTokenizer { names: &["viking"], steps: &[FINNISH, DIGIT], ..NONE },
    PreTokenizer {
        names: &["chameleon"],
        steps: &[
            Pattern(r"<sentinel:[0-9]+>"),
            Pattern(r"IMGIMG[A-I]{1,4}Z"),
            Pattern(r"[\t\n]|    |  "),
            DIGIT,
            Pattern(r"[\p{P}!-/:-@\[-`{-~]"),
            GPT2,
        ],
        add_bos: true,
        ..NONE
    },
    PreTokenizer {
        names: &["gemma4", "granite-embed-multi-311m"],
        steps: &[NEWLINES],
        add_bos: true,
        raw: true,
        ..NONE
    },
    PreTokenizer { names: &["sarvam-moe"], steps: &[NEWLINES], raw: true, ..NONE },
];

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
        let mut pieces = vec![0..text.len()];
        for (regex, step) in &self.steps {
            let mut cut = Vec::new();
            for piece in pieces {
                let start = piece.start;
                let add = |part: Range<usize>| {
                    if !part.is_empty() {
                        cut.push(start + part.start..start + part.end);
                    }
                };
                match regex {
                    Some(regex) => by_pattern(&text[piece], regex, step, add),
                    None => thousands(&text[piece], add),
                }
            }
            pieces = cut;
        }
        pieces.into_iter().map(|piece| &text[piece]).collect()
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

/// Groups of three digits, the first of a run having what is left over.
fn thousands(text: &str, mut add: impl FnMut(Range<usize>)) {
    let is_digit = |character: char| {
        use unicode_properties::{GeneralCategoryGroup, UnicodeGeneralCategory};
        character.general_category_group() == GeneralCategoryGroup::Number
    };
    let mut done = 0;
    while let Some(start) = text[done..].find(is_digit).map(|at| done + at) {
        let run = text[start..].find(|character| !is_digit(character)).map_or(text.len(), |length| start + length);
        add(done..start);
        done = start;
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
