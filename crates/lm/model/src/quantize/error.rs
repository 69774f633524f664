//! Errors of the quantization of a file.

use roci_gguf::Type;

use super::FileType;

/// Why a file cannot be quantized.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum QuantizeError {
    /// The source is invalid, or writing failed.
    #[error(transparent)]
    Gguf(#[from] roci_gguf::Error),
    /// A source tensor is already quantized.
    #[error("tensor `{tensor}` is already quantized to {from}; quantizing it again loses precision")]
    Requantize {
        /// Name of the tensor.
        tensor: String,
        /// Its type.
        from: Type,
    },
    /// A type that has no quantizer.
    #[error("there is no quantizer for {0}")]
    Unsupported(Type),
    /// A tensor that needs importance has none.
    #[error("{file_type} needs an importance matrix, {}", match .is_given {
        true => format!("but this one has no entry for `{tensor}`"),
        false => format!("for example for `{tensor}`"),
    })]
    NoImportance {
        /// Requested type.
        file_type: FileType,
        /// Name of the tensor.
        tensor: String,
        /// Whether there is an importance matrix.
        is_given: bool,
    },
    /// The importance matrix is of another model.
    #[error("the importance matrix has {found} values for `{tensor}`, expected {wanted}")]
    Importance {
        /// Name of the tensor.
        tensor: String,
        /// Values of the entry.
        found: usize,
        /// Values that the shape requires.
        wanted: u64,
    },
    /// A value that the type cannot represent.
    #[error("tensor `{tensor}`: value {index} ({value}) does not fit {to}")]
    Value {
        /// Name of the tensor.
        tensor: String,
        /// Index of the value in the tensor.
        index: u64,
        /// The value.
        value: f32,
        /// Type of the tensor in the new file.
        to: Type,
    },
    /// The caller stopped the quantization.
    #[error("the quantization was stopped")]
    Stopped,
}

impl QuantizeError {
    /// Remedy for the user, in one sentence.
    pub fn hint(&self) -> Option<String> {
        Some(match self {
            Self::Gguf(error) => return error.hint(),
            Self::Requantize { .. } => {
                "start from a file in F32, F16 or BF16, or allow it with `--allow-requantize`".to_owned()
            }
            Self::Unsupported(_) => format!("choose one of {}", FileType::tensor_types()),
            Self::NoImportance { is_given: false, .. } => {
                "give a file of `llama-imatrix` with `--imatrix FILE`, or choose another type".to_owned()
            }
            Self::NoImportance { .. } | Self::Importance { .. } => {
                "use the importance matrix of this model, or choose another type".to_owned()
            }
            Self::Value { .. } => "choose F32 or BF16 for this tensor with `--tensor-type NAME=TYPE`".to_owned(),
            Self::Stopped => return None,
        })
    }
}
