//! Files that contain GPU code.

use crate::compressed::MAX_DECOMPRESSED;
use crate::device_image::Payload;
use crate::search::{ImageBytes, LocatedImage, Search};
use crate::{DeviceImage, ImageKind, ImageLocation};

/// A file and the device images in it.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct File<'data> {
    /// The file's format.
    pub kind: FileKind,
    /// In file order.
    pub images: Vec<DeviceImage<'data>>,
    /// Damaged parts of the file.
    pub problems: Vec<Problem>,
}

/// Format of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileKind {
    /// A single code object.
    CodeObject,
    /// One or more offload bundles, compressed or not.
    Bundle,
    /// A program, library or object file of the host.
    HostElf,
    /// An archive (`ar`) of object files.
    Archive,
    /// Any other data that contains bundles. Only [`crate::FileSummary`] searches it.
    Data,
}

impl FileKind {
    /// Human-readable name.
    pub fn describe(self) -> &'static str {
        match self {
            Self::CodeObject => "code object",
            Self::Bundle => "offload bundle",
            Self::HostElf => "host ELF file",
            Self::Archive => "archive",
            Self::Data => "data",
        }
    }
}

/// A damaged part of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Problem {
    /// Location of the damage.
    pub location: ImageLocation,
    /// Why the code there cannot be read.
    pub error: FileError,
}

/// What is wrong with a file, or with a part of it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum FileError {
    /// A format that cannot contain code objects.
    #[error("this is not an ELF file, offload bundle or archive")]
    UnknownFormat,
    /// An I/O error.
    #[error("reading failed: {0}")]
    Read(String),
    /// The tables of a host ELF file point outside it.
    #[error("the ELF file is damaged: {0}")]
    Elf(String),
    /// A malformed archive.
    #[error("the archive is damaged: {0}")]
    Archive(String),
    /// A malformed offload bundle.
    #[error("the offload bundle {0}")]
    Bundle(&'static str),
    /// A malformed `llvm-offload-binary` container.
    #[error("the offload binary {0}")]
    OffloadBinary(&'static str),
    /// A malformed compressed bundle.
    #[error("the compressed bundle {0}")]
    Compressed(&'static str),
    /// A compressed bundle that exceeds the decompression limit.
    #[error("the compressed bundle expands to {size} bytes; the limit is {limit}")]
    TooLarge {
        /// Decompressed size in bytes, from the header.
        size: u64,
        /// Remainder of the limit for the whole file, in bytes.
        limit: u64,
    },
    /// A section for bundles without a bundle.
    #[error("the section contains no offload bundle")]
    NoBundle,
}

impl<'data> File<'data> {
    /// Finds the device images in the bytes of a file. A host file without any gives empty
    /// `images`, not an error.
    pub fn open(bytes: &'data [u8]) -> Result<Self, FileError> {
        Self::open_with_limit(bytes, MAX_DECOMPRESSED)
    }

    /// Like [`open`](Self::open), with a decompression limit other than [`MAX_DECOMPRESSED`].
    pub fn open_with_limit(bytes: &'data [u8], limit: u64) -> Result<Self, FileError> {
        let mut search = Search::for_code(&bytes, limit);
        let kind = search.run()?;
        let images = search.images.into_iter().filter_map(|LocatedImage { location, entry, bytes: stored }| {
            let payload = match stored {
                ImageBytes::InFile(range) => Payload::Borrowed(bytes.get(range.start as usize..range.end as usize)?),
                ImageBytes::Decompressed(bytes, range) => Payload::Shared(bytes, range),
            };
            Some(DeviceImage { location, entry, kind: ImageKind::of(payload.bytes()), payload })
        });
        let mut file = Self { kind, images: images.collect(), problems: search.problems };
        // If the only bundle is damaged, the whole file is.
        match file.problems.pop_if(|_| file.images.is_empty() && kind == FileKind::Bundle) {
            Some(problem) if file.problems.is_empty() => Err(problem.error),
            problem => {
                file.problems.extend(problem);
                Ok(file)
            }
        }
    }
}
