//! The parts of a segment, a run of them for each worker.
//!
//! A worker takes its own parts first, from the front: neighbouring parts of one step work on neighbouring memory, and so
//! do parts of the next, so that a worker finds in its cache what it wrote. Who has none left takes the last of another's.

use std::sync::atomic::{AtomicU64, Ordering};

/// Parts that are still to be taken, by worker.
pub(crate) struct Lanes(Vec<Lane>);

/// The first part and the one behind the last, in one word: both change at once.
struct Lane(AtomicU64);

impl Lanes {
    /// So many parts for so many workers.
    pub(crate) fn new(parts: usize, workers: usize) -> Self {
        let cut = |worker: usize| (parts as u64 * worker as u64).div_ceil(workers.max(1) as u64);
        Self((0..workers.max(1)).map(|worker| Lane(AtomicU64::new(cut(worker) << 32 | cut(worker + 1)))).collect())
    }

    /// Whether there is one to take.
    pub(crate) fn any(&self) -> bool {
        self.0.iter().any(|lane| !lane.is_empty())
    }

    /// A part that nobody has taken.
    pub(crate) fn take(&self, worker: usize) -> Option<usize> {
        let count = self.0.len();
        let own = self.0.get(worker)?.take(true);
        own.or_else(|| (1..count).find_map(|next| self.0[(worker + next) % count].take(false)))
    }
}

impl Lane {
    fn is_empty(&self) -> bool {
        let (first, end) = ends(self.0.load(Ordering::Relaxed));
        first >= end
    }

    /// Takes the first part, or the last.
    fn take(&self, front: bool) -> Option<usize> {
        let rest = |word: u64| {
            let (first, end) = ends(word);
            let rest = if front { (first + 1) << 32 | end } else { first << 32 | end.wrapping_sub(1) };
            (first < end).then_some(rest)
        };
        // What a part reads is ordered by the lock under which its job was found.
        let (first, end) = ends(self.0.fetch_update(Ordering::Relaxed, Ordering::Relaxed, rest).ok()?);
        Some(if front { first } else { end - 1 } as usize)
    }
}

fn ends(word: u64) -> (u64, u64) {
    (word >> 32, word & u64::from(u32::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn own_parts_come_first_and_then_the_last_of_others() {
        let lanes = Lanes::new(6, 2);
        let taken: Vec<_> = std::iter::from_fn(|| lanes.take(1)).collect();
        assert_eq!(taken, [3, 4, 5, 2, 1, 0]);
        assert!(!lanes.any() && lanes.take(0).is_none());
    }

    #[test]
    fn every_part_is_taken_once() {
        for (parts, workers) in [(0, 3), (1, 3), (2, 3), (1000, 3), (7, 1)] {
            let lanes = Lanes::new(parts, workers);
            let mut taken: Vec<usize> = std::thread::scope(|scope| {
                let lanes = &lanes;
                let take = |worker| scope.spawn(move || std::iter::from_fn(|| lanes.take(worker)).collect::<Vec<_>>());
                let threads: Vec<_> = (0..workers).map(take).collect();
                threads.into_iter().flat_map(|thread| thread.join().expect("no panic")).collect()
            });
            taken.sort_unstable();
            assert_eq!(taken, (0..parts).collect::<Vec<_>>());
        }
    }
}
