//! Synchronization primitives of the timeline: the standard library's, or under `--cfg loom` those
//! of loom, which explores every interleaving.

#[cfg(not(loom))]
pub(crate) use roci_base::sync::{Condvar, Mutex, lock, wait_for};

#[cfg(loom)]
pub(crate) use explored::*;

#[cfg(loom)]
mod explored {
    use std::sync::PoisonError;
    use std::time::Duration;

    pub(crate) use loom::sync::{Condvar, Mutex, MutexGuard};

    pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
        mutex.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn wait_for<'a, T>(condvar: &Condvar, guard: MutexGuard<'a, T>, limit: Duration) -> MutexGuard<'a, T> {
        condvar.wait_timeout(guard, limit).unwrap_or_else(PoisonError::into_inner).0
    }
}
