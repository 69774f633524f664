//! How the thread of a queue waits while there are no packets.

#![expect(unsafe_code, reason = "the write trap takes an address")]

use std::num::NonZero;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use crate::queue::Queue;
use crate::write_trap::WriteTrap;

/// Poll intervals of a queue that was active within [`RECENT`], and of one that was not.
const POLL_INTERVALS: [Duration; 2] = [Duration::from_micros(50), Duration::from_millis(2)];
const RECENT: Duration = Duration::from_millis(50);

/// Idle strategy of one queue.
pub(crate) struct Idle {
    /// Wakes the thread when its doorbell is written; `None` if the system does not allow it or
    /// polling is configured.
    trap: Option<WriteTrap>,
}

impl Idle {
    /// `queue` must outlive the result; both belong to the queue's thread.
    pub(crate) fn new(queue: &Queue, poll: bool) -> Self {
        // SAFETY: `Queue::new` wrote the page, and the queue keeps it mapped.
        Self { trap: if poll { None } else { unsafe { WriteTrap::new(queue.doorbell_page()) } } }
    }

    /// Prepares the current thread; to be called on the queue's thread before the first wait.
    pub(crate) fn prepare_thread(&self) {
        if self.trap.is_none() {
            // The default timer slack is as long as the shortest poll interval. Failure only makes
            // intervals longer.
            let _ = rustix::thread::set_current_timer_slack(NonZero::new(1));
        }
    }

    /// Sleeps until there may be something to do. `index` is the next packet, `start` the start of
    /// the wait for it, and `ready` tells whether the thread must not sleep.
    pub(crate) fn sleep(&mut self, queue: &Queue, index: u64, start: Instant, ready: impl Fn() -> bool) {
        // A producer that has reserved a slot, or whose doorbell write covers it, may have rung
        // before the packet became valid and need not ring again. The trap would miss that packet;
        // polling does not.
        let reserved = || queue.amd().write_dispatch_id.load(Ordering::Acquire) > index;
        let expected = || reserved() || queue.doorbell_value() >= index.cast_signed();
        if let Some(trap) = &self.trap
            && !expected()
        {
            if trap.sleep(|| expected() || ready()).is_ok() {
                return;
            }
            self.trap = None;
        }
        queue.parker.park(POLL_INTERVALS[usize::from(start.elapsed() > RECENT)], ready);
    }
}
