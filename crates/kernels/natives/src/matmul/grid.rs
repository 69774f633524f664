//! Checks of matrix products, and how the result is split into blocks and parts.

use std::ops::Range;

use roci_hal::native::NativeLaunch;

use super::super::check::{self, AccessRange, Extent};
use super::super::partition;

/// Maximum rows and columns of a block: large enough that packing costs little compared with the
/// product.
const MAX_BLOCK: usize = 1024;
/// Minimum multiplications per thread.
const MIN_WORK: u64 = 1 << 20;
/// Products with at most this many rows read `B` in place.
const FEW_ROWS: usize = 8;
/// Multiplications that take as long as reading an element of `B`.
const READ_COST: u32 = 4;
/// Alignment of block boundaries in columns: four vectors of the widest level.
const COLUMN_STEP: usize = 64;

/// Checks the matrices against the bindings.
pub(super) fn check<E>(p: &roci_families::Matmul, launch: &NativeLaunch<'_>) -> Result<(), String> {
    let [a, b, c] = check::bindings::<3>(launch)?;
    if p.m == 0 || p.n == 0 || p.batches == 0 {
        return Ok(());
    }
    let a_extent = Extent::of(&[(p.batches, p.batch_a), (p.m, p.lda), (p.k, 1)]);
    let b_extent = Extent::of(&[(p.batches, p.batch_b), (p.k, p.ldb), (p.n, 1)]);
    let c_extent = Extent::of(&[(p.batches, p.batch_c), (p.m, p.ldc), (p.n, 1)]);
    let a = AccessRange::read::<E>("a", a, a_extent)?;
    let b = AccessRange::read::<E>("b", b, b_extent)?;
    if p.m > 1 && p.ldc < p.n {
        return Err(format!("rows of `c` overlap: ldc is {}, but a row has {} elements", p.ldc, p.n));
    }
    let matrix = Extent::of(&[(p.m, p.ldc), (p.n, 1)]).elements();
    if p.batches > 1 && u128::from(p.batch_c) < matrix {
        return Err(format!("batches of `c` overlap: batch_c is {}, but a matrix spans {matrix} elements", p.batch_c));
    }
    let c = AccessRange::write::<E>("c", c, c_extent)?;
    c.disjoint_from(&a)?;
    c.disjoint_from(&b)
}

/// A block of the result of one batch element.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Region {
    pub(super) batch: usize,
    pub(super) rows: Range<usize>,
    pub(super) columns: Range<usize>,
}

/// The result as a grid of blocks for each batch element.
#[derive(Clone, Copy, Debug)]
pub(super) struct Grid {
    rows: usize,
    columns: usize,
    batches: usize,
    /// Multiplications of all batches.
    work: u64,
    down: usize,
    across: usize,
}

impl Grid {
    /// Splits the result so that `workers` threads have equal shares and few inputs are packed
    /// twice.
    pub(super) fn new(p: &roci_families::Matmul, workers: usize) -> Grid {
        let (rows, columns, batches) = (p.m as usize, p.n as usize, p.batches as usize);
        let work = [p.m.max(READ_COST), p.n, p.k, p.batches]
            .into_iter()
            .fold(1u64, |all, size| all.saturating_mul(size.into()));
        let mut grid =
            Grid { rows, columns, batches, work, down: rows.div_ceil(MAX_BLOCK), across: columns.div_ceil(MAX_BLOCK) };
        let expected = workers.min(usize::try_from(work / MIN_WORK).unwrap_or(usize::MAX)).max(1);
        // Few blocks must divide evenly among the threads; with four or more per thread, load
        // balancing suffices.
        while grid.blocks() < 4 * expected && !grid.blocks().is_multiple_of(expected) {
            let (height, width) = (rows / (grid.down + 1), columns / (grid.across + 1));
            if width.max(height) < COLUMN_STEP {
                break;
            }
            // If both sides are equal, the columns are split: as measured, packing `A` twice is
            // cheaper than packing `B` twice.
            if rows / grid.down > columns / grid.across && height >= COLUMN_STEP {
                grid.down += 1;
            } else {
                grid.across += 1;
            }
        }
        grid
    }

    fn blocks(&self) -> usize {
        self.batches * self.down * self.across
    }

    /// Whether the product has so few rows that packing `B` does not pay off. Does not depend on
    /// the number of workers.
    pub(super) fn few_rows(&self) -> bool {
        self.rows <= FEW_ROWS
    }

    /// Parts for `workers` threads: blocks, or runs of small blocks.
    pub(super) fn parts(&self, workers: usize) -> usize {
        let most = usize::try_from(self.work / MIN_WORK).unwrap_or(usize::MAX).max(1);
        let blocks = self.blocks();
        if blocks <= most { blocks } else { most.min(4 * workers.max(1)).min(blocks) }
    }

    /// The blocks of one part.
    pub(super) fn regions(self, part: usize, parts: usize) -> impl Iterator<Item = Region> {
        partition::range(self.blocks(), 1, part, parts).map(move |block| {
            let (batch, block) = (block / (self.down * self.across), block % (self.down * self.across));
            Region {
                batch,
                rows: partition::range(self.rows, 1, block / self.across, self.down),
                columns: partition::range(self.columns, COLUMN_STEP, block % self.across, self.across),
            }
        })
    }
}
