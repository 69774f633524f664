//! Which memory work touches, and whether two pieces of work may run at once.

use std::ops::Range;

use roci_hal::Access;
use roci_hal::driver::BoundRange;

/// A range of addresses and whether it is written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Touch {
    range: Range<usize>,
    writes: bool,
}

impl Touch {
    /// What using this range touches; `None` for another driver's memory.
    pub(crate) fn new(range: &BoundRange, access: Access) -> Option<Self> {
        let start = range.host_memory()?.as_ptr().addr();
        Some(Self { range: start..start + range.length as usize, writes: access.writes() })
    }

    pub(crate) fn conflicts(&self, other: &Self) -> bool {
        (self.writes || other.writes) && overlap(&self.range, &other.range)
    }
}

/// All that a piece of work touches: by address, neighbours and overlaps joined, so that two are compared in one pass.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Footprint {
    reads: Vec<Range<usize>>,
    writes: Vec<Range<usize>>,
}

impl Footprint {
    /// The footprint of these touches, and whether they conflict among themselves.
    pub(crate) fn new(mut touches: Vec<Touch>) -> (Self, bool) {
        touches.sort_unstable_by_key(|touch| touch.range.start);
        let mut footprint = Self::default();
        let mut conflict = false;
        for Touch { range, writes } in touches {
            // Everything so far starts at or before this range, so that the last end decides whether one reaches into it.
            let reaches_in = |list: &[Range<usize>]| list.last().is_some_and(|last| overlap(last, &range));
            conflict |= reaches_in(&footprint.writes) || (writes && reaches_in(&footprint.reads));
            let list = if writes { &mut footprint.writes } else { &mut footprint.reads };
            match list.last_mut() {
                Some(last) if range.start <= last.end => last.end = last.end.max(range.end),
                _ => list.push(range),
            }
        }
        (footprint, conflict)
    }

    /// Whether one writes what the other touches.
    pub(crate) fn conflicts(&self, other: &Self) -> bool {
        meet(&self.writes, &other.writes) || meet(&self.writes, &other.reads) || meet(&self.reads, &other.writes)
    }
}

/// Whether any two ranges of these sorted lists overlap.
fn meet(mut these: &[Range<usize>], mut those: &[Range<usize>]) -> bool {
    while let ([this, more_of_these @ ..], [that, more_of_those @ ..]) = (these, those) {
        if overlap(this, that) {
            return true;
        }
        // The one that ends first cannot reach anything further on.
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

    fn touch(start: usize, end: usize, writes: bool) -> Touch {
        Touch { range: start..end, writes }
    }

    #[test]
    fn only_a_write_that_overlaps_conflicts() {
        assert!(!touch(0, 8, false).conflicts(&touch(0, 8, false)));
        assert!(touch(0, 8, true).conflicts(&touch(7, 9, false)));
        assert!(!touch(0, 8, true).conflicts(&touch(8, 9, true)));
    }

    #[test]
    fn joining_keeps_reads_and_writes_apart() {
        let touches = vec![touch(8, 16, false), touch(0, 8, false), touch(4, 6, true), touch(32, 40, false)];
        let (footprint, conflict) = Footprint::new(touches);
        assert_eq!(footprint, Footprint { reads: vec![0..16, 32..40], writes: std::iter::once(4..6).collect() });
        assert!(conflict);
    }

    /// Touches without a pattern, the same in every run.
    fn touches(state: &mut u32) -> Vec<Touch> {
        let mut next = |below: u32| {
            *state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            ((*state >> 16) % below) as usize
        };
        let count = next(6);
        (0..count)
            .map(|_| {
                let start = next(60);
                touch(start, start + 1 + next(9), next(3) == 0)
            })
            .collect()
    }

    #[test]
    fn the_sweep_agrees_with_comparing_every_pair() {
        let mut state = 1;
        let mut seen = [[0; 2]; 2];
        for _ in 0..5_000 {
            let (these, those) = (touches(&mut state), touches(&mut state));
            let between = these.iter().any(|a| those.iter().any(|b| a.conflicts(b)));
            let within = these.iter().enumerate().any(|(index, a)| these[..index].iter().any(|b| a.conflicts(b)));
            let (this, conflict) = Footprint::new(these.clone());
            let (that, _) = Footprint::new(those.clone());
            assert_eq!(this.conflicts(&that), between, "{these:?} and {those:?}");
            assert_eq!(that.conflicts(&this), between, "{these:?} and {those:?}");
            assert_eq!(conflict, within, "{these:?}");
            seen[usize::from(between)][usize::from(within)] += 1;
        }
        assert!(seen.as_flattened().iter().all(|&count| count > 100), "one-sided cases: {seen:?}");
    }
}
