//! Requests for pages of a mapped file.

use rustix::mm::{Advice, madvise};

/// Alignment of requested ranges: the largest default page size of any system.
const PAGE: usize = 64 << 10;

/// Asks the system to read the pages of a range that are not in memory, without waiting for them. A
/// range that is not of a mapped file is ignored.
pub(super) fn read_ahead(start: *const u8, length: usize) {
    let before = start.addr() % PAGE;
    let start = start.wrapping_sub(before).cast_mut();
    // SAFETY: the advice changes no content. The system rejects addresses that are not mapped.
    let advised = unsafe { madvise(start.cast(), before + length, Advice::WillNeed) };
    // It is an optimization: without it pages are read on first access.
    let _ = advised;
}
