//! The end of the process: it waits for threads that are about to close a device.
//!
//! A device is closed by whoever holds it last. That may be the thread that told of the last completion, a moment after the
//! program went on and ended: Vulkan's libraries would be torn down under its hands.

#![expect(unsafe_code, reason = "declares a function of the C library")]

use std::ffi::c_int;
use std::sync::Once;
use std::time::Duration;

use parking_lot::{Condvar, Mutex};

/// Threads between telling of a completion and being idle again or gone.
static BUSY: Mutex<usize> = Mutex::new(0);
static IDLE: Condvar = Condvar::new();
/// How long the end of the process waits for them at most.
const PATIENCE: Duration = Duration::from_secs(2);

unsafe extern "C" {
    safe fn atexit(function: extern "C" fn()) -> c_int;
}

/// A thread that the end of the process waits for.
pub(crate) struct Busy(());

impl Busy {
    pub(crate) fn new() -> Self {
        *BUSY.lock() += 1;
        Self(())
    }
}

impl Drop for Busy {
    fn drop(&mut self) {
        *BUSY.lock() -= 1;
        IDLE.notify_all();
    }
}

extern "C" fn wait() {
    let mut busy = BUSY.lock();
    // Handlers run on the thread that ends the process, so it waits for none of its own.
    let _ = IDLE.wait_while_for(&mut busy, |busy| *busy > 0, PATIENCE);
}

/// Has the end of the process wait. To be called once Vulkan's libraries are loaded: what is registered last runs first.
pub(crate) fn guard() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        // Without it everything works but for the rare race.
        let _ = atexit(wait);
    });
}
