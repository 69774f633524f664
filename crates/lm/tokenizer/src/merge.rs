//! Merges adjacent symbols until no pair has a rank: the lowest rank first, and the leftmost among
//! equal ranks.
//!
//! Symbols are a linked list, and candidate pairs are in a priority queue. A pair whose symbols
//! have changed is skipped when it is popped. Each merge removes a symbol and adds at most two
//! pairs, so the time is `O(n log n)` for every text.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Marks the end of the list.
const NONE: u32 = u32::MAX;

/// A symbol in the doubly linked list.
struct Link<S> {
    symbol: S,
    previous: u32,
    next: u32,
    /// Whether it has been merged into its left neighbor.
    merged: bool,
}

/// A candidate pair. Ordered by rank, then by position.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Pair<S> {
    rank: u32,
    left: u32,
    right: u32,
    /// Both symbols at the time the pair was found.
    parts: (S, S),
    joined: S,
}

/// Buffers of the merge loop, reused from word to word.
pub(crate) struct Merger<S> {
    links: Vec<Link<S>>,
    queue: BinaryHeap<Reverse<Pair<S>>>,
}

impl<S: Copy + Ord> Merger<S> {
    pub(crate) fn new() -> Self {
        Self { links: Vec::new(), queue: BinaryHeap::new() }
    }

    /// Merges `symbols` and passes the result to `out`, in order. `join` returns the rank and the
    /// result of merging two symbols.
    pub(crate) fn run(
        &mut self,
        symbols: impl Iterator<Item = S>,
        mut join: impl FnMut(S, S) -> Option<(u32, S)>,
        mut out: impl FnMut(S),
    ) {
        self.links.clear();
        for (at, symbol) in symbols.enumerate() {
            self.links.push(Link { symbol, previous: (at as u32).wrapping_sub(1), next: at as u32 + 1, merged: false });
        }
        let Some(last) = self.links.last_mut() else { return };
        last.next = NONE;
        for left in 1..self.links.len() as u32 {
            self.offer(left - 1, left, &mut join);
        }
        while let Some(Reverse(pair)) = self.queue.pop() {
            let (left, right) = (&self.links[pair.left as usize], &self.links[pair.right as usize]);
            if left.merged || right.merged || (left.symbol, right.symbol) != pair.parts {
                continue;
            }
            let (previous, next) = (left.previous, right.next);
            self.links[pair.right as usize].merged = true;
            let left = &mut self.links[pair.left as usize];
            left.symbol = pair.joined;
            left.next = next;
            if next != NONE {
                self.links[next as usize].previous = pair.left;
            }
            self.offer(previous, pair.left, &mut join);
            self.offer(pair.left, next, &mut join);
        }
        let mut at = 0;
        while at != NONE {
            let link = &self.links[at as usize];
            out(link.symbol);
            at = link.next;
        }
    }

    fn offer(&mut self, left: u32, right: u32, join: &mut impl FnMut(S, S) -> Option<(u32, S)>) {
        if left == NONE || right == NONE {
            return;
        }
        let parts = (self.links[left as usize].symbol, self.links[right as usize].symbol);
        if let Some((rank, joined)) = join(parts.0, parts.1) {
            self.queue.push(Reverse(Pair { rank, left, right, parts, joined }));
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Symbols are numbers. Two equal symbols merge into the next number, smaller ones first.
    fn double(left: u32, right: u32) -> Option<(u32, u32)> {
        (left == right && left < 40).then_some((left, left + 1))
    }

    fn merged(symbols: &[u32], join: impl FnMut(u32, u32) -> Option<(u32, u32)>) -> Vec<u32> {
        let mut out = Vec::new();
        Merger::new().run(symbols.iter().copied(), join, |symbol| out.push(symbol));
        out
    }

    /// Naive reference: find the best of all pairs, merge it, repeat.
    fn naive(symbols: &[u32], join: impl Fn(u32, u32) -> Option<(u32, u32)>) -> Vec<u32> {
        let mut symbols = symbols.to_vec();
        loop {
            let pairs = symbols.windows(2).enumerate();
            let best =
                pairs.filter_map(|(at, pair)| join(pair[0], pair[1]).map(|(rank, joined)| (rank, at, joined))).min();
            let Some((_, at, joined)) = best else { return symbols };
            symbols.splice(at..at + 2, [joined]);
        }
    }

    #[test]
    fn the_number_of_pairs_is_linear_in_the_text() {
        let mut lookups = 0;
        let symbols = vec![0; 1 << 20];
        let out = merged(&symbols, |left, right| {
            lookups += 1;
            double(left, right)
        });
        assert_eq!(out, [20]);
        assert!(lookups < 3 << 20, "{lookups} pairs");
    }

    #[test]
    fn zero_and_one_symbols_are_unchanged() {
        assert_eq!(merged(&[], double), []);
        assert_eq!(merged(&[7], double), [7]);
    }

    proptest! {
        #[test]
        fn the_queue_matches_the_naive_reference(
            symbols in prop::collection::vec(0u32..4, 0..60),
            ranks in prop::collection::vec(prop::option::of(0u32..10), 64),
        ) {
            // Eight symbols. Each pair has either no rank or a unique one, and merges into an
            // unused symbol.
            let join = |left: u32, right: u32| {
                let pair = (left * 8 + right) as usize;
                (left < 8 && right < 8).then(|| ranks[pair]).flatten().map(|rank| (rank, 4 + (left * 3 + right) % 6))
            };
            prop_assert_eq!(merged(&symbols, join), naive(&symbols, join));
        }
    }
}
