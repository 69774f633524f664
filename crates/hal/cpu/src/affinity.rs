//! Thread affinity: pins each worker to a processor of its own if there are as many processors as
//! workers.
//!
//! Without pinning, the scheduler often places a woken worker on its waker's processor, and the two
//! wait for each other. On a busy machine this made two threads slower than one.

use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

/// One processor per worker; empty unless the process may use exactly as many processors as there
/// are workers.
pub(crate) fn processors_for(workers: usize) -> Vec<usize> {
    let Ok(allowed) = sched_getaffinity(None) else { return Vec::new() };
    let processors: Vec<usize> = (0..CpuSet::MAX_CPU).filter(|&processor| allowed.is_set(processor)).collect();
    if processors.len() == workers { processors } else { Vec::new() }
}

/// Pins the calling thread to a processor. On failure the thread stays unpinned.
pub(crate) fn pin(processor: usize) {
    let mut own = CpuSet::new();
    own.set(processor);
    let _ = sched_setaffinity(None, &own);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_worker_gets_a_processor_or_none_does() {
        let all = std::thread::available_parallelism().map_or(1, usize::from);
        assert!(processors_for(all + 1).is_empty());
        std::thread::spawn(move || {
            for processor in processors_for(all) {
                pin(processor);
                assert_eq!(processors_for(1), [processor]);
            }
        })
        .join()
        .expect("no panic");
    }
}
