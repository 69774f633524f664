//! Scans a file for the magic numbers of bundles.

use std::borrow::Cow;
use std::ops::Range;

use memchr::memmem::Finder;

use crate::source::Source;
use crate::{FileError, bundle, compressed, offload_binary};

/// Magic numbers of all bundle formats.
pub(crate) const MAGICS: [&[u8]; 3] = [bundle::MAGIC, compressed::MAGIC, offload_binary::MAGIC];

/// Length of the longest magic number.
const LONGEST: u64 = bundle::MAGIC.len() as u64;

/// Bytes to read first after a bundle, because the next one is usually close, and the maximum per
/// read, which fits into a CPU cache.
const FIRST_WINDOW: usize = 4096;
const WINDOW: usize = 256 << 10;

/// Iterates over the bundles of a file. The next position of each magic number is cached, so that a
/// scan over thousands of bundles stays linear in the file size.
pub(crate) struct BundleScanner<'source, S> {
    source: &'source S,
    range: Range<u64>,
    finders: [Finder<'static>; MAGICS.len()],
    /// The bytes read last, and their offset in the file.
    window: Cow<'source, [u8]>,
    start: u64,
    /// Size of the next read in bytes.
    read_size: usize,
    /// Next position of each magic number in the window.
    next: [Option<usize>; MAGICS.len()],
}

impl<'source, S: Source> BundleScanner<'source, S> {
    pub(crate) fn new(source: &'source S, range: Range<u64>) -> Self {
        let finders = MAGICS.map(Finder::new);
        let start = range.start;
        Self { source, range, finders, window: Cow::Borrowed(&[]), start, read_size: FIRST_WINDOW, next: [None; 3] }
    }

    /// Offset of the first bundle at or after `at`.
    pub(crate) fn next_from(&mut self, mut at: u64) -> Result<Option<u64>, FileError> {
        loop {
            let end = self.start + self.window.len() as u64;
            if (self.start..end).contains(&at) {
                let skip = (at - self.start) as usize;
                for (next, finder) in self.next.iter_mut().zip(&self.finders) {
                    if next.is_some_and(|next| next < skip) {
                        *next = finder.find(&self.window[skip..]).map(|found| skip + found);
                    }
                }
                if let Some(next) = self.next.iter().flatten().min() {
                    return Ok(Some(self.start + *next as u64));
                }
                if end >= self.range.end {
                    return Ok(None);
                }
                // A magic number may straddle the end of the window.
                at = at.max(end.saturating_sub(LONGEST - 1));
                self.read_size = (self.read_size * 8).min(WINDOW);
            } else {
                self.read_size = FIRST_WINDOW;
            }
            if at >= self.range.end {
                return Ok(None);
            }
            self.window = self.source.head(at..self.range.end, self.read_size)?;
            if self.window.is_empty() {
                return Ok(None);
            }
            self.start = at;
            for (next, finder) in self.next.iter_mut().zip(&self.finders) {
                *next = finder.find(&self.window);
            }
        }
    }
}
