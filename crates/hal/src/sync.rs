//! The locks of the timeline semaphore, replaced by loom's under `--cfg loom` so that its model checker sees them.

#[cfg(loom)]
pub(crate) use loom::sync::{Condvar, Mutex, MutexGuard};
#[cfg(not(loom))]
pub(crate) use std::sync::{Condvar, Mutex, MutexGuard};

use std::sync::PoisonError;
use std::time::Duration;

/// Locks; a panic in another thread does not spread, since every critical section here leaves its data consistent.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Waits for a notification or the timeout, whichever is first.
pub(crate) fn wait<'a, T>(condvar: &Condvar, guard: MutexGuard<'a, T>, limit: Duration) -> MutexGuard<'a, T> {
    condvar.wait_timeout(guard, limit).unwrap_or_else(PoisonError::into_inner).0
}
