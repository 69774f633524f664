//! Where workers run: each on a processor of its own where there is one for each.
//!
//! A worker that is woken runs where its waker does more often than not, and waits for it, while the waker waits for the
//! worker. On a busy machine that made two threads slower than one.

use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

/// The processors of so many workers; none where there are more or fewer processors than workers.
pub(crate) fn places(workers: usize) -> Vec<usize> {
    let Ok(allowed) = sched_getaffinity(None) else { return Vec::new() };
    let processors: Vec<usize> = (0..CpuSet::MAX_CPU).filter(|&processor| allowed.is_set(processor)).collect();
    if processors.len() == workers { processors } else { Vec::new() }
}

/// Keeps this thread on a processor. It goes on elsewhere if that cannot be had.
pub(crate) fn stay(processor: usize) {
    let mut own = CpuSet::new();
    own.set(processor);
    let _ = sched_setaffinity(None, &own);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_for_each_worker_or_none() {
        let all = std::thread::available_parallelism().map_or(1, usize::from);
        assert!(places(all + 1).is_empty());
        std::thread::spawn(move || {
            for place in places(all) {
                stay(place);
                assert_eq!(places(1), [place]);
            }
        })
        .join()
        .expect("no panic");
    }
}
