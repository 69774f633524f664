//! Busy waiting for another thread.

use std::time::{Duration, Instant};

/// How long to spin before yielding to other threads. Longer than most kernels of a single token
/// take.
const SPIN_BEFORE_YIELD: Duration = Duration::from_micros(50);
/// Iterations between two reads of the clock, about a microsecond.
const SPINS_PER_CLOCK_READ: u32 = 32;

/// A busy wait with a time limit.
pub(crate) struct Spin {
    limit: Duration,
    spins: u32,
    /// When the clock was first read.
    since: Option<Instant>,
}

impl Spin {
    pub(crate) fn new(limit: Duration) -> Self {
        Self { limit, spins: 0, since: None }
    }

    /// Spins briefly. Returns false once the limit is reached.
    ///
    /// After [`SPIN_BEFORE_YIELD`], it yields: the caller may be waiting for a thread that has no processor.
    pub(crate) fn wait(&mut self) -> bool {
        self.spins += 1;
        if self.spins < SPINS_PER_CLOCK_READ {
            std::hint::spin_loop();
            return true;
        }
        self.spins = 0;
        let waited = self.since.get_or_insert_with(Instant::now).elapsed();
        if waited > SPIN_BEFORE_YIELD {
            std::thread::yield_now();
        }
        waited <= self.limit
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waiting_ends_at_the_limit_and_not_before() {
        let limit = Duration::from_millis(2);
        let start = Instant::now();
        let mut spin = Spin::new(limit);
        while spin.wait() {}
        assert!(start.elapsed() >= limit);
    }
}
