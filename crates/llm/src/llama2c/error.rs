//! Why a checkpoint cannot be converted.

/// What is wrong.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ConvertError {
    /// The checkpoint does not begin with numbers that make sense.
    #[error("the checkpoint's {what} is {value}, which is not {wanted}")]
    Header {
        /// Which number.
        what: &'static str,
        /// What it is.
        value: i64,
        /// What it should be.
        wanted: String,
    },
    /// The checkpoint is of another size than its numbers ask for.
    #[error("the checkpoint has {found} bytes, and its numbers ask for {wanted}")]
    Size {
        /// Bytes of the file.
        found: usize,
        /// Bytes of such a model.
        wanted: u64,
    },
    /// A version that is not known.
    #[error("the checkpoint is of version {0}, and only 0 and 1 are known")]
    Version(i64),
    /// The vocabulary is not as it should be.
    #[error("the tokenizer's file ends within token {token} of {count}")]
    Tokens {
        /// Where it ends.
        token: usize,
        /// How many there should be.
        count: usize,
    },
    /// The vocabulary goes on where it should end.
    #[error("the tokenizer's file goes on after the checkpoint's {count} tokens")]
    MoreTokens {
        /// How many there should be.
        count: usize,
    },
    /// The GGUF file cannot be written.
    #[error(transparent)]
    Gguf(#[from] roci_gguf::Error),
}

impl ConvertError {
    /// What to do, as one sentence.
    pub fn hint(&self) -> Option<String> {
        Some(match self {
            Self::Header { .. } => "give a checkpoint that llama2.c's `train.py` or `export.py` wrote".to_owned(),
            Self::Size { .. } => "download or copy the checkpoint again: it is incomplete or no checkpoint".to_owned(),
            Self::Version(_) => "export the model again with `export.py --version 0`".to_owned(),
            Self::Tokens { .. } | Self::MoreTokens { .. } => {
                "give the `tokenizer.bin` that belongs to this checkpoint".to_owned()
            }
            Self::Gguf(error) => return error.hint(),
        })
    }
}
