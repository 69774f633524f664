//! `pool_blocked_*`: pooling on blocked images.

use std::marker::PhantomData;
use std::ops::Range;

use roci_hal::native::{NativeKernel, NativeLaunch};

use super::super::check::{self, AccessRange};
use super::grid::{Grid, Region};
use super::{clear_border, extent};
use crate::KernelFactory;
use roci_simd::{CacheLine, Level, Simd, Task};
use std::sync::Arc;

/// The kernels of this file, with the sizes of their constants blocks.
pub(crate) const NATIVE_ONLY_KERNELS: &[(&str, usize, KernelFactory)] = &[
    ("pool_blocked_max", size_of::<roci_families::PoolBlocked>(), |level| Arc::new(PoolBlocked::<Max>::new(level))),
    ("pool_blocked_average", size_of::<roci_families::PoolBlocked>(), |level| {
        Arc::new(PoolBlocked::<Average>::new(level))
    }),
];

/// The cost of an element of a window, in multiplications of a convolution.
const COST: u64 = 16;

/// The channels of one pixel's block.
type Pixel = [f32; CacheLine::WORDS];

/// How the elements of a window are reduced.
pub(in super::super) trait BlockedPoolOp: Send + Sync + 'static {
    /// The result of an empty window.
    const START: f32;

    /// Adds an element.
    fn add(sum: f32, x: f32) -> f32;

    /// The result after `count` elements.
    fn end(sum: f32, count: usize) -> f32;
}

/// The maximum; NaN if there is one.
pub(in super::super) struct Max;

impl BlockedPoolOp for Max {
    const START: f32 = f32::NEG_INFINITY;

    #[inline(always)]
    fn add(best: f32, x: f32) -> f32 {
        if x > best || x.is_nan() { x } else { best }
    }

    #[inline(always)]
    fn end(best: f32, _: usize) -> f32 {
        best
    }
}

/// The mean.
pub(in super::super) struct Average;

impl BlockedPoolOp for Average {
    const START: f32 = 0.0;

    #[inline(always)]
    fn add(sum: f32, x: f32) -> f32 {
        sum + x
    }

    #[inline(always)]
    fn end(sum: f32, count: usize) -> f32 {
        if count == 0 { 0.0 } else { sum / count as f32 }
    }
}

/// Pooling of blocked images.
pub(in super::super) struct PoolBlocked<F> {
    level: Level,
    fold: PhantomData<fn() -> F>,
}

impl<F> PoolBlocked<F> {
    pub(in super::super) fn new(level: Level) -> Self {
        Self { level, fold: PhantomData }
    }
}

fn grid(p: &roci_families::PoolBlocked, workers: usize) -> Grid {
    let work = [p.batch, p.y.channels].into_iter().chain(p.y.size).chain(p.kernel);
    let work = work.fold(COST, |all, size| all.saturating_mul(size.into()));
    Grid::new([p.batch as usize, p.y.blocks(), p.y.size[0] as usize], 1, false, work, workers)
}

// SAFETY: `prepare` checks both images against their bindings; windows are clipped at the edges of
// the image; the regions of a grid tile the result, each with its part of the border, and each
// belongs to one part.
unsafe impl<F: BlockedPoolOp> NativeKernel for PoolBlocked<F> {
    fn accesses(&self) -> &[roci_hal::Access] {
        check::last_written(2)
    }

    fn prepare(&self, launch: &NativeLaunch<'_>) -> Result<usize, String> {
        let p: roci_families::PoolBlocked = check::constants(launch)?;
        let [x, y] = check::bindings::<2>(launch)?;
        let lanes = self.level.lanes() as u32;
        if [p.x.block, p.y.block] != [lanes; 2] || p.x.channels != p.y.channels {
            return Err(format!(
                "{:?} from {:?}: blocks must have {lanes} channels, and the channels must match",
                p.y, p.x
            ));
        }
        let sizes = p.kernel.iter().chain(&p.stride).chain(&p.dilation);
        if sizes.clone().any(|&size| size == 0) || sizes.chain(&p.pad).any(|&size| size > 1 << 12) {
            return Err(format!("unsupported window of size {:?} with stride {:?}", p.kernel, p.stride));
        }
        let x = AccessRange::read::<f32>("x", x, extent(&p.x, p.batch)?)?;
        AccessRange::write::<f32>("y", y, extent(&p.y, p.batch)?)?.disjoint_from(&x)?;
        Ok(grid(&p, launch.workers).parts())
    }

    unsafe fn run(&self, launch: &NativeLaunch<'_>, part: usize, _: usize) {
        let Ok(p) = check::constants::<roci_families::PoolBlocked>(launch) else { return };
        let [x, y] = [0, 1].map(|i| launch.bindings[i].pointer.cast::<f32>());
        let region = grid(&p, launch.workers).region(part);
        let x = x.cast_const().wrapping_add(region.batch * p.x.elements());
        let y = y.wrapping_add(region.batch * p.y.elements());
        self.level.run(Windows::<F> { p: &p, x, y, region, fold: PhantomData });
    }
}

/// The windows of a region; its groups are channel blocks.
struct Windows<'a, F> {
    p: &'a roci_families::PoolBlocked,
    x: *const f32,
    y: *mut f32,
    region: Region,
    fold: PhantomData<fn() -> F>,
}

impl<F> Windows<'_, F> {
    /// The elements of a window that are within the image along dimension `d`, and the position of
    /// its first element, which may be outside.
    fn inside(&self, d: usize, position: usize) -> (Range<usize>, isize) {
        let p = self.p;
        let (kernel, dilation) = (p.kernel[d] as usize, p.dilation[d] as isize);
        let start = (position * p.stride[d] as usize) as isize - p.pad[d] as isize;
        let low = ((-start).max(0) + dilation - 1) / dilation;
        let high = ((p.x.size[d] as isize - start).max(0) + dilation - 1) / dilation;
        ((low as usize).min(kernel)..(high as usize).min(kernel), start)
    }
}

impl<F: BlockedPoolOp> Task for Windows<'_, F> {
    type Output = ();

    #[inline(always)]
    fn run<S: Simd>(self, _: S) {
        let p = self.p;
        let columns: Vec<_> = (0..p.y.size[1] as usize).map(|column| self.inside(1, column)).collect();
        for group in self.region.groups.clone() {
            let (x, y) = (self.x.wrapping_add(group * p.x.plane()), self.y.wrapping_add(group * p.y.plane()));
            for row in self.region.rows.clone() {
                let (down, top) = self.inside(0, row);
                for (column, (across, left)) in columns.iter().enumerate() {
                    let mut pixel: Pixel = [F::START; CacheLine::WORDS];
                    for k0 in down.clone() {
                        for k1 in across.clone() {
                            let position = [(top, k0, 0), (*left, k1, 1)]
                                .map(|(start, k, d)| start + (k * p.dilation[d] as usize) as isize);
                            let x = x.wrapping_offset(p.x.at(position[0], position[1]));
                            // SAFETY: a pixel within the image.
                            let x = unsafe { std::slice::from_raw_parts(x, S::LANES) };
                            pixel.iter_mut().zip(x).for_each(|(sum, &x)| *sum = F::add(*sum, x));
                        }
                    }
                    let y = y.wrapping_offset(p.y.at(row as isize, column as isize));
                    // SAFETY: a pixel of the result, which only this part touches.
                    let y = unsafe { std::slice::from_raw_parts_mut(y, S::LANES) };
                    let count = down.len() * across.len();
                    y.iter_mut().zip(pixel).for_each(|(y, sum)| *y = F::end(sum, count));
                }
            }
            // SAFETY: only this part touches these rows of the plane.
            unsafe { clear_border(&p.y, y, self.region.rows.clone()) };
        }
    }
}
