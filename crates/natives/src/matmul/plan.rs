//! Which matrix products are legal, and how the result falls into blocks and parts.

use std::ops::Range;

use roci_hal::native::NativeLaunch;

use super::super::check::{self, Access, Extent};
use super::super::parts;
use crate::params;

/// Most rows and columns of a block: large enough that packing its inputs is small beside computing it.
const MAX_BLOCK: usize = 1024;
/// Multiplications that are worth a thread of their own.
const MIN_WORK: u64 = 1 << 20;
/// Products with at most this many rows read `B` in place.
const FEW_ROWS: usize = 8;
/// Multiplications that take as long as reading an element of `B`.
const READING: u32 = 4;
/// Block edges fall on multiples of this many columns: four vectors of the widest level.
const COLUMN_STEP: usize = 64;

/// Holds the matrices against the bindings.
pub(super) fn check<E>(p: &params::Matmul, launch: &NativeLaunch<'_>) -> Result<(), String> {
    let [a, b, c] = check::bindings::<3>(launch)?;
    if p.m == 0 || p.n == 0 || p.batches == 0 {
        return Ok(());
    }
    let a_extent = Extent::of(&[(p.batches, p.batch_a), (p.m, p.lda), (p.k, 1)]);
    let b_extent = Extent::of(&[(p.batches, p.batch_b), (p.k, p.ldb), (p.n, 1)]);
    let c_extent = Extent::of(&[(p.batches, p.batch_c), (p.m, p.ldc), (p.n, 1)]);
    let a = Access::read::<E>("a", a, a_extent)?;
    let b = Access::read::<E>("b", b, b_extent)?;
    if p.m > 1 && p.ldc < p.n {
        return Err(format!("rows of `c` overlap: ldc is {}, but a row has {} elements", p.ldc, p.n));
    }
    let matrix = Extent::of(&[(p.m, p.ldc), (p.n, 1)]).elements();
    if p.batches > 1 && u128::from(p.batch_c) < matrix {
        return Err(format!("batches of `c` overlap: batch_c is {}, but a matrix spans {matrix} elements", p.batch_c));
    }
    let c = Access::write::<E>("c", c, c_extent)?;
    c.apart_from(&a)?;
    c.apart_from(&b)
}

/// A block of the result of one batch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Area {
    pub(super) batch: usize,
    pub(super) rows: Range<usize>,
    pub(super) columns: Range<usize>,
}

/// The result as a grid of blocks for each batch.
#[derive(Clone, Copy, Debug)]
pub(super) struct Plan {
    rows: usize,
    columns: usize,
    batches: usize,
    /// Multiplications in all.
    work: u64,
    down: usize,
    across: usize,
}

impl Plan {
    /// Splits the result so that `workers` threads have equal shares and few inputs are packed twice.
    pub(super) fn new(p: &params::Matmul, workers: usize) -> Plan {
        let (rows, columns, batches) = (p.m as usize, p.n as usize, p.batches as usize);
        let work =
            [p.m.max(READING), p.n, p.k, p.batches].into_iter().fold(1u64, |all, size| all.saturating_mul(size.into()));
        let mut plan =
            Plan { rows, columns, batches, work, down: rows.div_ceil(MAX_BLOCK), across: columns.div_ceil(MAX_BLOCK) };
        let wanted = workers.min(usize::try_from(work / MIN_WORK).unwrap_or(usize::MAX)).max(1);
        // Few blocks must come out even; from four blocks a thread on, whoever is free takes the next.
        while plan.blocks() < 4 * wanted && !plan.blocks().is_multiple_of(wanted) {
            let (height, width) = (rows / (plan.down + 1), columns / (plan.across + 1));
            if width.max(height) < COLUMN_STEP {
                break;
            }
            // Equal sides are split across: packing `A` twice turned out cheaper than packing `B` twice.
            if rows / plan.down > columns / plan.across && height >= COLUMN_STEP {
                plan.down += 1;
            } else {
                plan.across += 1;
            }
        }
        plan
    }

    fn blocks(&self) -> usize {
        self.batches * self.down * self.across
    }

    /// Whether the product has so few rows that packing `B` does not pay; the same for every number of workers.
    pub(super) fn few_rows(&self) -> bool {
        self.rows <= FEW_ROWS
    }

    /// Parts for `workers` threads: blocks, or runs of blocks where they are small.
    pub(super) fn parts(&self, workers: usize) -> usize {
        let most = usize::try_from(self.work / MIN_WORK).unwrap_or(usize::MAX).max(1);
        let blocks = self.blocks();
        if blocks <= most { blocks } else { most.min(4 * workers.max(1)).min(blocks) }
    }

    /// The blocks of one part.
    pub(super) fn areas(self, part: usize, parts: usize) -> impl Iterator<Item = Area> {
        parts::share(self.blocks(), 1, part, parts).map(move |block| {
            let (batch, block) = (block / (self.down * self.across), block % (self.down * self.across));
            Area {
                batch,
                rows: parts::share(self.rows, 1, block / self.across, self.down),
                columns: parts::share(self.columns, COLUMN_STEP, block % self.across, self.across),
            }
        })
    }
}
