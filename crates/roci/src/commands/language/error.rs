//! Errors of language models.

use std::path::PathBuf;

use roci_base::Hint;
use roci_engine::EngineError;

use crate::exit::ExitStatus;

/// Why a language model cannot be loaded or run.
#[derive(Debug, thiserror::Error)]
pub(crate) enum LanguageError {
    /// The GGUF file cannot be read.
    #[error("{}: {source}", path.display())]
    File { path: PathBuf, source: roci_gguf::Error },
    /// The file is a checkpoint of llama2.c.
    #[error("{}: this is a checkpoint of llama2.c, not a GGUF file", path.display())]
    Checkpoint { path: PathBuf },
    /// The file does not describe a supported model.
    #[error(transparent)]
    Model(#[from] roci_lm::architecture::ModelError),
    /// A LoRA adapter does not fit the model.
    #[error("{}: {source}", path.display())]
    Adapter { path: PathBuf, source: roci_lm::adapter::AdapterError },
    /// The tokenizer of the model is invalid.
    #[error(transparent)]
    Tokenizer(#[from] roci_tokenizer::Error),
    /// The tokenizer does not match the model.
    #[error("the tokenizer has {tokens} tokens, and the model's vocabulary only {vocabulary}")]
    Vocabulary {
        /// Tokens in the tokenizer's vocabulary.
        tokens: usize,
        /// Tokens in the model's vocabulary.
        vocabulary: usize,
    },
    /// The chat template is invalid, or rejects the conversation.
    #[error(transparent)]
    Template(#[from] roci_lm::template::TemplateError),
    /// The device or its URI is invalid.
    #[error(transparent)]
    Hal(#[from] roci_hal::Error),
    /// The model cannot run on its device.
    #[error(transparent)]
    Device(#[from] roci_lm_device::Error),
    /// The request is invalid, or the device failed while running it.
    #[error(transparent)]
    Engine(#[from] EngineError),
    /// A grammar or schema is invalid.
    #[error("{}: {source}", path.display())]
    Grammar {
        /// Path of the grammar or schema.
        path: PathBuf,
        source: roci_lm::grammar::GrammarError,
    },
    /// A schema is not valid JSON.
    #[error("{}: {reason}", path.display())]
    Json { path: PathBuf, reason: String },
    /// A file that accompanies the model cannot be read.
    #[error("cannot read `{}`: {source}", path.display())]
    Read { path: PathBuf, source: std::io::Error },
    /// Standard input cannot be read.
    #[error("cannot read standard input: {0}")]
    Input(String),
    /// The prompt is missing.
    #[error("a language model needs a prompt")]
    NoPrompt,
    /// `--speculate draft` without a model.
    #[error("`--speculate draft` needs a draft model")]
    NoDraft,
    /// `--speculate mtp` with a model that has no prediction head.
    #[error("the file has no supported prediction head")]
    NoPredictionHead,
    /// The option has no effect with this method of speculation.
    #[error("`{option}` has no effect with `--speculate {method}`")]
    Speculation {
        option: &'static str,
        /// The method.
        method: &'static str,
    },
    /// The draft model's vocabulary differs.
    #[error("{}: the vocabulary of the draft model differs: {difference}", path.display())]
    DraftVocabulary { path: PathBuf, difference: String },
    /// The draft model is incompatible with the model.
    #[error(transparent)]
    Draft(#[from] roci_engine::DraftModelError),
    /// There are no texts to embed or score.
    #[error("there are no texts")]
    NoTexts,
    /// The text has fewer tokens than a chunk.
    #[error("the text has {tokens} tokens, and a chunk {context}")]
    ShortText { tokens: usize, context: usize },
    /// The model predicts no tokens.
    #[error("the model reads a text in both directions, and predicts no next token")]
    NoPredictions,
    /// The option does not apply to this kind of model.
    #[error("`{option}` does not apply to {kind}")]
    Option {
        option: &'static str,
        /// The kind of model.
        kind: &'static str,
    },
    /// A checkpoint cannot be converted.
    #[error("{}: {source}", path.display())]
    Convert { path: PathBuf, source: roci_lm::llama2c::ConvertError },
    /// A file cannot be quantized.
    #[error("{}: {source}", path.display())]
    Quantize { path: PathBuf, source: roci_lm::quantize::QuantizeError },
    /// An importance matrix cannot be read.
    #[error("{}: {source}", path.display())]
    Importance { path: PathBuf, source: roci_lm::quantize::ImportanceError },
    /// The input and output files are the same.
    #[error("`{}` is both the input and the output", path.display())]
    SameFile { path: PathBuf },
    /// A vision tower or an image cannot be used.
    #[error("{}: {source}", path.display())]
    Vision { path: PathBuf, source: Box<roci_vision::Error> },
    /// The rows of a vision tower have another length than the model's embeddings.
    #[error("{}: the tower's rows have {rows} values, but the model's embeddings have {embedding}", path.display())]
    VisionWidth { path: PathBuf, rows: usize, embedding: usize },
    /// The model has no M-RoPE, which the vision tower needs.
    #[error("{}: the tower needs three rotary positions per token (M-RoPE), and the model has one", path.display())]
    VisionPositions { path: PathBuf },
    /// An image is given without a vision tower.
    #[error("an image needs the model's vision tower")]
    NoVision,
    /// Too many images.
    #[error(transparent)]
    Images(#[from] roci_engine::OutOfImageTokens),
    /// The chat template dropped an image.
    #[error(transparent)]
    ImageCount(#[from] roci_engine::ImageCount),
    /// The HTTP server failed.
    #[error(transparent)]
    Serve(#[from] roci_serve::ServeError),
    /// The host name cannot be resolved.
    #[error("cannot resolve `{host}`: {reason}")]
    Host { host: String, reason: String },
    /// A file cannot be written.
    #[error("cannot write `{}`: {source}", path.display())]
    Write { path: PathBuf, source: std::io::Error },
}

impl LanguageError {
    pub(crate) fn status(&self) -> ExitStatus {
        match self {
            Self::Hal(error) => error.into(),
            Self::Vision { source, .. } if matches!(**source, roci_vision::Error::Run(_)) => ExitStatus::DeviceFailed,
            Self::Engine(EngineError::Device(_)) => ExitStatus::DeviceFailed,
            _ => ExitStatus::Error,
        }
    }

    /// Whether all further requests would fail too.
    pub(crate) fn is_final(&self) -> bool {
        match self {
            Self::Engine(EngineError::Device(error)) => error.lost,
            Self::Engine(EngineError::Closed) => true,
            _ => false,
        }
    }
}

impl Hint for LanguageError {
    fn hint(&self) -> Option<String> {
        match self {
            Self::File { source, .. } => source.hint(),
            Self::Checkpoint { path } => {
                let (from, to) = (path.display(), path.with_extension("gguf"));
                Some(format!("convert it: `roci convert {from} {}`", to.display()))
            }
            Self::Model(error) => error.hint(),
            Self::Adapter { source, .. } => source.hint(),
            Self::Tokenizer(error) => error.hint(),
            Self::Vocabulary { .. } => {
                Some("convert the model again with a current converter, or download another file of it".into())
            }
            Self::Template(error) => Some(error.hint()),
            Self::Hal(error) => error.hint(),
            Self::Device(error) => error.hint(),
            Self::Engine(error) => error.hint(),
            Self::Grammar { source, .. } => Some(source.hint()),
            Self::Json { .. } => Some("give a JSON schema, such as {\"type\": \"object\"}".into()),
            Self::Read { .. } => Some("check the path and its permissions".into()),
            Self::Input(_) => Some("convert the text to UTF-8".into()),
            Self::NoPrompt => Some("give one with `-p TEXT`, or chat with the model: `roci chat MODEL`".into()),
            Self::NoDraft => Some("give one with `--draft MODEL`, or use `--speculate ngram`".into()),
            Self::NoPredictionHead => Some("use a file of Qwen 3.5 with MTP layers, or `--speculate ngram`".into()),
            Self::Speculation { option, .. } => Some(format!("leave `{option}` out, or choose another method")),
            Self::DraftVocabulary { .. } => {
                Some("use a smaller model of the same family, or `--speculate ngram`".into())
            }
            Self::Draft(error) => error.hint(),
            Self::NoTexts => Some("give them after the model, or in a file with `--file FILE`, one per line".into()),
            Self::ShortText { .. } => Some("use a longer text, or smaller chunks (`--context`)".into()),
            Self::NoPredictions => Some("use a model that generates text".into()),
            Self::Option { .. } => {
                Some("leave it out; `roci run --help` lists the options of each kind of model".into())
            }
            Self::Convert { source, .. } => source.hint(),
            Self::Quantize { source, .. } => source.hint(),
            Self::Importance { source, .. } => source.hint(),
            Self::SameFile { .. } => Some("write to another file".into()),
            Self::Vision { source, .. } => source.hint(),
            Self::VisionWidth { .. } | Self::VisionPositions { .. } => {
                Some("give the mmproj file that belongs to this model".into())
            }
            Self::NoVision => Some("give its mmproj file with `--mmproj FILE`".into()),
            Self::Images(_) => Some("start roci again".into()),
            Self::ImageCount(_) => Some("use `--raw`, or another file of the model".into()),
            Self::Serve(error) => error.hint(),
            Self::Host { .. } => Some("give an address of this machine (`--host 127.0.0.1`)".into()),
            Self::Write { .. } => Some("choose a file that you may write to".into()),
        }
    }
}
