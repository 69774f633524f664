//! How work is split into parts.

use std::ops::Range;

/// Minimum memory traffic in bytes per part, about 5 µs: below that, a second thread costs more
/// than it saves.
const MIN_BYTES: u64 = 32 << 10;
/// Parts per worker of a large launch, for load balancing.
const PER_WORKER: usize = 4;
/// Alignment of part boundaries in elements: a cache line of f32.
pub(super) const STEP: usize = 16;

/// The number of parts for work that moves `bytes` and can be split into `units`.
pub(super) fn count(bytes: u64, units: usize, workers: usize) -> usize {
    if units == 0 {
        return 0;
    }
    let workers = workers.max(1);
    let worthwhile = usize::try_from(bytes / MIN_BYTES).unwrap_or(usize::MAX).max(1);
    // Each worker gets the same number of parts: otherwise some idle while others run their last
    // one.
    let even =
        if worthwhile > workers { worthwhile.saturating_add(workers - 1) / workers * workers } else { worthwhile };
    even.min(units).min(PER_WORKER * workers)
}

/// End of the adjacent parts that the worker of `part` computes. `end` returns the end of a part.
pub(super) fn worker_end(part: usize, parts: usize, workers: usize, end: impl Fn(usize) -> usize) -> usize {
    let own = parts.div_ceil(workers.max(1)).max(1);
    // Each worker starts with adjacent parts; all have the same number if it divides `parts`.
    if parts.is_multiple_of(own) { end((part / own + 1) * own - 1) } else { end(part) }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn workers_get_the_same_number_of_parts() {
        let parts = |bytes: u64, units| count(bytes, units, 16);
        assert_eq!(parts(36 * MIN_BYTES, 128), 48);
        assert_eq!(parts(33 * MIN_BYTES, 128), 48);
        assert_eq!(parts(1000 * MIN_BYTES, 1000), 64);
        // Fewer parts than workers, or fewer units than parts.
        assert_eq!(parts(9 * MIN_BYTES, 128), 9);
        assert_eq!(parts(36 * MIN_BYTES, 40), 40);
    }

    #[test]
    fn a_worker_prefetches_to_its_last_part() {
        let end = |part: usize| 10 * (part + 1);
        assert_eq!([0, 2, 3, 5].map(|part| worker_end(part, 6, 2, end)), [30, 30, 60, 60]);
        // If workers cannot have the same number of parts, each part ends on its own.
        assert_eq!([0, 6].map(|part| worker_end(part, 7, 2, end)), [10, 70]);
    }
}
