//! `fill` and `copy` of 32-bit words.

use roci_hal::native::{NativeKernel, NativeLaunch};

use super::check::{self, AccessRange, Extent};
use super::{memory, partition};
use crate::KernelFactory;
use roci_simd::Level;
use std::sync::Arc;

/// The kernels of this file, by name.
pub(crate) const KERNELS: &[(&str, KernelFactory)] =
    &[("fill", |level| Arc::new(Fill(level))), ("copy", |level| Arc::new(Copy(level)))];

/// `target[offset + i] = value`.
pub(super) struct Fill(pub(super) Level);

// SAFETY: `prepare` checks the range against the binding; parts write disjoint ranges of it.
unsafe impl NativeKernel for Fill {
    fn accesses(&self) -> &[roci_hal::Access] {
        check::last_written(1)
    }

    fn prepare(&self, launch: &NativeLaunch<'_>) -> Result<usize, String> {
        let p: roci_families::Fill = check::constants(launch)?;
        let [target] = check::bindings(launch)?;
        AccessRange::write::<u32>("target", target, Extent::of(&[(p.count, 1)]).offset_by(p.offset))?;
        Ok(partition::count(4 * u64::from(p.count), p.count as usize, launch.workers))
    }

    unsafe fn run(&self, launch: &NativeLaunch<'_>, part: usize, parts: usize) {
        let Ok(p) = check::constants::<roci_families::Fill>(launch) else { return };
        let share = partition::range(p.count as usize, partition::STEP, part, parts);
        let offset = p.offset as usize;
        // SAFETY: a range that `prepare` checked and only this part touches; the caller guarantees
        // the binding.
        let target = unsafe { memory::output(launch.bindings[0], offset + share.start..offset + share.end) };
        memory::fill(self.0, p.value, target);
    }
}

/// `target[target_offset + i] = source[source_offset + i]`; the ranges are disjoint.
pub(super) struct Copy(pub(super) Level);

// SAFETY: `prepare` checks both ranges against their bindings and rejects overlaps; parts write
// disjoint ranges.
unsafe impl NativeKernel for Copy {
    fn accesses(&self) -> &[roci_hal::Access] {
        check::last_written(2)
    }

    fn prepare(&self, launch: &NativeLaunch<'_>) -> Result<usize, String> {
        let p: roci_families::Copy = check::constants(launch)?;
        let [source, target] = check::bindings(launch)?;
        let extent = Extent::of(&[(p.count, 1)]);
        let source =
            AccessRange::read::<u32>("source", source, extent.offset_by(p.source_offset))?.skip::<u32>(p.source_offset);
        let target = AccessRange::write::<u32>("target", target, extent.offset_by(p.target_offset))?
            .skip::<u32>(p.target_offset);
        target.disjoint_from(&source)?;
        Ok(partition::count(8 * u64::from(p.count), p.count as usize, launch.workers))
    }

    unsafe fn run(&self, launch: &NativeLaunch<'_>, part: usize, parts: usize) {
        let Ok(p) = check::constants::<roci_families::Copy>(launch) else { return };
        let share = partition::range(p.count as usize, partition::STEP, part, parts);
        let (from, to) = (p.source_offset as usize, p.target_offset as usize);
        // SAFETY: a range that `prepare` checked and the target does not overlap; the caller
        // guarantees the binding.
        let source = unsafe { memory::input(launch.bindings[0], from + share.start..from + share.end) };
        // SAFETY: a range that `prepare` checked and only this part touches.
        let target = unsafe { memory::output(launch.bindings[1], to + share.start..to + share.end) };
        memory::copy(self.0, source, target);
    }
}
