//! The types of all tensors and the keys of the new file, decided before anything is written.

use std::io::{self, Write};

use roci_gguf::{Error, Gguf, Metadata, TensorInfo, Type, Value, Writer};

use super::mixture::{self, Mixture};
use super::{FileType, ImportanceMatrix, QuantizeError};

/// Version of the quantized formats, `general.quantization_version`: that of ggml since 2023.
const QUANTIZATION_VERSION: u32 = 2;
/// Longest text of a key about the importance matrix in bytes, as in llama.cpp.
const TEXT_BYTES: usize = 127;
/// Keys of the parts of a split model; the new file is one file.
const SPLIT_KEYS: [&str; 3] = ["split.no", "split.count", "split.tensors.count"];

/// Settings of the new file.
#[expect(missing_debug_implementations, reason = "it holds a function")]
pub struct Options<'a> {
    /// Type of the file.
    pub file_type: FileType,
    /// Type of the output matrix instead of the mixture's.
    pub output: Option<Type>,
    /// Type of the token embedding instead of the mixture's.
    pub embedding: Option<Type>,
    /// Types of single tensors by name, instead of the mixture's.
    pub overrides: &'a dyn Fn(&str) -> Option<Type>,
    /// Gives every quantized tensor the main type of the mixture.
    pub pure: bool,
    /// Allows quantizing tensors that are already quantized.
    pub allow_requantize: bool,
    /// The importance matrix, and the name of its file for the metadata.
    pub importance: Option<(&'a ImportanceMatrix, &'a str)>,
}

/// A tensor of the new file.
#[derive(Clone, Debug)]
pub struct PlannedTensor<'a> {
    /// Its description in the source.
    pub source: &'a TensorInfo,
    /// Its description in the new file.
    pub target: TensorInfo,
    /// The type that was selected first, if its blocks do not fit the rows and the tensor has
    /// another type.
    pub instead_of: Option<Type>,
    /// Importance of its columns, one row per matrix in it, if the type uses it.
    pub importance: Option<&'a [f32]>,
}

impl PlannedTensor<'_> {
    /// Whether its type changes.
    pub fn is_converted(&self) -> bool {
        self.source.kind() != self.target.kind()
    }

    /// Whether its type uses importance, but the matrix has no entry for it.
    pub fn lacks_importance(&self) -> bool {
        self.is_converted() && self.target.kind().uses_importance() && self.importance.is_none()
    }
}

/// The tensors and keys of the new file.
#[derive(Debug)]
pub struct Plan<'a> {
    pub(super) file: &'a Gguf,
    pub(super) metadata: Metadata,
    pub(super) tensors: Vec<PlannedTensor<'a>>,
}

impl<'a> Plan<'a> {
    /// Chooses the type of every tensor.
    ///
    /// # Errors
    /// If a tensor is already quantized and that is not allowed, if a type has no quantizer, or if
    /// the importance matrix does not fit.
    pub fn new(file: &'a Gguf, options: &Options<'a>) -> Result<Self, QuantizeError> {
        let mut sources: Vec<&TensorInfo> = file.tensors().map(|tensor| tensor.info()).collect();
        sources.sort_by(|a, b| {
            let key = |info: &'a TensorInfo| (mixture::layer(info.name()), info.name());
            key(a).cmp(&key(b))
        });
        let mut mixture = Mixture::new(options, file.metadata(), sources.iter().map(|info| info.name()))?;
        let tensors = sources.into_iter().map(|source| Self::tensor(source, options, &mut mixture));
        let tensors = tensors.collect::<Result<_, _>>()?;
        Ok(Self { file, metadata: keys(file.metadata(), options), tensors })
    }

    fn tensor(
        source: &'a TensorInfo,
        options: &Options<'a>,
        mixture: &mut Mixture<'_>,
    ) -> Result<PlannedTensor<'a>, QuantizeError> {
        let unchanged = PlannedTensor { source, target: source.clone(), instead_of: None, importance: None };
        let Some(default) = options.file_type.tensor_type().filter(|_| mixture::is_quantizable(source)) else {
            return Ok(unchanged);
        };
        let chosen = mixture.choose(source, default);
        let row = source.shape().first().copied().unwrap_or(0);
        let kind = mixture::fallback(chosen, row);
        let instead_of = (kind != chosen).then_some(chosen);
        if kind == source.kind() {
            return Ok(PlannedTensor { instead_of, ..unchanged });
        }
        if !kind.has_quantizer() {
            return Err(QuantizeError::Unsupported(kind));
        }
        if source.kind().is_quantized() && !options.allow_requantize {
            return Err(QuantizeError::Requantize { tensor: source.name().to_owned(), from: source.kind() });
        }
        let target = TensorInfo::new(source.name(), source.shape(), kind)?;
        let importance = importance(&target, options)?;
        Ok(PlannedTensor { source, target, instead_of, importance })
    }

    /// The tensors in the order of the new file.
    pub fn tensors(&self) -> &[PlannedTensor<'a>] {
        &self.tensors
    }

    /// Size of the new file in bytes.
    ///
    /// # Errors
    /// If it overflows.
    pub fn bytes(&self) -> Result<u64, Error> {
        let mut tables = Counter(0);
        Writer::start(&mut tables, &self.metadata, &self.targets())?;
        let alignment = u64::from(self.metadata.get::<u32>("general.alignment")?.unwrap_or(32));
        let data = self.tensors.iter().map(|tensor| tensor.target.byte_len().next_multiple_of(alignment));
        Ok(tables.0 + data.sum::<u64>())
    }

    /// Bits of tensor data per weight in the new file.
    pub fn bits_per_weight(&self) -> f64 {
        let bytes: u64 = self.tensors.iter().map(|tensor| tensor.target.byte_len()).sum();
        let weights: u64 = self.tensors.iter().map(|tensor| tensor.target.values()).sum();
        bytes as f64 * 8.0 / weights.max(1) as f64
    }

    pub(super) fn targets(&self) -> Vec<TensorInfo> {
        self.tensors.iter().map(|tensor| tensor.target.clone()).collect()
    }
}

/// The importance of a tensor's columns, if its new type uses it.
fn importance<'a>(target: &TensorInfo, options: &Options<'a>) -> Result<Option<&'a [f32]>, QuantizeError> {
    let kind = target.kind();
    let name = target.name();
    let is_special = mixture::is_embedding(name) || name == "output.weight";
    // 2-bit scales are too coarse without it.
    let is_required = options.file_type == FileType::Q2_K_S && kind == Type::Q2_K && !is_special;
    let values = options.importance.and_then(|(matrix, _)| matrix.get(name)).filter(|_| kind.uses_importance());
    let size = |at: usize| target.shape().get(at).copied().unwrap_or(1);
    match values {
        None if is_required => Err(QuantizeError::NoImportance {
            file_type: options.file_type,
            tensor: name.to_owned(),
            is_given: options.importance.is_some(),
        }),
        None => Ok(None),
        Some(values) if values.len() as u64 == size(0) * size(2) => Ok(Some(values)),
        // Its inputs are tokens: the entry belongs to the matrix's other use, as the output matrix.
        Some(_) if mixture::is_embedding(name) => Ok(None),
        Some(values) => {
            Err(QuantizeError::Importance { tensor: name.to_owned(), found: values.len(), wanted: size(0) * size(2) })
        }
    }
}

/// The keys of the source, then those of the quantization.
fn keys(source: &Metadata, options: &Options<'_>) -> Metadata {
    let mut added: Vec<(&str, Value)> = Vec::new();
    if let Some(id) = options.file_type.id() {
        added.push(("general.quantization_version", QUANTIZATION_VERSION.into()));
        added.push(("general.file_type", id.into()));
    }
    if let Some((matrix, file)) = options.importance {
        added.push(("quantize.imatrix.file", shortened(file).into()));
        if let Some(dataset) = matrix.datasets().first() {
            added.push(("quantize.imatrix.dataset", shortened(dataset).into()));
        }
        added.push(("quantize.imatrix.entries_count", (matrix.len() as u32).into()));
        if matrix.chunks() > 0 {
            added.push(("quantize.imatrix.chunks_count", matrix.chunks().into()));
        }
    }
    let is_kept = |key: &str| !SPLIT_KEYS.contains(&key) && !added.iter().any(|(other, _)| *other == key);
    let kept = source.iter().filter(|(key, _)| is_kept(key)).map(|(key, value)| (key, value.clone()));
    kept.chain(added.iter().cloned()).collect()
}

/// The start of a text, at most [`TEXT_BYTES`] bytes.
fn shortened(text: &str) -> &str {
    &text[..text.floor_char_boundary(TEXT_BYTES)]
}

/// Counts the bytes written.
struct Counter(u64);

impl Write for Counter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0 += bytes.len() as u64;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
