//! Ctrl-C and SIGTERM: the first one asks the command to stop and show what it has, the second one ends the process.

use std::sync::atomic::{AtomicBool, Ordering};

use crate::exit::ExitStatus;

static ASKED: AtomicBool = AtomicBool::new(false);

/// Starts to listen. Without a handler Ctrl-C ends the process at once, which is safe too, so a failure is no error.
pub(crate) fn listen() {
    let _ = ctrlc::set_handler(|| {
        if ASKED.swap(true, Ordering::Relaxed) {
            #[expect(clippy::exit, reason = "the command did not react to the first Ctrl-C; a device may hang")]
            std::process::exit(i32::from(ExitStatus::Interrupted.code()));
        }
    });
}

/// Whether somebody asked to stop.
pub(crate) fn asked() -> bool {
    ASKED.load(Ordering::Relaxed)
}
