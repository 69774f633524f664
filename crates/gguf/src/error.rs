//! What is wrong with a file, with a question to it, or with what shall be written.

use std::path::PathBuf;

use crate::Type;

/// Why a file cannot be read or written, or a question cannot be answered.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A file that cannot be opened, mapped or written.
    #[error("cannot use `{}`: {error}", path.display())]
    File {
        /// Which.
        path: PathBuf,
        /// Why.
        error: std::io::Error,
    },
    /// Something wrong inside a file.
    #[error("`{}`: {error}", path.display())]
    Within {
        /// Which file.
        path: PathBuf,
        /// What is wrong in it.
        error: Box<Error>,
    },
    /// Bytes that do not start as a GGUF file does.
    #[error("this is no GGUF file: it starts with {0}")]
    Magic(String),
    /// A version of the format that is not read.
    #[error("GGUF version {0} is not read, only 2 and 3")]
    Version(u32),
    /// A file with its most significant bytes first.
    #[error("this GGUF file is big-endian")]
    BigEndian,
    /// A file that ends before what it announces.
    #[error("{place} needs {needed} bytes at offset {offset}, but the file has {available} left")]
    Truncated {
        /// The key or tensor.
        place: String,
        /// Where in the file.
        offset: u64,
        /// Bytes that belong there.
        needed: u64,
        /// Bytes that are there.
        available: u64,
    },
    /// A table that contradicts itself or goes past a limit.
    #[error("{place} at offset {offset}: {reason}")]
    Invalid {
        /// The key or tensor.
        place: String,
        /// Where in the file.
        offset: u64,
        /// What is wrong.
        reason: String,
    },
    /// A tensor of a type that is not read.
    #[error("tensor `{tensor}` has the type {id}{}, which is not read", name.map(|name| format!(" ({name})")).unwrap_or_default())]
    UnknownType {
        /// Which tensor.
        tensor: String,
        /// The type's number.
        id: u32,
        /// Its name, where it has one.
        name: Option<&'static str>,
    },
    /// A key that is not there.
    #[error("the file lacks the key `{0}`")]
    MissingKey(String),
    /// A value that is not what was asked for.
    #[error("the key `{key}` should be {wanted}, but is {found}")]
    WrongValue {
        /// Which key.
        key: String,
        /// What was asked for.
        wanted: String,
        /// What is there.
        found: String,
    },
    /// A tensor that is not there.
    #[error("the file lacks the tensor `{0}`")]
    MissingTensor(String),
    /// A part of a split model that does not fit the others.
    #[error("part {part} of the split model {reason}")]
    Split {
        /// Which, counted from 1.
        part: u32,
        /// What is wrong.
        reason: String,
    },
    /// Bytes or values that are no whole number of blocks, or of another length than the other side.
    #[error("{got} {unit} where {quantity} of {kind} {wanted}")]
    Length {
        /// The type of the blocks.
        kind: Type,
        /// `bytes` or `values`.
        unit: &'static str,
        /// What there should be so many of.
        quantity: &'static str,
        /// How many there are.
        got: usize,
        /// How many there should be, in words.
        wanted: String,
    },
    /// Values that the type cannot hold.
    #[error("value {index} ({value}) cannot be held by {kind}")]
    Range {
        /// The type of the blocks.
        kind: Type,
        /// Which value.
        index: usize,
        /// The value.
        value: f32,
    },
    /// A type that values cannot be converted to.
    #[error("values cannot be quantised to {0} here")]
    NoQuantiser(Type),
    /// Output that does not follow what was announced.
    #[error("cannot write the GGUF file: {0}")]
    Write(String),
    /// Output that failed.
    #[error("cannot write the GGUF file: {0}")]
    Output(std::io::Error),
}

impl Error {
    /// What can be done about it, as one sentence without a full stop.
    pub fn hint(&self) -> Option<String> {
        Some(match self {
            Self::Within { error, .. } => return error.hint(),
            Self::File { .. } => "check the path and its permissions".to_owned(),
            Self::Magic(_) => "give a `.gguf` file; other formats must be converted first".to_owned(),
            Self::Version(1) => {
                "convert the model again with a current converter: version 1 was replaced in August 2023".to_owned()
            }
            Self::Version(_) => {
                "convert the model to GGUF version 3, or use a newer version of this program".to_owned()
            }
            Self::BigEndian => "convert it with `gguf-convert-endian` of the Python package `gguf`".to_owned(),
            Self::Truncated { .. } => "download or copy the file again: it is incomplete".to_owned(),
            Self::Invalid { .. } => "download or convert the file again: it is damaged".to_owned(),
            Self::UnknownType { .. } | Self::NoQuantiser(_) => {
                format!("use a model in one of these types: {}", Type::names())
            }
            Self::MissingKey(_) | Self::WrongValue { .. } | Self::MissingTensor(_) => {
                "convert the model again with a current converter, or get another file of it".to_owned()
            }
            Self::Split { .. } => {
                "put all parts of one and the same model in one folder, under their own names".to_owned()
            }
            Self::Range { .. } => "convert to F32 or BF16, which hold every size of number".to_owned(),
            Self::Length { .. } | Self::Write(_) => return None,
            Self::Output(_) => "check the space left and the permissions".to_owned(),
        })
    }

    /// The same, with the file that it happened in.
    pub(crate) fn within(self, path: &std::path::Path) -> Self {
        match self {
            Self::File { .. } | Self::Within { .. } => self,
            error => Self::Within { path: path.to_owned(), error: Box::new(error) },
        }
    }
}
