//! Deadlines and timeouts: every wait in the HAL is bounded.

use std::time::{Duration, Instant};

use crate::error::Error;
use roci_base::env::{self, Variable};

/// Default of `ROCI_TIMEOUT`.
const DEFAULT_TIMEOUT: Duration = Duration::from_secs(30);
/// Default of `ROCI_COMPILE_TIMEOUT`.
const DEFAULT_COMPILE_TIMEOUT: Duration = Duration::from_secs(600);
/// Maximum timeout (ten years), so that arithmetic on instants cannot overflow.
const MAX_TIMEOUT: Duration = Duration::from_secs(10 * 365 * 24 * 3600);

/// How long work on a device may take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timeouts {
    /// Maximum run time of one command. A longer one loses the device.
    pub command: Duration,
    /// Maximum time to compile one kernel.
    pub compile: Duration,
}

impl Default for Timeouts {
    /// The values of `ROCI_TIMEOUT` and `ROCI_COMPILE_TIMEOUT`.
    fn default() -> Self {
        Self { command: default_timeout(), compile: default_compile_timeout() }
    }
}

/// The time at which a wait fails.
#[derive(Clone, Copy, Debug)]
pub struct Deadline {
    started: Instant,
    at: Instant,
    /// Whether time that the device spends compiling counts.
    counts_compilation: bool,
}

impl Deadline {
    /// `limit` from now.
    pub fn after(limit: Duration) -> Self {
        let started = Instant::now();
        Self { started, at: started + limit.min(MAX_TIMEOUT), counts_compilation: true }
    }

    /// `limit` from now, extended by the time that the device spends compiling kernels. Compilation
    /// has its own timeout ([`Timeouts::compile`]).
    pub fn excluding_compilation(limit: Duration) -> Self {
        Self { counts_compilation: false, ..Self::after(limit) }
    }

    /// Now: a wait with this deadline is a poll.
    pub fn now() -> Self {
        Self::after(Duration::ZERO)
    }

    /// Time left; zero after the deadline.
    pub fn remaining(&self) -> Duration {
        self.at.saturating_duration_since(Instant::now())
    }

    /// Time since the deadline was created.
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
    /// [`default_timeout`] from now, excluding compilation.
    fn default() -> Self {
        Self::excluding_compilation(default_timeout())
    }
}

impl From<Duration> for Deadline {
    fn from(limit: Duration) -> Self {
        Self::after(limit)
    }
}

/// The value of `ROCI_TIMEOUT`; 30 s if it is unset or invalid.
///
/// Invalid values are ignored here because a library cannot report them. Programs call
/// [`timeout_from_environment`] at start-up and report the error.
pub fn default_timeout() -> Duration {
    timeout_from_environment().unwrap_or(DEFAULT_TIMEOUT)
}

/// The value of `ROCI_TIMEOUT`; 30 s if it is unset or empty.
///
/// # Errors
/// If it is not a positive number of seconds.
pub fn timeout_from_environment() -> Result<Duration, Error> {
    timeout_variable(&env::TIMEOUT, DEFAULT_TIMEOUT)
}

/// The value of `ROCI_COMPILE_TIMEOUT`; 10 minutes if it is unset or invalid.
pub fn default_compile_timeout() -> Duration {
    compile_timeout_from_environment().unwrap_or(DEFAULT_COMPILE_TIMEOUT)
}

/// The value of `ROCI_COMPILE_TIMEOUT`; 10 minutes if it is unset or empty.
///
/// # Errors
/// If it is not a positive number of seconds.
pub fn compile_timeout_from_environment() -> Result<Duration, Error> {
    timeout_variable(&env::COMPILE_TIMEOUT, DEFAULT_COMPILE_TIMEOUT)
}

fn timeout_variable(variable: &'static Variable, fallback: Duration) -> Result<Duration, Error> {
    let Some(value) = variable.get() else { return Ok(fallback) };
    let expected = "a positive number of seconds";
    parse_seconds(&value).ok_or(Error::Environment { variable, value, expected })
}

/// Parses a number of seconds (`30`, `0.5`). Returns `None` unless it is positive and finite.
pub fn parse_seconds(text: &str) -> Option<Duration> {
    let seconds: f64 = text.trim().parse().ok()?;
    (seconds.is_finite() && seconds > 0.0)
        .then(|| Duration::try_from_secs_f64(seconds).unwrap_or(MAX_TIMEOUT).min(MAX_TIMEOUT))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seconds_parse_or_are_rejected() {
        assert_eq!(parse_seconds("0.5"), Some(Duration::from_millis(500)));
        assert_eq!(parse_seconds(" 30 "), Some(Duration::from_secs(30)));
        assert_eq!(parse_seconds("1e300"), Some(MAX_TIMEOUT));
        for wrong in ["0", "-0", "-1", "nan", "inf", "-inf", "30s", "1e-400", "soon", ""] {
            assert_eq!(parse_seconds(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn the_longest_deadline_does_not_overflow() {
        assert!(Deadline::after(Duration::MAX).remaining() > Duration::from_secs(1));
    }
}
