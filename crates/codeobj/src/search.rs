//! The search for GPU code in a file. It reads tables; what is behind them is for whoever asked.

use std::borrow::Cow;
use std::ops::Range;
use std::sync::Arc;

use object::Endianness;
use object::elf;
use object::read::elf::{FileHeader, SectionHeader};

use crate::bundle::{Bundle, BundleEntry};
use crate::compressed::{self, Decompressed};
use crate::found::{is_amdgpu_elf, is_elf};
use crate::next_bundle::{MAGICS, NextBundle};
use crate::source::Source;
use crate::{FileError, FileKind, Place, Problem, offload_binary};

/// Damaged parts of a file that are reported. Behind so many there is nothing worth finding, and a hostile file could
/// make each one costly.
const MAX_PROBLEMS: usize = 64;
/// Magics that turn out to be no bundle before a file that may hold anything is given up, for the same reason.
const MAX_GUESSES: usize = 4096;

/// Sections that hold bundles; others count too if they start with one.
const FATBIN_SECTIONS: [&str; 2] = [".hip_fatbin", ".llvm.offloading"];

/// Bytes that tell what something is: an ELF header, or the header of any bundle.
const HEAD: usize = 64;
/// Bytes of a bundle that hold the tables of most, and those that hold the table of any.
const TABLE: usize = 4096;
const MAX_TABLE: usize = 16 << 20;
/// Bytes of a compressed bundle that give its table, as good as always.
const COMPRESSED_TABLE: usize = 256 << 10;

/// A piece of GPU code.
pub(crate) struct Hit {
    pub(crate) place: Place,
    /// What its bundle says of it, if it is in one.
    pub(crate) entry: Option<BundleEntry>,
    pub(crate) part: Part,
}

/// Where the bytes of a piece are.
pub(crate) enum Part {
    /// In the file.
    Stored(Range<u64>),
    /// In what was decompressed; its end may be missing if only tables are wanted.
    Unpacked(Arc<Vec<u8>>, Range<usize>),
}

/// The search through one file.
pub(crate) struct Search<'source, S> {
    source: &'source S,
    /// Bundles so far.
    bundles: usize,
    /// Bytes that may still be decompressed.
    limit: u64,
    /// What there is, and not the code itself: bundles are decompressed as far as their tables go, and looked for where
    /// nothing says that there are some.
    tables_only: bool,
    pub(crate) hits: Vec<Hit>,
    pub(crate) problems: Vec<Problem>,
}

impl<'source, S: Source> Search<'source, S> {
    /// A search for the code itself; decompression stops at a limit.
    pub(crate) fn for_code(source: &'source S, limit: u64) -> Self {
        Self { source, bundles: 0, limit, tables_only: false, hits: Vec::new(), problems: Vec::new() }
    }

    /// A search for what there is, anywhere in the file.
    pub(crate) fn for_tables(source: &'source S) -> Self {
        Self { tables_only: true, ..Self::for_code(source, compressed::MAX_DECOMPRESSED) }
    }

    /// Searches the file.
    pub(crate) fn run(&mut self) -> Result<FileKind, FileError> {
        let all = 0..self.source.size();
        if !self.source.head(all.clone(), HEAD)?.starts_with(object::archive::MAGIC.as_slice()) {
            return match self.plain(all.clone(), &Place::default()) {
                Err(FileError::UnknownFormat) if self.tables_only => {
                    self.bundles(all, &Place::default(), Trust::Guess)?;
                    if self.hits.is_empty() { Err(FileError::UnknownFormat) } else { Ok(FileKind::Data) }
                }
                ended => ended,
            };
        }
        for (name, range) in self.source.members()? {
            let place = Place { member: Some(name), ..Place::default() };
            match self.plain(range, &place) {
                // Archives hold all kinds of files; those that cannot hold GPU code are of no concern.
                Ok(_) | Err(FileError::UnknownFormat) => {}
                Err(error) => self.problem(place, error),
            }
        }
        Ok(FileKind::Archive)
    }

    /// Searches what is no archive.
    fn plain(&mut self, range: Range<u64>, place: &Place) -> Result<FileKind, FileError> {
        let head = self.source.head(range.clone(), HEAD)?;
        if is_amdgpu_elf(&head) {
            self.hits.push(Hit { place: place.clone(), entry: None, part: Part::Stored(range) });
            Ok(FileKind::CodeObject)
        } else if starts_bundle(&head) {
            self.bundles(range, place, Trust::Told)?;
            Ok(FileKind::Bundle)
        } else if is_elf(&head) {
            match head.get(4) {
                Some(1) => self.host::<elf::FileHeader32<Endianness>>(range, place)?,
                _ => self.host::<elf::FileHeader64<Endianness>>(range, place)?,
            }
            Ok(FileKind::HostElf)
        } else {
            Err(FileError::UnknownFormat)
        }
    }

    /// Searches the sections of a host ELF file.
    fn host<Elf: FileHeader<Endian = Endianness>>(
        &mut self,
        range: Range<u64>,
        place: &Place,
    ) -> Result<(), FileError> {
        let damaged = |error: object::read::Error| FileError::Elf(error.to_string());
        let head = self.source.head(range.clone(), HEAD)?;
        let header = Elf::parse(&*head).map_err(damaged)?;
        let endian = header.endian().map_err(damaged)?;
        let table = self.section_headers(header, endian, &range)?;
        let headers = |bytes| object::slice_from_all_bytes::<Elf::SectionHeader>(bytes);
        let sections = headers(&table).map_err(|()| FileError::Elf("its table of sections is cut".into()))?;
        if sections.is_empty() && self.tables_only {
            return self.bundles(range, place, Trust::Guess);
        }
        let names = match header.e_shstrndx(endian) {
            elf::SHN_XINDEX => sections.first().map_or(0, |first| first.sh_link(endian)),
            index => u32::from(index.0),
        };
        let names = sections.get(names as usize).and_then(|section| section.file_range(endian));
        let names = names.and_then(|(offset, size)| self.exactly(&range, offset, size.min(MAX_TABLE as u64)).ok());
        let mut end = 0;
        for section in sections {
            let Some((offset, size)) = section.file_range(endian) else { continue };
            let name = section_name(names.as_deref().unwrap_or_default(), section.sh_name(endian));
            let is_fatbin = FATBIN_SECTIONS.contains(&name.as_str());
            let inside = range.start.checked_add(offset).and_then(|start| Some(start..start.checked_add(size)?));
            let Some(inside) = inside.filter(|inside| inside.end <= range.end) else {
                if is_fatbin {
                    return Err(FileError::Elf(format!("the section {name} lies outside the file")));
                }
                continue;
            };
            let head = self.source.head(inside.clone(), HEAD)?;
            let is_object = is_amdgpu_elf(&head);
            if !is_fatbin && !starts_bundle(&head) && !is_object {
                continue;
            }
            let place = Place { section: Some(name), offset, ..place.clone() };
            // Sections of one place would make the work quadratic.
            if offset < end {
                self.problem(place, FileError::Elf("sections overlap".into()));
                continue;
            }
            end = offset + size;
            if is_object {
                self.hits.push(Hit { place, entry: None, part: Part::Stored(inside) });
            } else {
                self.bundles(inside, &place, Trust::Told)?;
            }
        }
        Ok(())
    }

    /// The table of sections of an ELF file; empty if it has none.
    fn section_headers<Elf: FileHeader<Endian = Endianness>>(
        &self,
        header: &Elf,
        endian: Endianness,
        range: &Range<u64>,
    ) -> Result<Cow<'source, [u8]>, FileError> {
        let offset: u64 = header.e_shoff(endian).into();
        let each = size_of::<Elf::SectionHeader>() as u64;
        if offset == 0 {
            return Ok(Cow::Borrowed(&[]));
        }
        if u64::from(header.e_shentsize(endian)) != each {
            return Err(FileError::Elf("its table of sections has rows of an unknown size".into()));
        }
        let count = match u64::from(header.e_shnum(endian)) {
            // Too many for the header: the first row has their number.
            0 => {
                let first = self.exactly(range, offset, each)?;
                let first = object::from_bytes::<Elf::SectionHeader>(&first);
                first.map_or(0, |(first, _)| first.sh_size(endian).into())
            }
            count => count,
        };
        let size = count.checked_mul(each).ok_or_else(|| FileError::Elf("it has too many sections".into()))?;
        self.exactly(range, offset, size)
    }

    /// `size` bytes at `offset` in a range.
    fn exactly(&self, range: &Range<u64>, offset: u64, size: u64) -> Result<Cow<'source, [u8]>, FileError> {
        let start = range.start.checked_add(offset);
        let end = start.and_then(|start| start.checked_add(size)).filter(|&end| end <= range.end);
        let (Some(start), Some(end)) = (start, end) else {
            return Err(FileError::Elf("a table lies outside the file: it may be cut".into()));
        };
        self.source.head(start..end, size as usize)
    }

    /// Takes apart the bundles that a range holds, with anything between them.
    fn bundles(&mut self, range: Range<u64>, place: &Place, trust: Trust) -> Result<(), FileError> {
        let before = self.bundles;
        let mut search = NextBundle::new(self.source, range.clone());
        let (mut at, mut guesses) = (range.start, 0);
        while self.problems.len() < MAX_PROBLEMS && guesses < MAX_GUESSES {
            let Some(start) = search.from(at)? else { break };
            let offset = place.offset + (start - range.start);
            let place = Place { offset, bundle: Some(self.bundles), ..place.clone() };
            at = match self.bundle(start..range.end, place.clone(), trust) {
                Ok(taken) => {
                    self.bundles += 1;
                    start + taken
                }
                Err(error) => {
                    match trust {
                        Trust::Guess => guesses += 1,
                        Trust::Told => {
                            self.bundles += 1;
                            self.problem(place, error);
                        }
                    }
                    // Whatever follows may still be fine.
                    start + 1
                }
            };
        }
        if before == self.bundles && trust == Trust::Told {
            self.problem(place.clone(), FileError::NoBundle);
        }
        Ok(())
    }

    /// Takes apart the bundle that starts a range; gives the bytes that it takes.
    fn bundle(&mut self, range: Range<u64>, mut place: Place, trust: Trust) -> Result<u64, FileError> {
        let head = self.source.head(range.clone(), HEAD)?;
        let known = |bundle: &Bundle| trust == Trust::Told || bundle.entries.iter().any(BundleEntry::is_amdgpu);
        let chance = FileError::Bundle("is none for AMD GPUs");
        if !head.starts_with(compressed::MAGIC) {
            let newer = head.starts_with(offload_binary::MAGIC);
            let parse = if newer { offload_binary::parse } else { Bundle::parse_within };
            let bundle = self.table(&range, parse)?;
            if !known(&bundle) {
                return Err(chance);
            }
            self.entries(&bundle, &place, |inside| {
                Part::Stored(range.start + inside.start as u64..range.start + inside.end as u64)
            });
            return Ok(bundle.end as u64);
        }
        let (done, bundle) = self.unpacked(range, trust)?;
        if !known(&bundle) {
            return Err(chance);
        }
        place.compression = Some(done.compression);
        let bytes = Arc::new(done.bytes);
        self.entries(&bundle, &place, |inside| Part::Unpacked(Arc::clone(&bytes), inside));
        Ok(done.taken as u64)
    }

    /// Decompresses the bundle that starts a range, all of it or as far as is wanted.
    fn unpacked(&mut self, range: Range<u64>, trust: Trust) -> Result<(Decompressed, Bundle), FileError> {
        let parse = |done: Decompressed| {
            let bundle = Bundle::parse_within(&done.bytes, done.size)?;
            Ok((done, bundle))
        };
        if self.tables_only {
            let head = self.source.head(range.clone(), COMPRESSED_TABLE)?;
            let done = compressed::decompress_table(&head, range.end - range.start)?;
            let is_whole = done.bytes.len() == done.size;
            match parse(done) {
                // The table may be longer than what was decompressed.
                Err(_) if !is_whole && trust == Trust::Told => {}
                ended => return ended,
            }
        }
        parse(compressed::decompress_prefix(&self.source.head(range, usize::MAX)?, &mut self.limit)?)
    }

    /// Reads the table of a bundle, of which more is read until it is whole.
    fn table(
        &self,
        range: &Range<u64>,
        parse: fn(&[u8], usize) -> Result<Bundle, FileError>,
    ) -> Result<Bundle, FileError> {
        let all = (range.end - range.start) as usize;
        let mut want = TABLE;
        loop {
            let head = self.source.head(range.clone(), want)?;
            match parse(&head, all) {
                Err(_) if head.len() < all && want < MAX_TABLE => want *= 16,
                ended => return ended,
            }
        }
    }

    fn entries(&mut self, bundle: &Bundle, place: &Place, part: impl Fn(Range<usize>) -> Part) {
        for (index, entry) in bundle.entries.iter().enumerate() {
            if entry.is_host() || entry.range.is_empty() {
                continue;
            }
            let inside = if place.compression.is_some() { 0 } else { entry.range.start as u64 };
            let place = Place { offset: place.offset + inside, entry: Some(index), ..place.clone() };
            self.hits.push(Hit { place, part: part(entry.range.clone()), entry: Some(entry.clone()) });
        }
    }

    fn problem(&mut self, place: Place, error: FileError) {
        if self.problems.len() < MAX_PROBLEMS {
            self.problems.push(Problem { place, error });
        }
    }
}

/// Why bundles are looked for.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Trust {
    /// The file says that there are some: what is wrong with them is a problem.
    Told,
    /// There may be some: a magic can be there by chance.
    Guess,
}

fn starts_bundle(bytes: &[u8]) -> bool {
    MAGICS.iter().any(|magic| bytes.starts_with(magic))
}

/// The name at `offset` of the table of section names. Those that count are short.
fn section_name(names: &[u8], offset: u32) -> String {
    let rest = names.get(offset as usize..).unwrap_or_default();
    let rest = &rest[..rest.len().min(128)];
    String::from_utf8_lossy(&rest[..memchr::memchr(0, rest).unwrap_or(rest.len())]).into_owned()
}
