//! Timeouts for OpenCL calls that have none.

use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::Duration;

use roci_base::exit::ExitGuard;
use roci_hal::error::InFlight;
use roci_hal::{Deadline, Error};

use crate::cl::{CommandStatus, Event};
use crate::error::ClError;

/// How long a wait polls without sleeping.
const YIELD_TIME: Duration = Duration::from_micros(100);
/// Minimum and maximum sleep between polls.
const SLEEP_RANGE: [Duration; 2] = [Duration::from_micros(20), Duration::from_millis(1)];

/// Why a wait ended before its command completed.
pub(crate) enum WaitError {
    /// The command failed.
    Failed(ClError),
    /// The deadline passed; the command may still be in flight.
    TimedOut,
}

/// Waits for a command.
pub(crate) fn wait(event: &Event, deadline: Deadline) -> Result<(), WaitError> {
    let mut sleep = SLEEP_RANGE[0];
    loop {
        if event.status().map_err(WaitError::Failed)? == CommandStatus::Complete {
            return Ok(());
        }
        if deadline.remaining().is_zero() {
            return Err(WaitError::TimedOut);
        }
        if deadline.waited() < YIELD_TIME {
            std::thread::yield_now();
        } else {
            std::thread::sleep(sleep.min(deadline.remaining()));
            sleep = (sleep * 2).min(SLEEP_RANGE[1]);
        }
    }
}

/// The error for an expired deadline.
pub(crate) fn timeout_error(device: &str, doing: &str, deadline: Deadline) -> Error {
    let device = format!("{device} while {doing}");
    Error::Timeout { device, waited: deadline.waited(), in_flight: Box::new(InFlight::default()) }
}

/// Runs a call that may never return on its own thread. After a timeout the thread is left behind,
/// and process exit waits for it for a limited time.
pub(crate) fn call_with_timeout<T: Send + 'static>(
    device: &str,
    doing: &str,
    call: impl FnOnce() -> T + Send + 'static,
) -> Result<T, Error> {
    let deadline = Deadline::default();
    let (answer, answered) = mpsc::channel();
    let thread = std::thread::Builder::new().name("opencl-call".into()).spawn(move || {
        let _guard = ExitGuard::new();
        // The receiver is gone after a timeout.
        let _ = answer.send(call());
    });
    thread.map_err(|error| {
        crate::error::unavailable("a thread", error, "end other processes, or raise the thread limit (`ulimit -u`)")
    })?;
    answered.recv_timeout(deadline.remaining()).map_err(|error| match error {
        RecvTimeoutError::Timeout => timeout_error(device, doing, deadline),
        RecvTimeoutError::Disconnected => {
            let reason = format!("the driver panicked while {doing}");
            crate::error::unavailable(device, reason, "report this as a bug of the driver")
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_timeouts_and_panics_are_distinguished() {
        assert!(matches!(call_with_timeout("opencl", "calling", || 7), Ok(7)));
        let silent = call_with_timeout("opencl", "calling", || -> u32 { panic!("never") });
        assert!(silent.is_err_and(|error| error.to_string().contains("panicked while calling")));
    }
}
