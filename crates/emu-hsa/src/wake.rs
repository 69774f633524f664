//! Waiting for signals.
//!
//! Whoever changes a signal through the runtime wakes those who wait. Kernels and clients also write signals in memory without
//! a call, so that a sleep never lasts long: a small part of the time that was waited already.

use std::hint::spin_loop;
use std::sync::atomic::{AtomicUsize, Ordering, fence};
use std::time::{Duration, Instant};

use parking_lot::{Condvar, Mutex};

/// How long to look again and again before sleeping: most kernels are over within it.
const SPIN: Duration = Duration::from_micros(20);
/// The same for those who want to spin.
const ACTIVE_SPIN: Duration = Duration::from_micros(500);
/// How long the shortest sleep is, and the longest.
const NAPS: [Duration; 2] = [Duration::from_micros(50), Duration::from_millis(20)];
/// Which part of the time that was waited a sleep may take.
const PART: u32 = 50;

static WAITERS: AtomicUsize = AtomicUsize::new(0);
static LOCK: Mutex<()> = Mutex::new(());
static CHANGED: Condvar = Condvar::new();

/// Tells all who wait that a signal has changed.
pub(crate) fn changed() {
    // The change comes before the look at who waits; a waiter counts itself before its last look at the signal.
    fence(Ordering::SeqCst);
    if WAITERS.load(Ordering::Relaxed) > 0 {
        // Whoever counts itself now and has not begun to sleep holds the lock.
        drop(LOCK.lock());
        CHANGED.notify_all();
    }
}

/// Waits until `check` gives something, or until the deadline.
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
        let nap = ((now - start) / PART).clamp(NAPS[0], NAPS[1]);
        let until = deadline.map_or(now + nap, |deadline| deadline.min(now + nap));
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
    fn a_change_is_seen_with_and_without_being_told() {
        for told in [true, false] {
            let value = AtomicBool::new(false);
            std::thread::scope(|scope| {
                scope.spawn(|| {
                    std::thread::sleep(Duration::from_millis(5));
                    value.store(true, Ordering::SeqCst);
                    if told {
                        changed();
                    }
                });
                let found = wait_until(None, false, || value.load(Ordering::SeqCst).then_some(7));
                assert_eq!(found, Some(7));
            });
        }
    }

    #[test]
    fn a_deadline_ends_it() {
        let start = Instant::now();
        let never = wait_until(Some(start + Duration::from_millis(5)), false, || None::<()>);
        assert!(never.is_none() && start.elapsed() >= Duration::from_millis(5));
    }
}
