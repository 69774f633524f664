//! The locks of the HAL and its drivers: one place that decides what they are made of.
//!
//! Ordinarily the standard library's. Under `--cfg loom` the timeline semaphore uses loom's (`model`), so that its model
//! checker sees every interleaving.
//!
//! Poisoning is ignored throughout: every critical section leaves its data consistent, and one kernel's panic must not
//! spread to other threads.

use std::time::Duration;

pub use std::sync::{Condvar, Mutex, MutexGuard};

/// Locks.
pub fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}

/// Waits for a notification; may also wake without one.
pub fn wait<'a, T>(condvar: &Condvar, guard: MutexGuard<'a, T>) -> MutexGuard<'a, T> {
    condvar.wait(guard).unwrap_or_else(std::sync::PoisonError::into_inner)
}

/// Waits for a notification or the limit, whichever is first.
pub fn wait_for<'a, T>(condvar: &Condvar, guard: MutexGuard<'a, T>, limit: Duration) -> MutexGuard<'a, T> {
    condvar.wait_timeout(guard, limit).unwrap_or_else(std::sync::PoisonError::into_inner).0
}

/// What the timeline semaphore uses.
pub(crate) mod model {
    #[cfg(not(loom))]
    pub(crate) use super::{Condvar, Mutex, lock, wait_for};
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

        pub(crate) fn wait_for<'a, T>(
            condvar: &Condvar,
            guard: MutexGuard<'a, T>,
            limit: Duration,
        ) -> MutexGuard<'a, T> {
            condvar.wait_timeout(guard, limit).unwrap_or_else(PoisonError::into_inner).0
        }
    }
}
