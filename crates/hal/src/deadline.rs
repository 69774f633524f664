//! Deadlines: nothing in the HAL waits for ever.

use std::time::{Duration, Instant};

use crate::env::{self, Variable};
use crate::error::Error;

/// What `ROCI_TIMEOUT` means when it is unset or not a positive number.
const FALLBACK: Duration = Duration::from_secs(30);
/// The same for `ROCI_COMPILE_TIMEOUT`.
const COMPILE_FALLBACK: Duration = Duration::from_secs(600);
/// A ceiling (ten years), so that arithmetic on instants cannot overflow.
const LONGEST: Duration = Duration::from_secs(10 * 365 * 24 * 3600);

/// How long work of a device may take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// One command may run this long before the device counts as lost.
    pub command: Duration,
    /// The driver may compile one kernel this long.
    pub compile: Duration,
}

impl Default for Limits {
    /// What `ROCI_TIMEOUT` and `ROCI_COMPILE_TIMEOUT` set.
    fn default() -> Self {
        Self { command: default_timeout(), compile: default_compile_timeout() }
    }
}

/// A point in time after which a wait gives up.
#[derive(Clone, Copy, Debug)]
pub struct Deadline {
    started: Instant,
    at: Instant,
    /// Whether time in which the device compiles counts.
    counts_compilation: bool,
}

impl Deadline {
    /// `limit` from now.
    pub fn after(limit: Duration) -> Self {
        let started = Instant::now();
        Self { started, at: started + limit.min(LONGEST), counts_compilation: true }
    }

    /// `limit` of work from now: a wait for a device does not count the time in which the device compiles kernels, which has a limit of its own.
    pub fn of_work(limit: Duration) -> Self {
        Self { counts_compilation: false, ..Self::after(limit) }
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

    pub(crate) fn counts_compilation(&self) -> bool {
        self.counts_compilation
    }

    pub(crate) fn extend(&mut self, by: Duration) {
        self.at += by;
    }
}

impl Default for Deadline {
    /// [`default_timeout`] of work from now.
    fn default() -> Self {
        Self::of_work(default_timeout())
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
    seconds_of(&env::TIMEOUT, FALLBACK)
}

/// The limit that `ROCI_COMPILE_TIMEOUT` sets; 10 minutes when it is unset, and also when it is no positive number of seconds.
pub fn default_compile_timeout() -> Duration {
    compile_timeout_from_environment().unwrap_or(COMPILE_FALLBACK)
}

/// The limit that `ROCI_COMPILE_TIMEOUT` sets, 10 minutes when it is unset or empty; an error when it is no positive number of seconds.
pub fn compile_timeout_from_environment() -> Result<Duration, Error> {
    seconds_of(&env::COMPILE_TIMEOUT, COMPILE_FALLBACK)
}

fn seconds_of(variable: &'static Variable, fallback: Duration) -> Result<Duration, Error> {
    let Some(value) = variable.get() else { return Ok(fallback) };
    let expected = "a positive number of seconds";
    parse_seconds(&value).ok_or(Error::Environment { variable, value, expected })
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
