//! Waiting for signals.
//!
//! A change of a signal through the runtime wakes all waiters. Kernels and clients also write
//! signals in memory without a call, so waiters poll as well, at intervals that are a small
//! fraction of the time waited so far.

use std::hint::spin_loop;
use std::sync::atomic::{AtomicUsize, Ordering, fence};
use std::time::{Duration, Instant};

use parking_lot::{Condvar, Mutex};

/// How long to spin before sleeping; most kernels finish within it.
const SPIN: Duration = Duration::from_micros(20);
/// The same for `HSA_WAIT_STATE_ACTIVE`.
const ACTIVE_SPIN: Duration = Duration::from_micros(500);
/// Shortest and longest sleep.
const SLEEP_RANGE: [Duration; 2] = [Duration::from_micros(50), Duration::from_millis(20)];
/// A sleep takes at most one part in `SLEEP_DIVISOR` of the time waited so far.
const SLEEP_DIVISOR: u32 = 50;

static WAITERS: AtomicUsize = AtomicUsize::new(0);
static LOCK: Mutex<()> = Mutex::new(());
static CHANGED: Condvar = Condvar::new();

/// Wakes all waiters after a signal has changed.
pub(crate) fn notify() {
    // Orders the change before the load of the counter. A waiter increments the counter before its
    // last check.
    fence(Ordering::SeqCst);
    if WAITERS.load(Ordering::Relaxed) > 0 {
        // A waiter holds the lock from its last check until it sleeps, so the notification cannot
        // come in between.
        drop(LOCK.lock());
        CHANGED.notify_all();
    }
}

/// Waits until `check` returns a value or the deadline passes. `active` spins longer before it
/// sleeps.
pub(crate) fn wait_until<T>(
    deadline: Option<Instant>,
    active: bool,
    mut check: impl FnMut() -> Option<T>,
) -> Option<T> {
    if let Some(found) = check() {
        return Some(found);
    }
    let start = Instant::now();
    let spin = if active { ACTIVE_SPIN } else { SPIN };
    loop {
        for _ in 0..32 {
            spin_loop();
        }
        if let Some(found) = check() {
            return Some(found);
        }
        let now = Instant::now();
        if deadline.is_some_and(|deadline| now >= deadline) {
            return None;
        }
        if now - start < spin {
            std::thread::yield_now();
            continue;
        }
        let sleep = ((now - start) / SLEEP_DIVISOR).clamp(SLEEP_RANGE[0], SLEEP_RANGE[1]);
        let until = deadline.map_or(now + sleep, |deadline| deadline.min(now + sleep));
        WAITERS.fetch_add(1, Ordering::SeqCst);
        let mut guard = LOCK.lock();
        let found = check();
        if found.is_none() {
            CHANGED.wait_until(&mut guard, until);
        }
        drop(guard);
        WAITERS.fetch_sub(1, Ordering::SeqCst);
        if found.is_some() {
            return found;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::AtomicBool;

    #[test]
    fn waiters_see_changes_with_and_without_a_notification() {
        for notified in [true, false] {
            let value = AtomicBool::new(false);
            std::thread::scope(|scope| {
                scope.spawn(|| {
                    std::thread::sleep(Duration::from_millis(5));
                    value.store(true, Ordering::SeqCst);
                    if notified {
                        notify();
                    }
                });
                let found = wait_until(None, false, || value.load(Ordering::SeqCst).then_some(7));
                assert_eq!(found, Some(7));
            });
        }
    }

    #[test]
    fn a_wait_ends_at_its_deadline() {
        let start = Instant::now();
        let never = wait_until(Some(start + Duration::from_millis(5)), false, || None::<()>);
        assert!(never.is_none() && start.elapsed() >= Duration::from_millis(5));
    }
}
