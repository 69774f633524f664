//! How the result of a convolution is split into regions and parts.

use std::ops::Range;

use super::super::partition;

/// Minimum multiplications per thread.
const MIN_WORK: u64 = 1 << 18;
/// Alignment of region boundaries in pixels: a whole panel at every level.
pub(super) const PIXEL_STEP: usize = 48;
/// Maximum pixels of a region that is summed directly: its inputs stay in the L2 cache.
const DIRECT_PIXELS: usize = 16 << 10;

/// Some channels and pixels of one group of one batch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Region {
    pub(super) batch: usize,
    pub(super) group: usize,
    /// Output channels, counted within the group.
    pub(super) rows: Range<usize>,
    /// Flat indices in the output's plane.
    pub(super) pixels: Range<usize>,
}

impl Region {
    /// The first output plane of the batch and the group.
    pub(super) fn image(&self, p: &roci_families::Conv) -> usize {
        self.batch * p.out_channels as usize + self.group * (p.out_channels / p.groups) as usize
    }
}

/// The result as a grid of regions for each group of each batch.
#[derive(Clone, Copy, Debug)]
pub(super) struct Grid {
    groups: usize,
    units: usize,
    rows: usize,
    pixels: usize,
    width: usize,
    /// Multiplications of all groups.
    work: u64,
    down: usize,
    across: usize,
    direct: bool,
}

impl Grid {
    /// Splits the result so that `workers` threads have equal shares.
    pub(super) fn new(p: &roci_families::Conv, workers: usize) -> Grid {
        let groups = p.groups.max(1);
        let (rows, depth) = ((p.out_channels / groups) as usize, p.in_channels / groups);
        let pixels = p.output.iter().map(|&size| size as usize).product();
        let work = [p.batch, p.out_channels, depth].into_iter().chain(p.output).chain(p.kernel);
        let work = work.fold(1u64, |all, size| all.saturating_mul(size.into()));
        // With few input and output channels, a patch is hardly reused, so packing it does not pay
        // off.
        let direct = rows < 4 && depth <= 4;
        let units = p.batch as usize * groups as usize;
        let (groups, width) = (groups as usize, p.output[2] as usize);
        let mut grid = Grid { groups, units, rows, pixels, width, work, down: 1, across: 1, direct };
        if direct {
            grid.across = pixels.div_ceil(DIRECT_PIXELS).max(1);
        }
        let expected = workers.min(usize::try_from(work / MIN_WORK).unwrap_or(usize::MAX)).max(1);
        // Few regions must divide evenly among the threads; with four or more per thread, load
        // balancing suffices.
        if grid.all() < 4 * expected && !grid.all().is_multiple_of(expected) {
            *if !direct && rows >= pixels { &mut grid.down } else { &mut grid.across } *= expected;
        }
        grid
    }

    fn all(&self) -> usize {
        self.units * self.down * self.across
    }

    /// Whether sums are taken without im2col.
    pub(super) fn direct(&self) -> bool {
        self.direct
    }

    /// Elements of a plane of the output.
    pub(super) fn pixels(&self) -> usize {
        self.pixels
    }

    /// Parts for `workers` threads: regions, or runs of small regions.
    pub(super) fn parts(&self, workers: usize) -> usize {
        if self.rows * self.pixels == 0 {
            return 0;
        }
        let most = usize::try_from(self.work / MIN_WORK).unwrap_or(usize::MAX).max(1);
        self.all().min(most).min(4 * workers.max(1))
    }

    /// The regions of one part.
    pub(super) fn regions(self, part: usize, parts: usize) -> impl Iterator<Item = Region> {
        let regions = partition::range(self.all(), 1, part, parts).map(move |index| {
            let (unit, index) = (index / (self.down * self.across), index % (self.down * self.across));
            // Direct sums take whole rows.
            let step = if self.direct { self.width } else { PIXEL_STEP };
            Region {
                batch: unit / self.groups,
                group: unit % self.groups,
                rows: partition::range(self.rows, 1, index / self.across, self.down),
                pixels: partition::range(self.pixels, step, index % self.across, self.across),
            }
        });
        regions.filter(|region| !region.rows.is_empty() && !region.pixels.is_empty())
    }
}
