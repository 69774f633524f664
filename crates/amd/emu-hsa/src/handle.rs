//! Handles of the loader's objects and of signal groups.

use std::sync::atomic::{AtomicU64, Ordering};

/// A handle that this process has not used before. Reuse would make a stale handle look valid.
pub(crate) fn new_handle() -> u64 {
    static LAST: AtomicU64 = AtomicU64::new(0);
    LAST.fetch_add(1, Ordering::Relaxed) + 1
}
