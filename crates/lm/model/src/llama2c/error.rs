//! Errors of the conversion.

/// Why a checkpoint cannot be converted.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ConvertError {
    /// The header of the checkpoint has a value out of range.
    #[error("the checkpoint's {what} is {value}, expected {expected}")]
    Header {
        /// Name of the field.
        what: &'static str,
        /// Its value.
        value: i64,
        /// Expected range.
        expected: String,
    },
    /// The size of the checkpoint does not match its header.
    #[error("the checkpoint has {found} bytes, but its header requires {expected}")]
    Size {
        /// Size of the file in bytes.
        found: u64,
        /// Size that follows from the header.
        expected: u64,
    },
    /// An unsupported version.
    #[error("checkpoint version {0} is not supported; versions 0 and 1 are")]
    Version(i64),
    /// The vocabulary is truncated.
    #[error("the tokenizer file ends within token {token} of {count}")]
    Tokens {
        /// Index of the token.
        token: usize,
        /// Tokens that the checkpoint's header expects.
        count: usize,
    },
    /// The vocabulary has trailing data.
    #[error("the tokenizer file has data after the checkpoint's {count} tokens")]
    MoreTokens {
        /// Tokens that the checkpoint's header expects.
        count: usize,
    },
    /// The GGUF file cannot be written.
    #[error(transparent)]
    Gguf(#[from] roci_gguf::Error),
}

impl ConvertError {
    /// What the user can do, in one sentence.
    pub fn hint(&self) -> Option<String> {
        Some(match self {
            Self::Header { .. } => "use a checkpoint written by `train.py` or `export.py` of llama2.c".to_owned(),
            Self::Size { .. } => {
                "download or copy the checkpoint again: it is incomplete or not a checkpoint".to_owned()
            }
            Self::Version(_) => "export the model again with `export.py --version 0`".to_owned(),
            Self::Tokens { .. } | Self::MoreTokens { .. } => "use the `tokenizer.bin` of this checkpoint".to_owned(),
            Self::Gguf(error) => return error.hint(),
        })
    }
}
