//! An open model: one file, or all files of a split one.

use std::collections::HashMap;
use std::fs::File;
use std::path::Path;

use crate::map::Bytes;
use crate::{Error, Metadata, SplitName, Tensor, TensorInfo, parse, split};

/// An open model.
///
/// It can be shared between threads. Tensors are slices of its memory and live as long as it does.
#[derive(Debug)]
pub struct Gguf {
    files: Vec<Bytes>,
    version: u32,
    metadata: Metadata,
    tensors: Vec<Entry>,
    by_name: HashMap<String, usize>,
}

/// A tensor, and where it lies. That it lies there was checked when the file was opened.
#[derive(Debug)]
struct Entry {
    info: TensorInfo,
    file: usize,
    offset: usize,
}

/// Where a tensor lies, see [`Gguf::place`].
#[derive(Clone, Copy, Debug)]
pub struct Place<'a> {
    /// The file.
    pub file: &'a File,
    /// Which one of the model's it is.
    pub index: usize,
    /// Bytes from its start.
    pub offset: usize,
}

impl Gguf {
    /// Opens a file. Any part of a split model opens all of it.
    ///
    /// # Errors
    /// If a file cannot be read, or if something in its tables is wrong.
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
                let reason = format!("is not named `…-00001-of-{count:05}.gguf`, so that the others cannot be found");
                Err(Error::Split { part: 1, reason }.within(path))
            }
        }
    }

    /// Opens all parts; metadata is that of the first.
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
        // There is at least one part, or the name would not have been one.
        let model = model.ok_or_else(|| Error::Split { part: 1, reason: "is not there".to_owned() })?;
        split::check_total(&model.metadata, name.count, model.tensors.len())
            .map_err(|error| error.within(&name.path(1)))?;
        Ok(model)
    }

    /// Reads a file from memory. A part of a split model stands for itself there.
    ///
    /// # Errors
    /// If something in its tables is wrong.
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
                let reason = format!("has the tensor `{}`, which an earlier part has too", info.name());
                return Err(Error::Split { part: file as u32 + 1, reason });
            }
            // An empty tensor may lie past the end; its slice may not.
            let offset = if info.byte_len() == 0 { 0 } else { offset as usize };
            self.tensors.push(Entry { info, file, offset });
        }
        self.files.push(bytes);
        Ok(())
    }

    /// The version of the format, 2 or 3.
    pub fn version(&self) -> u32 {
        self.version
    }

    /// The keys and values.
    pub fn metadata(&self) -> &Metadata {
        &self.metadata
    }

    /// How many bytes all files of the model take.
    pub fn file_bytes(&self) -> u64 {
        self.files.iter().map(|bytes| bytes.len() as u64).sum()
    }

    /// All tensors, in the order of the file.
    pub fn tensors(&self) -> impl ExactSizeIterator<Item = Tensor<'_>> {
        self.tensors.iter().map(|entry| self.view(entry))
    }

    /// The tensor of a name.
    pub fn tensor(&self, name: &str) -> Option<Tensor<'_>> {
        self.by_name.get(name).map(|&at| self.view(&self.tensors[at]))
    }

    /// The tensor of a name, which must be there.
    ///
    /// # Errors
    /// If it is not.
    pub fn expect_tensor(&self, name: &str) -> Result<Tensor<'_>, Error> {
        self.tensor(name).ok_or_else(|| Error::MissingTensor(name.to_owned()))
    }

    /// Where a tensor lies: its file, which of the model's files that is, and how many bytes from its start; `None` if there is no such tensor,
    /// or no file.
    pub fn place(&self, name: &str) -> Option<Place<'_>> {
        let entry = &self.tensors[*self.by_name.get(name)?];
        match &self.files[entry.file] {
            Bytes::Mapped(_, file) => Some(Place { file, index: entry.file, offset: entry.offset }),
            Bytes::Owned(_) => None,
        }
    }

    fn view<'a>(&'a self, entry: &'a Entry) -> Tensor<'a> {
        let bytes = &self.files[entry.file][entry.offset..][..entry.info.byte_len() as usize];
        Tensor { info: &entry.info, bytes }
    }
}
