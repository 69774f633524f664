//! Deadlines for calls that OpenCL itself has none for.

use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::Duration;

use roci_hal::error::InFlight;
use roci_hal::exit::Busy;
use roci_hal::{Deadline, Error};

use crate::cl::{Event, Stage};
use crate::error::Failed;

/// How long a wait keeps asking at once before it sleeps between questions.
const EAGER: Duration = Duration::from_micros(100);
/// The shortest and the longest sleep.
const NAPS: [Duration; 2] = [Duration::from_micros(20), Duration::from_millis(1)];

/// How a wait ended without its event.
pub(crate) enum Missed {
    /// The command failed.
    Failed(Failed),
    /// The deadline passed; the command may still be under way.
    Late,
}

/// Waits for a command.
pub(crate) fn wait(event: &Event, deadline: Deadline) -> Result<(), Missed> {
    let mut nap = NAPS[0];
    loop {
        if event.stage().map_err(Missed::Failed)? == Stage::Complete {
            return Ok(());
        }
        if deadline.remaining().is_zero() {
            return Err(Missed::Late);
        }
        if deadline.waited() < EAGER {
            std::thread::yield_now();
        } else {
            std::thread::sleep(nap.min(deadline.remaining()));
            nap = (nap * 2).min(NAPS[1]);
        }
    }
}

/// The error of a deadline that passed.
pub(crate) fn late(device: &str, doing: &str, deadline: Deadline) -> Error {
    let device = format!("{device} while {doing}");
    Error::Timeout { device, waited: deadline.waited(), work: Box::new(InFlight::default()) }
}

/// Runs a call that may never return on a thread of its own, which is then left behind; the end of the process waits for it
/// a while.
pub(crate) fn within<T: Send + 'static>(
    device: &str,
    doing: &str,
    call: impl FnOnce() -> T + Send + 'static,
) -> Result<T, Error> {
    let deadline = Deadline::default();
    let (answer, answered) = mpsc::channel();
    let thread = std::thread::Builder::new().name("opencl-call".into()).spawn(move || {
        let _busy = Busy::new();
        // Nobody listens any more once the deadline has passed.
        let _ = answer.send(call());
    });
    thread.map_err(|error| crate::error::unavailable("a thread", error, "end some processes"))?;
    answered.recv_timeout(deadline.remaining()).map_err(|error| match error {
        RecvTimeoutError::Timeout => late(device, doing, deadline),
        RecvTimeoutError::Disconnected => {
            let reason = format!("the driver panicked while {doing}");
            crate::error::unavailable(device, reason, "report this as a fault of the driver")
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_comes_through_and_a_panic_is_told_from_a_late_one() {
        assert!(matches!(within("opencl", "calling", || 7), Ok(7)));
        let silent = within("opencl", "calling", || -> u32 { panic!("never") });
        assert!(silent.is_err_and(|error| error.to_string().contains("panicked while calling")));
    }
}
