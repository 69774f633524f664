//! Where the bytes of a file come from: memory, or the file itself, of which only what is asked for is read.

use std::borrow::Cow;
use std::fs;
use std::io;
use std::ops::Range;
use std::os::unix::fs::FileExt;

use object::read::ReadRef;
use object::read::archive::ArchiveFile;

use crate::FileError;

/// A file that is searched.
pub(crate) trait Source {
    /// Bytes in it.
    fn size(&self) -> u64;

    /// What `range` starts with: at least `want` bytes, or all of it if it is shorter. More may come where they cost nothing.
    /// The range is cut where the file ends.
    fn head(&self, range: Range<u64>, want: usize) -> Result<Cow<'_, [u8]>, FileError>;

    /// The members of an archive: their names and where they are.
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

/// A file on disk.
pub(crate) struct OnDisk<'file> {
    file: &'file fs::File,
    size: u64,
}

impl<'file> OnDisk<'file> {
    pub(crate) fn new(file: &'file fs::File) -> Result<Self, FileError> {
        let size = file.metadata().map_err(unread)?.len();
        Ok(Self { file, size })
    }
}

impl Source for OnDisk<'_> {
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
        return Err(FileError::Archive("it is thin: its members are other files".into()));
    }
    let size = data.len().unwrap_or_default();
    let mut members = Vec::new();
    for member in archive.members() {
        let member = member.map_err(damaged)?;
        let (start, length) = member.file_range();
        let end = start.checked_add(length).filter(|&end| end <= size);
        let end = end.ok_or_else(|| FileError::Archive("a member lies outside it".into()))?;
        members.push((String::from_utf8_lossy(member.name()).into_owned(), start..end));
    }
    Ok(members)
}
