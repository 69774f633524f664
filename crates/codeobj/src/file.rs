//! Files and the GPU code in them.

use std::sync::Arc;

use object::Endianness;
use object::elf;
use object::read::elf::{FileHeader, SectionHeader};

use crate::bundle::{self, Bundle};
use crate::compressed::{self, MAX_DECOMPRESSED};
use crate::found::{Payload, is_amdgpu_elf, is_elf};
use crate::{Content, Found, Place, offload_binary};

/// Damaged parts of a file that are reported. Behind so many there is nothing worth finding, and a hostile file could
/// make each one costly.
const MAX_PROBLEMS: usize = 64;

/// Sections that hold bundles; others count too if they start with one.
const FATBIN_SECTIONS: [&str; 2] = [".hip_fatbin", ".llvm.offloading"];

/// What bundles start with.
const MAGICS: [&[u8]; 3] = [bundle::MAGIC, compressed::MAGIC, offload_binary::MAGIC];

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
}

impl FileKind {
    /// A name for people.
    pub fn describe(self) -> &'static str {
        match self {
            Self::CodeObject => "code object",
            Self::Bundle => "offload bundle",
            Self::HostElf => "host ELF file",
            Self::Archive => "archive",
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
        let mut file = Self { kind: FileKind::CodeObject, found: Vec::new(), problems: Vec::new() };
        let mut search = Search { file: &mut file, bundles: 0, limit };
        let kind = if bytes.starts_with(object::archive::MAGIC.as_slice()) {
            search.archive(bytes)?;
            FileKind::Archive
        } else {
            search.plain(bytes, &Place::default())?
        };
        file.kind = kind;
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

/// The search through one file.
struct Search<'file, 'data> {
    file: &'file mut File<'data>,
    /// Bundles so far.
    bundles: usize,
    /// Bytes that may still be decompressed.
    limit: u64,
}

impl<'data> Search<'_, 'data> {
    /// Searches a file that is no archive.
    fn plain(&mut self, bytes: &'data [u8], place: &Place) -> Result<FileKind, FileError> {
        if is_amdgpu_elf(bytes) {
            self.push(place.clone(), None, Payload::Borrowed(bytes));
            Ok(FileKind::CodeObject)
        } else if starts_bundle(bytes) {
            self.bundles(bytes, place);
            Ok(FileKind::Bundle)
        } else if is_elf(bytes) {
            match bytes.get(4) {
                Some(1) => self.host::<elf::FileHeader32<Endianness>>(bytes, place)?,
                _ => self.host::<elf::FileHeader64<Endianness>>(bytes, place)?,
            }
            Ok(FileKind::HostElf)
        } else {
            Err(FileError::UnknownFormat)
        }
    }

    /// Searches the members of an archive.
    fn archive(&mut self, bytes: &'data [u8]) -> Result<(), FileError> {
        let damaged = |error: object::read::Error| FileError::Archive(error.to_string());
        let archive = object::read::archive::ArchiveFile::parse(bytes).map_err(damaged)?;
        if archive.is_thin() {
            return Err(FileError::Archive("it is thin: its members are other files".into()));
        }
        for member in archive.members() {
            let member = member.map_err(damaged)?;
            let data = member.data(bytes).map_err(damaged)?;
            let name = String::from_utf8_lossy(member.name()).into_owned();
            let place = Place { member: Some(name), ..Place::default() };
            match self.plain(data, &place) {
                // Archives hold all kinds of files; those that cannot hold GPU code are of no concern.
                Ok(_) | Err(FileError::UnknownFormat) => {}
                Err(error) => self.problem(place, error),
            }
        }
        Ok(())
    }

    /// Searches the sections of a host ELF file.
    fn host<Elf: FileHeader<Endian = Endianness>>(
        &mut self,
        bytes: &'data [u8],
        place: &Place,
    ) -> Result<(), FileError> {
        let damaged = |error: object::read::Error| FileError::Elf(error.to_string());
        let header = Elf::parse(bytes).map_err(damaged)?;
        let endian = header.endian().map_err(damaged)?;
        let sections = header.section_headers(endian, bytes).map_err(damaged)?;
        let names = match header.section_strings_index(endian, bytes) {
            Ok(index) => sections.get(index.0).and_then(|section| section.data(endian, bytes).ok()).unwrap_or_default(),
            Err(_) => &[],
        };
        let mut end = 0;
        for section in sections {
            let Some((offset, _)) = section.file_range(endian) else { continue };
            let name = section_name(names, section.sh_name(endian));
            let data = match section.data(endian, bytes) {
                Ok(data) => data,
                Err(error) if FATBIN_SECTIONS.contains(&name.as_str()) => return Err(damaged(error)),
                Err(_) => continue,
            };
            if !FATBIN_SECTIONS.contains(&name.as_str()) && !starts_bundle(data) && !is_amdgpu_elf(data) {
                continue;
            }
            let place = Place { section: Some(name), offset, ..place.clone() };
            // Sections of one place would make the work quadratic.
            if offset < end {
                self.problem(place, FileError::Elf("sections overlap".into()));
                continue;
            }
            end = offset + data.len() as u64;
            if is_amdgpu_elf(data) {
                self.push(place, None, Payload::Borrowed(data));
            } else {
                self.bundles(data, &place);
            }
        }
        Ok(())
    }

    /// Takes apart the bundles that `bytes` holds, with anything between them.
    fn bundles(&mut self, bytes: &'data [u8], place: &Place) {
        let before = self.bundles;
        let mut search = NextBundle::new(bytes);
        let mut at = 0;
        while let Some(start) = search.from(at).filter(|_| self.file.problems.len() < MAX_PROBLEMS) {
            let place = Place { offset: place.offset + start as u64, bundle: Some(self.bundles), ..place.clone() };
            self.bundles += 1;
            at = match self.bundle(&bytes[start..], place.clone()) {
                Ok(taken) => start + taken,
                Err(error) => {
                    self.problem(place, error);
                    // Whatever follows may still be fine.
                    start + 1
                }
            };
        }
        if before == self.bundles {
            self.problem(place.clone(), FileError::NoBundle);
        }
    }

    /// Takes apart the bundle that starts `bytes`; gives the bytes that it takes.
    fn bundle(&mut self, bytes: &'data [u8], mut place: Place) -> Result<usize, FileError> {
        if !bytes.starts_with(compressed::MAGIC) {
            let newer = bytes.starts_with(offload_binary::MAGIC);
            let bundle = if newer { offload_binary::parse(bytes)? } else { Bundle::parse(bytes)? };
            self.entries(&bundle, &place, &Payload::Borrowed(bytes));
            return Ok(bundle.end);
        }
        let done = compressed::decompress_prefix(bytes, &mut self.limit)?;
        let bundle = Bundle::parse(&done.bytes)?;
        place.compression = Some(done.compression);
        let range = 0..done.bytes.len();
        self.entries(&bundle, &place, &Payload::Shared(Arc::new(done.bytes), range));
        Ok(done.taken)
    }

    fn entries(&mut self, bundle: &Bundle, place: &Place, payload: &Payload<'data>) {
        for (index, entry) in bundle.entries.iter().enumerate() {
            let part = payload.slice(entry.range.clone()).filter(|part| !part.bytes().is_empty());
            let Some(part) = part.filter(|_| !entry.is_host()) else { continue };
            let inside = if place.compression.is_some() { 0 } else { entry.range.start as u64 };
            let place = Place { offset: place.offset + inside, entry: Some(index), ..place.clone() };
            self.push(place, Some(entry.clone()), part);
        }
    }

    fn problem(&mut self, place: Place, error: FileError) {
        if self.file.problems.len() < MAX_PROBLEMS {
            self.file.problems.push(Problem { place, error });
        }
    }

    fn push(&mut self, place: Place, entry: Option<bundle::BundleEntry>, payload: Payload<'data>) {
        let content = Content::of(payload.bytes());
        self.file.found.push(Found { place, entry, content, payload });
    }
}

fn starts_bundle(bytes: &[u8]) -> bool {
    MAGICS.iter().any(|magic| bytes.starts_with(magic))
}

/// Finds one bundle after another, of every kind. What was seen of one magic is remembered while another is nearer:
/// going through thousands of bundles stays linear in the size of the file.
struct NextBundle<'data> {
    bytes: &'data [u8],
    next: [Option<usize>; MAGICS.len()],
}

impl<'data> NextBundle<'data> {
    fn new(bytes: &'data [u8]) -> Self {
        Self { bytes, next: MAGICS.map(|magic| find(bytes, magic, 0)) }
    }

    /// Where the first bundle starts that is not before `at`.
    fn from(&mut self, at: usize) -> Option<usize> {
        for (next, magic) in self.next.iter_mut().zip(MAGICS) {
            if next.is_some_and(|next| next < at) {
                *next = find(self.bytes, magic, at);
            }
        }
        self.next.iter().flatten().copied().min()
    }
}

/// Where `magic` is at or behind `at`.
fn find(bytes: &[u8], magic: &[u8], at: usize) -> Option<usize> {
    memchr::memmem::find(bytes.get(at..)?, magic).map(|found| at + found)
}

/// The name at `offset` of the table of section names. Those that count are short.
fn section_name(names: &[u8], offset: u32) -> String {
    let rest = names.get(offset as usize..).unwrap_or_default();
    let rest = &rest[..rest.len().min(128)];
    String::from_utf8_lossy(&rest[..memchr::memchr(0, rest).unwrap_or(rest.len())]).into_owned()
}
