//! `conv`, `conv_tiled` and `conv_transpose`; `conv_split_k` and `conv_split_k_reduce`.
//!
//! A convolution is a product of the weights with im2col patches of the input. Patches are packed
//! directly into the panels that the matrix product's tiles read (`patches`), a block of pixels at
//! a time. Groups of few channels are summed without patches (`direct`). The order in which an
//! element is summed does not depend on the number of parts.

mod check;
mod direct;
mod grid;
mod patches;
mod product;
mod split_k;
mod transposed;

use roci_hal::native::{NativeKernel, NativeLaunch};

use self::direct::Direct;
use self::grid::{Grid, Region};
use self::product::Product;
use self::split_k::{SplitKReduce, TiledConv};
use self::transposed::Transposed;
use super::{check as launches, memory};
use crate::KernelFactory;
use crate::per_element::PerElementKernel;
use roci_simd::Level;
use std::sync::Arc;

/// The kernels of this file, by name.
pub(crate) const KERNELS: &[(&str, KernelFactory)] = &[
    ("conv", |level| Arc::new(Conv::new(level))),
    ("conv_tiled", |level| Arc::new(Conv::flat(level))),
    ("conv_split_k", |_| Arc::new(PerElementKernel::<TiledConv<true, false>>::new())),
    ("conv_tiled_f16", |_| Arc::new(PerElementKernel::<TiledConv<false, true>>::new())),
    ("conv_split_k_f16", |_| Arc::new(PerElementKernel::<TiledConv<true, true>>::new())),
    ("conv_split_k_reduce", |_| Arc::new(PerElementKernel::<SplitKReduce>::new())),
    ("conv_transpose", |_| Arc::new(PerElementKernel::<Transposed>::new())),
];

pub(super) struct Conv {
    level: Level,
    /// Only two dimensions, as in the tiled GPU kernel.
    flat: bool,
}

impl Conv {
    pub(super) fn new(level: Level) -> Self {
        Self { level, flat: false }
    }

    pub(super) fn flat(level: Level) -> Self {
        Self { level, flat: true }
    }
}

/// The channels of the region's batch and group in `x`, the weights of its group, and all of
/// `bias`.
fn group_slices<'a>(p: &roci_families::Conv, [x, w, bias]: [&'a [f32]; 3], region: &Region) -> [&'a [f32]; 3] {
    let volume = |sizes: [u32; 3]| sizes.iter().map(|&size| size as usize).product::<usize>();
    let (ins, outs) = ((p.in_channels / p.groups) as usize, (p.out_channels / p.groups) as usize);
    let (channels, weights) = (ins * volume(p.input), ins * outs * volume(p.kernel));
    let unit = region.batch * p.groups as usize + region.group;
    [&x[unit * channels..][..channels], &w[region.group * weights..][..weights], bias]
}

/// The epilogue of a sum: bias, then clamp.
#[inline(always)]
fn epilogue(p: &roci_families::Conv, bias: &[f32], channel: usize, sums: &mut [f32]) {
    let bias = if p.flags & roci_families::Conv::BIAS != 0 { bias[channel] } else { 0.0 };
    let clamp = p.flags & roci_families::Conv::CLAMP != 0;
    if bias == 0.0 && !clamp {
        return;
    }
    let (low, high) = if clamp { (p.low, p.high) } else { (f32::NEG_INFINITY, f32::INFINITY) };
    for sum in sums {
        let v = *sum + bias;
        let v = if v < low { low } else { v };
        *sum = if v > high { high } else { v };
    }
}

// SAFETY: `prepare` checks all arrays against their bindings and rejects results that overlap an
// input; the regions of a grid tile the result, and each belongs to one part.
unsafe impl NativeKernel for Conv {
    fn accesses(&self) -> &[roci_hal::Access] {
        use roci_hal::Access::{Read, ReadWrite};
        &[Read, Read, Read, ReadWrite]
    }

    fn prepare(&self, launch: &NativeLaunch<'_>) -> Result<usize, String> {
        let p: roci_families::Conv = launches::constants(launch)?;
        let sizes = check::sizes(&p)?;
        if self.flat && !p.is_flat() {
            return Err(format!("only two dimensions are supported, but the first of three has size {}", p.input[0]));
        }
        sizes.check(launch)?;
        Ok(Grid::new(&p, launch.workers).parts(launch.workers))
    }

    unsafe fn run(&self, launch: &NativeLaunch<'_>, part: usize, parts: usize) {
        let Ok(p) = launches::constants::<roci_families::Conv>(launch) else { return };
        let Ok(sizes) = check::sizes(&p) else { return };
        // SAFETY: `prepare` checked the lengths against the bindings, which nothing writes during
        // the launch.
        let [x, w, bias] = [0, 1, 2].map(|i| unsafe { memory::input::<f32>(launch.bindings[i], 0..sizes.inputs[i]) });
        let y = launch.bindings[3].pointer.cast::<f32>();
        let grid = Grid::new(&p, launch.workers);
        if grid.direct() {
            // SAFETY: the regions are within `y`, which `prepare` checked against the binding, and
            // only this part touches them.
            self.level.run(unsafe { Direct::new(&p, [x, w, bias], grid.regions(part, parts), y) });
            return;
        }
        for region in grid.regions(part, parts) {
            let y = y.wrapping_add(region.image(&p) * grid.pixels());
            // SAFETY: as above.
            self.level.run(unsafe { Product::new(&p, [x, w, bias], region, y, self.level) });
        }
    }
}
