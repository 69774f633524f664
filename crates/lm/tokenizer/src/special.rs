//! Determines the special tokens of a vocabulary and their roles.
//!
//! Files declare some of them. Others are recognized by their text, as in llama.cpp, because
//! converters often do not mark them.

use std::collections::BTreeSet;

use roci_gguf::Metadata;

use crate::Error;
use crate::vocabulary::{Kind, Vocabulary};

/// The special tokens of a vocabulary.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct SpecialTokens {
    /// Beginning of text (BOS).
    pub bos: Option<u32>,
    /// End of text (EOS).
    pub eos: Option<u32>,
    /// End of turn (EOT).
    pub eot: Option<u32>,
    /// End of message (EOM), for example before a tool's answer.
    pub eom: Option<u32>,
    /// Unknown token, for text that no other token represents.
    pub unknown: Option<u32>,
    /// Separator between texts.
    pub separator: Option<u32>,
    /// Padding in batches.
    pub padding: Option<u32>,
    /// Mask, for a word to predict.
    pub mask: Option<u32>,
    /// Fill-in-the-middle: precedes the text before the gap.
    pub fim_prefix: Option<u32>,
    /// Fill-in-the-middle: precedes the text after the gap.
    pub fim_suffix: Option<u32>,
    /// Fill-in-the-middle: precedes the generated text of the gap.
    pub fim_middle: Option<u32>,
    /// All end-of-generation (EOG) tokens, by ascending ID.
    pub end_of_generation: Vec<u32>,
    /// Whether to add [`bos`](Self::bos) at the start of a text.
    pub add_bos: bool,
    /// Whether to add [`eos`](Self::eos) at the end of a text.
    pub add_eos: bool,
    /// Whether to add [`separator`](Self::separator) between two texts.
    pub add_separator: bool,
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
/// Texts that always mark an end-of-generation token, in addition to the EOT and EOM texts above.
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
/// Markers of the harmony format, which must appear in the decoded output.
const SHOWN: &[&str] = &["<|channel|>", "<|message|>", "<|start|>", "<|constrain|>"];

/// Finds the special tokens, starting from `defaults`, and corrects the kinds of tokens that
/// converters mark wrongly.
pub(crate) fn find(
    metadata: &Metadata,
    vocabulary: &mut Vocabulary,
    defaults: SpecialTokens,
) -> Result<SpecialTokens, Error> {
    let length = vocabulary.len() as u32;
    let token_id = |keys: &[&str], default: Option<u32>| -> Result<Option<u32>, Error> {
        for key in keys {
            // Some files name a token ID that they do not have. Use the default then.
            if let Some(id) = metadata.get::<u32>(&format!("tokenizer.ggml.{key}"))?.filter(|id| *id < length) {
                return Ok(Some(id));
            }
        }
        Ok(default.filter(|id| *id < length))
    };
    let mut special = SpecialTokens {
        bos: token_id(&["bos_token_id", "cls_token_id"], defaults.bos)?,
        eos: token_id(&["eos_token_id"], defaults.eos)?,
        eot: token_id(&["eot_token_id"], None)?,
        eom: token_id(&["eom_token_id"], None)?,
        unknown: token_id(&["unknown_token_id"], defaults.unknown)?,
        separator: token_id(&["seperator_token_id", "separator_token_id"], defaults.separator)?,
        padding: token_id(&["padding_token_id"], defaults.padding)?,
        mask: token_id(&["mask_token_id"], defaults.mask)?,
        fim_prefix: token_id(&["fim_pre_token_id", "prefix_token_id"], None)?,
        fim_suffix: token_id(&["fim_suf_token_id", "suffix_token_id"], None)?,
        fim_middle: token_id(&["fim_mid_token_id", "middle_token_id"], None)?,
        end_of_generation: Vec::new(),
        add_bos: metadata.get("tokenizer.ggml.add_bos_token")?.unwrap_or(defaults.add_bos),
        add_eos: metadata.get("tokenizer.ggml.add_eos_token")?.unwrap_or(defaults.add_eos),
        add_separator: metadata.get("tokenizer.ggml.add_sep_token")?.unwrap_or(defaults.add_separator),
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
        by_text(token_id(&["fim_pad_token_id"], None)?, FIM_PADDING),
        by_text(token_id(&["fim_rep_token_id"], None)?, REPOSITORY),
        by_text(token_id(&["fim_sep_token_id"], None)?, FILE_SEPARATOR),
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
    remove_false_ends(vocabulary, &mut ends);
    special.end_of_generation = ends.into_iter().collect();
    Ok(special)
}

/// Removes tokens that do not end generation if the vocabulary has certain other tokens.
fn remove_false_ends(vocabulary: &mut Vocabulary, ends: &mut BTreeSet<u32>) {
    let ended =
        |ends: &BTreeSet<u32>, vocabulary: &Vocabulary, text: &str| vocabulary.id(text).filter(|id| ends.contains(id));
    let has = |text: &str| ended(ends, vocabulary, text).is_some();
    let called = has("<|call|>") || has("<|calls|>");
    let harmony = called && (has("<|return|>") || has("<|flush|>"));
    let gemma = has("<|tool_response>") || has("<|plamo:eos|>");
    for (applies, text, kind) in [(harmony, "<|end|>", Kind::UserDefined), (gemma, "</s>", Kind::Normal)] {
        if let Some(id) = ended(ends, vocabulary, text).filter(|_| applies) {
            ends.remove(&id);
            vocabulary.kinds[id as usize] = kind;
        }
    }
}
