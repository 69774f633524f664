//! Spin windows: wait for short work by sleeping until shortly before its expected end, then
//! spinning.

use std::time::{Duration, Instant};

/// The margin before and after the expected end, as a fraction (1/2) of the expected duration.
const MARGIN_FRACTION: u32 = 2;
const MIN_MARGIN: Duration = Duration::from_micros(100);
const MAX_MARGIN: Duration = Duration::from_millis(2);

/// The time around the expected end of work in which a waiter spins instead of sleeping. Waking a
/// sleeping thread takes tens of microseconds, which is a large part of the run time of short work.
#[derive(Clone, Copy, Debug)]
pub struct SpinWindow {
    end: Instant,
    margin: Duration,
}

impl SpinWindow {
    /// The window of work that started at `start` and is expected to take `duration`.
    pub fn new(start: Instant, duration: Duration) -> Self {
        let margin = (duration / MARGIN_FRACTION).clamp(MIN_MARGIN, MAX_MARGIN);
        Self { end: start + duration, margin }
    }

    /// Time until the window opens; zero once it is open or over.
    pub fn time_to_sleep(&self) -> Duration {
        self.end.saturating_duration_since(Instant::now()).saturating_sub(self.margin)
    }

    /// Whether now is within the margin of the expected end. A wait that misses the window should
    /// sleep.
    pub fn is_open(&self) -> bool {
        let now = Instant::now();
        now + self.margin >= self.end && now <= self.end + self.margin
    }

    /// A short pause between two polls.
    pub fn spin() {
        (0..16).for_each(|_| std::hint::spin_loop());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spins_within_the_window_only() {
        let now = Instant::now();
        let far = SpinWindow::new(now, Duration::from_secs(60));
        assert!(!far.is_open() && far.time_to_sleep() > Duration::from_secs(50));
        let near = SpinWindow::new(now - Duration::from_secs(60), Duration::from_secs(60) + MIN_MARGIN);
        assert!(near.time_to_sleep() < MIN_MARGIN);
        let past = SpinWindow::new(now - Duration::from_secs(60), Duration::from_secs(1));
        assert!(!past.is_open() && past.time_to_sleep().is_zero());
    }
}
