//! Errors of reading, querying and writing files.

use std::path::PathBuf;

use crate::Type;

/// Why a file cannot be read, queried or written.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A file cannot be opened, mapped or written.
    #[error("cannot use `{}`: {error}", path.display())]
    File {
        /// Path of the file.
        path: PathBuf,
        /// Error from the operating system.
        error: std::io::Error,
    },
    /// An error in the content of a file.
    #[error("`{}`: {error}", path.display())]
    Within {
        /// Path of the file.
        path: PathBuf,
        /// The error in the content.
        error: Box<Error>,
    },
    /// The file does not start with the GGUF magic.
    #[error("not a GGUF file: it starts with {0}")]
    Magic(String),
    /// Unsupported version of the format.
    #[error("GGUF version {0} is not supported; versions 2 and 3 are")]
    Version(u32),
    /// Big-endian files are not supported.
    #[error("this GGUF file is big-endian")]
    BigEndian,
    /// The file is shorter than its tables require.
    #[error("{location} needs {needed} bytes at offset {offset}, but the file has {available} left")]
    Truncated {
        /// The key or tensor being read.
        location: String,
        /// Byte offset in the file.
        offset: u64,
        /// Bytes required at this offset.
        needed: u64,
        /// Bytes left at this offset.
        available: u64,
    },
    /// A table is inconsistent or exceeds a limit.
    #[error("{location} at offset {offset}: {reason}")]
    Invalid {
        /// The key or tensor being read.
        location: String,
        /// Byte offset in the file.
        offset: u64,
        /// What is wrong.
        reason: String,
    },
    /// A tensor has an unsupported type.
    #[error("tensor `{tensor}` has type {id}{}, which is not supported", name.map(|name| format!(" ({name})")).unwrap_or_default())]
    UnknownType {
        /// Name of the tensor.
        tensor: String,
        /// Type ID in the file.
        id: u32,
        /// Name of the type, if it is known.
        name: Option<&'static str>,
    },
    /// A required key is missing.
    #[error("the file lacks the key `{0}`")]
    MissingKey(String),
    /// A value has another type than requested, or does not fit it.
    #[error("the key `{key}` should be {expected}, but is {found}")]
    WrongValue {
        /// Name of the key.
        key: String,
        /// Description of the requested type.
        expected: String,
        /// Description of the value.
        found: String,
    },
    /// A required tensor is missing.
    #[error("the file lacks the tensor `{0}`")]
    MissingTensor(String),
    /// A part of a split model is inconsistent with the others.
    #[error("part {part} of the split model {reason}")]
    Split {
        /// Number of the part, starting at 1.
        part: u32,
        /// What is wrong.
        reason: String,
    },
    /// The input is not a whole number of blocks, or does not match the length of the output.
    #[error("{got} {unit} of {kind}, expected {expected}")]
    Length {
        /// Type of the blocks.
        kind: Type,
        /// `bytes` or `values`.
        unit: &'static str,
        /// Actual number.
        got: usize,
        /// Description of the expected number.
        expected: String,
    },
    /// A value is out of range for the type.
    #[error("value {index} ({value}) does not fit {kind}")]
    Range {
        /// Type of the blocks.
        kind: Type,
        /// Index of the value.
        index: usize,
        /// The value that does not fit.
        value: f32,
    },
    /// There is no quantizer for the type.
    #[error("there is no quantizer for {0}")]
    NoQuantizer(Type),
    /// The data written does not match the announced tensors.
    #[error("cannot write the GGUF file: {0}")]
    Write(String),
    /// Writing to the output failed.
    #[error("cannot write the GGUF file: {0}")]
    Output(std::io::Error),
}

impl Error {
    /// What the user can do, as one sentence without a period; `None` if nothing is known to help.
    pub fn hint(&self) -> Option<String> {
        Some(match self {
            Self::Within { error, .. } => return error.hint(),
            Self::File { .. } => "check the path and its permissions".to_owned(),
            Self::Magic(_) => "use a `.gguf` file; convert other formats first".to_owned(),
            Self::Version(1) => {
                "convert the model again with a current converter: version 1 was replaced in August 2023".to_owned()
            }
            Self::Version(_) => {
                "convert the model to GGUF version 3, or use a newer version of this program".to_owned()
            }
            Self::BigEndian => "convert it with `gguf-convert-endian` of the Python package `gguf`".to_owned(),
            Self::Truncated { .. } => "download or copy the file again: it is incomplete".to_owned(),
            Self::Invalid { .. } => "download or convert the file again: it is damaged".to_owned(),
            Self::UnknownType { .. } => format!("use a model in one of these types: {}", Type::names()),
            Self::NoQuantizer(_) => {
                let kinds = Type::all().filter(|kind| kind.has_quantizer());
                format!("choose one of {}", kinds.map(Type::name).collect::<Vec<_>>().join(", "))
            }
            Self::MissingKey(_) | Self::WrongValue { .. } | Self::MissingTensor(_) => {
                "convert the model again with a current converter, or get another file of it".to_owned()
            }
            Self::Split { .. } => "put all parts of the model in one folder, under their original names".to_owned(),
            Self::Range { .. } => "convert to F32 or BF16, which have the full range of f32".to_owned(),
            Self::Length { .. } | Self::Write(_) => return None,
            Self::Output(_) => "check the free disk space and the permissions".to_owned(),
        })
    }

    /// Adds the path of the file to the error.
    pub(crate) fn within(self, path: &std::path::Path) -> Self {
        match self {
            Self::File { .. } | Self::Within { .. } => self,
            error => Self::Within { path: path.to_owned(), error: Box::new(error) },
        }
    }
}
