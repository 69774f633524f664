//! Which bytes of buffers were touched, so that a dispatch is held against all before it without a look at each.

use std::collections::BTreeMap;

use roci_hal::{Buffer, BufferRange};

/// Ranges of bytes, joined where they touch: start and end.
#[derive(Default)]
struct Ranges(BTreeMap<u64, u64>);

impl Ranges {
    /// Whether a range shares a byte with one of them. Since none overlaps another, the last that starts before its end
    /// decides.
    fn meet(&self, start: u64, end: u64) -> bool {
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

/// What dispatches touched since the last barrier, of the buffers that any of them writes: nothing is in the way of
/// the others.
pub(crate) struct Since<'a> {
    buffers: Vec<(&'a Buffer, Ranges, Ranges)>,
}

impl<'a> Since<'a> {
    /// Nothing yet, of these buffers.
    pub(crate) fn new(written: impl Iterator<Item = &'a BufferRange>) -> Self {
        let mut buffers: Vec<(&Buffer, Ranges, Ranges)> = Vec::new();
        // These are few: the arena, and what was handed over to be written.
        for range in written {
            if buffers.last().is_none_or(|(last, ..)| *last != range.buffer())
                && !buffers.iter().any(|(buffer, ..)| *buffer == range.buffer())
            {
                buffers.push((range.buffer(), Ranges::default(), Ranges::default()));
            }
        }
        Self { buffers }
    }

    /// Whether touching a range has to wait for what was touched before.
    pub(crate) fn is_in_the_way(&self, range: &BufferRange, written: bool) -> bool {
        let (start, end) = (range.offset(), range.offset() + range.length());
        let found = self.buffers.iter().find(|(buffer, ..)| *buffer == range.buffer());
        found.is_some_and(|(_, reads, writes)| writes.meet(start, end) || written && reads.meet(start, end))
    }

    /// A range is touched.
    pub(crate) fn add(&mut self, range: &BufferRange, written: bool) {
        if let Some((_, reads, writes)) = self.buffers.iter_mut().find(|(buffer, ..)| *buffer == range.buffer()) {
            let ranges = if written { writes } else { reads };
            ranges.add(range.offset(), range.offset() + range.length());
        }
    }

    /// All of it is over.
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
    fn ranges_meet_as_each_of_them_does() {
        let mut state = 7u32;
        let mut next = |below: u32| {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            u64::from((state >> 16) % below)
        };
        let mut seen = [0; 2];
        for _ in 0..300 {
            let (mut ranges, mut each) = (Ranges::default(), Vec::new());
            for _ in 0..next(12) {
                let (start, length) = (next(200), 1 + next(20));
                ranges.add(start, start + length);
                each.push((start, start + length));
                let (start, end) = (next(200), 201 + next(20));
                for (start, end) in [(start, end), (start, start + 1)] {
                    let expected = each.iter().any(|(from, to)| *from < end && start < *to);
                    assert_eq!(ranges.meet(start, end), expected, "{start}..{end} of {each:?}");
                    seen[usize::from(expected)] += 1;
                }
            }
        }
        assert!(seen.iter().all(|&count| count > 100), "{seen:?}");
    }
}
