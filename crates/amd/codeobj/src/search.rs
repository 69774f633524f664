//! Finds device images in a file. Reads tables only; the caller reads the images.

use std::borrow::Cow;
use std::ops::Range;
use std::sync::Arc;

use object::Endianness;
use object::elf;
use object::read::elf::{FileHeader, SectionHeader};

use crate::bundle::{Bundle, BundleEntry};
use crate::bundle_scanner::{BundleScanner, MAGICS};
use crate::compressed::{self, Decompressed};
use crate::device_image::{is_amdgpu_elf, is_elf};
use crate::source::Source;
use crate::{FileError, FileKind, ImageLocation, Problem, offload_binary};

/// Limit on reported problems. A file with more contains nothing useful, and a hostile file could
/// make each one costly.
const MAX_PROBLEMS: usize = 64;
/// Limit on false magic numbers in data of unknown format, for the same reason.
const MAX_FALSE_MAGICS: usize = 4096;

/// Sections that contain bundles. Other sections count if they start with a bundle.
const FATBIN_SECTIONS: [&str; 2] = [".hip_fatbin", ".llvm.offloading"];

/// Bytes needed to detect a format: an ELF header or any bundle header.
const HEAD: usize = 64;
/// Bytes to read for the table of a bundle: first attempt, and upper limit.
const TABLE: usize = 4096;
const MAX_TABLE: usize = 16 << 20;
/// Bytes of a compressed bundle that nearly always contain its table.
const COMPRESSED_TABLE: usize = 256 << 10;

/// A device image and where its bytes are.
pub(crate) struct LocatedImage {
    pub(crate) location: ImageLocation,
    /// Its bundle entry, if it is in a bundle.
    pub(crate) entry: Option<BundleEntry>,
    pub(crate) bytes: ImageBytes,
}

/// Where the bytes of a device image are.
pub(crate) enum ImageBytes {
    /// In the file itself.
    InFile(Range<u64>),
    /// In a decompressed bundle, which may be incomplete if only tables were read.
    Decompressed(Arc<Vec<u8>>, Range<usize>),
}

/// The search through one file.
pub(crate) struct Search<'source, S> {
    source: &'source S,
    /// Number of bundles so far.
    bundles: usize,
    /// Remaining decompression limit in bytes.
    limit: u64,
    /// Read tables only: decompress no more than the table of a bundle, and scan data of unknown
    /// format for bundles.
    tables_only: bool,
    pub(crate) images: Vec<LocatedImage>,
    pub(crate) problems: Vec<Problem>,
}

impl<'source, S: Source> Search<'source, S> {
    /// Search for the images themselves, with a decompression limit in bytes.
    pub(crate) fn for_code(source: &'source S, limit: u64) -> Self {
        Self { source, bundles: 0, limit, tables_only: false, images: Vec::new(), problems: Vec::new() }
    }

    /// Search for tables anywhere in the file.
    pub(crate) fn for_tables(source: &'source S) -> Self {
        Self { tables_only: true, ..Self::for_code(source, compressed::MAX_DECOMPRESSED) }
    }

    pub(crate) fn run(&mut self) -> Result<FileKind, FileError> {
        let all = 0..self.source.size();
        if !self.source.head(all.clone(), HEAD)?.starts_with(object::archive::MAGIC.as_slice()) {
            return match self.search_file(all.clone(), &ImageLocation::default()) {
                Err(FileError::UnknownFormat) if self.tables_only => {
                    self.search_bundles(all, &ImageLocation::default(), ScanMode::Speculative)?;
                    if self.images.is_empty() { Err(FileError::UnknownFormat) } else { Ok(FileKind::Data) }
                }
                result => result,
            };
        }
        for (name, range) in self.source.members()? {
            let location = ImageLocation { member: Some(name), ..ImageLocation::default() };
            match self.search_file(range, &location) {
                // Archives may contain any kind of file; skip those that cannot contain GPU code.
                Ok(_) | Err(FileError::UnknownFormat) => {}
                Err(error) => self.report(location, error),
            }
        }
        Ok(FileKind::Archive)
    }

    /// Searches a file or member that is not an archive.
    fn search_file(&mut self, range: Range<u64>, location: &ImageLocation) -> Result<FileKind, FileError> {
        let head = self.source.head(range.clone(), HEAD)?;
        if is_amdgpu_elf(&head) {
            self.images.push(LocatedImage {
                location: location.clone(),
                entry: None,
                bytes: ImageBytes::InFile(range),
            });
            Ok(FileKind::CodeObject)
        } else if starts_bundle(&head) {
            self.search_bundles(range, location, ScanMode::Declared)?;
            Ok(FileKind::Bundle)
        } else if is_elf(&head) {
            match head.get(4) {
                Some(1) => self.search_host_elf::<elf::FileHeader32<Endianness>>(range, location)?,
                _ => self.search_host_elf::<elf::FileHeader64<Endianness>>(range, location)?,
            }
            Ok(FileKind::HostElf)
        } else {
            Err(FileError::UnknownFormat)
        }
    }

    /// Searches the sections of a host ELF file.
    fn search_host_elf<Elf: FileHeader<Endian = Endianness>>(
        &mut self,
        range: Range<u64>,
        location: &ImageLocation,
    ) -> Result<(), FileError> {
        let damaged = |error: object::read::Error| FileError::Elf(error.to_string());
        let head = self.source.head(range.clone(), HEAD)?;
        let header = Elf::parse(&*head).map_err(damaged)?;
        let endian = header.endian().map_err(damaged)?;
        let table = self.section_headers(header, endian, &range)?;
        let headers = |bytes| object::slice_from_all_bytes::<Elf::SectionHeader>(bytes);
        let sections = headers(&table).map_err(|()| FileError::Elf("its section header table is truncated".into()))?;
        if sections.is_empty() && self.tables_only {
            return self.search_bundles(range, location, ScanMode::Speculative);
        }
        let names = match header.e_shstrndx(endian) {
            elf::SHN_XINDEX => sections.first().map_or(0, |first| first.sh_link(endian)),
            index => u32::from(index.0),
        };
        let names = sections.get(names as usize).and_then(|section| section.file_range(endian));
        let names = names.and_then(|(offset, size)| self.read_exactly(&range, offset, size.min(MAX_TABLE as u64)).ok());
        let mut end = 0;
        for section in sections {
            let Some((offset, size)) = section.file_range(endian) else { continue };
            let name = section_name(names.as_deref().unwrap_or_default(), section.sh_name(endian));
            let is_fatbin = FATBIN_SECTIONS.contains(&name.as_str());
            let inside = range.start.checked_add(offset).and_then(|start| Some(start..start.checked_add(size)?));
            let Some(inside) = inside.filter(|inside| inside.end <= range.end) else {
                if is_fatbin {
                    return Err(FileError::Elf(format!("section {name} is outside the file")));
                }
                continue;
            };
            let head = self.source.head(inside.clone(), HEAD)?;
            let is_object = is_amdgpu_elf(&head);
            if !is_fatbin && !starts_bundle(&head) && !is_object {
                continue;
            }
            let location = ImageLocation { section: Some(name), offset, ..location.clone() };
            // Overlapping sections would make the work quadratic.
            if offset < end {
                self.report(location, FileError::Elf("sections overlap".into()));
                continue;
            }
            end = offset + size;
            if is_object {
                self.images.push(LocatedImage { location, entry: None, bytes: ImageBytes::InFile(inside) });
            } else {
                self.search_bundles(inside, &location, ScanMode::Declared)?;
            }
        }
        Ok(())
    }

    /// The section header table of an ELF file; empty if it has none.
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
            return Err(FileError::Elf("its section headers have an unknown size".into()));
        }
        let count = match u64::from(header.e_shnum(endian)) {
            // `e_shnum` is too small for the count; the first section header has it.
            0 => {
                let first = self.read_exactly(range, offset, each)?;
                let first = object::from_bytes::<Elf::SectionHeader>(&first);
                first.map_or(0, |(first, _)| first.sh_size(endian).into())
            }
            count => count,
        };
        let size = count.checked_mul(each).ok_or_else(|| FileError::Elf("it has too many sections".into()))?;
        self.read_exactly(range, offset, size)
    }

    /// Reads exactly `size` bytes at `offset` in a range.
    fn read_exactly(&self, range: &Range<u64>, offset: u64, size: u64) -> Result<Cow<'source, [u8]>, FileError> {
        let start = range.start.checked_add(offset);
        let end = start.and_then(|start| start.checked_add(size)).filter(|&end| end <= range.end);
        let (Some(start), Some(end)) = (start, end) else {
            return Err(FileError::Elf("a table is outside the file, which may be truncated".into()));
        };
        self.source.head(start..end, size as usize)
    }

    /// Reads all bundles in a range. Other data may lie between them.
    fn search_bundles(&mut self, range: Range<u64>, location: &ImageLocation, mode: ScanMode) -> Result<(), FileError> {
        let before = self.bundles;
        let mut search = BundleScanner::new(self.source, range.clone());
        let (mut at, mut false_magics) = (range.start, 0);
        while self.problems.len() < MAX_PROBLEMS && false_magics < MAX_FALSE_MAGICS {
            let Some(start) = search.next_from(at)? else { break };
            let offset = location.offset + (start - range.start);
            let location = ImageLocation { offset, bundle: Some(self.bundles), ..location.clone() };
            at = match self.read_bundle(start..range.end, location.clone(), mode) {
                Ok(consumed) => {
                    self.bundles += 1;
                    start + consumed
                }
                Err(error) => {
                    match mode {
                        ScanMode::Speculative => false_magics += 1,
                        ScanMode::Declared => {
                            self.bundles += 1;
                            self.report(location, error);
                        }
                    }
                    // The data after a damaged bundle may still be fine.
                    start + 1
                }
            };
        }
        if before == self.bundles && mode == ScanMode::Declared {
            self.report(location.clone(), FileError::NoBundle);
        }
        Ok(())
    }

    /// Reads the bundle at the start of a range; returns its size in bytes.
    fn read_bundle(
        &mut self,
        range: Range<u64>,
        mut location: ImageLocation,
        mode: ScanMode,
    ) -> Result<u64, FileError> {
        let head = self.source.head(range.clone(), HEAD)?;
        let known = |bundle: &Bundle| mode == ScanMode::Declared || bundle.entries.iter().any(BundleEntry::is_amdgpu);
        let not_amdgpu = FileError::Bundle("is not for AMD GPUs");
        if !head.starts_with(compressed::MAGIC) {
            let is_offload_binary = head.starts_with(offload_binary::MAGIC);
            let parse = if is_offload_binary { offload_binary::parse } else { Bundle::parse_within };
            let bundle = self.read_table(&range, parse)?;
            if !known(&bundle) {
                return Err(not_amdgpu);
            }
            self.push_entries(&bundle, &location, |inside| {
                ImageBytes::InFile(range.start + inside.start as u64..range.start + inside.end as u64)
            });
            return Ok(bundle.end as u64);
        }
        let (done, bundle) = self.decompressed(range, mode)?;
        if !known(&bundle) {
            return Err(not_amdgpu);
        }
        location.compression = Some(done.compression);
        let bytes = Arc::new(done.bytes);
        self.push_entries(&bundle, &location, |inside| ImageBytes::Decompressed(Arc::clone(&bytes), inside));
        Ok(done.consumed as u64)
    }

    /// Decompresses the bundle at the start of a range, or only its table.
    fn decompressed(&mut self, range: Range<u64>, mode: ScanMode) -> Result<(Decompressed, Bundle), FileError> {
        let parse = |done: Decompressed| {
            let bundle = Bundle::parse_within(&done.bytes, done.size)?;
            Ok((done, bundle))
        };
        if self.tables_only {
            let head = self.source.head(range.clone(), COMPRESSED_TABLE)?;
            let done = compressed::decompress_table(&head, range.end - range.start)?;
            let is_whole = done.bytes.len() == done.size;
            match parse(done) {
                // The table may be longer than the decompressed prefix.
                Err(_) if !is_whole && mode == ScanMode::Declared => {}
                result => return result,
            }
        }
        parse(compressed::decompress_prefix(&self.source.head(range, usize::MAX)?, &mut self.limit)?)
    }

    /// Reads the table of a bundle, with larger reads until it is complete.
    fn read_table(
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
                result => return result,
            }
        }
    }

    fn push_entries(&mut self, bundle: &Bundle, location: &ImageLocation, bytes: impl Fn(Range<usize>) -> ImageBytes) {
        for (index, entry) in bundle.entries.iter().enumerate() {
            if entry.is_host() || entry.range.is_empty() {
                continue;
            }
            let inside = if location.compression.is_some() { 0 } else { entry.range.start as u64 };
            let location = ImageLocation { offset: location.offset + inside, entry: Some(index), ..location.clone() };
            self.images.push(LocatedImage { location, bytes: bytes(entry.range.clone()), entry: Some(entry.clone()) });
        }
    }

    fn report(&mut self, location: ImageLocation, error: FileError) {
        if self.problems.len() < MAX_PROBLEMS {
            self.problems.push(Problem { location, error });
        }
    }
}

/// Why a range is scanned for bundles.
#[derive(Clone, Copy, PartialEq, Eq)]
enum ScanMode {
    /// The file format puts bundles here: report errors.
    Declared,
    /// The range may contain bundles: ignore errors, because a magic number can occur by chance.
    Speculative,
}

fn starts_bundle(bytes: &[u8]) -> bool {
    MAGICS.iter().any(|magic| bytes.starts_with(magic))
}

/// The name at `offset` in the section name table. The names that matter are short.
fn section_name(names: &[u8], offset: u32) -> String {
    let rest = names.get(offset as usize..).unwrap_or_default();
    let rest = &rest[..rest.len().min(128)];
    String::from_utf8_lossy(&rest[..memchr::memchr(0, rest).unwrap_or(rest.len())]).into_owned()
}
