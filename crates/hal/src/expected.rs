//! When work should end, by how long it took before.

use std::time::{Duration, Instant};

/// How close to the end one begins to look, as a part of the time that is expected, and the limits of that.
const PART: u32 = 2;
const LEAST: Duration = Duration::from_micros(100);
const MOST: Duration = Duration::from_millis(2);

/// When work should end. Whoever waits for it sleeps until its end is near and then looks again and again for a short while: a thread that
/// sleeps takes some ten microseconds to wake up, which is much of the time of short work that runs over and over.
#[derive(Clone, Copy, Debug)]
pub struct Expected {
    end: Instant,
    margin: Duration,
}

impl Expected {
    /// Of work that began then and took about so long before.
    pub fn new(began: Instant, about: Duration) -> Self {
        Self { end: began + about, margin: (about / PART).clamp(LEAST, MOST) }
    }

    /// How long one may sleep; zero if the end is near, or past.
    pub fn rest(&self) -> Duration {
        self.end.saturating_duration_since(Instant::now()).saturating_sub(self.margin)
    }

    /// Whether the end is near: neither far ahead, nor so long past that nothing is known of it any more.
    pub fn is_near(&self) -> bool {
        let now = Instant::now();
        now + self.margin >= self.end && now <= self.end + self.margin
    }

    /// A moment between two looks.
    pub fn pause() {
        (0..16).for_each(|_| std::hint::spin_loop());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn far_near_and_past() {
        let now = Instant::now();
        let far = Expected::new(now, Duration::from_secs(60));
        assert!(!far.is_near() && far.rest() > Duration::from_secs(50));
        let near = Expected::new(now - Duration::from_secs(60), Duration::from_secs(60) + LEAST);
        assert!(near.rest() < LEAST);
        let past = Expected::new(now - Duration::from_secs(60), Duration::from_secs(1));
        assert!(!past.is_near() && past.rest().is_zero());
    }
}
