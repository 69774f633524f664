//! Parking of a queue's thread.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use parking_lot::{Condvar, Mutex};

/// Parks one thread. Unlike [`std::thread::park`], unparking a running thread costs one atomic
/// load.
#[derive(Default)]
pub(crate) struct Parker {
    parked: AtomicBool,
    unparked: Mutex<bool>,
    condition: Condvar,
}

impl Parker {
    /// Wakes the thread if it is parked.
    pub(crate) fn unpark(&self) {
        if self.parked.load(Ordering::SeqCst) {
            *self.unparked.lock() = true;
            self.condition.notify_one();
        }
    }

    /// Parks the thread until [`Parker::unpark`] or the timeout, unless `ready` holds after it is
    /// marked as parked.
    pub(crate) fn park(&self, timeout: Duration, ready: impl Fn() -> bool) {
        self.parked.store(true, Ordering::SeqCst);
        let mut unparked = self.unparked.lock();
        if !*unparked && !ready() {
            self.condition.wait_for(&mut unparked, timeout);
        }
        *unparked = false;
        drop(unparked);
        self.parked.store(false, Ordering::SeqCst);
    }
}
