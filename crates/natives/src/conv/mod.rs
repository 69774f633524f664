//! `conv`, `conv_tiled` and `conv_transpose`; `conv_partial` and `conv_join`.
//!
//! A convolution is a product of the weights with patches of the input. Patches are packed straight into the panels
//! that the matrix product's tiles read (`patches`), a block of pixels at a time; few channels a group are summed
//! without them (`direct`). Every element is summed in the same order whatever the number of parts.

mod check;
mod direct;
mod partial;
mod patches;
mod plan;
mod product;
mod transposed;

use roci_hal::native::{NativeKernel, NativeLaunch};

use self::direct::Direct;
pub(super) use self::partial::{Join, Plain};
use self::plan::{Area, Plan};
use self::product::Product;
pub(super) use self::transposed::Transposed;
use super::simd::Level;
use super::{check as launches, memory};
use crate::params;

/// The convolution.
pub(super) struct Conv {
    level: Level,
    /// At most two dimensions, as the tiled GPU kernel has them.
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

/// Of `x` the channels of the area's batch and group, of `w` the weights of its group, and all of `bias`.
fn of_group<'a>(p: &params::Conv, [x, w, bias]: [&'a [f32]; 3], area: &Area) -> [&'a [f32]; 3] {
    let volume = |sizes: [u32; 3]| sizes.iter().map(|&size| size as usize).product::<usize>();
    let (ins, outs) = ((p.in_channels / p.groups) as usize, (p.out_channels / p.groups) as usize);
    let (channels, weights) = (ins * volume(p.input), ins * outs * volume(p.kernel));
    let unit = area.batch * p.groups as usize + area.group;
    [&x[unit * channels..][..channels], &w[area.group * weights..][..weights], bias]
}

/// What is done with a sum: bias, then bounds.
#[inline(always)]
fn finish(p: &params::Conv, bias: &[f32], channel: usize, sums: &mut [f32]) {
    let bias = if p.flags & params::Conv::BIAS != 0 { bias[channel] } else { 0.0 };
    let clamp = p.flags & params::Conv::CLAMP != 0;
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

// SAFETY: `prepare` holds all arrays against their bindings and rejects results that overlap an input; the areas of a
// plan tile the result, and each belongs to one part.
unsafe impl NativeKernel for Conv {
    fn accesses(&self) -> &[roci_hal::Access] {
        use roci_hal::Access::{Read, ReadWrite};
        &[Read, Read, Read, ReadWrite]
    }

    fn prepare(&self, launch: &NativeLaunch<'_>) -> Result<usize, String> {
        let p: params::Conv = launches::constants(launch)?;
        let sizes = check::sizes(&p)?;
        if self.flat && !p.is_flat() {
            return Err(format!("two dimensions, but the first of three is {} wide", p.input[0]));
        }
        sizes.hold(launch)?;
        Ok(Plan::new(&p, launch.workers).parts(launch.workers))
    }

    unsafe fn run(&self, launch: &NativeLaunch<'_>, part: usize, parts: usize) {
        let Ok(p) = launches::constants::<params::Conv>(launch) else { return };
        let Ok(sizes) = check::sizes(&p) else { return };
        // SAFETY: `prepare` held the lengths against the bindings, which nothing writes meanwhile.
        let [x, w, bias] = [0, 1, 2].map(|i| unsafe { memory::input::<f32>(launch.bindings[i], 0..sizes.inputs[i]) });
        let y = launch.bindings[3].pointer.cast::<f32>();
        let plan = Plan::new(&p, launch.workers);
        if plan.direct() {
            // SAFETY: the areas lie in `y`, which `prepare` held against the binding, and are this part's alone.
            self.level.run(unsafe { Direct::new(&p, [x, w, bias], plan.areas(part, parts), y) });
            return;
        }
        for area in plan.areas(part, parts) {
            let y = y.wrapping_add(area.image(&p) * plan.pixels());
            // SAFETY: as above.
            self.level.run(unsafe { Product::new(&p, [x, w, bias], area, y, self.level) });
        }
    }
}
