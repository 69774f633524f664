//! Tensors: what the list in a file says of one, and its bytes.

use crate::{Error, Type, parse};

/// What a file says of a tensor.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TensorInfo {
    name: String,
    shape: Vec<u64>,
    kind: Type,
    bytes: u64,
}

impl TensorInfo {
    /// A tensor for a file that shall be written.
    ///
    /// # Errors
    /// If there are no or too many dimensions, if rows are no whole number of blocks, or if the size cannot be counted.
    pub fn new(name: impl Into<String>, shape: &[u64], kind: Type) -> Result<Self, Error> {
        let name = name.into();
        if !(1..=parse::DIMENSIONS).contains(&shape.len()) {
            let text = format!(
                "tensor `{name}` has {} dimensions, where 1 to {} are possible",
                shape.len(),
                parse::DIMENSIONS
            );
            return Err(Error::Write(text));
        }
        Self::checked(&name, shape, kind).map_err(|reason| Error::Write(format!("tensor `{name}`: {reason}")))
    }

    pub(crate) fn checked(name: &str, shape: &[u64], kind: Type) -> Result<Self, String> {
        let row = shape.first().copied().unwrap_or(1);
        if !row.is_multiple_of(kind.block_size() as u64) {
            return Err(format!("rows of {row} are no multiple of {kind}'s blocks of {}", kind.block_size()));
        }
        // ggml counts elements in signed numbers.
        let values = shape
            .iter()
            .try_fold(1u64, |count, size| count.checked_mul(*size))
            .filter(|count| *count <= i64::MAX as u64);
        let Some(bytes) = values.and_then(|values| kind.bytes(values)) else {
            return Err(format!("the shape {shape:?} has too many elements to count"));
        };
        Ok(Self { name: name.to_owned(), shape: shape.to_vec(), kind, bytes })
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Its dimensions as GGUF orders them: the first is that along which values lie side by side.
    pub fn shape(&self) -> &[u64] {
        &self.shape
    }

    /// The type of its elements.
    pub fn kind(&self) -> Type {
        self.kind
    }

    /// How many values it has.
    pub fn values(&self) -> u64 {
        // No overflow: checked when it was made.
        self.shape.iter().product()
    }

    /// How many bytes it takes.
    pub fn byte_len(&self) -> u64 {
        self.bytes
    }
}

/// A tensor of an open file: what is known of it, and its bytes where they lie.
#[derive(Clone, Copy, Debug)]
pub struct Tensor<'a> {
    pub(crate) info: &'a TensorInfo,
    pub(crate) bytes: &'a [u8],
}

impl<'a> Tensor<'a> {
    /// What the file says of it.
    pub fn info(&self) -> &'a TensorInfo {
        self.info
    }

    /// Its bytes, in the file's memory.
    pub fn bytes(&self) -> &'a [u8] {
        self.bytes
    }

    /// Its values, computed from the blocks.
    ///
    /// # Errors
    /// If its type holds whole numbers.
    pub fn to_f32(&self) -> Result<Vec<f32>, Error> {
        self.info.kind.to_f32(self.bytes)
    }
}
