//! Files and the GPU code in them.

use crate::compressed::MAX_DECOMPRESSED;
use crate::found::Payload;
use crate::search::{Hit, Part, Search};
use crate::{Content, Found, Place};

/// A file and what was found in it.
#[derive(Clone, Debug)]
pub struct File<'data> {
    /// What it is.
    pub kind: FileKind,
    /// The GPU code in it, in the order of the file.
    pub found: Vec<Found<'data>>,
    /// The parts of it that should hold GPU code but are damaged.
    pub problems: Vec<Problem>,
}

/// What a file is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileKind {
    /// A code object.
    CodeObject,
    /// Offload bundles, compressed or not.
    Bundle,
    /// A program, library or object file for the host.
    HostElf,
    /// An archive of object files.
    Archive,
    /// Something else, with bundles inside. Only a [`Survey`](crate::Survey) looks there.
    Data,
}

impl FileKind {
    /// A name for people.
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
pub struct Problem {
    /// Where it is.
    pub place: Place,
    /// What is wrong.
    pub error: FileError,
}

/// What can be wrong with a file that holds code objects, or with a part of it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum FileError {
    /// It is of no kind that can hold code objects.
    #[error("this is no ELF file, offload bundle or archive")]
    UnknownFormat,
    /// It cannot be read.
    #[error("it cannot be read: {0}")]
    Read(String),
    /// Its tables point outside it.
    #[error("the ELF file is damaged: {0}")]
    Elf(String),
    /// The archive cannot be read.
    #[error("the archive is damaged: {0}")]
    Archive(String),
    /// A bundle is wrong.
    #[error("the offload bundle {0}")]
    Bundle(&'static str),
    /// LLVM's newer container is wrong.
    #[error("the offload binary {0}")]
    OffloadBinary(&'static str),
    /// A compressed bundle is wrong.
    #[error("the compressed bundle {0}")]
    Compressed(&'static str),
    /// A compressed bundle says that it is larger than is allowed.
    #[error("the compressed bundle holds {size} bytes, which passes the limit of {limit}")]
    TooLarge {
        /// What it says.
        size: u64,
        /// What is left of the limit for the whole file.
        limit: u64,
    },
    /// There should be bundles, but there are none.
    #[error("the section holds no offload bundle")]
    NoBundle,
}

impl<'data> File<'data> {
    /// Looks for GPU code in the bytes of a file. Finding none in a host file is no error; `found` is empty then.
    pub fn open(bytes: &'data [u8]) -> Result<Self, FileError> {
        Self::open_with_limit(bytes, MAX_DECOMPRESSED)
    }

    /// The same, with another limit than [`MAX_DECOMPRESSED`].
    pub fn open_with_limit(bytes: &'data [u8], limit: u64) -> Result<Self, FileError> {
        let mut search = Search::for_code(&bytes, limit);
        let kind = search.run()?;
        let found = search.hits.into_iter().filter_map(|Hit { place, entry, part }| {
            let payload = match part {
                Part::Stored(range) => Payload::Borrowed(bytes.get(range.start as usize..range.end as usize)?),
                Part::Unpacked(bytes, range) => Payload::Shared(bytes, range),
            };
            Some(Found { place, entry, content: Content::of(payload.bytes()), payload })
        });
        let mut file = Self { kind, found: found.collect(), problems: search.problems };
        // A lone bundle that is damaged is a damaged file.
        match file.problems.pop_if(|_| file.found.is_empty() && kind == FileKind::Bundle) {
            Some(problem) if file.problems.is_empty() => Err(problem.error),
            problem => {
                file.problems.extend(problem);
                Ok(file)
            }
        }
    }
}
