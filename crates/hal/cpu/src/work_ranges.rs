//! Work stealing over the parts of a segment: one contiguous range of parts per worker.
//!
//! A worker takes its own parts from the front. Adjacent parts work on adjacent memory, in this
//! step and in the next, so a worker finds its own writes in its cache. A worker without parts
//! steals the last part of another worker's range.

use std::sync::atomic::{AtomicU64, Ordering};

/// Per worker: the parts that have not been taken.
pub(crate) struct WorkRanges(Vec<WorkRange>);

/// Start (high half) and end (low half) of a range in one word, so that both are updated
/// atomically. Each has its own cache line: workers take parts at the same time.
#[repr(align(64))]
struct WorkRange(AtomicU64);

impl WorkRanges {
    pub(crate) fn new(parts: usize, workers: usize) -> Self {
        let cut = |worker: usize| (parts as u64 * worker as u64).div_ceil(workers.max(1) as u64);
        Self((0..workers.max(1)).map(|worker| WorkRange(AtomicU64::new(cut(worker) << 32 | cut(worker + 1)))).collect())
    }

    /// Whether any part is left.
    pub(crate) fn any(&self) -> bool {
        self.0.iter().any(|range| !range.is_empty())
    }

    /// Takes a part: the worker's own first, then one of another worker.
    pub(crate) fn take(&self, worker: usize) -> Option<usize> {
        let count = self.0.len();
        let own = self.0.get(worker)?.take(true);
        own.or_else(|| (1..count).find_map(|next| self.0[(worker + next) % count].take(false)))
    }
}

impl WorkRange {
    fn is_empty(&self) -> bool {
        let (first, end) = ends(self.0.load(Ordering::Relaxed));
        first >= end
    }

    /// Takes the first part or, with `front` false, the last.
    fn take(&self, front: bool) -> Option<usize> {
        let rest = |word: u64| {
            let (first, end) = ends(word);
            let rest = if front { (first + 1) << 32 | end } else { first << 32 | end.wrapping_sub(1) };
            (first < end).then_some(rest)
        };
        // Relaxed: `Job::open` orders the memory that parts read.
        let (first, end) = ends(self.0.fetch_update(Ordering::Relaxed, Ordering::Relaxed, rest).ok()?);
        Some(if front { first } else { end - 1 } as usize)
    }
}

/// Start and end of a packed range.
fn ends(word: u64) -> (u64, u64) {
    (word >> 32, word & u64::from(u32::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_worker_runs_its_own_parts_then_steals_from_the_back() {
        let ranges = WorkRanges::new(6, 2);
        let taken: Vec<_> = std::iter::from_fn(|| ranges.take(1)).collect();
        assert_eq!(taken, [3, 4, 5, 2, 1, 0]);
        assert!(!ranges.any() && ranges.take(0).is_none());
    }

    #[test]
    fn every_part_is_taken_once() {
        for (parts, workers) in [(0, 3), (1, 3), (2, 3), (1000, 3), (7, 1)] {
            let ranges = WorkRanges::new(parts, workers);
            let mut taken: Vec<usize> = std::thread::scope(|scope| {
                let ranges = &ranges;
                let take = |worker| scope.spawn(move || std::iter::from_fn(|| ranges.take(worker)).collect::<Vec<_>>());
                let threads: Vec<_> = (0..workers).map(take).collect();
                threads.into_iter().flat_map(|thread| thread.join().expect("no panic")).collect()
            });
            taken.sort_unstable();
            assert_eq!(taken, (0..parts).collect::<Vec<_>>());
        }
    }
}
