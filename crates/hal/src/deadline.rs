//! Deadlines: nothing in the HAL waits for ever.

use std::time::{Duration, Instant};

use crate::env;
use crate::error::Error;

/// What `ROCI_TIMEOUT` means when it is unset or not a positive number.
const FALLBACK: Duration = Duration::from_secs(30);
/// A ceiling (ten years), so that arithmetic on instants cannot overflow.
const LONGEST: Duration = Duration::from_secs(10 * 365 * 24 * 3600);

/// A point in time after which a wait gives up.
#[derive(Clone, Copy, Debug)]
pub struct Deadline {
    started: Instant,
    at: Instant,
}

impl Deadline {
    /// `limit` from now.
    pub fn after(limit: Duration) -> Self {
        let started = Instant::now();
        Self { started, at: started + limit.min(LONGEST) }
    }

    /// At once: a poll.
    pub fn now() -> Self {
        Self::after(Duration::ZERO)
    }

    /// Time left; zero when it has passed.
    pub fn remaining(&self) -> Duration {
        self.at.saturating_duration_since(Instant::now())
    }

    /// How long the waiter has waited so far.
    pub fn waited(&self) -> Duration {
        self.started.elapsed()
    }
}

impl Default for Deadline {
    /// [`default_timeout`] from now.
    fn default() -> Self {
        Self::after(default_timeout())
    }
}

impl From<Duration> for Deadline {
    fn from(limit: Duration) -> Self {
        Self::after(limit)
    }
}

/// The limit that `ROCI_TIMEOUT` sets; 30 s when it is unset, and also when it is no positive number of seconds.
///
/// A library has nobody to tell: programs call [`timeout_from_environment`] once, at their start, and refuse what this
/// one passes over.
pub fn default_timeout() -> Duration {
    timeout_from_environment().unwrap_or(FALLBACK)
}

/// The limit that `ROCI_TIMEOUT` sets, 30 s when it is unset or empty; an error when it is no positive number of seconds.
pub fn timeout_from_environment() -> Result<Duration, Error> {
    let Some(value) = env::TIMEOUT.get() else { return Ok(FALLBACK) };
    parse_seconds(&value).ok_or(Error::Environment {
        variable: &env::TIMEOUT,
        value,
        expected: "a positive number of seconds",
    })
}

/// Seconds as people write them (`30`, `0.5`); `None` unless positive and finite.
pub fn parse_seconds(text: &str) -> Option<Duration> {
    let seconds: f64 = text.trim().parse().ok()?;
    (seconds.is_finite() && seconds > 0.0).then(|| Duration::try_from_secs_f64(seconds).unwrap_or(LONGEST).min(LONGEST))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seconds_parse_or_are_refused() {
        assert_eq!(parse_seconds("0.5"), Some(Duration::from_millis(500)));
        assert_eq!(parse_seconds(" 30 "), Some(Duration::from_secs(30)));
        assert_eq!(parse_seconds("1e300"), Some(LONGEST));
        for wrong in ["0", "-0", "-1", "nan", "inf", "-inf", "30s", "1e-400", "soon", ""] {
            assert_eq!(parse_seconds(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn the_longest_deadline_does_not_overflow() {
        assert!(Deadline::after(Duration::MAX).remaining() > Duration::from_secs(1));
    }
}
