//! Ctrl-C and SIGTERM: the first one asks the command to stop and show what it has, the second one ends the process.

use std::sync::atomic::{AtomicBool, Ordering};

use crate::exit::ExitStatus;

static ASKED: AtomicBool = AtomicBool::new(false);
/// Nothing is under way that could stop and show what it has.
static IDLE: AtomicBool = AtomicBool::new(false);

/// Starts to listen. Without a handler Ctrl-C ends the process at once, which is safe too, so a failure is no error.
pub(crate) fn listen() {
    listen_and(|| {});
}

/// Starts to listen, and has something done when somebody asks to stop.
pub(crate) fn listen_and(stop: impl Fn() + Send + 'static) {
    let _ = ctrlc::set_handler(move || {
        if ASKED.swap(true, Ordering::Relaxed) || IDLE.load(Ordering::Relaxed) {
            #[expect(clippy::exit, reason = "the command did not react to the first Ctrl-C; a device may hang")]
            std::process::exit(i32::from(ExitStatus::Interrupted.code()));
        }
        stop();
    });
}

/// Whether somebody asked to stop.
pub(crate) fn asked() -> bool {
    ASKED.load(Ordering::Relaxed)
}

/// Whether somebody asked to stop what was under way; the next to be under way may go on.
pub(crate) fn taken() -> bool {
    ASKED.swap(false, Ordering::Relaxed)
}

/// Waits for something from outside: meanwhile the first Ctrl-C ends the process.
pub(crate) fn at_once<T>(wait: impl FnOnce() -> T) -> T {
    IDLE.store(true, Ordering::Relaxed);
    let outcome = wait();
    IDLE.store(false, Ordering::Relaxed);
    outcome
}
