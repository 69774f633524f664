//! The table of pre-tokenizers, by their names in GGUF files.

use Split::{Lines, Pattern, Thousands, Words};

/// One splitting step.
pub(super) enum Split {
    /// Splits at the matches of the pattern.
    Pattern(&'static str),
    /// Like `Pattern`, but whitespace before a word leaves its last character to the word. Emulates
    /// `\s+(?!\S)` of the original patterns, because the regex engine has no look-ahead. The
    /// pattern ends in `|\s+`.
    Words(&'static str),
    /// Like `Words`, for patterns in which `\s*[\r\n]+` matches whitespace at the end of a line;
    /// that match is kept whole.
    Lines(&'static str),
    /// Splits runs of digits into groups of three, counted from the right.
    Thousands,
}

/// A pre-tokenizer, and the settings that its vocabularies share.
pub(crate) struct PreTokenizer {
    pub(super) names: &'static [&'static str],
    pub(super) steps: &'static [Split],
    /// A word that is a token becomes that token, without applying merges.
    pub(crate) ignore_merges: bool,
    /// Default of `add_bos`, unless the file overrides it.
    pub(crate) add_bos: bool,
    /// Token texts are plain UTF-8 with `▁` for spaces, rather than one character per byte.
    pub(crate) raw: bool,
}

const NONE: PreTokenizer = PreTokenizer { names: &[], steps: &[], ignore_merges: false, add_bos: false, raw: false };

const GPT2: Split = Words(r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+");
const DIGIT: Split = Pattern(r"\p{N}");
const LLAMA3: Split =
    Lines(r"'(?i-u:[stmd]|re|ve|ll)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+");
const QWEN2: Split =
    Lines(r"'(?i-u:[stmd]|re|ve|ll)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+");
const NEWLINES: Split = Pattern(r"[^\n]+|\n+");
/// Characters from U+0800 to the end of Hangul except whitespace, mostly ideographs.
const WIDE: Split = Pattern(r"[\u{800}-\u{9fa5}\u{ac00}-\u{d7ff}--\s]+");
/// Common ideographs and kana.
const JAPANESE: Split = Pattern(r"[\u{4e00}-\u{9fa5}\u{3040}-\u{30ff}]+");
const FINNISH: Split = Pattern(r" ?[^(\s|.,!?\u{2026}\u{3002}\u{ff0c}\u{3001}\u{964}\u{6d4}\u{60c})]+");
/// The main pattern of newer DeepSeek models.
const DEEPSEEK3: Split = Lines(
    r##"[!"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+| ?[\p{P}\p{S}]+[\r\n]*|\s*[\r\n]+|\s+"##,
);

/// All pre-tokenizers. As in llama.cpp, non-ASCII letters count as both lower and upper case.
pub(super) static TABLE: &[PreTokenizer] = &[
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
            // Letters with two cases, as listed by the model's authors.
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
            // The original list contains the ideographic space U+3000, which llama.cpp treats only
            // as whitespace.
            Pattern(r"\s?[!-/:-~\u{ff01}-\u{ff0f}\u{ff1a}-\u{ff5e}\u{2018}-\u{201f}\u{3001}-\u{3002}]+"),
            Pattern(r"\s+$"),
            WIDE,
            Pattern(r"\p{N}+"),
        ],
        ..NONE
    },
    PreTokenizer {
        names: &["deepseek-v3", "hunyuan-dense", "joyai-llm", "hy_v4"],
        steps: &[Pattern(r"\p{N}{1,3}"), JAPANESE, DEEPSEEK3],
        ..NONE
    },
    PreTokenizer {
        names: &["spark2_5"],
        steps: &[
            Pattern(r"\p{N}{1,3}"),
            JAPANESE,
            Words(
                r##"[!"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+| ?[\p{P}\p{S}]+|[\r\n]|\s+"##,
            ),
            DIGIT,
        ],
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
];
