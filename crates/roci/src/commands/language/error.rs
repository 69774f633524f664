//! Why a language model has no answer.

use std::path::PathBuf;

use roci_engine::EngineError;
use roci_hal::Hint;

use crate::exit::ExitStatus;

/// What is wrong.
#[derive(Debug, thiserror::Error)]
pub(crate) enum LanguageError {
    /// The file.
    #[error("{}: {source}", path.display())]
    File {
        /// Which.
        path: PathBuf,
        /// What is wrong with it.
        source: roci_gguf::Error,
    },
    /// What the file describes.
    #[error(transparent)]
    Model(#[from] roci_llm::architecture::ModelError),
    /// Its vocabulary.
    #[error(transparent)]
    Tokenizer(#[from] roci_tokenizer::Error),
    /// The vocabulary is another model's.
    #[error("the vocabulary has {tokens} tokens, and the model {vocabulary}")]
    Vocabulary {
        /// Tokens that can be spelt.
        tokens: usize,
        /// Tokens that the model has weights for.
        vocabulary: usize,
    },
    /// Its chat template, or a conversation that this refuses.
    #[error(transparent)]
    Template(#[from] roci_llm::template::TemplateError),
    /// A device, or its name.
    #[error(transparent)]
    Hal(#[from] roci_hal::Error),
    /// The model on its device.
    #[error(transparent)]
    Device(#[from] roci_llm_device::Error),
    /// The request, or the device while it was worked on.
    #[error(transparent)]
    Engine(#[from] EngineError),
    /// A grammar or a schema.
    #[error("{}: {source}", path.display())]
    Grammar {
        /// Its file.
        path: PathBuf,
        /// What is wrong with it.
        source: roci_llm::grammar::GrammarError,
    },
    /// A schema that is no JSON.
    #[error("{}: {reason}", path.display())]
    Json {
        /// Its file.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
    /// A file that goes with the model cannot be read.
    #[error("cannot read `{}`: {source}", path.display())]
    Read {
        /// Which.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// Standard input cannot be read.
    #[error("cannot read standard input: {0}")]
    Input(String),
    /// Nothing to go on from.
    #[error("a language model needs a prompt")]
    NoPrompt,
    /// An option for models of another kind.
    #[error("{option} is not for {kind}")]
    Option {
        /// Which.
        option: &'static str,
        /// What the file is.
        kind: &'static str,
    },
    /// A checkpoint cannot be converted.
    #[error("{}: {source}", path.display())]
    Convert {
        /// Which.
        path: PathBuf,
        /// Why.
        source: roci_llm::llama2c::ConvertError,
    },
    /// There is no server.
    #[error(transparent)]
    Serve(#[from] roci_serve::ServeError),
    /// A name that stands for no address.
    #[error("`{host}` stands for no address: {reason}")]
    Host {
        /// The name.
        host: String,
        /// What the system says.
        reason: String,
    },
    /// A file cannot be written.
    #[error("cannot write `{}`: {source}", path.display())]
    Write {
        /// Which.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
}

impl LanguageError {
    /// How the command ends.
    pub(crate) fn status(&self) -> ExitStatus {
        match self {
            Self::Hal(error) => error.into(),
            Self::Engine(EngineError::Device(_)) => ExitStatus::DeviceFailed,
            _ => ExitStatus::Error,
        }
    }

    /// Whether nothing can be asked any more.
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
            Self::Model(error) => error.hint(),
            Self::Tokenizer(error) => error.hint(),
            Self::Vocabulary { .. } => {
                Some("convert the model again with a current converter, or get another file of it".into())
            }
            Self::Template(error) => Some(error.hint()),
            Self::Hal(error) => error.hint(),
            Self::Device(error) => error.hint(),
            Self::Engine(error) => error.hint(),
            Self::Grammar { source, .. } => Some(source.hint()),
            Self::Json { .. } => Some("give a JSON schema, such as {\"type\": \"object\"}".into()),
            Self::Read { .. } => Some("check the path and its permissions".into()),
            Self::Input(_) => Some("give text in UTF-8".into()),
            Self::NoPrompt => Some("give one (`-p TEXT`), or talk to it: `roci chat MODEL`".into()),
            Self::Option { .. } => Some("leave it out; `roci run --help` says what is for which models".into()),
            Self::Convert { source, .. } => source.hint(),
            Self::Serve(error) => error.hint(),
            Self::Host { .. } => Some("give an address of this machine (`--host 127.0.0.1`)".into()),
            Self::Write { .. } => Some("name a file that you may write to".into()),
        }
    }
}
