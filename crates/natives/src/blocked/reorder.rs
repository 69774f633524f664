//! `reorder`: pictures in and out of blocks.

use roci_hal::native::{NativeKernel, NativeLaunch};

use super::super::check::{self, Access};
use super::plan::Plan;
use super::{clear_border, extent};
use crate::params;

/// Words that are worth a part of their own, as multiplications.
const COST: u64 = 16;

/// The kernel.
pub(in super::super) struct Reorder;

fn plan(p: &params::Reorder, workers: usize) -> Plan {
    let work = [p.batch, p.y.channels].into_iter().chain(p.y.size);
    let work = work.fold(COST, |all, size| all.saturating_mul(size.into()));
    Plan::new([p.batch as usize, p.y.blocks(), p.y.size[0] as usize], 1, false, work, workers)
}

// SAFETY: `prepare` holds both pictures against their bindings; they have the same channels and size, so that what is read
// lies in `x`; the areas of a plan tile `y`, each with its part of the border, and each belongs to one part.
unsafe impl NativeKernel for Reorder {
    fn accesses(&self) -> &[roci_hal::Access] {
        check::last_written(2)
    }

    fn prepare(&self, launch: &NativeLaunch<'_>) -> Result<usize, String> {
        let p: params::Reorder = check::constants(launch)?;
        let [x, y] = check::bindings::<2>(launch)?;
        if p.x.channels != p.y.channels || p.x.size != p.y.size {
            return Err(format!("{:?} of {:?}", p.y, p.x));
        }
        let x = Access::read::<f32>("x", x, extent(&p.x, p.batch)?)?;
        Access::write::<f32>("y", y, extent(&p.y, p.batch)?)?.apart_from(&x)?;
        Ok(plan(&p, launch.workers).parts())
    }

    unsafe fn run(&self, launch: &NativeLaunch<'_>, part: usize, _: usize) {
        let Ok(p) = check::constants::<params::Reorder>(launch) else { return };
        let [x, y] = [0, 1].map(|i| launch.bindings[i].pointer.cast::<f32>());
        let area = plan(&p, launch.workers).area(part);
        let x = x.cast_const().wrapping_add(area.batch * p.x.elements());
        let y = y.wrapping_add(area.batch * p.y.elements());
        let [from, to] = [p.x.block as usize, p.y.block as usize];
        let width = p.y.size[1] as usize;
        if p.y.size == [1, 1] && [p.x.border, p.y.border] == [0, 0] && to == 1 {
            // Single pixels are their channels in order, whatever the blocks.
            let first = area.groups.start;
            let source = x.wrapping_add(first);
            // SAFETY: so many channels are there of both; those of `y` are this part's alone.
            unsafe { y.wrapping_add(first).copy_from_nonoverlapping(source, area.groups.len()) };
            return;
        }
        for group in area.groups.clone() {
            let plane = y.wrapping_add(group * p.y.plane());
            for row in area.rows.clone() {
                let target = plane.wrapping_offset(p.y.at(row as isize, 0));
                let start = p.x.at(row as isize, 0);
                if from == to && (group + 1) * to <= p.x.channels as usize {
                    let source = x.wrapping_add(group * p.x.plane()).wrapping_offset(start);
                    // SAFETY: a row of a block of `x`, and one of `y` that is this part's alone.
                    unsafe { target.copy_from_nonoverlapping(source, width * to) };
                    continue;
                }
                for lane in 0..to {
                    let channel = group * to + lane;
                    let there = channel < p.x.channels as usize;
                    let source = x.wrapping_add(channel / from * p.x.plane() + channel % from).wrapping_offset(start);
                    for column in 0..width {
                        // SAFETY: a channel of a pixel of `x`; channels that it does not have are not read.
                        let value = if there { unsafe { *source.wrapping_add(column * from) } } else { 0.0 };
                        // SAFETY: a channel of a pixel of `y`, in a row that is this part's alone.
                        unsafe { *target.wrapping_add(column * to + lane) = value };
                    }
                }
            }
            // SAFETY: rows of a plane that are this part's alone.
            unsafe { clear_border(&p.y, plane, area.rows.clone()) };
        }
    }
}
