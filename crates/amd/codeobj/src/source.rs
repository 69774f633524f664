//! Byte sources: a slice in memory, or a file on disk that is read on demand.

use std::borrow::Cow;
use std::fs;
use std::io;
use std::ops::Range;
use std::os::unix::fs::FileExt;

use object::read::ReadRef;
use object::read::archive::ArchiveFile;

use crate::FileError;

/// Input of a search.
pub(crate) trait Source {
    /// Size in bytes.
    fn size(&self) -> u64;

    /// Reads the start of `range`: at least `want` bytes or the whole range, whichever is less. May
    /// return more if that is free. The range is clipped to the file.
    fn head(&self, range: Range<u64>, want: usize) -> Result<Cow<'_, [u8]>, FileError>;

    /// Names and ranges of the members of an archive.
    fn members(&self) -> Result<Vec<(String, Range<u64>)>, FileError>;
}

impl Source for &[u8] {
    fn size(&self) -> u64 {
        self.len() as u64
    }

    fn head(&self, range: Range<u64>, _: usize) -> Result<Cow<'_, [u8]>, FileError> {
        let end = range.end.min(self.size());
        let start = range.start.min(end);
        Ok(Cow::Borrowed(&self[start as usize..end as usize]))
    }

    fn members(&self) -> Result<Vec<(String, Range<u64>)>, FileError> {
        members(*self)
    }
}

pub(crate) struct DiskFile<'file> {
    file: &'file fs::File,
    size: u64,
}

impl<'file> DiskFile<'file> {
    pub(crate) fn new(file: &'file fs::File) -> Result<Self, FileError> {
        let size = file.metadata().map_err(unread)?.len();
        Ok(Self { file, size })
    }
}

impl Source for DiskFile<'_> {
    fn size(&self) -> u64 {
        self.size
    }

    fn head(&self, range: Range<u64>, want: usize) -> Result<Cow<'_, [u8]>, FileError> {
        let end = range.end.min(self.size);
        let start = range.start.min(end);
        let mut bytes = vec![0; ((end - start) as usize).min(want)];
        self.file.read_exact_at(&mut bytes, start).map_err(unread)?;
        Ok(Cow::Owned(bytes))
    }

    fn members(&self) -> Result<Vec<(String, Range<u64>)>, FileError> {
        members(&object::ReadCache::new(self.file))
    }
}

fn unread(error: io::Error) -> FileError {
    FileError::Read(error.to_string())
}

fn members<'data, R: ReadRef<'data>>(data: R) -> Result<Vec<(String, Range<u64>)>, FileError> {
    let damaged = |error: object::read::Error| FileError::Archive(error.to_string());
    let archive = ArchiveFile::parse(data).map_err(damaged)?;
    if archive.is_thin() {
        return Err(FileError::Archive("thin archives, whose members are separate files, are not supported".into()));
    }
    let size = data.len().unwrap_or_default();
    let mut members = Vec::new();
    for member in archive.members() {
        let member = member.map_err(damaged)?;
        let (start, length) = member.file_range();
        let end = start.checked_add(length).filter(|&end| end <= size);
        let end = end.ok_or_else(|| FileError::Archive("a member is outside the archive".into()))?;
        members.push((String::from_utf8_lossy(member.name()).into_owned(), start..end));
    }
    Ok(members)
}
