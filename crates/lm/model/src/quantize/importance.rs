//! Importance matrices: the files of `llama-imatrix`.
//!
//! An entry has a number per column of a matrix: the mean square of the inputs of this column. A
//! matrix of experts has one such row per expert.
//!
//! There are two formats, both untrusted: a GGUF file with the sums of squares (`NAME.in_sum2`) and
//! the counts (`NAME.counts`), and the older `.dat` without a magic number.

use std::collections::BTreeMap;

use roci_gguf::{Gguf, Type};

const SUMS: &str = ".in_sum2";
const COUNTS: &str = ".counts";

/// Importance of the columns of matrices, by the name of the tensor.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ImportanceMatrix {
    entries: BTreeMap<String, Vec<f32>>,
    chunks: u32,
    datasets: Vec<String>,
}

/// Why an importance matrix cannot be read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ImportanceError {
    /// The GGUF file is invalid.
    #[error(transparent)]
    Gguf(#[from] roci_gguf::Error),
    /// The file is neither format.
    #[error("not an importance matrix: {0}")]
    Format(String),
    /// The file ends early.
    #[error("the file ends within {0}")]
    Truncated(String),
    /// An entry is invalid.
    #[error("the entry `{name}` {reason}")]
    Entry {
        /// Name of the tensor.
        name: String,
        /// The error.
        reason: String,
    },
}

impl ImportanceError {
    /// Remedy for the user, in one sentence.
    pub fn hint(&self) -> Option<String> {
        Some(match self {
            Self::Gguf(error) => return error.hint(),
            Self::Format(_) => "give a file that `llama-imatrix` wrote, GGUF or `.dat`".to_owned(),
            Self::Truncated(_) => "download or copy the file again: it is incomplete".to_owned(),
            Self::Entry { .. } => "make the file again with `llama-imatrix`, or download it again".to_owned(),
        })
    }
}

impl ImportanceMatrix {
    /// Reads a file of either format.
    ///
    /// # Errors
    /// If the file is invalid, has no entry, or has a value that is not finite.
    pub fn parse(bytes: Vec<u8>) -> Result<Self, ImportanceError> {
        let matrix = if bytes.starts_with(b"GGUF") { Self::from_gguf(bytes)? } else { Self::from_dat(&bytes)? };
        if matrix.entries.is_empty() {
            return Err(ImportanceError::Format("it has no entries".to_owned()));
        }
        for (name, values) in &matrix.entries {
            if let Some(value) = values.iter().find(|value| !value.is_finite()) {
                return Err(ImportanceError::Entry { name: name.clone(), reason: format!("has the value {value}") });
            }
        }
        Ok(matrix)
    }

    fn from_gguf(bytes: Vec<u8>) -> Result<Self, ImportanceError> {
        let file = Gguf::from_bytes(bytes)?;
        let mut matrix = Self::default();
        for tensor in file.tensors() {
            let Some(name) = tensor.info().name().strip_suffix(SUMS) else { continue };
            let wrong = |reason: &str| ImportanceError::Entry { name: name.to_owned(), reason: reason.to_owned() };
            let counts = file.tensor(&format!("{name}{COUNTS}")).ok_or_else(|| wrong("has sums but no counts"))?;
            if tensor.info().kind() != Type::F32 || counts.info().kind() != Type::F32 {
                return Err(wrong("is not in F32"));
            }
            let (mut values, counts) = (tensor.to_f32()?, counts.to_f32()?);
            if counts.is_empty() || values.is_empty() || !values.len().is_multiple_of(counts.len()) {
                return Err(wrong("has sums that are not a multiple of its counts"));
            }
            let columns = values.len() / counts.len();
            for (values, count) in values.chunks_mut(columns).zip(counts) {
                let count = count.round();
                if count > 0.0 {
                    values.iter_mut().for_each(|value| *value /= count);
                } else {
                    // No token was routed to this expert: all columns count the same.
                    values.fill(1.0);
                }
            }
            matrix.entries.insert(name.to_owned(), values);
        }
        matrix.chunks = file.metadata().get("imatrix.chunk_count")?.unwrap_or(0);
        let datasets = file.metadata().get::<&[String]>("imatrix.datasets")?;
        matrix.datasets = datasets.unwrap_or_default().to_vec();
        Ok(matrix)
    }

    fn from_dat(bytes: &[u8]) -> Result<Self, ImportanceError> {
        let mut reader = Reader { bytes };
        let count = reader.number("the number of entries")?;
        if count < 1 {
            return Err(ImportanceError::Format(format!("it has {count} entries")));
        }
        let mut matrix = Self::default();
        for number in 1..=count {
            let place = || format!("entry {number} of {count}");
            let name = reader.text(&place())?;
            let calls = reader.number(&place())?;
            let values = reader.number(&place())?;
            let wrong = |reason: String| ImportanceError::Entry { name: name.clone(), reason };
            if values < 1 {
                return Err(wrong(format!("has {values} values")));
            }
            let values = reader.take(values as usize * 4, &place())?;
            // The values are already means, multiplied by the number of calls.
            let divisor = if calls > 0 { calls as f32 } else { 1.0 };
            let values = values.as_chunks().0.iter().map(|value| f32::from_le_bytes(*value) / divisor).collect();
            if matrix.entries.contains_key(&name) {
                return Err(wrong("is there twice".to_owned()));
            }
            matrix.entries.insert(name, values);
        }
        // The oldest files have neither the number of chunks nor the name of the text.
        if let Ok(chunks) = reader.number("the number of chunks") {
            matrix.chunks = chunks.try_into().unwrap_or(0);
            matrix.datasets.extend(reader.text("the name of the text").ok().filter(|name| !name.is_empty()));
        }
        Ok(matrix)
    }

    /// The importance of a tensor's columns; for experts, one row for each.
    pub fn get(&self, tensor: &str) -> Option<&[f32]> {
        self.entries.get(tensor).map(Vec::as_slice)
    }

    /// Number of entries.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether there is no entry. A parsed file has at least one.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Number of chunks of text that the matrix was computed from; 0 if unknown.
    pub fn chunks(&self) -> u32 {
        self.chunks
    }

    /// Names of the texts that the matrix was computed from.
    pub fn datasets(&self) -> &[String] {
        &self.datasets
    }
}

/// Reads little-endian fields in order.
struct Reader<'a> {
    bytes: &'a [u8],
}

impl<'a> Reader<'a> {
    fn take(&mut self, count: usize, place: &str) -> Result<&'a [u8], ImportanceError> {
        let (taken, rest) =
            self.bytes.split_at_checked(count).ok_or_else(|| ImportanceError::Truncated(place.to_owned()))?;
        self.bytes = rest;
        Ok(taken)
    }

    fn number(&mut self, place: &str) -> Result<i32, ImportanceError> {
        let bytes = self.take(4, place)?.as_chunks().0;
        Ok(i32::from_le_bytes(bytes[0]))
    }

    /// A text, preceded by its length in bytes.
    fn text(&mut self, place: &str) -> Result<String, ImportanceError> {
        let invalid = |what: &str| ImportanceError::Format(format!("{place} {what}"));
        let length = usize::try_from(self.number(place)?).map_err(|_| invalid("has a negative length"))?;
        let text = self.take(length, place)?;
        let text = std::str::from_utf8(text).map_err(|_| invalid("has a name that is not UTF-8"))?;
        Ok(text.to_owned())
    }
}
