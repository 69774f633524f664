//! How the thread of a queue rests while there are no packets.

#![expect(unsafe_code, reason = "the page of a doorbell is watched")]

use std::num::NonZero;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use parking_lot::{Condvar, Mutex};

use crate::queue::Queue;
use crate::trap::Trap;

/// How long naps are soon after work, and later.
const NAPS: [Duration; 2] = [Duration::from_micros(50), Duration::from_millis(2)];
/// What soon means.
const SOON: Duration = Duration::from_millis(50);

/// How the thread of a queue rests.
pub(crate) struct Rest {
    /// Where the system allows it, the thread sleeps until its doorbell is written; otherwise it looks every now and then.
    trap: Option<Trap>,
}

impl Rest {
    /// For a queue that was just made, and that outlives this.
    pub(crate) fn new(queue: &Queue, polls: bool) -> Self {
        // SAFETY: the page was written when the queue was made, and the queue keeps it mapped.
        Self { trap: if polls { None } else { unsafe { Trap::new(queue.doorbell_page()) } } }
    }

    /// Prepares the thread.
    pub(crate) fn begin(&self) {
        if self.trap.is_none() {
            // Naps are no longer than what the kernel may add to them; should it not agree, they take longer.
            let _ = rustix::thread::set_current_timer_slack(NonZero::new(1));
        }
    }

    /// Rests before the packet of a number, for which it has waited since `start`. `look` tells whether there is something to do.
    pub(crate) fn take(&mut self, queue: &Queue, index: u64, start: Instant, look: impl Fn() -> bool) {
        // Someone who has a place for a packet, or whose doorbell has told of it, may have rung before the packet is valid, and
        // need not ring again.
        let placed = || queue.amd().write_dispatch_id.load(Ordering::Acquire) > index;
        let expected = || placed() || queue.rung() >= index.cast_signed();
        if let Some(trap) = &self.trap
            && !expected()
        {
            if trap.sleep(|| expected() || look()).is_ok() {
                return;
            }
            self.trap = None;
        }
        queue.bell.sleep(NAPS[usize::from(start.elapsed() > SOON)], look);
    }
}

/// Wakes the thread of a queue from a nap.
#[derive(Default)]
pub(crate) struct Bell {
    sleeping: AtomicBool,
    rung: Mutex<bool>,
    ring: Condvar,
}

impl Bell {
    /// Wakes the thread, should it sleep.
    pub(crate) fn ring(&self) {
        if self.sleeping.load(Ordering::SeqCst) {
            *self.rung.lock() = true;
            self.ring.notify_one();
        }
    }

    /// Sleeps until it rings, but not for long: doorbells are also written without a call. `look` is asked once more before.
    fn sleep(&self, nap: Duration, look: impl Fn() -> bool) {
        self.sleeping.store(true, Ordering::SeqCst);
        let mut rung = self.rung.lock();
        if !*rung && !look() {
            self.ring.wait_for(&mut rung, nap);
        }
        *rung = false;
        drop(rung);
        self.sleeping.store(false, Ordering::SeqCst);
    }
}
