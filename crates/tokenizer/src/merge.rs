//! Joins neighbouring symbols, those of the lowest rank first and of those the leftmost, until no pair has a rank.
//!
//! Symbols are a linked list; pairs that may be joined wait in a queue. A pair whose symbols have changed since is passed over
//! when its turn comes. Each join removes a symbol and asks for two pairs, so that the work is `n log n` whatever the text.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// No neighbour.
const NONE: u32 = u32::MAX;

/// A symbol and its neighbours.
struct Link<S> {
    symbol: S,
    previous: u32,
    next: u32,
    /// Whether its left neighbour has taken it in.
    gone: bool,
}

/// A pair that may be joined. Ordered by rank, then by place.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Pair<S> {
    rank: u32,
    left: u32,
    right: u32,
    /// What the two symbols were when the pair was found.
    parts: (S, S),
    joined: S,
}

/// The memory that joining needs, kept from word to word.
pub(crate) struct Merger<S> {
    links: Vec<Link<S>>,
    queue: BinaryHeap<Reverse<Pair<S>>>,
}

impl<S: Copy + Ord> Merger<S> {
    pub(crate) fn new() -> Self {
        Self { links: Vec::new(), queue: BinaryHeap::new() }
    }

    /// Joins `symbols` and hands on what is left, in order. `join` says what two symbols become, and at which rank.
    pub(crate) fn run(
        &mut self,
        symbols: impl Iterator<Item = S>,
        mut join: impl FnMut(S, S) -> Option<(u32, S)>,
        mut out: impl FnMut(S),
    ) {
        self.links.clear();
        for (at, symbol) in symbols.enumerate() {
            self.links.push(Link { symbol, previous: (at as u32).wrapping_sub(1), next: at as u32 + 1, gone: false });
        }
        let Some(last) = self.links.last_mut() else { return };
        last.next = NONE;
        for left in 1..self.links.len() as u32 {
            self.offer(left - 1, left, &mut join);
        }
        while let Some(Reverse(pair)) = self.queue.pop() {
            let (left, right) = (&self.links[pair.left as usize], &self.links[pair.right as usize]);
            if left.gone || right.gone || (left.symbol, right.symbol) != pair.parts {
                continue;
            }
            let (previous, next) = (left.previous, right.next);
            self.links[pair.right as usize].gone = true;
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

    /// Symbols are numbers; two alike join to the next one, smaller ones first.
    fn double(left: u32, right: u32) -> Option<(u32, u32)> {
        (left == right && left < 40).then_some((left, left + 1))
    }

    fn merged(symbols: &[u32], join: impl FnMut(u32, u32) -> Option<(u32, u32)>) -> Vec<u32> {
        let mut out = Vec::new();
        Merger::new().run(symbols.iter().copied(), join, |symbol| out.push(symbol));
        out
    }

    /// The definition: look for the best pair among all, join it, begin again.
    fn slowly(symbols: &[u32], join: impl Fn(u32, u32) -> Option<(u32, u32)>) -> Vec<u32> {
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
    fn work_grows_with_the_text_alone() {
        let mut asked = 0;
        let symbols = vec![0; 1 << 20];
        let out = merged(&symbols, |left, right| {
            asked += 1;
            double(left, right)
        });
        assert_eq!(out, [20]);
        assert!(asked < 3 << 20, "{asked} pairs");
    }

    #[test]
    fn nothing_and_one_symbol_stay() {
        assert_eq!(merged(&[], double), []);
        assert_eq!(merged(&[7], double), [7]);
    }

    proptest! {
        #[test]
        fn the_queue_does_what_the_definition_says(
            symbols in prop::collection::vec(0u32..4, 0..60),
            ranks in prop::collection::vec(prop::option::of(0u32..10), 64),
        ) {
            // Eight symbols; each pair has a rank or none, and joins to one that is not yet used up.
            let join = |left: u32, right: u32| {
                let pair = (left * 8 + right) as usize;
                (left < 8 && right < 8).then(|| ranks[pair]).flatten().map(|rank| (rank, 4 + (left * 3 + right) % 6))
            };
            prop_assert_eq!(merged(&symbols, join), slowly(&symbols, join));
        }
    }
}
