//! Read and write hazards between dispatches, by byte range. The cost of a check does not grow with
//! the number of dispatches since the last barrier.

use std::collections::BTreeMap;

use roci_hal::{Buffer, BufferRange};

/// A set of bytes, as disjoint ranges from start to end. Adjacent ranges are merged.
#[derive(Default)]
struct ByteRanges(BTreeMap<u64, u64>);

impl ByteRanges {
    /// Whether a range overlaps the set. The ranges are disjoint, so only the last one that starts
    /// before `end` has to be checked.
    fn overlaps(&self, start: u64, end: u64) -> bool {
        self.0.range(..end).next_back().is_some_and(|(_, &last)| last > start)
    }

    fn add(&mut self, mut start: u64, mut end: u64) {
        while let Some((&from, &to)) = self.0.range(..=end).next_back().filter(|(_, to)| **to >= start) {
            self.0.remove(&from);
            (start, end) = (start.min(from), end.max(to));
        }
        self.0.insert(start, end);
    }
}

/// What dispatches read and wrote since the last barrier. Only buffers that some dispatch writes
/// are tracked; the others have no hazards.
pub(crate) struct HazardTracker<'a> {
    /// Buffers, with the bytes read and the bytes written.
    buffers: Vec<(&'a Buffer, ByteRanges, ByteRanges)>,
}

impl<'a> HazardTracker<'a> {
    /// Creates a tracker for the buffers of these ranges, with no accesses.
    pub(crate) fn new(written: impl Iterator<Item = &'a BufferRange>) -> Self {
        let mut buffers: Vec<(&Buffer, ByteRanges, ByteRanges)> = Vec::new();
        // There are few: the arena, and imported buffers that are written.
        for range in written {
            if buffers.last().is_none_or(|(last, ..)| *last != range.buffer())
                && !buffers.iter().any(|(buffer, ..)| *buffer == range.buffer())
            {
                buffers.push((range.buffer(), ByteRanges::default(), ByteRanges::default()));
            }
        }
        Self { buffers }
    }

    /// Whether an access needs a barrier before it: read after write, write after write, or write
    /// after read.
    pub(crate) fn needs_barrier(&self, range: &BufferRange, written: bool) -> bool {
        let (start, end) = (range.offset(), range.offset() + range.length());
        let found = self.buffers.iter().find(|(buffer, ..)| *buffer == range.buffer());
        found.is_some_and(|(_, reads, writes)| writes.overlaps(start, end) || written && reads.overlaps(start, end))
    }

    /// Adds an access.
    pub(crate) fn add(&mut self, range: &BufferRange, written: bool) {
        if let Some((_, reads, writes)) = self.buffers.iter_mut().find(|(buffer, ..)| *buffer == range.buffer()) {
            let ranges = if written { writes } else { reads };
            ranges.add(range.offset(), range.offset() + range.length());
        }
    }

    /// Forgets all accesses, after a barrier.
    pub(crate) fn clear(&mut self) {
        for (_, reads, writes) in &mut self.buffers {
            reads.0.clear();
            writes.0.clear();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn merged_ranges_overlap_like_the_original_ranges() {
        let mut random = fastrand::Rng::with_seed(7);
        let mut next = |below: u64| random.u64(..below);
        let mut counts = [0; 2];
        for _ in 0..300 {
            let (mut ranges, mut each) = (ByteRanges::default(), Vec::new());
            for _ in 0..next(12) {
                let (start, length) = (next(200), 1 + next(20));
                ranges.add(start, start + length);
                each.push((start, start + length));
                let (start, end) = (next(200), 201 + next(20));
                for (start, end) in [(start, end), (start, start + 1)] {
                    let expected = each.iter().any(|(from, to)| *from < end && start < *to);
                    assert_eq!(ranges.overlaps(start, end), expected, "{start}..{end} of {each:?}");
                    counts[usize::from(expected)] += 1;
                }
            }
        }
        assert!(counts.iter().all(|&count| count > 100), "{counts:?}");
    }
}
