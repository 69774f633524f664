//! `conv_blocked`: convolution on blocked images.

use roci_hal::native::{NativeKernel, NativeLaunch};

use super::super::check::{self, AccessRange, Extent};
use super::depthwise::Depthwise;
use super::grid::{Grid, Region};
use super::{clear_border, extent};
use crate::KernelFactory;
use roci_families::{self, Conv};
use roci_simd::Level;
use roci_simd::blocked_conv::{Pixels, Tile, VECTORS};
use std::sync::Arc;

/// The kernels of this file, with the sizes of their constants blocks.
pub(crate) const NATIVE_ONLY_KERNELS: &[(&str, usize, KernelFactory)] =
    &[("conv_blocked", size_of::<roci_families::ConvBlocked>(), |level| Arc::new(ConvBlocked(level)))];

/// Rows of weights per pass: they stay in the L1 cache while all pixels are computed.
const DEPTH: usize = 144;
/// The cost of a multiplication in a depthwise convolution, relative to a dense one.
const DEPTHWISE: u64 = 4;
/// With more weights per input element than this, weights dominate memory traffic.
const MANY_WEIGHTS: u64 = 2;

/// Convolution of blocked images.
pub(in super::super) struct ConvBlocked(pub(in super::super) Level);

/// Checks a launch against its binding and the limits of the loops.
fn check(p: &roci_families::ConvBlocked, lanes: usize, launch: &NativeLaunch<'_>) -> Result<(), String> {
    let [x, w, y] = check::bindings::<3>(launch)?;
    let depthwise = p.flags & roci_families::ConvBlocked::DEPTHWISE != 0;
    let (xs, ys) = (extent(&p.x, p.batch)?, extent(&p.y, p.batch)?);
    let blocked = p.x.block as usize == lanes;
    if p.y.block as usize != lanes || !(blocked || p.x.block == 1) || depthwise && !blocked {
        return Err(format!("blocks of {} and {} channels, but vectors have {lanes} elements", p.x.block, p.y.block));
    }
    if depthwise && p.x.channels != p.y.channels {
        return Err(format!("a depthwise convolution from {} to {} channels", p.x.channels, p.y.channels));
    }
    if p.stride.contains(&0) || depthwise && p.stride[1] > 2 {
        return Err(format!("unsupported stride {:?}", p.stride));
    }
    for d in 0..2 {
        if p.kernel[d] == 0 || p.dilation[d] == 0 || p.kernel[d] > 1 << 12 || p.dilation[d] > 1 << 12 {
            return Err(format!("unsupported window of size {:?} with dilation {:?}", p.kernel, p.dilation));
        }
        let reach = u64::from(p.y.size[d].saturating_sub(1)) * u64::from(p.stride[d])
            + u64::from(p.kernel[d] - 1) * u64::from(p.dilation[d]);
        if p.pad[d] > p.x.border || reach >= u64::from(p.x.size[d] + p.x.border + p.pad[d]) {
            return Err(format!("windows reach beyond the border of {} pixels", p.x.border));
        }
    }
    let ins = if depthwise { 1 } else { p.x.channels as usize };
    let weights = p.y.blocks() * lanes * (1 + ins * p.taps());
    let x = AccessRange::read::<f32>("x", x, xs)?;
    let w = AccessRange::read::<f32>("w", w, Extent::count(weights as u128))?;
    let y = AccessRange::write::<f32>("y", y, ys)?;
    y.disjoint_from(&x)?;
    y.disjoint_from(&w)
}

fn grid(p: &roci_families::ConvBlocked, workers: usize) -> Grid {
    let depthwise = p.flags & roci_families::ConvBlocked::DEPTHWISE != 0;
    let groups = p.y.blocks().div_ceil(if depthwise { 1 } else { VECTORS });
    let ins = if depthwise { 1 } else { p.x.channels };
    let work = [p.batch, ins, p.y.channels].into_iter().chain(p.y.size).chain(p.kernel);
    let work = work.fold(if depthwise { DEPTHWISE } else { 1 }, |all, size| all.saturating_mul(size.into()));
    // Only this width has tiles of two rows.
    let row_step = if p.y.size[1] == 7 { 2 } else { 1 };
    let pixels = u64::from(p.x.size[0]) * u64::from(p.x.size[1]);
    let by_groups = !depthwise && u64::from(p.y.channels) * p.taps() as u64 > MANY_WEIGHTS * pixels;
    Grid::new([p.batch as usize, groups, p.y.size[0] as usize], row_step, by_groups, work, workers)
}

// SAFETY: `prepare` checks the images and the weights against their bindings, and rejects windows
// that leave the border; the regions of a grid tile the result, each with its part of the border,
// and each belongs to one part.
unsafe impl NativeKernel for ConvBlocked {
    fn accesses(&self) -> &[roci_hal::Access] {
        check::last_written(3)
    }

    fn prepare(&self, launch: &NativeLaunch<'_>) -> Result<usize, String> {
        let p: roci_families::ConvBlocked = check::constants(launch)?;
        check(&p, self.0.lanes(), launch)?;
        Ok(grid(&p, launch.workers).parts())
    }

    unsafe fn run(&self, launch: &NativeLaunch<'_>, part: usize, _: usize) {
        let Ok(p) = check::constants::<roci_families::ConvBlocked>(launch) else { return };
        let [x, w, y] = [0, 1, 2].map(|i| launch.bindings[i].pointer.cast::<f32>());
        let region = grid(&p, launch.workers).region(part);
        let x = x.cast_const().wrapping_add(region.batch * p.x.elements());
        let y = y.wrapping_add(region.batch * p.y.elements());
        if p.flags & roci_families::ConvBlocked::DEPTHWISE != 0 {
            // SAFETY: `prepare` accepted the launch, and only this part touches the region.
            self.0.run(unsafe { Depthwise::new(&p, x, w, y, region) });
        } else {
            Dense { p: &p, x, w, y, region }.run(self.0);
        }
    }
}

/// A region of a dense convolution, in which each output channel depends on all input channels.
struct Dense<'a> {
    p: &'a roci_families::ConvBlocked,
    x: *const f32,
    w: *const f32,
    y: *mut f32,
    region: Region,
}

/// Offsets of the elements of a window.
pub(super) fn taps(p: &roci_families::ConvBlocked) -> Vec<usize> {
    let [height, width] = p.kernel.map(|size| size as usize);
    let [down, across] = p.dilation.map(|size| size as usize);
    let offset = |tap: usize| tap / width * down * p.x.row() + tap % width * across * p.x.block as usize;
    (0..height * width).map(offset).collect()
}

/// The offset of an output position's window.
pub(super) fn origin(p: &roci_families::ConvBlocked, row: usize, column: usize) -> usize {
    let at = |d: usize, position: usize| (position * p.stride[d] as usize) as isize - p.pad[d] as isize;
    // Not negative: the border includes the padding.
    p.x.at(at(0, row), at(1, column)) as usize
}

impl Dense<'_> {
    fn run(&self, level: Level) {
        let p = self.p;
        let lanes = level.lanes();
        let taps = taps(p);
        let block = p.x.block as usize;
        let channels = p.x.channels as usize;
        let blocks = (DEPTH / (taps.len() * block)).max(1);
        let passes = p.x.blocks().div_ceil(blocks);
        let depth = channels * taps.len();
        let bias = p.y.blocks() * lanes;
        let vectors = |group: usize| VECTORS.min(p.y.blocks() - group * VECTORS);
        let weights = |pass: usize, group: usize| {
            let rows = pass * blocks * block * taps.len();
            self.w.wrapping_add(bias + (group * VECTORS * depth + rows * vectors(group)) * lanes)
        };
        for pass in 0..passes {
            let first = pass * blocks * block;
            let count = (blocks * block).min(channels - first);
            for group in self.region.groups.clone() {
                let next = match group + 1 < self.region.groups.end {
                    true => weights(pass, group + 1),
                    false => weights((pass + 1).min(passes - 1), self.region.groups.start),
                };
                let vectors = vectors(group);
                let start = group * VECTORS * lanes;
                let y = self.y.wrapping_add(group * VECTORS * p.y.plane());
                let clamp = (p.flags & Conv::CLAMP != 0 && pass + 1 == passes).then_some((p.low, p.high));
                let tile = Tile {
                    x: self.x.wrapping_add(pass * blocks * p.x.plane() + origin(p, 0, 0)),
                    taps: &taps,
                    x_step: p.stride[1] as usize * block,
                    x_row: p.stride[0] as usize * p.x.row(),
                    x_block: p.x.plane(),
                    channels: count,
                    block,
                    w: weights(pass, group),
                    bias: (pass == 0).then(|| self.w.wrapping_add(start)),
                    y: y.wrapping_add(p.y.at(0, 0) as usize),
                    y_row: p.y.row(),
                    y_block: p.y.plane(),
                    add: pass > 0 || p.flags & Conv::ADD != 0,
                    clamp,
                    prefetch: next,
                    prefetch_step: (VECTORS * lanes).div_ceil(self.tiles(lanes)),
                };
                let pixels = Pixels {
                    tile,
                    vectors,
                    rows: self.region.rows.clone(),
                    width: p.y.size[1] as usize,
                    blocked: block == lanes,
                    stride: p.stride[1] as usize,
                };
                // SAFETY: `prepare` checked the images and the weights against their bindings, and
                // only this part touches these rows of the result.
                unsafe { pixels.compute(level) };
                if pass + 1 == passes {
                    for vector in 0..vectors {
                        let plane = y.wrapping_add(vector * p.y.plane());
                        // SAFETY: only this part touches these rows of the plane.
                        unsafe { clear_border(&p.y, plane, self.region.rows.clone()) };
                    }
                }
            }
        }
    }

    /// The approximate number of tiles of the region.
    fn tiles(&self, lanes: usize) -> usize {
        (self.region.rows.len() * self.p.y.size[1] as usize).div_ceil(if lanes == 16 { 14 } else { 6 }).max(1)
    }
}
