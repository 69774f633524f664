//! Tokenizers that load their vocabulary from the metadata of a GGUF file.
//!
//! There are five algorithms, each in its own file: `spm` (SentencePiece BPE, as in Llama 2 and
//! Gemma), `bpe` (byte-level BPE, as in GPT-2, with a table of pre-tokenizers in `pre`), `wpm`
//! (WordPiece, as in BERT), `ugm` (SentencePiece unigram, as in T5 and XLM-RoBERTa) and `rwkv` (the
//! longest match). The first two share `merge`, which merges adjacent symbols by rank.
//! `special` determines a vocabulary's special tokens, `partition` splits text at special tokens.
//! Results are identical to those of llama.cpp.
//!
//! ```
//! use roci_gguf::Metadata;
//! use roci_tokenizer::{Encode, Tokenizer};
//!
//! let mut metadata = Metadata::new();
//! metadata.insert("tokenizer.ggml.model", "llama");
//! metadata.insert("tokenizer.ggml.tokens", vec!["<unk>", "<s>", "</s>", "▁", "h", "i", "▁hi", "hi"]);
//! metadata.insert("tokenizer.ggml.scores", vec![0.0f32, 0.0, 0.0, -3.0, -3.0, -3.0, -1.0, -2.0]);
//! metadata.insert("tokenizer.ggml.token_type", vec![2i32, 3, 3, 1, 1, 1, 1, 1]);
//! let tokenizer = Tokenizer::from_metadata(&metadata)?;
//!
//! assert_eq!(tokenizer.encode("hi hi", Encode { add_special: true, parse_special: false }), [1, 6, 6]);
//! assert_eq!(tokenizer.decode(&[6, 6]), "hi hi");
//! # Ok::<(), roci_tokenizer::Error>(())
//! ```

#![forbid(unsafe_code)]

mod bpe;
mod bytes;
mod decode;
mod error;
mod merge;
mod partition;
mod pre;
mod rwkv;
mod special;
mod spm;
mod tokenizer;
mod ugm;
mod vocabulary;
mod wpm;

pub use decode::{Characters, Decoder};
pub use error::Error;
pub use pre::names as pre_tokenizers;
pub use special::SpecialTokens;
pub use tokenizer::{Encode, Tokenizer};
pub use vocabulary::Kind;
