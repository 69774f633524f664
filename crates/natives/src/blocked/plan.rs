//! How the result of a blocked kernel falls into parts.

use std::ops::Range;

use super::super::parts;

/// Work of a part at least, in multiplications.
const MIN_WORK: u64 = 1 << 18;
/// Parts for each worker: whoever is free takes the next.
const PER_WORKER: usize = 4;

/// Some rows of some groups of channels of one picture.
pub(super) struct Area {
    pub(super) batch: usize,
    pub(super) groups: Range<usize>,
    pub(super) rows: Range<usize>,
}

/// The result as a grid of areas.
#[derive(Clone, Copy)]
pub(super) struct Plan {
    batch: usize,
    groups: usize,
    rows: usize,
    down: usize,
    across: usize,
    row_step: usize,
}

impl Plan {
    /// For so many groups of channels and rows of each of `batch` pictures; areas have multiples of `row_step` rows.
    /// `by_groups` where weights are so many that no two workers should read the same ones.
    pub(super) fn new(
        [batch, groups, rows]: [usize; 3],
        row_step: usize,
        by_groups: bool,
        work: u64,
        workers: usize,
    ) -> Self {
        let most = usize::try_from(work / MIN_WORK).unwrap_or(usize::MAX).max(1);
        // As many for each worker, so that none waits for another.
        let even = if most > workers { most.next_multiple_of(workers.max(1)) } else { most };
        let wanted = if workers > 1 { even.min(PER_WORKER * workers).div_ceil(batch.max(1)) } else { 1 };
        let steps = rows.div_ceil(row_step);
        // Areas of few rows need all weights, areas of few groups all of the input: the longer side is cut.
        let down = if by_groups || groups >= rows {
            wanted.min(groups)
        } else {
            wanted.div_ceil(steps.min(wanted)).min(groups)
        };
        let across = wanted.div_ceil(down.max(1)).min(steps);
        Self { batch, groups, rows, down: down.max(1), across: across.max(1), row_step }
    }

    pub(super) fn parts(&self) -> usize {
        if self.groups * self.rows == 0 { 0 } else { self.batch * self.down * self.across }
    }

    pub(super) fn area(&self, part: usize) -> Area {
        let (batch, index) = (part / (self.down * self.across), part % (self.down * self.across));
        Area {
            batch,
            // Neighbours have the same weights: they are mostly one worker's.
            groups: parts::share(self.groups, 1, index / self.across, self.down),
            rows: parts::share(self.rows, self.row_step, index % self.across, self.across),
        }
    }
}
