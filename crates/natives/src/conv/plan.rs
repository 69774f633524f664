//! How the result of a convolution falls into areas and parts.

use std::ops::Range;

use super::super::parts;
use crate::params;

/// Multiplications that are worth a thread of their own.
const MIN_WORK: u64 = 1 << 18;
/// Areas of pixels end at multiples of this: a whole panel of every level.
pub(super) const PIXEL_STEP: usize = 48;
/// Most pixels of an area that is summed directly: what they need of the input stays in the second-level cache.
const DIRECT_PIXELS: usize = 16 << 10;

/// Some channels and pixels of one group of one batch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Area {
    pub(super) batch: usize,
    pub(super) group: usize,
    /// Output channels, counted within the group.
    pub(super) rows: Range<usize>,
    /// Flat places in the output's plane.
    pub(super) pixels: Range<usize>,
}

impl Area {
    /// The first plane of the output that belongs to the batch and the group.
    pub(super) fn image(&self, p: &params::Conv) -> usize {
        self.batch * p.out_channels as usize + self.group * (p.out_channels / p.groups) as usize
    }
}

/// The result as a grid of areas for each group of each batch.
#[derive(Clone, Copy, Debug)]
pub(super) struct Plan {
    groups: usize,
    units: usize,
    rows: usize,
    pixels: usize,
    width: usize,
    /// Multiplications in all.
    work: u64,
    down: usize,
    across: usize,
    direct: bool,
}

impl Plan {
    /// Splits the result so that `workers` threads have equal shares.
    pub(super) fn new(p: &params::Conv, workers: usize) -> Plan {
        let groups = p.groups.max(1);
        let (rows, depth) = ((p.out_channels / groups) as usize, p.in_channels / groups);
        let pixels = p.output.iter().map(|&size| size as usize).product();
        let work = [p.batch, p.out_channels, depth].into_iter().chain(p.output).chain(p.kernel);
        let work = work.fold(1u64, |all, size| all.saturating_mul(size.into()));
        // With few channels on both sides a patch is hardly used twice, so packing it would only cost.
        let direct = rows < 4 && depth <= 4;
        let units = p.batch as usize * groups as usize;
        let (groups, width) = (groups as usize, p.output[2] as usize);
        let mut plan = Plan { groups, units, rows, pixels, width, work, down: 1, across: 1, direct };
        if direct {
            plan.across = pixels.div_ceil(DIRECT_PIXELS).max(1);
        }
        let wanted = workers.min(usize::try_from(work / MIN_WORK).unwrap_or(usize::MAX)).max(1);
        // Few areas must come out even; from four areas a thread on, whoever is free takes the next.
        if plan.all() < 4 * wanted && !plan.all().is_multiple_of(wanted) {
            *if !direct && rows >= pixels { &mut plan.down } else { &mut plan.across } *= wanted;
        }
        plan
    }

    fn all(&self) -> usize {
        self.units * self.down * self.across
    }

    /// Whether sums are taken without packing patches.
    pub(super) fn direct(&self) -> bool {
        self.direct
    }

    /// Elements of a plane of the output.
    pub(super) fn pixels(&self) -> usize {
        self.pixels
    }

    /// Parts for `workers` threads: areas, or runs of areas where they are small.
    pub(super) fn parts(&self, workers: usize) -> usize {
        if self.rows * self.pixels == 0 {
            return 0;
        }
        let most = usize::try_from(self.work / MIN_WORK).unwrap_or(usize::MAX).max(1);
        self.all().min(most).min(4 * workers.max(1))
    }

    /// The areas of one part.
    pub(super) fn areas(self, part: usize, parts: usize) -> impl Iterator<Item = Area> {
        let areas = parts::share(self.all(), 1, part, parts).map(move |index| {
            let (unit, index) = (index / (self.down * self.across), index % (self.down * self.across));
            // Direct sums are taken row by row.
            let step = if self.direct { self.width } else { PIXEL_STEP };
            Area {
                batch: unit / self.groups,
                group: unit % self.groups,
                rows: parts::share(self.rows, 1, index / self.across, self.down),
                pixels: parts::share(self.pixels, step, index % self.across, self.across),
            }
        });
        areas.filter(|area| !area.rows.is_empty() && !area.pixels.is_empty())
    }
}
