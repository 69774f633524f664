//! Which memory work touches, and whether two pieces of work may run at once.

use roci_hal::Access;
use roci_hal::driver::BoundRange;

/// A range of addresses and whether it is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Touch {
    start: usize,
    end: usize,
    writes: bool,
}

impl Touch {
    /// What using this range touches; `None` for another driver's memory.
    pub(crate) fn new(range: &BoundRange, access: Access) -> Option<Self> {
        let start = range.host_memory()?.as_ptr().addr();
        Some(Self { start, end: start + range.length as usize, writes: access.writes() })
    }

    pub(crate) fn conflicts(&self, other: &Self) -> bool {
        (self.writes || other.writes) && self.start < other.end && other.start < self.end
    }
}

/// Whether any of these conflicts with any of those.
pub(crate) fn conflict(these: &[Touch], those: &[Touch]) -> bool {
    these.iter().any(|a| those.iter().any(|b| a.conflicts(b)))
}

/// Fewer touches that cover the same: neighbours and overlaps of one kind become one.
pub(crate) fn merge(mut touches: Vec<Touch>) -> Vec<Touch> {
    touches.sort_by_key(|touch| (touch.writes, touch.start));
    let mut merged: Vec<Touch> = Vec::new();
    for touch in touches {
        match merged.last_mut() {
            Some(last) if last.writes == touch.writes && touch.start <= last.end => last.end = last.end.max(touch.end),
            _ => merged.push(touch),
        }
    }
    merged
}

#[cfg(test)]
mod tests {
    use super::*;

    fn touch(start: usize, end: usize, writes: bool) -> Touch {
        Touch { start, end, writes }
    }

    #[test]
    fn only_a_write_that_overlaps_conflicts() {
        assert!(!touch(0, 8, false).conflicts(&touch(0, 8, false)));
        assert!(touch(0, 8, true).conflicts(&touch(7, 9, false)));
        assert!(!touch(0, 8, true).conflicts(&touch(8, 9, true)));
    }

    #[test]
    fn merging_keeps_reads_and_writes_apart() {
        let merged = merge(vec![touch(8, 16, false), touch(0, 8, false), touch(4, 6, true), touch(32, 40, false)]);
        assert_eq!(merged, [touch(0, 16, false), touch(32, 40, false), touch(4, 6, true)]);
    }
}
