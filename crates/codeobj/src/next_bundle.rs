//! Where the next bundle of a file starts, of whichever kind.

use std::borrow::Cow;
use std::ops::Range;

use memchr::memmem::Finder;

use crate::source::Source;
use crate::{FileError, bundle, compressed, offload_binary};

/// What bundles start with.
pub(crate) const MAGICS: [&[u8]; 3] = [bundle::MAGIC, compressed::MAGIC, offload_binary::MAGIC];

/// The longest of them.
const LONGEST: u64 = bundle::MAGIC.len() as u64;

/// Bytes that are read at first behind a bundle, since the next one is near, and at most, which fits into a cache.
const FIRST_WINDOW: usize = 4096;
const WINDOW: usize = 256 << 10;

/// Finds one bundle after another. What was seen of one magic is remembered while another is nearer: going through
/// thousands of bundles stays linear in the size of the file.
pub(crate) struct NextBundle<'source, S> {
    source: &'source S,
    range: Range<u64>,
    finders: [Finder<'static>; MAGICS.len()],
    /// What was read last, and where it is in the file.
    window: Cow<'source, [u8]>,
    start: u64,
    /// Bytes to read next.
    want: usize,
    /// Where in the window each magic comes next.
    next: [Option<usize>; MAGICS.len()],
}

impl<'source, S: Source> NextBundle<'source, S> {
    pub(crate) fn new(source: &'source S, range: Range<u64>) -> Self {
        let finders = MAGICS.map(Finder::new);
        let start = range.start;
        Self { source, range, finders, window: Cow::Borrowed(&[]), start, want: FIRST_WINDOW, next: [None; 3] }
    }

    /// Where the first bundle starts that is not before `at`.
    pub(crate) fn from(&mut self, mut at: u64) -> Result<Option<u64>, FileError> {
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
                // A magic may lie across the end of the window.
                at = at.max(end.saturating_sub(LONGEST - 1));
                self.want = (self.want * 8).min(WINDOW);
            } else {
                self.want = FIRST_WINDOW;
            }
            if at >= self.range.end {
                return Ok(None);
            }
            self.window = self.source.head(at..self.range.end, self.want)?;
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
