//! The tokenizer of a model.

use std::fmt;

use roci_gguf::Metadata;

use crate::bpe::Bpe;
use crate::partition::{Fragment, Partition, Strip};
use crate::rwkv::{self, Rwkv};
use crate::spm::{self, SPACE};
use crate::ugm::Unigram;
use crate::vocabulary::Vocabulary;
use crate::wpm::{self, Normalizer};
use crate::{Decoder, Error, Kind, SpecialTokens, bytes, pre, special};

/// Options for encoding text.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Encode {
    /// Add the special tokens that the model expects at the start and end of a text. Default off.
    pub add_special: bool,
    /// Parse the text of control tokens as these tokens. For prompts from a chat template; leave it
    /// off for untrusted user text. Default off.
    pub parse_special: bool,
}

enum Model {
    Spm { space_before: bool },
    Bpe(Box<Bpe>),
    Wpm(Normalizer),
    Ugm(Box<Unigram>),
    Rwkv(Rwkv),
}

/// Converts text to the tokens of a model, and back.
///
/// It can be shared between threads.
pub struct Tokenizer {
    vocabulary: Vocabulary,
    special: SpecialTokens,
    partition: Partition,
    model: Model,
    /// Decoded bytes of all tokens, concatenated. `ends` has the end offset of each token.
    pieces: Vec<u8>,
    ends: Vec<usize>,
}

/// Prints the number of tokens instead of the vocabulary.
impl fmt::Debug for Tokenizer {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Tokenizer").field("tokens", &self.len()).finish_non_exhaustive()
    }
}

impl Tokenizer {
    /// Loads the tokenizer that a file's metadata describes.
    ///
    /// # Errors
    /// If keys are missing or inconsistent, or if the tokenizer model or pre-tokenizer is
    /// unsupported.
    pub fn from_metadata(metadata: &Metadata) -> Result<Self, Error> {
        let mut vocabulary = Vocabulary::new(metadata)?;
        let flag = |key: &str| metadata.get::<bool>(&format!("tokenizer.ggml.{key}"));
        let name = metadata.expect_str("tokenizer.ggml.model")?;
        let (model, defaults) = match name {
            "llama" => {
                let space_before = flag("add_space_prefix")?.unwrap_or(true);
                (Model::Spm { space_before }, ids(Some(1), Some(2), Some(0), true))
            }
            "bert" => {
                let lowercase = flag("normalizer.lowercase")?.unwrap_or(true);
                let strip_accents = flag("normalizer.strip_accents")?.unwrap_or(lowercase);
                let defaults = SpecialTokens {
                    separator: Some(102),
                    padding: Some(0),
                    mask: Some(103),
                    add_separator: true,
                    ..ids(Some(101), None, Some(100), true)
                };
                (Model::Wpm(Normalizer { lowercase, strip_accents }), defaults)
            }
            "gpt2" | "gemma4" => {
                let named = metadata.get::<&str>("tokenizer.ggml.pre")?.filter(|name| !name.is_empty());
                let pre = pre::find(if name == "gemma4" { name } else { named.unwrap_or("default") })?;
                let nothing = name == "gemma4" || named.is_some_and(|name| name.contains("glm"));
                let mut defaults = match nothing {
                    true => ids(None, None, None, pre.add_bos),
                    false => ids(Some(11), Some(11), None, pre.add_bos),
                };
                defaults.add_separator = named.is_some_and(|name| SEPARATED.contains(&name));
                (Model::Bpe(Box::new(Bpe::new(metadata, &vocabulary, pre)?)), defaults)
            }
            "t5" => {
                let defaults = SpecialTokens { padding: Some(0), add_eos: true, ..ids(None, Some(1), Some(2), false) };
                (Model::Ugm(Box::new(Unigram::new(metadata, &vocabulary)?)), defaults)
            }
            "rwkv" => (Model::Rwkv(Rwkv::new(&vocabulary)), ids(None, None, None, false)),
            other => return Err(Error::Model(other.to_owned())),
        };
        let mut special = special::find(metadata, &mut vocabulary, defaults)?;
        // Gemma 4's files disable BOS, but the model does not work without it.
        special.add_bos |= matches!(&model, Model::Bpe(bpe) if bpe.is_raw());
        if matches!(model, Model::Rwkv(_)) {
            // llama.cpp ignores these keys of such files.
            (special.add_bos, special.add_eos) = (false, false);
        }
        let partition = Partition::new(&vocabulary, strip(metadata)?)?;
        let mut tokenizer = Self { vocabulary, special, partition, model, pieces: Vec::new(), ends: Vec::new() };
        tokenizer.fill_pieces();
        Ok(tokenizer)
    }

    /// Fills in the decoded bytes of all tokens.
    fn fill_pieces(&mut self) {
        for (_, text, kind) in self.vocabulary.iter() {
            match (kind, &self.model) {
                (_, Model::Rwkv(_)) => self.pieces.extend(rwkv::unescaped(text)),
                (Kind::Control | Kind::UserDefined | Kind::Unknown, _) => self.pieces.extend(text.bytes()),
                (Kind::Unused, _) => {}
                (Kind::Byte, _) => {
                    let digits = text.strip_prefix("<0x").and_then(|rest| rest.strip_suffix('>')).unwrap_or_default();
                    self.pieces.extend(u8::from_str_radix(digits, 16).ok());
                }
                (Kind::Normal, Model::Bpe(bpe)) if !bpe.is_raw() => {
                    // A character without a byte cannot come from encoded text. Decode it as
                    // itself, so that it is visible.
                    for character in text.chars() {
                        match bytes::byte(character) {
                            Some(byte) => self.pieces.push(byte),
                            None => self.pieces.extend(character.encode_utf8(&mut [0; 4]).bytes()),
                        }
                    }
                }
                (Kind::Normal, _) => self.pieces.extend(text.replace(SPACE, " ").bytes()),
            }
            self.ends.push(self.pieces.len());
        }
    }

    /// Encodes a text.
    pub fn encode(&self, text: &str, how: Encode) -> Vec<u32> {
        let mut out = Vec::new();
        let words = matches!(self.model, Model::Wpm(_));
        if how.add_special && (self.special.add_bos || words) {
            out.extend(self.special.bos);
        }
        // Text after a special token is encoded like the start of a text.
        let mut at_start = true;
        for fragment in self.partition.split(text, how.parse_special) {
            let unknown = self.special.unknown;
            match (fragment, &self.model) {
                (Fragment::Token(id), _) => out.push(id),
                (Fragment::Text(text), Model::Spm { space_before }) => {
                    spm::encode(&self.vocabulary, unknown, text, *space_before && at_start, &mut out);
                }
                (Fragment::Text(text), Model::Bpe(bpe)) => bpe.encode(&self.vocabulary, unknown, text, &mut out),
                (Fragment::Text(text), Model::Wpm(normalizer)) => {
                    wpm::encode(&self.vocabulary, unknown, *normalizer, text, &mut out);
                }
                (Fragment::Text(text), Model::Ugm(unigram)) => {
                    unigram.encode(&self.vocabulary, unknown, text, &mut out);
                }
                (Fragment::Text(text), Model::Rwkv(rwkv)) => rwkv.encode(unknown, text, &mut out),
            }
            at_start = matches!(fragment, Fragment::Token(_));
        }
        if how.add_special {
            out.extend(if words { self.special.separator } else { self.special.eos.filter(|_| self.special.add_eos) });
        }
        out
    }

    /// Encodes two texts as one sequence, with the special tokens before, between and after them
    /// that the model expects, as rerankers do with a query and a document.
    pub fn encode_pair(&self, first: &str, second: &str) -> Vec<u32> {
        let SpecialTokens { bos, eos, separator, add_bos, add_eos, add_separator, .. } = self.special;
        let plain = |text: &str| self.encode(text, Encode::default());
        let end = eos.or(separator).filter(|_| add_eos);
        let mut out: Vec<u32> = bos.filter(|_| add_bos).into_iter().collect();
        out.extend(plain(first));
        out.extend(end);
        out.extend(separator.filter(|_| add_separator));
        out.extend(plain(second));
        out.extend(end);
        out
    }

    /// Decodes tokens, omitting special ones. Invalid UTF-8 becomes U+FFFD.
    pub fn decode(&self, ids: &[u32]) -> String {
        let mut decoder = self.decoder(false);
        let mut text: String = ids.iter().map(|id| decoder.push(*id)).collect();
        text.push_str(&decoder.finish());
        text
    }

    /// A decoder for tokens from the start of a text. `show_special` includes control tokens in the
    /// output.
    pub fn decoder(&self, show_special: bool) -> Decoder<'_> {
        let strip = match &self.model {
            Model::Spm { space_before } => *space_before,
            Model::Wpm(_) => true,
            Model::Ugm(unigram) => unigram.space_before,
            Model::Bpe(_) | Model::Rwkv(_) => false,
        };
        Decoder::new(self, show_special, strip)
    }

    /// A decoder for tokens that continue a text, such as an answer after a prompt: a leading space
    /// is part of the text.
    pub fn continuing_decoder(&self, show_special: bool) -> Decoder<'_> {
        Decoder::new(self, show_special, false)
    }

    /// The decoded bytes of a token. Empty for control tokens unless `show_special` is set, and for
    /// IDs that do not exist.
    pub fn piece(&self, id: u32, show_special: bool) -> &[u8] {
        let hidden = matches!(self.vocabulary.kind(id), None | Some(Kind::Control | Kind::Unknown));
        let Some(end) = self.ends.get(id as usize) else { return &[] };
        if hidden && !show_special {
            return &[];
        }
        let start = (id as usize).checked_sub(1).map_or(0, |before| self.ends[before]);
        &self.pieces[start..*end]
    }

    /// Number of tokens in the vocabulary.
    pub fn len(&self) -> usize {
        self.vocabulary.len()
    }

    /// Whether the vocabulary is empty, which it never is.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The ID of the token with this text in the vocabulary.
    pub fn id(&self, text: &str) -> Option<u32> {
        self.vocabulary.id(text)
    }

    /// A token's text in the vocabulary.
    pub fn text(&self, id: u32) -> Option<&str> {
        self.vocabulary.text(id)
    }

    /// Kind of a token.
    pub fn kind(&self, id: u32) -> Option<Kind> {
        self.vocabulary.kind(id)
    }

    /// The special tokens.
    pub fn special(&self) -> &SpecialTokens {
        &self.special
    }

    /// Whether a token ends generation.
    pub fn ends_generation(&self, id: u32) -> bool {
        self.special.end_of_generation.binary_search(&id).is_ok()
    }
}

/// Pre-tokenizers of models with a separator between two texts.
const SEPARATED: &[&str] = &["jina-v1-en", "jina-v2-code", "roberta-bpe"];

fn ids(bos: Option<u32>, eos: Option<u32>, unknown: Option<u32>, add_bos: bool) -> SpecialTokens {
    SpecialTokens { bos, eos, unknown, add_bos, ..SpecialTokens::default() }
}

/// Which tokens absorb adjacent whitespace. Files do not declare that; as in llama.cpp, models are
/// recognized by name.
fn strip(metadata: &Metadata) -> Result<impl Fn(&str) -> Strip, Error> {
    let text = |key: &str| metadata.get::<&str>(key).map(|text| text.unwrap_or_default().to_lowercase());
    let (name, architecture) = (text("general.name")?, text("general.architecture")?);
    let pre = text("tokenizer.ggml.pre")?;
    let any = |text: &str, parts: &[&str]| parts.iter().any(|part| text.contains(part));
    let jina = any(&pre, &["jina-v2-de", "jina-v2-es", "jina-v2-code"])
        || any(&architecture, &["nomic-bert-moe", "jina-bert-v3"]);
    let phi3 = !jina && any(&name, &["phi-3", "phi3"]);
    let modern = !jina && !phi3 && name.contains("modern-bert");
    Ok(move |token: &str| Strip {
        left: (jina && token == "<mask>") || (modern && token == "[MASK]"),
        right: phi3 && !["<unk>", "<s>", "<|endoftext|>"].contains(&token),
    })
}
