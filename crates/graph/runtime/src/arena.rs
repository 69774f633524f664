//! Offsets of tensors in one arena. Tensors that are live at the same time do not overlap.

use std::collections::{BTreeMap, BTreeSet};

/// The size and the live range of a tensor.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LiveRange {
    /// The size in bytes.
    pub(crate) size: u64,
    /// The index of the first dispatch that accesses it.
    pub(crate) first: usize,
    /// The index of the last dispatch that accesses it.
    pub(crate) last: usize,
}

/// Maximum number of tensors that are placed by size, which takes quadratic time. More are placed
/// in the order of their live ranges.
const MAX_PLACED_BY_SIZE: usize = 4096;

/// Returns the offset of each tensor, and the size of the arena, in bytes.
pub(crate) fn assign_offsets(live_ranges: &[LiveRange], alignment: u64) -> (Vec<u64>, u64) {
    if live_ranges.len() > MAX_PLACED_BY_SIZE {
        in_order(live_ranges, alignment)
    } else {
        by_size(live_ranges, alignment)
    }
}

/// Places large tensors first, each at the lowest offset that is free during its live range.
fn by_size(live_ranges: &[LiveRange], alignment: u64) -> (Vec<u64>, u64) {
    let mut order: Vec<usize> = (0..live_ranges.len()).collect();
    order.sort_by_key(|&index| (std::cmp::Reverse(live_ranges[index].size), live_ranges[index].first, index));
    let mut offsets = vec![0u64; live_ranges.len()];
    let mut placed: Vec<usize> = Vec::new();
    let mut arena_size = 0;
    for index in order {
        let range = live_ranges[index];
        let mut occupied: Vec<(u64, u64)> = placed
            .iter()
            .filter(|&&other| live_ranges[other].first <= range.last && range.first <= live_ranges[other].last)
            .map(|&other| (offsets[other], offsets[other].saturating_add(live_ranges[other].size)))
            .collect();
        occupied.sort_unstable();
        let mut at = 0;
        for (start, end) in occupied {
            if range.size.saturating_add(at) <= start {
                break;
            }
            at = at.max(end.checked_next_multiple_of(alignment).unwrap_or(u64::MAX));
        }
        offsets[index] = at;
        arena_size = arena_size.max(range.size.saturating_add(at));
        placed.push(index);
    }
    (offsets, arena_size)
}

/// Places tensors in the order of their first access, each in the smallest gap that fits. This
/// needs somewhat more memory than [`by_size`], and O(n log n) time instead of O(n²).
fn in_order(live_ranges: &[LiveRange], alignment: u64) -> (Vec<u64>, u64) {
    let mut order: Vec<usize> = (0..live_ranges.len()).collect();
    order.sort_by_key(|&index| (live_ranges[index].first, std::cmp::Reverse(live_ranges[index].size), index));
    let mut offsets = vec![0u64; live_ranges.len()];
    let mut gaps = FreeList::default();
    // Live tensors, by their last access.
    let mut used: BTreeSet<(usize, usize)> = BTreeSet::new();
    let mut arena_size = 0u64;
    let padded = |range: &LiveRange| range.size.max(1).checked_next_multiple_of(alignment).unwrap_or(u64::MAX);
    for index in order {
        let range = &live_ranges[index];
        while let Some((last, over)) = used.first().copied().filter(|(last, _)| *last < range.first) {
            used.remove(&(last, over));
            gaps.add(offsets[over], offsets[over].saturating_add(padded(&live_ranges[over])));
        }
        offsets[index] = gaps.take(padded(range), &mut arena_size);
        used.insert((range.last, index));
    }
    (offsets, arena_size)
}

/// Free ranges below the end of the arena.
#[derive(Default)]
struct FreeList {
    /// The end of each free range, by its start.
    by_start: BTreeMap<u64, u64>,
    /// Free ranges as (size, start).
    by_size: BTreeSet<(u64, u64)>,
}

impl FreeList {
    /// Takes a range of this size from the smallest gap that fits, and otherwise extends the arena.
    fn take(&mut self, size: u64, arena_size: &mut u64) -> u64 {
        if let Some(&(room, start)) = self.by_size.range((size, 0)..).next() {
            self.remove(start, start + room);
            if room > size {
                self.insert(start + size, start + room);
            }
            return start;
        }
        // Extend a gap at the end of the arena.
        let last =
            self.by_start.last_key_value().map(|(&start, &end)| (start, end)).filter(|(_, end)| end == arena_size);
        if let Some((start, end)) = last {
            self.remove(start, end);
        }
        let start = last.map_or(*arena_size, |(start, _)| start);
        *arena_size = start.saturating_add(size);
        start
    }

    /// Frees a range, and merges it with adjacent gaps.
    fn add(&mut self, mut start: u64, mut end: u64) {
        if let Some((&before, &touches)) = self.by_start.range(..start).next_back().filter(|(_, to)| **to == start) {
            self.remove(before, touches);
            start = before;
        }
        if let Some(&to) = self.by_start.get(&end) {
            self.remove(end, to);
            end = to;
        }
        self.insert(start, end);
    }

    fn insert(&mut self, start: u64, end: u64) {
        self.by_start.insert(start, end);
        self.by_size.insert((end - start, start));
    }

    fn remove(&mut self, start: u64, end: u64) {
        self.by_start.remove(&start);
        self.by_size.remove(&(end - start, start));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn live_tensors_never_overlap_and_memory_is_reused() {
        let live_ranges: Vec<LiveRange> = (0..50)
            .map(|index: usize| LiveRange {
                size: 64 + (index as u64 * 37) % 500,
                first: index,
                last: index + index % 7,
            })
            .collect();
        for assign in [by_size, in_order] {
            let (offsets, arena_size) = assign(&live_ranges, 64);
            assert!(arena_size < live_ranges.iter().map(|range| range.size).sum::<u64>() / 2);
            assert_disjoint(&live_ranges, &offsets);
            assert!(live_ranges.iter().zip(&offsets).all(|(range, offset)| offset + range.size <= arena_size));
        }
    }

    #[test]
    fn a_chain_of_tensors_reuses_two_offsets() {
        let live_ranges: Vec<LiveRange> =
            (0..100_000).map(|index| LiveRange { size: 100, first: index, last: index + 1 }).collect();
        let (_, arena_size) = assign_offsets(&live_ranges, 64);
        assert_eq!(arena_size, 256);
    }

    /// Asserts that tensors that are live at the same time do not overlap.
    fn assert_disjoint(live_ranges: &[LiveRange], offsets: &[u64]) {
        for (a, one) in live_ranges.iter().enumerate() {
            assert_eq!(offsets[a] % 64, 0);
            for (b, other) in live_ranges.iter().enumerate().filter(|(b, _)| *b != a) {
                let both_live = one.first <= other.last && other.first <= one.last;
                let disjoint = offsets[a] + one.size <= offsets[b] || offsets[b] + other.size <= offsets[a];
                assert!(!both_live || disjoint, "{one:?} at {} and {other:?} at {}", offsets[a], offsets[b]);
            }
        }
    }
}
