//! Places for tensors in one piece of memory: those that live at the same time lie apart.

use std::collections::{BTreeMap, BTreeSet};

/// A tensor to be placed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Span {
    /// Bytes.
    pub(crate) size: u64,
    /// The first step that touches it.
    pub(crate) first: usize,
    /// The last.
    pub(crate) last: usize,
}

/// More spans than this are placed in the order of their lives: each is held against all others otherwise.
const MOST_COMPARED: usize = 4096;

/// Offsets of all spans, and the size of the whole.
pub(crate) fn place(spans: &[Span], alignment: u64) -> (Vec<u64>, u64) {
    if spans.len() > MOST_COMPARED { in_order(spans, alignment) } else { by_size(spans, alignment) }
}

/// Large ones first, each at the lowest offset that is free while it lives.
fn by_size(spans: &[Span], alignment: u64) -> (Vec<u64>, u64) {
    let mut order: Vec<usize> = (0..spans.len()).collect();
    order.sort_by_key(|&index| (std::cmp::Reverse(spans[index].size), spans[index].first, index));
    let mut offsets = vec![0u64; spans.len()];
    let mut placed: Vec<usize> = Vec::new();
    let mut whole = 0;
    for index in order {
        let span = spans[index];
        let mut taken: Vec<(u64, u64)> = placed
            .iter()
            .filter(|&&other| spans[other].first <= span.last && span.first <= spans[other].last)
            .map(|&other| (offsets[other], offsets[other].saturating_add(spans[other].size)))
            .collect();
        taken.sort_unstable();
        let mut at = 0;
        for (start, end) in taken {
            if span.size.saturating_add(at) <= start {
                break;
            }
            at = at.max(end.checked_next_multiple_of(alignment).unwrap_or(u64::MAX));
        }
        offsets[index] = at;
        whole = whole.max(span.size.saturating_add(at));
        placed.push(index);
    }
    (offsets, whole)
}

/// The first to live first, each in the smallest gap that holds it. That takes somewhat more room, and a time that grows
/// with the spans and not with their square.
fn in_order(spans: &[Span], alignment: u64) -> (Vec<u64>, u64) {
    let mut order: Vec<usize> = (0..spans.len()).collect();
    order.sort_by_key(|&index| (spans[index].first, std::cmp::Reverse(spans[index].size), index));
    let mut offsets = vec![0u64; spans.len()];
    let mut gaps = Gaps::default();
    // By the last step that touches it: what is in use.
    let mut used: BTreeSet<(usize, usize)> = BTreeSet::new();
    let mut whole = 0u64;
    let room = |span: &Span| span.size.max(1).checked_next_multiple_of(alignment).unwrap_or(u64::MAX);
    for index in order {
        let span = &spans[index];
        while let Some((last, over)) = used.first().copied().filter(|(last, _)| *last < span.first) {
            used.remove(&(last, over));
            gaps.add(offsets[over], offsets[over].saturating_add(room(&spans[over])));
        }
        offsets[index] = gaps.take(room(span), &mut whole);
        used.insert((span.last, index));
    }
    (offsets, whole)
}

/// Free memory below the end of all.
#[derive(Default)]
struct Gaps {
    /// Starts and ends.
    by_start: BTreeMap<u64, u64>,
    /// Sizes and starts.
    by_size: BTreeSet<(u64, u64)>,
}

impl Gaps {
    /// Memory for so many bytes, above the end of all where no gap holds them.
    fn take(&mut self, size: u64, whole: &mut u64) -> u64 {
        if let Some(&(room, start)) = self.by_size.range((size, 0)..).next() {
            self.remove(start, start + room);
            if room > size {
                self.insert(start + size, start + room);
            }
            return start;
        }
        // A gap at the end is made longer.
        let last = self.by_start.last_key_value().map(|(&start, &end)| (start, end)).filter(|(_, end)| end == whole);
        if let Some((start, end)) = last {
            self.remove(start, end);
        }
        let start = last.map_or(*whole, |(start, _)| start);
        *whole = start.saturating_add(size);
        start
    }

    /// Gives memory back, joined with the gaps beside it.
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
    fn memory_is_used_again_and_never_twice_at_a_time() {
        let spans: Vec<Span> = (0..50)
            .map(|index: usize| Span { size: 64 + (index as u64 * 37) % 500, first: index, last: index + index % 7 })
            .collect();
        for place in [by_size, in_order] {
            let (offsets, whole) = place(&spans, 64);
            assert!(whole < spans.iter().map(|span| span.size).sum::<u64>() / 2);
            apart(&spans, &offsets);
            assert!(spans.iter().zip(&offsets).all(|(span, offset)| offset + span.size <= whole));
        }
    }

    #[test]
    fn many_that_follow_each_other_share_two_places() {
        let spans: Vec<Span> = (0..100_000).map(|index| Span { size: 100, first: index, last: index + 1 }).collect();
        let (_, whole) = place(&spans, 64);
        assert_eq!(whole, 256);
    }

    /// Those that live at the same time lie apart.
    fn apart(spans: &[Span], offsets: &[u64]) {
        for (a, one) in spans.iter().enumerate() {
            assert_eq!(offsets[a] % 64, 0);
            for (b, other) in spans.iter().enumerate().filter(|(b, _)| *b != a) {
                let together = one.first <= other.last && other.first <= one.last;
                let apart = offsets[a] + one.size <= offsets[b] || offsets[b] + other.size <= offsets[a];
                assert!(!together || apart, "{one:?} at {} and {other:?} at {}", offsets[a], offsets[b]);
            }
        }
    }
}
