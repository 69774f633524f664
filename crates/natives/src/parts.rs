//! How work falls into parts.

use std::ops::Range;

/// Bytes of work below which a second thread costs more than it brings.
pub(super) const SMALL: u64 = 64 << 10;
/// Parts for each worker when there is much work: whoever is free takes the next.
const PER_WORKER: usize = 4;
/// Elements that chunk edges are multiples of: a cache line of f32.
pub(super) const STEP: usize = 16;

/// Parts for work that moves `bytes` and can be cut into `pieces`.
pub(super) fn count(bytes: u64, pieces: usize, workers: usize) -> usize {
    if pieces == 0 {
        return 0;
    }
    let worthwhile = usize::try_from(bytes / SMALL).unwrap_or(usize::MAX).max(1);
    worthwhile.min(pieces).min(PER_WORKER * workers.max(1))
}

/// The share of `part` among `parts` equal shares of `total`, cut at multiples of `step`.
pub(super) fn share(total: usize, step: usize, part: usize, parts: usize) -> Range<usize> {
    if parts == 1 && part == 0 {
        return 0..total;
    }
    let steps = total.div_ceil(step) as u128;
    let edge = |part: usize| ((steps * part as u128 / parts.max(1) as u128) as usize).saturating_mul(step).min(total);
    edge(part)..edge(part + 1)
}
