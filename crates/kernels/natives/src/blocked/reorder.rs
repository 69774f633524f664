//! `reorder`: images into the blocked layout and back.

use roci_hal::native::{NativeKernel, NativeLaunch};

use super::super::check::{self, AccessRange};
use super::grid::Grid;
use super::{clear_border, extent};
use crate::KernelFactory;
use std::sync::Arc;

/// The kernels of this file, with the sizes of their constants blocks.
pub(crate) const NATIVE_ONLY_KERNELS: &[(&str, usize, KernelFactory)] =
    &[("reorder", size_of::<roci_families::Reorder>(), |_| Arc::new(Reorder))];

/// The cost of a word, in multiplications.
const COST: u64 = 16;

pub(in super::super) struct Reorder;

fn grid(p: &roci_families::Reorder, workers: usize) -> Grid {
    let work = [p.batch, p.y.channels].into_iter().chain(p.y.size);
    let work = work.fold(COST, |all, size| all.saturating_mul(size.into()));
    Grid::new([p.batch as usize, p.y.blocks(), p.y.size[0] as usize], 1, false, work, workers)
}

// SAFETY: `prepare` checks both images against their bindings; they have the same channels and
// size, so that all reads are within `x`; the regions of a grid tile `y`, each with its part of the
// border, and each belongs to one part.
unsafe impl NativeKernel for Reorder {
    fn accesses(&self) -> &[roci_hal::Access] {
        check::last_written(2)
    }

    fn prepare(&self, launch: &NativeLaunch<'_>) -> Result<usize, String> {
        let p: roci_families::Reorder = check::constants(launch)?;
        let [x, y] = check::bindings::<2>(launch)?;
        if p.x.channels != p.y.channels || p.x.size != p.y.size {
            return Err(format!("{:?} differs from {:?} in size or channels", p.y, p.x));
        }
        let x = AccessRange::read::<f32>("x", x, extent(&p.x, p.batch)?)?;
        AccessRange::write::<f32>("y", y, extent(&p.y, p.batch)?)?.disjoint_from(&x)?;
        Ok(grid(&p, launch.workers).parts())
    }

    unsafe fn run(&self, launch: &NativeLaunch<'_>, part: usize, _: usize) {
        let Ok(p) = check::constants::<roci_families::Reorder>(launch) else { return };
        let [x, y] = [0, 1].map(|i| launch.bindings[i].pointer.cast::<f32>());
        let region = grid(&p, launch.workers).region(part);
        let x = x.cast_const().wrapping_add(region.batch * p.x.elements());
        let y = y.wrapping_add(region.batch * p.y.elements());
        let [from, to] = [p.x.block as usize, p.y.block as usize];
        let width = p.y.size[1] as usize;
        if p.y.size == [1, 1] && [p.x.border, p.y.border] == [0, 0] && to == 1 {
            // With a single pixel, the channels are in order for any block size.
            let first = region.groups.start;
            let source = x.wrapping_add(first);
            // SAFETY: both images have these channels; only this part touches those of `y`.
            unsafe { y.wrapping_add(first).copy_from_nonoverlapping(source, region.groups.len()) };
            return;
        }
        for group in region.groups.clone() {
            let plane = y.wrapping_add(group * p.y.plane());
            for row in region.rows.clone() {
                let target = plane.wrapping_offset(p.y.at(row as isize, 0));
                let start = p.x.at(row as isize, 0);
                if from == to && (group + 1) * to <= p.x.channels as usize {
                    let source = x.wrapping_add(group * p.x.plane()).wrapping_offset(start);
                    // SAFETY: a row of a block of `x`, and one of `y` that only this part touches.
                    unsafe { target.copy_from_nonoverlapping(source, width * to) };
                    continue;
                }
                for lane in 0..to {
                    let channel = group * to + lane;
                    let there = channel < p.x.channels as usize;
                    let source = x.wrapping_add(channel / from * p.x.plane() + channel % from).wrapping_offset(start);
                    for column in 0..width {
                        // SAFETY: a channel of a pixel of `x`; channels that do not exist are not
                        // read.
                        let value = if there { unsafe { *source.wrapping_add(column * from) } } else { 0.0 };
                        // SAFETY: a channel of a pixel of `y`, in a row that only this part
                        // touches.
                        unsafe { *target.wrapping_add(column * to + lane) = value };
                    }
                }
            }
            // SAFETY: only this part touches these rows of the plane.
            unsafe { clear_border(&p.y, plane, region.rows.clone()) };
        }
    }
}
