//! Places for tensors in one piece of memory: those that live at the same time lie apart.

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

/// Offsets of all spans, and the size of the whole. Large ones are placed first, each at the lowest offset that is free
/// while it lives.
pub(crate) fn place(spans: &[Span], alignment: u64) -> (Vec<u64>, u64) {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_is_used_again_and_never_twice_at_a_time() {
        let spans: Vec<Span> = (0..50)
            .map(|index: usize| Span { size: 64 + (index as u64 * 37) % 500, first: index, last: index + index % 7 })
            .collect();
        let (offsets, whole) = place(&spans, 64);
        assert!(whole < spans.iter().map(|span| span.size).sum());
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
