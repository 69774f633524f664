//! Which tokens of a vocabulary are special, and what for.
//!
//! Files name some of them. Others are known by their text alone: converters were never good at marking them, so that every
//! runtime has such a list.

use std::collections::BTreeSet;

use roci_gguf::Metadata;

use crate::Error;
use crate::vocabulary::{Kind, Vocabulary};

/// The special tokens of a vocabulary.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Special {
    /// The beginning of a text.
    pub bos: Option<u32>,
    /// The end of a text.
    pub eos: Option<u32>,
    /// The end of a turn of talk.
    pub eot: Option<u32>,
    /// The end of a message, where a tool shall answer.
    pub eom: Option<u32>,
    /// What stands for text that cannot be written otherwise.
    pub unknown: Option<u32>,
    /// What separates texts.
    pub separator: Option<u32>,
    /// What fills a batch up.
    pub padding: Option<u32>,
    /// What stands for a word to be guessed.
    pub mask: Option<u32>,
    /// What comes before the text before a gap that shall be filled.
    pub fim_prefix: Option<u32>,
    /// What comes before the text after the gap.
    pub fim_suffix: Option<u32>,
    /// What comes before the text in the gap.
    pub fim_middle: Option<u32>,
    /// All tokens that end an answer, in order.
    pub end_of_generation: Vec<u32>,
    /// Whether texts start with [`bos`](Self::bos).
    pub add_bos: bool,
    /// Whether texts end with [`eos`](Self::eos).
    pub add_eos: bool,
}

const END_OF_TURN: &[&str] = &[
    "<|eot_id|>",
    "<|im_end|>",
    "<|end|>",
    "<end_of_turn>",
    "<|endoftext|>",
    "<|end_of_text|>",
    "<EOT>",
    "_<EOT>",
    "[EOT]",
    "<｜end▁of▁sentence｜>",
    "<end_of_utterance>",
];
const END_OF_MESSAGE: &[&str] = &["<|eom_id|>"];
const PREFIX: &[&str] = &[
    "<|fim_prefix|>",
    "<fim-prefix>",
    "<fim_prefix>",
    "<｜fim▁begin｜>",
    "<PRE>",
    "▁<PRE>",
    "<|code_prefix|>",
    "<|prefix|>",
];
const SUFFIX: &[&str] = &[
    "<|fim_suffix|>",
    "<fim-suffix>",
    "<fim_suffix>",
    "<｜fim▁hole｜>",
    "<SUF>",
    "▁<SUF>",
    "<|code_suffix|>",
    "<|suffix|>",
];
const MIDDLE: &[&str] = &[
    "<|fim_middle|>",
    "<fim-middle>",
    "<fim_middle>",
    "<｜fim▁end｜>",
    "<MID>",
    "▁<MID>",
    "<|code_middle|>",
    "<|middle|>",
];
const FIM_PADDING: &[&str] = &["<|fim_pad|>", "<fim-pad>", "<fim_pad>", "<PAD>", "[PAD]"];
const REPOSITORY: &[&str] = &["<|fim_repo|>", "<|repo_name|>", "<fim-repo>", "<REPO>", "<reponame>"];
const FILE_SEPARATOR: &[&str] = &["<|file_sep|>"];
/// What ends an answer wherever it is in a vocabulary, besides the ends of turns and messages above.
const ENDS: &[&str] = &[
    "<|return|>",
    "<|call|>",
    "<|flush|>",
    "<|calls|>",
    "</s>",
    "[EOS]",
    "<eos>",
    "<turn|>",
    "<|tool_response>",
    "[e~[",
];
/// Marks of the harmony format, which whoever reads the answer must see.
const SHOWN: &[&str] = &["<|channel|>", "<|message|>", "<|start|>", "<|constrain|>"];

/// Finds the special tokens, beginning with `defaults`, and gives tokens the kind that they should have had.
pub(crate) fn find(metadata: &Metadata, vocabulary: &mut Vocabulary, defaults: Special) -> Result<Special, Error> {
    let length = vocabulary.len() as u32;
    let named = |keys: &[&str], default: Option<u32>| -> Result<Option<u32>, Error> {
        for key in keys {
            // Files that name a token they do not have exist; they run with the default.
            if let Some(id) = metadata.get::<u32>(&format!("tokenizer.ggml.{key}"))?.filter(|id| *id < length) {
                return Ok(Some(id));
            }
        }
        Ok(default.filter(|id| *id < length))
    };
    let mut special = Special {
        bos: named(&["bos_token_id", "cls_token_id"], defaults.bos)?,
        eos: named(&["eos_token_id"], defaults.eos)?,
        eot: named(&["eot_token_id"], None)?,
        eom: named(&["eom_token_id"], None)?,
        unknown: named(&["unknown_token_id"], defaults.unknown)?,
        separator: named(&["seperator_token_id", "separator_token_id"], defaults.separator)?,
        padding: named(&["padding_token_id"], defaults.padding)?,
        mask: named(&["mask_token_id"], defaults.mask)?,
        fim_prefix: named(&["fim_pre_token_id", "prefix_token_id"], None)?,
        fim_suffix: named(&["fim_suf_token_id", "suffix_token_id"], None)?,
        fim_middle: named(&["fim_mid_token_id", "middle_token_id"], None)?,
        end_of_generation: Vec::new(),
        add_bos: metadata.get("tokenizer.ggml.add_bos_token")?.unwrap_or(defaults.add_bos),
        add_eos: metadata.get("tokenizer.ggml.add_eos_token")?.unwrap_or(defaults.add_eos),
    };
    let mut by_text = |id: Option<u32>, texts: &[&str]| {
        let found = id.or_else(|| texts.iter().find_map(|text| vocabulary.id(text)));
        if let (None, Some(found)) = (id, found) {
            vocabulary.kinds[found as usize] = Kind::Control;
        }
        found
    };
    special.eot = by_text(special.eot, END_OF_TURN);
    special.eom = by_text(special.eom, END_OF_MESSAGE);
    special.fim_prefix = by_text(special.fim_prefix, PREFIX);
    special.fim_suffix = by_text(special.fim_suffix, SUFFIX);
    special.fim_middle = by_text(special.fim_middle, MIDDLE);
    let ends = [
        by_text(named(&["fim_pad_token_id"], None)?, FIM_PADDING),
        by_text(named(&["fim_rep_token_id"], None)?, REPOSITORY),
        by_text(named(&["fim_sep_token_id"], None)?, FILE_SEPARATOR),
        special.eos,
        special.eot,
        special.eom,
    ];
    let mut ends: BTreeSet<u32> = ends.into_iter().flatten().collect();
    for text in [END_OF_TURN, END_OF_MESSAGE, ENDS].into_iter().flatten() {
        if let Some(id) = vocabulary.id(text) {
            vocabulary.kinds[id as usize] = Kind::Control;
            ends.insert(id);
        }
    }
    for text in SHOWN {
        if let Some(id) = vocabulary.id(text) {
            vocabulary.kinds[id as usize] = Kind::UserDefined;
        }
    }
    take_back(vocabulary, &mut ends);
    special.end_of_generation = ends.into_iter().collect();
    Ok(special)
}

/// Tokens that end answers elsewhere, but not in vocabularies that have certain others.
fn take_back(vocabulary: &mut Vocabulary, ends: &mut BTreeSet<u32>) {
    let ended =
        |ends: &BTreeSet<u32>, vocabulary: &Vocabulary, text: &str| vocabulary.id(text).filter(|id| ends.contains(id));
    let has = |text: &str| ended(ends, vocabulary, text).is_some();
    let called = has("<|call|>") || has("<|calls|>");
    let harmony = called && (has("<|return|>") || has("<|flush|>"));
    let gemma = has("<|tool_response>") || has("<|plamo:eos|>");
    for (where_so, text, kind) in [(harmony, "<|end|>", Kind::UserDefined), (gemma, "</s>", Kind::Normal)] {
        if let Some(id) = ended(ends, vocabulary, text).filter(|_| where_so) {
            ends.remove(&id);
            vocabulary.kinds[id as usize] = kind;
        }
    }
}
