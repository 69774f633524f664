//! Locks that ignore poisoning.
//!
//! Every critical section leaves its data consistent, and a panic in one kernel must not spread to
//! other threads.

use std::time::Duration;

pub use std::sync::{Condvar, Mutex, MutexGuard};

/// Locks the mutex, poisoned or not.
pub fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}

/// Waits for a notification; may wake spuriously.
pub fn wait<'a, T>(condvar: &Condvar, guard: MutexGuard<'a, T>) -> MutexGuard<'a, T> {
    condvar.wait(guard).unwrap_or_else(std::sync::PoisonError::into_inner)
}

/// Waits for a notification or until `limit` has elapsed.
pub fn wait_for<'a, T>(condvar: &Condvar, guard: MutexGuard<'a, T>, limit: Duration) -> MutexGuard<'a, T> {
    condvar.wait_timeout(guard, limit).unwrap_or_else(std::sync::PoisonError::into_inner).0
}
