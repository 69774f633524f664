//! Text to tokens and back, by the vocabulary in a GGUF file's metadata.
//!
//! Three kinds of tokenizers are known, each in a file of its own: `spm` (SentencePiece as Llama 2 and Gemma have it), `bpe`
//! (byte pairs as GPT-2 has them, with a table of pre-tokenizers in `pre`) and `wpm` (word pieces, as BERT has them). The
//! first two share `merge`, which joins neighbours by rank. `special` finds out what a vocabulary's special tokens are,
//! `partition` cuts text where it spells one. Results are those of llama.cpp, to the token.
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
mod special;
mod spm;
mod tokenizer;
mod vocabulary;
mod wpm;

pub use decode::{Characters, Decoder};
pub use error::Error;
pub use pre::names as pre_tokenizers;
pub use special::Special;
pub use tokenizer::{Encode, Tokenizer};
pub use vocabulary::Kind;
