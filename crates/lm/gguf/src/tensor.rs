//! Tensors: the entry in the file's tensor list, and the data.

use crate::{Error, Type, parse};

/// Name, shape and type of a tensor.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TensorInfo {
    name: String,
    shape: Vec<u64>,
    kind: Type,
    bytes: u64,
}

impl TensorInfo {
    /// Describes a tensor for a file to be written.
    ///
    /// # Errors
    /// If there are no dimensions or too many, if rows are not a whole number of blocks, or if the
    /// size overflows.
    pub fn new(name: impl Into<String>, shape: &[u64], kind: Type) -> Result<Self, Error> {
        let name = name.into();
        if !(1..=parse::DIMENSIONS).contains(&shape.len()) {
            let text =
                format!("tensor `{name}` has {} dimensions, but 1 to {} are supported", shape.len(), parse::DIMENSIONS);
            return Err(Error::Write(text));
        }
        Self::checked(&name, shape, kind).map_err(|reason| Error::Write(format!("tensor `{name}`: {reason}")))
    }

    pub(crate) fn checked(name: &str, shape: &[u64], kind: Type) -> Result<Self, String> {
        let row = shape.first().copied().unwrap_or(1);
        if !row.is_multiple_of(kind.block_size() as u64) {
            return Err(format!("row length {row} is not a multiple of the {kind} block size {}", kind.block_size()));
        }
        // ggml counts elements in signed 64-bit integers.
        let values = shape
            .iter()
            .try_fold(1u64, |count, size| count.checked_mul(*size))
            .filter(|count| *count <= i64::MAX as u64);
        let Some(bytes) = values.and_then(|values| kind.bytes(values)) else {
            return Err(format!("the number of elements of shape {shape:?} overflows"));
        };
        Ok(Self { name: name.to_owned(), shape: shape.to_vec(), kind, bytes })
    }

    /// Name of the tensor in the file.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Dimensions in GGUF's order: the first one is contiguous in memory.
    pub fn shape(&self) -> &[u64] {
        &self.shape
    }

    /// Type of the elements.
    pub fn kind(&self) -> Type {
        self.kind
    }

    /// Number of elements.
    pub fn values(&self) -> u64 {
        // Cannot overflow: `checked` rejects such shapes.
        self.shape.iter().product()
    }

    /// Size of the data in bytes.
    pub fn byte_len(&self) -> u64 {
        self.bytes
    }
}

/// A tensor of an open file: its description and its data in the file's memory.
#[derive(Clone, Copy, Debug)]
pub struct Tensor<'a> {
    pub(crate) info: &'a TensorInfo,
    pub(crate) bytes: &'a [u8],
}

impl<'a> Tensor<'a> {
    /// Name, shape and type.
    pub fn info(&self) -> &'a TensorInfo {
        self.info
    }

    /// The data, borrowed from the file's memory.
    pub fn bytes(&self) -> &'a [u8] {
        self.bytes
    }

    /// Dequantizes the data.
    ///
    /// # Errors
    /// If the type is an integer type.
    pub fn to_f32(&self) -> Result<Vec<f32>, Error> {
        self.info.kind.to_f32(self.bytes)
    }
}
