//! How work is split into parts.

use std::ops::Range;

/// Minimum memory traffic in bytes per thread: below it, a second thread costs more than it gains.
pub(super) const MIN_BYTES: u64 = 64 << 10;
/// Parts per worker of a large launch, for load balancing.
const PER_WORKER: usize = 4;
/// Alignment of part boundaries in elements: a cache line of f32.
pub(super) const STEP: usize = 16;

/// The number of parts for work that moves `bytes` and can be split into `units`.
pub(super) fn count(bytes: u64, units: usize, workers: usize) -> usize {
    if units == 0 {
        return 0;
    }
    let worthwhile = usize::try_from(bytes / MIN_BYTES).unwrap_or(usize::MAX).max(1);
    worthwhile.min(units).min(PER_WORKER * workers.max(1))
}

/// The range of `part` among `parts` equal parts of `total`, with edges at multiples of `step`.
pub(super) fn range(total: usize, step: usize, part: usize, parts: usize) -> Range<usize> {
    if parts == 1 && part == 0 {
        return 0..total;
    }
    let steps = total.div_ceil(step) as u128;
    let edge = |part: usize| ((steps * part as u128 / parts.max(1) as u128) as usize).saturating_mul(step).min(total);
    edge(part)..edge(part + 1)
}
