//! How the result of a blocked kernel is split into parts.

use std::ops::Range;

use super::super::partition;

/// Minimum work of a part, in multiplications.
const MIN_WORK: u64 = 1 << 18;
/// Parts per worker, for load balancing.
const PER_WORKER: usize = 4;

/// Some rows of some channel groups of one image.
pub(super) struct Region {
    pub(super) batch: usize,
    pub(super) groups: Range<usize>,
    pub(super) rows: Range<usize>,
}

/// The result as a grid of regions.
#[derive(Clone, Copy)]
pub(super) struct Grid {
    batch: usize,
    groups: usize,
    rows: usize,
    down: usize,
    across: usize,
    row_step: usize,
}

impl Grid {
    /// Splits `batch` images of `groups` channel groups and `rows` rows; regions have multiples of
    /// `row_step` rows. `by_groups` splits channels first: with many weights, no two workers should
    /// read the same ones.
    pub(super) fn new(
        [batch, groups, rows]: [usize; 3],
        row_step: usize,
        by_groups: bool,
        work: u64,
        workers: usize,
    ) -> Self {
        let most = usize::try_from(work / MIN_WORK).unwrap_or(usize::MAX).max(1);
        // A multiple of the worker count, so that no worker idles at the end.
        let even = if most > workers { most.next_multiple_of(workers.max(1)) } else { most };
        let expected = if workers > 1 { even.min(PER_WORKER * workers).div_ceil(batch.max(1)) } else { 1 };
        let steps = rows.div_ceil(row_step);
        // A region of few rows reads all weights, a region of few groups reads all inputs. The
        // longer side is split.
        let down = if by_groups || groups >= rows {
            expected.min(groups)
        } else {
            expected.div_ceil(steps.min(expected)).min(groups)
        };
        let across = expected.div_ceil(down.max(1)).min(steps);
        Self { batch, groups, rows, down: down.max(1), across: across.max(1), row_step }
    }

    pub(super) fn parts(&self) -> usize {
        if self.groups * self.rows == 0 { 0 } else { self.batch * self.down * self.across }
    }

    pub(super) fn region(&self, part: usize) -> Region {
        let (batch, index) = (part / (self.down * self.across), part % (self.down * self.across));
        Region {
            batch,
            // Consecutive regions share weights, and mostly run on one worker.
            groups: partition::range(self.groups, 1, index / self.across, self.down),
            rows: partition::range(self.rows, self.row_step, index % self.across, self.across),
        }
    }
}
