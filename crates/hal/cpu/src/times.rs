//! Start and end times of the steps of a segment, recorded by the workers that run their parts.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use roci_hal::profile::CommandTiming;

/// Start and end of each step, in nanoseconds since `began`.
pub(crate) struct StepTimes {
    began: Instant,
    starts: Vec<AtomicU64>,
    ends: Vec<AtomicU64>,
}

impl StepTimes {
    pub(crate) fn new(steps: usize) -> Self {
        let all = |value: u64| (0..steps).map(|_| AtomicU64::new(value)).collect();
        Self { began: Instant::now(), starts: all(u64::MAX), ends: all(0) }
    }

    /// Runs a part of a step and records its time.
    pub(crate) fn record<T>(&self, step: usize, work: impl FnOnce() -> T) -> T {
        let now = || self.began.elapsed().as_nanos() as u64;
        self.starts[step].fetch_min(now(), Ordering::Relaxed);
        let result = work();
        self.ends[step].fetch_max(now(), Ordering::Relaxed);
        result
    }

    /// When a step ran. A step without parts took no time.
    pub(crate) fn span(&self, step: usize, command: usize) -> CommandTiming {
        let end = self.ends[step].load(Ordering::Relaxed);
        let start = self.starts[step].load(Ordering::Relaxed).min(end);
        let at = |time: u64| self.began + Duration::from_nanos(time);
        CommandTiming { command, start: at(start), end: at(end) }
    }
}
