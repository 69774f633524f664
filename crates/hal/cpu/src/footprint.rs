//! Memory footprints: whether two pieces of work may run concurrently.

use std::ops::Range;

use roci_hal::Access;
use roci_hal::driver::BoundRange;

/// One access to a range of addresses.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct MemoryAccess {
    range: Range<usize>,
    writes: bool,
}

impl MemoryAccess {
    /// Returns `None` for memory of another driver.
    pub(crate) fn new(range: &BoundRange, access: Access) -> Option<Self> {
        let start = range.host_memory()?.as_ptr().addr();
        Some(Self { range: start..start + range.length as usize, writes: access.writes() })
    }

    pub(crate) fn conflicts(&self, other: &Self) -> bool {
        (self.writes || other.writes) && overlap(&self.range, &other.range)
    }
}

/// All memory that a piece of work accesses. Ranges are sorted and merged, so two footprints are
/// compared in one pass.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Footprint {
    reads: Vec<Range<usize>>,
    writes: Vec<Range<usize>>,
}

impl Footprint {
    /// The footprint of these accesses, and whether they conflict with each other.
    pub(crate) fn new(mut accesses: Vec<MemoryAccess>) -> (Self, bool) {
        accesses.sort_unstable_by_key(|access| access.range.start);
        let mut footprint = Self::default();
        let mut conflict = false;
        for MemoryAccess { range, writes } in accesses {
            // All earlier ranges start at or before this one, so only the last one's end decides
            // whether it overlaps.
            let overlaps_last = |list: &[Range<usize>]| list.last().is_some_and(|last| overlap(last, &range));
            conflict |= overlaps_last(&footprint.writes) || (writes && overlaps_last(&footprint.reads));
            let list = if writes { &mut footprint.writes } else { &mut footprint.reads };
            match list.last_mut() {
                Some(last) if range.start <= last.end => last.end = last.end.max(range.end),
                _ => list.push(range),
            }
        }
        (footprint, conflict)
    }

    /// Whether one writes memory that the other accesses.
    pub(crate) fn conflicts(&self, other: &Self) -> bool {
        any_overlap(&self.writes, &other.writes)
            || any_overlap(&self.writes, &other.reads)
            || any_overlap(&self.reads, &other.writes)
    }
}

/// Whether any two ranges of these sorted lists overlap.
fn any_overlap(mut these: &[Range<usize>], mut those: &[Range<usize>]) -> bool {
    while let ([this, more_of_these @ ..], [that, more_of_those @ ..]) = (these, those) {
        if overlap(this, that) {
            return true;
        }
        // The range that ends first cannot overlap any later range.
        if this.end <= that.end { these = more_of_these } else { those = more_of_those }
    }
    false
}

fn overlap(a: &Range<usize>, b: &Range<usize>) -> bool {
    a.start < b.end && b.start < a.end
}

#[cfg(test)]
mod tests {
    use super::*;

    fn access(start: usize, end: usize, writes: bool) -> MemoryAccess {
        MemoryAccess { range: start..end, writes }
    }

    #[test]
    fn only_a_write_that_overlaps_conflicts() {
        assert!(!access(0, 8, false).conflicts(&access(0, 8, false)));
        assert!(access(0, 8, true).conflicts(&access(7, 9, false)));
        assert!(!access(0, 8, true).conflicts(&access(8, 9, true)));
    }

    #[test]
    fn joining_keeps_reads_and_writes_separate() {
        let accesses = vec![access(8, 16, false), access(0, 8, false), access(4, 6, true), access(32, 40, false)];
        let (footprint, conflict) = Footprint::new(accesses);
        assert_eq!(footprint, Footprint { reads: vec![0..16, 32..40], writes: std::iter::once(4..6).collect() });
        assert!(conflict);
    }

    /// Pseudorandom accesses, the same in every run.
    fn accesses(random: &mut fastrand::Rng) -> Vec<MemoryAccess> {
        let mut next = |below: usize| random.usize(..below);
        let count = next(6);
        (0..count)
            .map(|_| {
                let start = next(60);
                access(start, start + 1 + next(9), next(3) == 0)
            })
            .collect()
    }

    #[test]
    fn the_sweep_agrees_with_comparing_every_pair() {
        let mut random = fastrand::Rng::with_seed(1);
        let mut counts = [[0; 2]; 2];
        for _ in 0..5_000 {
            let (these, those) = (accesses(&mut random), accesses(&mut random));
            let between = these.iter().any(|a| those.iter().any(|b| a.conflicts(b)));
            let within = these.iter().enumerate().any(|(index, a)| these[..index].iter().any(|b| a.conflicts(b)));
            let (this, conflict) = Footprint::new(these.clone());
            let (that, _) = Footprint::new(those.clone());
            assert_eq!(this.conflicts(&that), between, "{these:?} and {those:?}");
            assert_eq!(that.conflicts(&this), between, "{these:?} and {those:?}");
            assert_eq!(conflict, within, "{these:?}");
            counts[usize::from(between)][usize::from(within)] += 1;
        }
        assert!(counts.as_flattened().iter().all(|&count| count > 100), "one-sided cases: {counts:?}");
    }
}
