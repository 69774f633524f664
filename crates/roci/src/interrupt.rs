//! Ctrl-C and SIGTERM: the first one requests the command to stop and print its results so far, the
//! second one ends the process.

use std::sync::atomic::{AtomicBool, Ordering};

use crate::exit::ExitStatus;

static REQUESTED: AtomicBool = AtomicBool::new(false);
/// Set while the command waits for input and has nothing to stop.
static IDLE: AtomicBool = AtomicBool::new(false);

/// Installs the handler. Without it Ctrl-C ends the process at once, which is safe too, so a
/// failure is ignored.
pub(crate) fn listen() {
    listen_and(|| {});
}

/// Installs the handler with a callback for the first signal.
pub(crate) fn listen_and(stop: impl Fn() + Send + 'static) {
    let _ = ctrlc::set_handler(move || {
        if REQUESTED.swap(true, Ordering::Relaxed) || IDLE.load(Ordering::Relaxed) {
            #[expect(clippy::exit, reason = "the command did not react to the first Ctrl-C; a device may hang")]
            std::process::exit(i32::from(ExitStatus::Interrupted.code()));
        }
        stop();
    });
}

/// Whether a signal requested to stop.
pub(crate) fn requested() -> bool {
    REQUESTED.load(Ordering::Relaxed)
}

/// Whether a signal requested to stop; clears the request.
pub(crate) fn take() -> bool {
    REQUESTED.swap(false, Ordering::Relaxed)
}

/// Runs `wait`; meanwhile the first Ctrl-C ends the process.
pub(crate) fn exit_on_signal_during<T>(wait: impl FnOnce() -> T) -> T {
    IDLE.store(true, Ordering::Relaxed);
    let outcome = wait();
    IDLE.store(false, Ordering::Relaxed);
    outcome
}
