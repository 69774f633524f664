//! An open model: a single file or all parts of a split model.

use std::collections::HashMap;
use std::fs::File;
use std::path::Path;

use crate::map::Bytes;
use crate::{Error, Metadata, SplitName, Tensor, TensorInfo, parse, split};

/// An open model.
///
/// It can be shared between threads. Tensor data is borrowed from the mapped files.
#[derive(Debug)]
pub struct Gguf {
    files: Vec<Bytes>,
    version: u32,
    metadata: Metadata,
    tensors: Vec<Entry>,
    by_name: HashMap<String, usize>,
}

/// A tensor and its location, which was bounds-checked when the file was opened.
#[derive(Debug)]
struct Entry {
    info: TensorInfo,
    file: usize,
    offset: usize,
}

/// Location of a tensor's data, see [`Gguf::location`].
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct DataLocation<'a> {
    /// The open file.
    pub file: &'a File,
    /// Index of the file among the model's files.
    pub index: usize,
    /// Byte offset from the start of the file.
    pub offset: usize,
}

impl Gguf {
    /// Opens a model file. Any part of a split model opens the whole model.
    ///
    /// # Errors
    /// If a file cannot be read, or if its tables are invalid.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, Error> {
        let path = path.as_ref();
        let bytes = Bytes::open(path)?;
        let tables = parse::tables(&bytes).map_err(|error| error.within(path))?;
        let count = split::count(&tables.metadata).map_err(|error| error.within(path))?;
        if count == 1 {
            return Self::new(bytes, tables).map_err(|error| error.within(path));
        }
        match SplitName::parse(path) {
            Some(name) if name.count == count => Self::open_split(&name),
            _ => {
                let reason = format!("is not named `…-00001-of-{count:05}.gguf`, so the other parts cannot be found");
                Err(Error::Split { part: 1, reason }.within(path))
            }
        }
    }

    /// Opens all parts. The metadata is that of the first part.
    fn open_split(name: &SplitName) -> Result<Self, Error> {
        let mut model: Option<Self> = None;
        for part in 1..=name.count {
            let path = name.path(part);
            let within = |error: Error| error.within(&path);
            let bytes = Bytes::open(&path)?;
            let tables = parse::tables(&bytes).map_err(within)?;
            split::check_part(&tables.metadata, part, name.count).map_err(within)?;
            match &mut model {
                None => model = Some(Self::new(bytes, tables).map_err(within)?),
                Some(model) => model.add(bytes, tables.tensors).map_err(within)?,
            }
        }
        // `count` is at least 1; `SplitName::parse` checks that.
        let model = model.ok_or_else(|| Error::Split { part: 1, reason: "is missing".to_owned() })?;
        split::check_total(&model.metadata, name.count, model.tensors.len())
            .map_err(|error| error.within(&name.path(1)))?;
        Ok(model)
    }

    /// Reads a single file from memory. A part of a split model is read as a model of its own.
    ///
    /// # Errors
    /// If its tables are invalid.
    pub fn from_bytes(bytes: impl Into<Vec<u8>>) -> Result<Self, Error> {
        let bytes = Bytes::Owned(bytes.into());
        let tables = parse::tables(&bytes)?;
        Self::new(bytes, tables)
    }

    fn new(bytes: Bytes, tables: parse::Tables) -> Result<Self, Error> {
        let parse::Tables { version, metadata, tensors } = tables;
        let mut model = Self { files: Vec::new(), version, metadata, tensors: Vec::new(), by_name: HashMap::new() };
        model.add(bytes, tensors)?;
        Ok(model)
    }

    fn add(&mut self, bytes: Bytes, tensors: Vec<(TensorInfo, u64)>) -> Result<(), Error> {
        let file = self.files.len();
        for (info, offset) in tensors {
            if self.by_name.insert(info.name().to_owned(), self.tensors.len()).is_some() {
                let reason = format!("repeats the tensor `{}` of an earlier part", info.name());
                return Err(Error::Split { part: file as u32 + 1, reason });
            }
            // The offset of an empty tensor may be past the end of the file, where slicing would
            // fail.
            let offset = if info.byte_len() == 0 { 0 } else { offset as usize };
            self.tensors.push(Entry { info, file, offset });
        }
        self.files.push(bytes);
        Ok(())
    }

    /// Version of the format, 2 or 3.
    pub fn version(&self) -> u32 {
        self.version
    }

    /// Keys and values of the file; of the first file if the model is split.
    pub fn metadata(&self) -> &Metadata {
        &self.metadata
    }

    /// Total size of the model's files in bytes.
    pub fn file_bytes(&self) -> u64 {
        self.files.iter().map(|bytes| bytes.len() as u64).sum()
    }

    /// All tensors, in file order.
    pub fn tensors(&self) -> impl ExactSizeIterator<Item = Tensor<'_>> {
        self.tensors.iter().map(|entry| self.view(entry))
    }

    /// Finds a tensor by name.
    pub fn tensor(&self, name: &str) -> Option<Tensor<'_>> {
        self.by_name.get(name).map(|&at| self.view(&self.tensors[at]))
    }

    /// Finds a tensor by name; an error if it is missing.
    ///
    /// # Errors
    /// If there is no such tensor.
    pub fn expect_tensor(&self, name: &str) -> Result<Tensor<'_>, Error> {
        self.tensor(name).ok_or_else(|| Error::MissingTensor(name.to_owned()))
    }

    /// Location of a tensor's data: the file, its index among the model's files, and the byte
    /// offset. `None` if there is no such tensor, or if the model was read from memory.
    pub fn location(&self, name: &str) -> Option<DataLocation<'_>> {
        let entry = &self.tensors[*self.by_name.get(name)?];
        match &self.files[entry.file] {
            Bytes::Mapped(_, file) => Some(DataLocation { file, index: entry.file, offset: entry.offset }),
            Bytes::Owned(_) => None,
        }
    }

    fn view<'a>(&'a self, entry: &'a Entry) -> Tensor<'a> {
        let bytes = &self.files[entry.file][entry.offset..][..entry.info.byte_len() as usize];
        Tensor { info: &entry.info, bytes }
    }
}
